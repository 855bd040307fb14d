"""``tile.alloc``: a buffer in one of the memory spaces.

    %A_s = tile.alloc "A_s" : memref<128x32xf16, #tile.space<shared>>
    %C_l = tile.alloc "C_l" safe_value 1.0 : f32 layout #tile.fragment<...> : memref<...>
    %full = tile.alloc init [128, 128] : memref<2x!nv.mbarrier, #tile.space<barrier>>
    %B_s = tile.alloc alias %spec : memref<...>

The name in quotes is the user's and is used in messages. A ``safe_value`` is what a guarded read
outside of a tensor gives. The contents are undefined until written, except for barriers, which
start with the arrive counts of ``init``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import Allocates, Placeable
from tilewright.dialects.tile.attributes import FragmentAttr, LayoutAttr, Space
from tilewright.dialects.tile.base import (
    Operand,
    given,
    integer_attr,
    integer_of,
    opt_integer_prop,
    opt_string_prop,
    string,
)
from tilewright.dialects.tile.mbarrier import MBarrierType
from tilewright.dialects.tile.mixed import (
    INDEX,
    opt_integers,
    opt_integers_attr,
    opt_integers_prop,
)
from tilewright.dialects.tile.names import PRIVATE
from tilewright.dialects.tile.types import (
    BUFFER,
    SPEC,
    BufferType,
    StorageAliasSpecType,
    is_numeric,
    shape_text,
    space_of,
)
from tilewright.ir.constraints import instance_of
from tilewright.ir.hints import name_hint_of
from tilewright.ir.text.assembly import AsmOp, TypeRule, Types
from tilewright.ir.text.syntax import AttributeSyntax, IntegerArray

LAYOUT = instance_of("#tile.layout or #tile.fragment", LayoutAttr, FragmentAttr)
SCALAR_ATTR = instance_of("integer or float attribute", IntegerAttr, FloatAttr)

_MAX_ARRIVALS = (1 << 20) - 1
"""An mbarrier counts arrivals in 20 bits."""


def _spec_of(types: Types) -> Attribute:
    space = space_of(types["result"])
    return StorageAliasSpecType("tmem" if space is Space.TMEM else "shared")


@irdl_op_definition
class AllocOp(AsmOp, Placeable):
    """A buffer."""

    name = "tile.alloc"

    sizes = var_operand_def(INDEX)
    """One number for each `?` of the type; global workspaces only."""
    alias = opt_operand_def(SPEC)
    """The storage it shares with others."""
    name_hint = opt_string_prop()
    init = opt_integers_prop()
    """The arrive count of each barrier."""
    layout = opt_prop_def(LAYOUT)
    safe_value = opt_prop_def(SCALAR_ATTR)
    offset = opt_integer_prop()
    """Where in its storage it has been placed, in bytes."""
    dtype = opt_string_prop()
    """The user's element type, where the IR type does not determine it (``uint8``)."""
    result = result_def(BUFFER)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Allocates())

    ASM: ClassVar[str] = (
        "($name_hint^)? (`sizes` `(` $sizes^ `)`)? (`alias` $alias^)? "
        "oilist(`init` $init | `safe_value` $safe_value | `layout` $layout | `offset` $offset) "
        "attr-dict `:` type($result)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"init": IntegerArray(i64)}
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "alias": TypeRule(
            "the storage_alias_spec must be in the memory space of the buffer", _spec_of
        )
    }

    def __init__(
        self,
        type: BufferType,
        *,
        name: str | None = None,
        init: Sequence[int] | None = None,
        layout: LayoutAttr | FragmentAttr | None = None,
        safe_value: Attribute | None = None,
        alias: Operand | None = None,
        sizes: Sequence[Operand] = (),
        offset: int | None = None,
        dtype: str | None = None,
    ) -> None:
        super().__init__(
            operands=[sizes, alias],
            result_types=[type],
            properties=given(
                name_hint=string(name),
                init=opt_integers_attr(init),
                layout=layout,
                safe_value=safe_value,
                offset=integer_attr(offset),
                dtype=string(dtype),
            ),
        )
        self.result.name_hint = name_hint_of(name)

    @property
    def type(self) -> BufferType:
        return cast("BufferType", self.result.type)

    @property
    def space(self) -> Space:
        actual = space_of(self.result.type)
        assert actual is not None, "checked by verify"
        return actual

    @property
    def buffer_name(self) -> str:
        """The user's name of the buffer, or its name in the IR."""
        return self.name_hint.data if self.name_hint else self.result.name_hint or "buffer"

    @property
    def is_private(self) -> bool:
        """Whether every iteration of the loops around all accesses fills it before it reads it."""
        return PRIVATE in self.attributes

    @is_private.setter
    def is_private(self, holds: bool) -> None:
        if holds:
            self.attributes[PRIVATE] = UnitAttr()
        else:
            self.attributes.pop(PRIVATE, None)

    @property
    def arrive_counts(self) -> tuple[int, ...] | None:
        return opt_integers(self.init)

    @property
    def offset_bytes(self) -> int | None:
        return integer_of(self.offset)

    @override
    def storage(self) -> SSAValue | None:
        # Used by verifiers of other ops, so it must work for an op with broken segments, too.
        specs = (each for each in self.operands if isinstance(each.type, StorageAliasSpecType))
        return next(specs, None)

    def asm_result_names(self) -> list[str]:
        name = self.name_hint.data if self.name_hint else ""
        return [name if SSAValue.is_valid_name(name) else ""]

    @override
    def verify_(self) -> None:
        verify_buffer_type(self.type)
        self._verify_sizes()
        self._verify_barriers()
        verify_layout(self.layout, self.type)
        verify_safe_value(self.safe_value, self.type)
        if self.alias is not None and not (self.space.is_shared or self.space is Space.TMEM):
            raise VerifyException(
                f"only shared memory and tensor memory can be aliased, not {self.space.value}"
            )
        offset = self.offset_bytes
        if offset is not None and offset < 0:
            raise VerifyException(f"offset must not be negative, got {offset}")

    def _verify_sizes(self) -> None:
        shape = self.type.get_shape()
        dynamic = shape.count(DYNAMIC_INDEX)
        if dynamic and self.space is not Space.GLOBAL:
            raise VerifyException(
                f"{self.space.value} buffers require compile-time extents, got {shape_text(shape)}"
            )
        if dynamic != len(self.sizes):
            raise VerifyException(
                f"expects {dynamic} sizes for the dynamic extents of {shape_text(shape)}, "
                f"got {len(self.sizes)}"
            )

    def _verify_barriers(self) -> None:
        counts = self.arrive_counts
        if not self.space.is_barrier:
            if counts is not None:
                raise VerifyException(
                    "init is for arrive counts of barriers, but the buffer is in "
                    f"{self.space.value} memory"
                )
            return
        (size,) = self.type.get_shape()
        if counts is None:
            raise VerifyException("barriers require arrive counts: init [...]")
        if len(counts) != size:
            raise VerifyException(f"{size} barriers but {len(counts)} arrive counts")
        for count in counts:
            if not 1 <= count <= _MAX_ARRIVALS:
                raise VerifyException(f"arrive count must be 1 to {_MAX_ARRIVALS}, got {count}")


def verify_buffer_type(type: BufferType) -> None:
    """Raise if no buffer can have this type: rank, extents and elements by space."""
    space = space_of(type)
    shape = type.get_shape()
    assert space is not None, "a buffer must have a memory space"
    if not shape:
        raise VerifyException("a buffer must have at least one dimension")
    if any(extent < 1 and extent != DYNAMIC_INDEX for extent in shape):
        raise VerifyException(f"extents of a buffer must be positive, got {shape_text(shape)}")
    if isinstance(type.layout, StridedLayoutAttr) and space is not Space.GLOBAL:
        raise VerifyException("strides are supported in global memory only; use a layout instead")
    if space is Space.VAR and shape != (1,):
        raise VerifyException(f"a var holds one element, got {shape_text(shape)}")
    if space is Space.TMEM and len(shape) not in (2, 3):
        raise VerifyException(
            f"tensor-memory buffers must have 2 dimensions, or 3 with stages, got {len(shape)}"
        )
    if space.is_barrier and len(shape) != 1:
        raise VerifyException(f"barrier buffers must have 1 dimension, got {len(shape)}")
    if space.is_barrier:
        fits = isinstance(type.element_type, MBarrierType)
    else:
        fits = is_numeric(type.element_type) or space is Space.DESCRIPTOR
    if not fits:
        raise VerifyException(
            f"{space.value} memory cannot hold elements of type '{type.element_type}'"
        )


def verify_layout(layout: Attribute | None, type: BufferType) -> None:
    """Raise unless `layout` can be the layout of a buffer of this type."""
    if layout is None:
        return
    space = space_of(type)
    if isinstance(layout, FragmentAttr) != (space is Space.FRAGMENT):
        expected = "#tile.fragment" if space is Space.FRAGMENT else "#tile.layout"
        raise VerifyException(f"the layout of {_space_name(space)} memory must be a {expected}")
    extents = cast("LayoutAttr | FragmentAttr", layout).data.extents
    if extents != type.get_shape():
        raise VerifyException(
            f"the layout is for a buffer of {shape_text(extents)}, but this one is "
            f"{shape_text(type.get_shape())}"
        )


def verify_safe_value(value: Attribute | None, type: BufferType) -> None:
    """Raise unless `value` is an element of a buffer of this type."""
    if value is None:
        return
    actual = cast("IntegerAttr | FloatAttr", value).type
    if actual != type.element_type:
        raise VerifyException(
            f"safe_value has type '{actual}' but the elements are '{type.element_type}'"
        )


def _space_name(space: Space | None) -> str:
    return "no" if space is None else space.value


def as_buffer(value: SSAValue) -> BufferType:
    """The type of a value that is known to be a buffer."""
    assert isinstance(value.type, MemRefType)
    return value.type
