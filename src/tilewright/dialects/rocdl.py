"""``rocdl``: single instructions of AMD GPUs, the few that occur above code generation.

They control the scheduler of the hardware or of the downstream compiler. The mask of a scheduling
barrier selects the kinds of instructions that may pass it; Triton 3.9 writes it as keywords,
releases before as a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, i16
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def

from tilewright.dialects.members import dialect_of
from tilewright.dialects.tt.base import i32_attr, i32_prop
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter
from tilewright.ir.text.syntax import AttributeSyntax, Integer

NONE, ALL = "none", "all"
MASK_BITS = (
    "non_mem_non_sideeffect",
    "valu",
    "salu",
    "mfma_wmma",
    "all_vmem",
    "vmem_read",
    "vmem_write",
    "all_ds",
    "ds_read",
    "ds_write",
    "transcendental",
    "ldsdma",
)
"""The kinds of instructions, from the lowest bit of the mask on."""

_VALUES: Mapping[str, int] = {
    NONE: 0,
    ALL: (1 << len(MASK_BITS)) - 1,
    **{keyword: 1 << bit for bit, keyword in enumerate(MASK_BITS)},
}


def mask_keywords(mask: int) -> str:
    """``valu|salu``"""
    if mask in (_VALUES[NONE], _VALUES[ALL]):
        return NONE if mask == _VALUES[NONE] else ALL
    return "|".join(keyword for keyword in MASK_BITS if mask & _VALUES[keyword])


@dataclass(frozen=True)
class _Mask(AttributeSyntax):
    """A mask as keywords or as a number."""

    @override
    def parse(self, parser: IRParser) -> Attribute:
        value = parser.parse_optional_integer(allow_boolean=False)
        if value is not None:
            return i32_attr(value)
        mask = parser.parse_keyword_from(dict(_VALUES))
        while parser.parse_optional_characters("|") is not None:
            mask |= parser.parse_keyword_from(dict(_VALUES))
        return i32_attr(mask)

    @override
    def print(self, attribute: Any, printer: IRPrinter) -> None:
        mask: int = attribute.value.data
        is_known = 0 <= mask <= _VALUES[ALL]
        prints_keywords = is_known and printer.flavour.at_least(3, 9) and not printer.flavour.is_tlx
        printer.print_string(mask_keywords(mask) if prints_keywords else str(mask))


MASK = _Mask()


@irdl_op_definition
class SchedBarrierOp(AsmOp):
    """No instruction moves past this point, except those of the kinds in the mask."""

    name = "rocdl.sched.barrier"
    mask = i32_prop()

    ASM: ClassVar[str] = "$mask attr-dict"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"mask": MASK}

    def __init__(self, mask: int = 0) -> None:
        super().__init__(properties={"mask": i32_attr(mask)})


@irdl_op_definition
class SchedGroupBarrierOp(AsmOp):
    """Requests `size` instructions of the kinds in the mask to be scheduled together here."""

    name = "rocdl.sched.group.barrier"
    mask = i32_prop()
    size = i32_prop()
    group_id = i32_prop(name="groupId")

    ASM: ClassVar[str] = "$mask `,` $size `,` $groupId attr-dict"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"mask": MASK}


@irdl_op_definition
class SSetPrioOp(AsmOp):
    """The priority of this wave, 0 to 3."""

    name = "rocdl.s.setprio"
    priority = prop_def(IntegerAttr.constr(type=i16))

    ASM: ClassVar[str] = "$priority attr-dict"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"priority": Integer(i16)}


@irdl_op_definition
class BarrierOp(AsmOp):
    """Barrier across all waves of the workgroup, with their memory accesses done."""

    name = "rocdl.barrier"

    ASM: ClassVar[str] = "attr-dict"


@irdl_op_definition
class SBarrierOp(AsmOp):
    """Barrier across all waves of the workgroup; no memory fence."""

    name = "rocdl.s.barrier"

    ASM: ClassVar[str] = "attr-dict"


@irdl_op_definition
class SWaitcntOp(AsmOp):
    """Waits until counters of unfinished accesses are down to the numbers coded in `bitfield`."""

    name = "rocdl.s.waitcnt"
    bitfield = i32_prop()

    ASM: ClassVar[str] = "$bitfield attr-dict"


@irdl_op_definition
class IglpOptOp(AsmOp):
    """Selects one of the compiler's own schedules for this block."""

    name = "rocdl.iglp.opt"
    variant = i32_prop()

    ASM: ClassVar[str] = "$variant attr-dict"


Rocdl = dialect_of("rocdl", globals())

__all__ = [
    "BarrierOp",
    "IglpOptOp",
    "Rocdl",
    "SBarrierOp",
    "SSetPrioOp",
    "SWaitcntOp",
    "SchedBarrierOp",
    "SchedGroupBarrierOp",
    "mask_keywords",
]
