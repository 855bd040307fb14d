"""Attributes as small numbers, for the keys of tables."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from xdsl.ir import Attribute, Operation


class AttributeIds:
    """Small numbers for attributes, equal for equal attributes.

    Comparing attributes walks them; most are shared objects, so their identity usually decides.
    """

    def __init__(self) -> None:
        self._by_id: dict[int, int] = {}
        self._by_value: dict[Attribute, int] = {}
        self._held: list[Attribute] = []

    def of(self, attribute: Attribute) -> int:
        attribute_id = self._by_id.get(id(attribute))
        if attribute_id is None:
            attribute_id = self._by_value.setdefault(attribute, len(self._by_value))
            self._by_id[id(attribute)] = attribute_id
            self._held.append(attribute)  # so that the identity stays taken
        return attribute_id

    def of_op(self, op: Operation) -> tuple[Hashable, ...]:
        """For the types of the results of an op, its properties and its attributes."""
        types = [self.of(result.type) for result in op.results]
        return (*types, self._of_dictionary(op.properties), self._of_dictionary(op.attributes))

    def _of_dictionary(self, attributes: Mapping[str, Attribute]) -> Hashable:
        if not attributes:
            return ()
        items = [(name, self.of(attribute)) for name, attribute in attributes.items()]
        return tuple(sorted(items)) if len(items) > 1 else items[0]
