"""Layouts that are not decided yet, and marks on layouts that are.

========================  ======================================================================
``dummy_register_layout``  some layout of a tensor in registers, chosen once the function is inlined
``dummy_tmem_layout``      some layout of tensor memory, chosen by how the buffer is used
``user_layout<L>``         ``L``, user-specified: no pass may choose another one
``no_verify_layout<L>``    ``L``, but the ops around it may not agree yet: check later
========================  ======================================================================

Marks may be nested. Where a layout is queried, a mark returns the result of the layout it marks;
``ttng.attributes.unwrapped`` takes all marks off.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from typing_extensions import override
from xdsl.ir import Attribute, Operation
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.layout_rules import LayoutRules, are_equivalent
from tilewright.dialects.ttg.interfaces import (
    DistributedEncoding,
    LayoutEncoding,
    MemDescEncoding,
    SharedEncoding,
)
from tilewright.dialects.ttg.struct import Bases, FieldsAttr, Ints, ints_text
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.attributes import LayoutMark, TensorMemoryLayout, unwrapped
from tilewright.dialects.type_utils import AnyTensor

_DEFAULT_ALIGNMENT = 16


# -- placeholders --------------------------------------------------------------------------------


@dataclass(frozen=True)
class DummyRegisterLayout(FieldsAttr, LayoutRules):
    """Some layout of a tensor of `shape`; with `tmem_compatible`, one that tensor memory has."""

    name = "tlx.dummy_register_layout"

    shape: Ints
    element_type: Attribute
    tmem_compatible: bool = False

    @override
    def is_equivalent(self, other: Attribute, shape: Sequence[int]) -> bool:
        return True

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            extents = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, parser.parse_integer
            )
            parser.parse_punctuation(",")
            element = parser.parse_type()
            compatible = parser.parse_optional_punctuation(",") is not None and (
                parser.parse_boolean()
            )
        return cls.pack((tuple(extents), element, compatible))

    @override
    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{ints_text(self.shape)}, ")
        printer.print_attribute(self.element_type)
        printer.print_string(f", {'true' if self.tmem_compatible else 'false'}>")


@dataclass(frozen=True)
class DummyTMemLayout(FieldsAttr, TensorMemoryLayout):
    """Some layout of tensor memory."""

    name = "tlx.dummy_tmem_layout"

    @property
    @override
    def cga(self) -> Bases:
        return ()

    @override
    def cta_problem(self, op: Operation) -> str | None:
        return None

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        if parser.parse_optional_punctuation("<") is not None:
            parser.parse_punctuation(">")
        return ()

    @override
    def print_parameters(self, printer: Printer) -> None:
        return


# -- marks ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Mark(FieldsAttr, LayoutMark, DistributedEncoding):
    """A layout with a mark; queries return the results of the layout inside."""

    layout: Attribute

    @property
    @override
    def marked(self) -> Attribute:
        return self.layout

    @property
    @override
    def is_deferred(self) -> bool:
        return isinstance(self.layout, LayoutRules) and self.layout.is_deferred

    @property
    @override
    def inside_marks(self) -> Attribute | None:
        return unwrapped(self)

    @property
    def _encoding(self) -> LayoutEncoding:
        assert isinstance(self.layout, LayoutEncoding), "checked by verify"
        return self.layout

    @property
    @override
    def rank(self) -> int:
        return self._encoding.rank

    @property
    @override
    def cga(self) -> Bases:
        return self._encoding.cga

    @property
    @override
    def threads_per_warp(self) -> int:
        return _distributed(self.layout).threads_per_warp

    @property
    @override
    def num_warps(self) -> int:
        return _distributed(self.layout).num_warps

    @override
    def cta_problem(self, op: Operation) -> str | None:
        return self._encoding.cta_problem(op)

    @override
    def tensor_problem(self, type: AnyTensor, op: Operation) -> str | None:
        return self._encoding.tensor_problem(type, op)

    @override
    def after_expand_dims(self, axis: int) -> Attribute | None:
        return self._encoding.after_expand_dims(axis)

    @override
    def after_trans(self, shape: Sequence[int], order: Sequence[int]) -> Attribute | None:
        return self._with(self._encoding.after_trans(shape, order))

    @override
    def after_split(self, shape: Sequence[int]) -> Attribute | None:
        return self._with(self._encoding.after_split(shape))

    @override
    def after_reshape(
        self, shape: Sequence[int], new_shape: Sequence[int], allow_reorder: bool
    ) -> Attribute | None:
        return self._with(self._encoding.after_reshape(shape, new_shape, allow_reorder))

    def _with(self, layout: Attribute | None) -> Attribute | None:
        return None if layout is None else replace(self, layout=layout)

    @override
    def is_equivalent(self, other: Attribute, shape: Sequence[int]) -> bool:
        return are_equivalent(unwrapped(self), unwrapped(other), shape)

    @override
    def dot_problem(self, a: Attribute, b: Attribute) -> str | None:
        if any(is_unverified(layout) for layout in (self, a, b)):
            return None
        return self._encoding.dot_problem(unwrapped(a), unwrapped(b))

    @abstractmethod
    @override
    def verify(self) -> None: ...

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return cls.pack((parser.parse_attribute(),))

    @override
    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.layout)


def _distributed(layout: Attribute) -> DistributedEncoding:
    if not isinstance(layout, DistributedEncoding):
        raise TypeError(f"{layout} is not a layout of registers")
    return layout


@dataclass(frozen=True)
class UserLayout(_Mark, SharedEncoding):
    """A layout of a tensor or of a buffer in shared memory that the user chose."""

    name = "tlx.user_layout"
    # Triton names whatever can be a layout of shared memory like this.
    ASM_ALIAS: ClassVar[str] = "shared"

    @property
    @override
    def alignment(self) -> int:
        layout = self.layout
        return layout.alignment if isinstance(layout, SharedEncoding) else _DEFAULT_ALIGNMENT

    @override
    def verify(self) -> None:
        if isinstance(self.layout, UserLayout):
            raise VerifyException("nested user layouts are not supported")
        if not isinstance(self.layout, (DistributedEncoding, SharedEncoding)):
            raise VerifyException("user layout must wrap a distributed or shared layout")

    @override
    def verify_memdesc(self, type: MemDescType) -> None:
        if not isinstance(self.layout, MemDescEncoding):
            raise VerifyException(f"{self} is not a valid encoding")
        self.layout.verify_memdesc(type)


@dataclass(frozen=True)
class NoVerifyLayout(_Mark):
    """A layout of a tensor that is not compared with others until all are known."""

    name = "tlx.no_verify_layout"

    @override
    def verify(self) -> None:
        if isinstance(self.layout, NoVerifyLayout):
            raise VerifyException("nested no-verify layouts are not supported")
        if not isinstance(self.layout, DistributedEncoding):
            raise VerifyException("no-verify layout must wrap a distributed tensor layout")

    @property
    @override
    def is_deferred(self) -> bool:
        return True

    @override
    def cta_problem(self, op: Operation) -> str | None:
        return None

    @override
    def tensor_problem(self, type: AnyTensor, op: Operation) -> str | None:
        return None

    @override
    def is_equivalent(self, other: Attribute, shape: Sequence[int]) -> bool:
        return True


def is_unverified(layout: Attribute) -> bool:
    """Whether somewhere in `layout` a part is marked as not to be checked yet."""
    if isinstance(layout, NoVerifyLayout):
        return True
    if isinstance(layout, LayoutMark):
        return is_unverified(layout.marked)
    parent = getattr(layout, "parent", None)
    return isinstance(parent, Attribute) and is_unverified(parent)
