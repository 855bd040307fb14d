"""Atomic updates of one element or of a whole region.

    tile.atomic add %C[%i, %j], %v : memref<64x64xf32, #global>, f32
    %old = tile.atomic max %m[%i], %v : memref<8xi32, #global>, i32 -> i32
    tile.atomic add %r, %acc {use_tma} : !tile.region<64x64xf32, #global>, memref<...>
    %v = tile.atomic load %m[%i] order acquire : memref<8xi32, #global> -> i32
    %old = tile.atomic cas %lock[%i], %one compare %zero order acq_rel scope gpu
      : memref<8xi32, #global>, i32 -> i32

An element is named by its indices; without indices the whole operand is updated, element by
element, from a buffer or region of the same extents. ``width`` requests vectors of that many.

``cas`` stores its value where the bits of the element are those of `compare`, and yields what the
element held before. An order concerns the thread that executes the op: ``release`` publishes its
earlier accesses, ``acquire`` makes its later ones see what was published. The scope is the threads
for which an update is atomic and its order holds: the block (``cta``), the GPU, or all devices and
the host (``sys``); without one it is the GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    traits_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import (
    AccessedRegion,
    RegionEffects,
    TileOp,
    Unit,
    element_of,
    region_of,
)
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.base import (
    ANY,
    KeywordSyntax,
    Operand,
    given,
    integer_attr,
    integer_of,
    keyword_prop,
    mark,
    mark_prop,
    opt_integer_prop,
    opt_keyword_prop,
    string,
)
from tilewright.dialects.tile.mixed import INDEX
from tilewright.dialects.tile.movement import verify_extents, verify_numeric
from tilewright.dialects.tile.regions import verify_index_count
from tilewright.dialects.tile.types import (
    BUFFER_OR_REGION,
    is_buffer_or_region,
    space_of,
)
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.text.assembly import TypeRule

ATOMIC_KINDS = KeywordSyntax(
    ("add", "max", "min", "umax", "umin", "and", "or", "xor", "exch", "cas", "load", "store")
)
"""Integers have no sign here: `umax` and `umin` read them as numbers without one."""
MEMORY_ORDERS = KeywordSyntax(("relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"))
MEMORY_SCOPES = KeywordSyntax(("cta", "gpu", "sys"))
_WIDTHS = (1, 2, 4)


@irdl_op_definition
class AtomicOp(TileOp):
    """Updates memory so that no other update is lost."""

    name = "tile.atomic"

    kind = keyword_prop(ATOMIC_KINDS)
    dst = operand_def(BUFFER_OR_REGION)
    indices = var_operand_def(INDEX)
    value = opt_operand_def(ANY)
    compare = opt_operand_def(ANY)
    """What an element must hold for ``cas`` to store the value."""
    memory_order = opt_keyword_prop(MEMORY_ORDERS)
    scope = opt_keyword_prop(MEMORY_SCOPES)
    use_tma = mark_prop()
    width = opt_integer_prop()
    previous = opt_result_def(ANY)
    """What the element held before; what a load reads."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$kind $dst (`[` $indices^ `]`)? (`,` $value^)? (`compare` $compare^)? "
        "(`order` $memory_order^)? (`scope` $scope^)? attr-dict `:` type($dst) "
        "(`,` type($value)^)? (`->` type($previous)^)?"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "compare": TypeRule(
            "compare has the type of the elements", lambda types: element_type_of(types["dst"])
        )
    }

    def __init__(
        self,
        kind: str,
        dst: Operand,
        indices: Sequence[Operand] = (),
        value: Operand | None = None,
        *,
        compare: Operand | None = None,
        return_previous: bool = False,
        memory_order: str | None = None,
        scope: str | None = None,
        use_tma: bool = False,
        width: int | None = None,
    ) -> None:
        element = element_type_of(SSAValue.get(dst).type)
        has_result = return_previous or kind in ("load", "cas")
        super().__init__(
            operands=[dst, indices, value, compare],
            result_types=[element if has_result else None],
            properties=given(
                kind=string(kind),
                memory_order=string(memory_order),
                scope=string(scope),
                use_tma=mark(use_tma),
                width=integer_attr(width),
            ),
        )

    @property
    def is_element(self) -> bool:
        """Whether one element is updated rather than a whole region."""
        return bool(self.indices)

    @property
    def order(self) -> str:
        """The memory order; relaxed by default."""
        return "relaxed" if self.memory_order is None else self.memory_order.data

    @property
    def memory_scope(self) -> str:
        return "gpu" if self.scope is None else self.scope.data

    def of_element(
        self,
        dst: Operand,
        indices: Sequence[Operand],
        value: Operand | None = None,
        compare: Operand | None = None,
    ) -> AtomicOp:
        """The same update of an element under another address, with other values if given."""
        return AtomicOp(
            self.kind.data,
            dst,
            indices,
            self.value if value is None else value,
            compare=self.compare if compare is None else compare,
            return_previous=self.previous is not None,
            memory_order=None if self.memory_order is None else self.memory_order.data,
            scope=None if self.scope is None else self.scope.data,
        )

    def _target(self) -> AccessedRegion:
        if self.is_element:
            return element_of(self.dst, tuple(self.indices), self.unit())
        return region_of(self.dst, self.unit())

    @override
    def unit(self) -> Unit:
        return "tma" if self.use_tma is not None else "threads"

    @override
    def reads(self) -> list[AccessedRegion]:
        found = [region_of(value, self.unit()) for value in self._named(("value",))]
        return found if self.kind.data == "store" else [*found, self._target()]

    @override
    def writes(self) -> list[AccessedRegion]:
        return [] if self.kind.data == "load" else [self._target()]

    @override
    def verify_(self) -> None:
        verify_numeric("the destination", self.dst.type)
        space = space_of(self.dst.type)
        if space is not Space.GLOBAL and not (space is not None and space.is_shared):
            where = "no tile space" if space is None else f"{space.value} memory"
            raise VerifyException(f"atomics update global or shared memory, not {where}")
        if self.is_element:
            verify_index_count(self.dst, self.indices)
        self._verify_value()
        self._verify_compare()
        self._verify_previous()
        width = integer_of(self.width)
        if width is not None and width not in _WIDTHS:
            raise VerifyException(f"width must be 1, 2 or 4, got {width}")
        if self.use_tma is not None and self.is_element:
            raise VerifyException("use_tma updates whole regions, not one element")

    def _verify_value(self) -> None:
        element = element_type_of(self.dst.type)
        if self.value is None:
            if self.kind.data != "load":
                raise VerifyException(f"{self.kind.data} needs a value")
            return
        if self.kind.data == "load":
            raise VerifyException("load takes no value")
        if is_buffer_or_region(self.value.type):
            if self.is_element:
                raise VerifyException("one element is updated with one value, not with a buffer")
            verify_numeric("the value", self.value.type)
            verify_extents(self.value.type, self.dst.type)
        elif self.value.type != element:
            raise VerifyException(
                f"the value is '{self.value.type}' but the elements are '{element}'"
            )

    def _verify_compare(self) -> None:
        if (self.compare is not None) != (self.kind.data == "cas"):
            raise VerifyException(
                "cas needs a value to compare with"
                if self.compare is None
                else f"{self.kind.data} compares with nothing; cas does"
            )
        if self.compare is not None and not self.is_element:
            raise VerifyException("cas updates one element, not a whole region")

    def _verify_previous(self) -> None:
        if self.previous is None:
            if self.kind.data in ("load", "cas"):
                raise VerifyException(f"{self.kind.data} requires a result")
            return
        element: Attribute = element_type_of(self.dst.type)
        if not self.is_element:
            raise VerifyException("only the update of one element has a result")
        if self.kind.data == "store":
            raise VerifyException("store has no result")
        if self.previous.type != element:
            raise VerifyException(
                f"the result is '{self.previous.type}' but the elements are '{element}'"
            )
