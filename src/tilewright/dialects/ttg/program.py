"""Ops about the running program rather than its data: barriers, clocks, scratch, assembly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from tilewright.dialects.tt.base import Operand, bool_prop, i32_prop, string_prop, unit_prop
from tilewright.dialects.tt.constraints import PTR, STRING_ATTR, VALUE
from tilewright.dialects.tt.traits import PureIfMarked
from tilewright.dialects.ttg.base import ttg_traits
from tilewright.dialects.ttg.effects import GlobalAllocation, ReadsAndWritesAnything
from tilewright.dialects.ttg.types import MEMDESC
from tilewright.ir.constraints import Satisfies, either
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

ADDRESS_SPACES = {
    "none": 0,
    "local": 1,
    "global_read": 2,
    "global_write": 4,
    "tensor_read": 8,
    "tensor_write": 16,
}
"""What a barrier makes visible, as bits."""
ALL_SPACES = 31

_SPACE_KEYWORDS = ADDRESS_SPACES | {"all": ALL_SPACES}


def _is_address_space(attribute: Attribute) -> bool:
    return (
        isinstance(attribute, IntegerAttr)
        and attribute.type == i32
        and 0 <= attribute.value.data <= ALL_SPACES
    )


_ADDRESS_SPACE = Satisfies("", _is_address_space, (IntegerAttr,))


@irdl_op_definition
class BarrierOp(AsmOp):
    """Barrier of all threads of the CTA; accesses to the named memory spaces are visible after.

    Written as keywords with bars between: ``ttg.barrier local|global_read``.
    """

    name = "ttg.barrier"
    addr_space = cast("IntegerAttr", prop_def(_ADDRESS_SPACE, prop_name="addrSpace"))
    traits = ttg_traits()

    def __init__(self, spaces: int) -> None:
        super().__init__(properties={"addrSpace": IntegerAttr(spaces, i32)})

    @property
    def spaces(self) -> int:
        """The memory spaces, as bits."""
        return self.addr_space.value.data

    @classmethod
    @override
    def parse(cls, parser: IRParser) -> BarrierOp:
        spaces = _parse_space(parser)
        while parser.parse_optional_characters("|") is not None:
            spaces |= _parse_space(parser)
        return cls(spaces)

    @override
    def print(self, printer: IRPrinter) -> None:
        spaces = self.spaces
        keywords = [keyword for keyword, bit in ADDRESS_SPACES.items() if bit & spaces]
        if spaces == ALL_SPACES:
            keywords = ["all"]
        printer.print_string(" " + ("|".join(keywords) or "none"))


def _parse_space(parser: IRParser) -> int:
    keyword = parser.next_text
    if keyword not in _SPACE_KEYWORDS:
        parser.raise_error(f"unknown addrSpace '{keyword}'")
    return parser.parse_keyword_from(_SPACE_KEYWORDS)


@irdl_op_definition
class LocalBarrierOp(AsmOp):
    """Barrier of all threads of the CTA for shared memory; 3.6 has no other barrier."""

    name = "ttg.local_barrier"
    traits = ttg_traits()

    ASM: ClassVar[str] = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class Clock64Op(AsmOp):
    """The cycle counter of the multiprocessor, now. TLX only."""

    name = "ttg.clock64"
    result = result_def(i64)
    traits = ttg_traits(ReadsAndWritesAnything())

    ASM: ClassVar[str] = "attr-dict"

    def __init__(self) -> None:
        super().__init__(result_types=[i64])


@irdl_op_definition
class WarpIdOp(AsmOp):
    """The number of this thread's warp within the CTA."""

    name = "ttg.warp_id"
    omit_uniform_hint = unit_prop(name="omitUniformHint")
    result = result_def(i32)
    traits = ttg_traits(Pure())

    ASM: ClassVar[str] = "attr-dict"

    def __init__(self, *, omit_uniform_hint: bool = False) -> None:
        mark = UnitAttr() if omit_uniform_hint else None
        super().__init__(result_types=[i32], properties={"omitUniformHint": mark})


@irdl_op_definition
class GlobalScratchAllocOp(AsmOp):
    """Global memory of this program's own.

    Tools may serve the allocation: the release decides between the name of a `backend` (3.7) and
    marks (3.8 and later).
    """

    name = "ttg.global_scratch_alloc"
    nbytes = i32_prop()
    alignment = i32_prop()
    backend = cast("StringAttr | None", opt_prop_def(STRING_ATTR))
    third_party_allocation = unit_prop()
    shared_cluster_state = unit_prop()
    result = result_def(PTR)
    traits = ttg_traits(GlobalAllocation())

    ASM: ClassVar[str] = "attr-dict `:` type($result)"

    def __init__(self, nbytes: int, alignment: int, type: Attribute) -> None:
        super().__init__(
            result_types=[type],
            properties={
                "nbytes": IntegerAttr(nbytes, i32),
                "alignment": IntegerAttr(alignment, i32),
            },
        )


@irdl_op_definition
class InlineAsmOp(AsmOp):
    """Assembly that every thread runs once; unless `pure`, it may do anything. Since 3.9."""

    name = "ttg.inline_asm"
    args = var_operand_def(either(VALUE, MEMDESC))
    asm_string = string_prop()
    constraints = string_prop()
    pure = bool_prop()
    result = var_result_def(VALUE)
    traits = ttg_traits(PureIfMarked())

    ASM: ClassVar[str] = "$asm_string attr-dict ($args^)? `:` functional-type(operands, results)"

    def __init__(
        self,
        asm_string: str,
        constraints: str,
        args: Sequence[Operand],
        types: Sequence[Attribute],
        *,
        pure: bool,
    ) -> None:
        super().__init__(
            operands=[args],
            result_types=[types],
            properties={
                "asm_string": StringAttr(asm_string),
                "constraints": StringAttr(constraints),
                "pure": IntegerAttr.from_bool(pure),
            },
        )
