"""Circular buffers: the only way in which the kernels of a core exchange data.

    %c0 = tensix.cb 0 "A" : !tensix.cb<2 x 2048, bf16>
    tensix.cb_reserve %c0, %n : !tensix.cb<2 x 2048, bf16>      blocks until n pages are free
    tensix.cb_push %c0, %n : !tensix.cb<2 x 2048, bf16>         makes n pages visible
    tensix.cb_wait %c0, %n : !tensix.cb<2 x 2048, bf16>         blocks until n pages are there
    tensix.cb_pop %c0, %n : !tensix.cb<2 x 2048, bf16>          frees n pages
    %w = tensix.cb_write_ptr %c0 : !tensix.cb<2 x 2048, bf16>   L1 address of the next free page

Each buffer has one producer and one consumer kernel. Waits are cumulative until a pop, reserves are
not. Pointers wrap exactly at the end: a sufficient condition is that all block sizes of a buffer
divide its page count.
"""

from __future__ import annotations

from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tensix.base import DATA_MOVEMENT, TensixOp, cb_type, verify_page_count
from tilewright.dialects.tensix.formats import Format
from tilewright.dialects.tensix.types import CB, CBType, Role
from tilewright.dialects.tile.base import (
    KeywordSyntax,
    Operand,
    given,
    integer_attr,
    integer_prop,
    keyword_prop,
    opt_string_prop,
    string,
)
from tilewright.dialects.tile.mixed import INDEX

MAX_CB_INDEX = 63
"""The largest index that any target has; ``verify_tt`` checks the limit of the target."""


@irdl_op_definition
class CBOp(TensixOp):
    """A circular buffer of the program, by its index."""

    name = "tensix.cb"

    position = integer_prop()
    label = opt_string_prop()
    """The name under which the plan lists the buffer."""
    result = result_def(CB)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$position ($label^)? attr-dict `:` type($result)"

    def __init__(self, index: int, type: CBType, label: str | None = None) -> None:
        super().__init__(
            result_types=[type],
            properties=given(position=integer_attr(index), label=string(label)),
        )

    @property
    def index(self) -> int:
        return self.position.value.data

    def asm_result_names(self) -> list[str]:
        return [f"cb{self.index}"]

    @property
    def type(self) -> CBType:
        return cb_type(self.result)

    @override
    def verify_(self) -> None:
        super().verify_()
        if not 0 <= self.index <= MAX_CB_INDEX:
            raise VerifyException(f"circular buffer index must be 0 to {MAX_CB_INDEX}")


def cb_index(value: SSAValue) -> int | None:
    """The index of the circular buffer that a value denotes, in a split kernel."""
    return value.owner.index if isinstance(value.owner, CBOp) else None


class CBCountOp(TensixOp):
    """Base of the four calls that count pages."""

    cb = operand_def(CB)
    pages = operand_def(INDEX)

    ASM: ClassVar[str] = "$cb `,` $pages attr-dict `:` type($cb)"

    def __init__(self, cb: Operand, pages: Operand) -> None:
        super().__init__(operands=[cb, pages])

    @override
    def verify_(self) -> None:
        super().verify_()
        verify_page_count(self.cb, self.pages)


@irdl_op_definition
class CBReserveOp(CBCountOp):
    """Blocks until `pages` pages are free."""

    name = "tensix.cb_reserve"


@irdl_op_definition
class CBPushOp(CBCountOp):
    """Makes `pages` written pages visible to the consumer."""

    name = "tensix.cb_push"


@irdl_op_definition
class CBWaitOp(CBCountOp):
    """Blocks until `pages` pages have been pushed and not popped."""

    name = "tensix.cb_wait"


@irdl_op_definition
class CBPopOp(CBCountOp):
    """Frees the oldest `pages` pages."""

    name = "tensix.cb_pop"


class CBPointerOp(TensixOp):
    """Base of the two pointers, which are private to each processor."""

    ROLES: ClassVar[tuple[Role, ...]] = DATA_MOVEMENT

    cb = operand_def(CB)
    result = result_def(INDEX)

    ASM: ClassVar[str] = "$cb attr-dict `:` type($cb)"

    def __init__(self, cb: Operand) -> None:
        super().__init__(operands=[cb], result_types=[INDEX])


@irdl_op_definition
class CBWritePtrOp(CBPointerOp):
    """The L1 address of the page that the next push begins with."""

    name = "tensix.cb_write_ptr"


@irdl_op_definition
class CBReadPtrOp(CBPointerOp):
    """The L1 address of the oldest page."""

    name = "tensix.cb_read_ptr"


PATTERNS = KeywordSyntax(
    (
        *("constant", "scaler", "columns_below", "rows_below", "triangle_below"),
        *("row_index", "column_index"),
    )
)


@irdl_op_definition
class FillPageOp(TensixOp):
    """Stores one tile of known contents at an L1 address, element by element.

    ``constant``: the value everywhere. ``scaler``: in the first row of each face, 0 elsewhere, as
    `tensix.reduce` expects. ``columns_below`` and ``rows_below``: in columns (rows) smaller than
    `limit`, 0 elsewhere. ``triangle_below``: in columns smaller than the row plus `limit`, which
    may be negative. ``row_index`` and ``column_index``: the row (column) plus `limit`, an integer.
    """

    name = "tensix.fill_page"
    ROLES: ClassVar[tuple[Role, ...]] = DATA_MOVEMENT

    pattern = keyword_prop(PATTERNS)
    format_name = keyword_prop(KeywordSyntax(tuple(format.value for format in Format)))
    bits = integer_prop()
    """The fp32 bit pattern of the value."""
    l1 = operand_def(INDEX)
    limit = operand_def(INDEX)

    ASM: ClassVar[str] = (
        "$pattern `bits` `(` $bits `)` `format` `(` $format_name `)` $l1 `,` $limit attr-dict"
    )

    def __init__(
        self, pattern: str, l1: Operand, limit: Operand, format: Format | str, bits: int
    ) -> None:
        """`limit` is read by ``columns_below``, ``rows_below`` and ``triangle_below`` only."""
        super().__init__(
            operands=[l1, limit],
            properties=given(
                pattern=StringAttr(pattern),
                format_name=StringAttr(Format(format).value),
                bits=integer_attr(bits),
            ),
        )

    @property
    def tile_format(self) -> Format:
        return Format(self.format_name.data)

    @property
    def value_bits(self) -> int:
        return self.bits.value.data
