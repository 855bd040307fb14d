"""Making ops without detours.

xDSL's ``Operation.__init__`` goes through setters for operands and successors, which most ops have
none of, finds the unknown location with an import statement, and goes through all definitions of
properties for defaults. That takes 5 µs, and a compile makes thousands of ops. The functions here
leave an op in the same state, in a third of the time.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, SSAValues, Use
from xdsl.irdl import IRDLOperation, OptionalDef


def make_ops_directly() -> None:
    """Replace how ops of xDSL are initialised."""
    Operation.__init__ = _initialise
    IRDLOperation.__post_init__ = _add_defaults


def _initialise(
    self: Operation,
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = {},
    attributes: Mapping[str, Attribute] = {},
    location: LocationAttr | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> None:
    values = SSAValues(operands)
    uses = tuple([Use(self, index) for index in range(len(values))])
    for value, use in zip(values, uses, strict=True):
        value.add_use(use)
    self._operands, self._operand_uses = values, uses
    self.results = SSAValues(
        [OpResult(type, self, index) for index, type in enumerate(result_types)]
    )
    self.properties = dict(properties)
    self.attributes = dict(attributes)
    self.location = UNKNOWN_LOC if location is None else location
    self._successors = self._successor_uses = ()
    if successors:
        self.successors = successors
    self.regions = ()
    for region in regions:
        self.add_region(region)
    self.__post_init__()


def _add_defaults(self: IRDLOperation) -> None:
    properties, attributes = _defaults(type(self))
    for name, value in properties:
        self.properties.setdefault(name, value)
    for name, value in attributes:
        self.attributes.setdefault(name, value)
    Operation.__post_init__(self)  # xDSL's builders insert the op from there


@cache
def _defaults(
    cls: type[IRDLOperation],
) -> tuple[list[tuple[str, Attribute]], list[tuple[str, Attribute]]]:
    """Default values of the properties and attributes of a class of ops."""
    definition = cls.get_irdl_definition()
    properties, attributes = (
        [
            (name, each.default_value)
            for name, each in definitions.items()
            if not isinstance(each, OptionalDef) and each.default_value is not None
        ]
        for definitions in (definition.properties, definition.attributes)
    )
    return properties, attributes
