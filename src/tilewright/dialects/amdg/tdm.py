"""The tensor data mover of gfx1250: copies of blocks by descriptor.

The position of a block in the tensor is part of the descriptor since Triton 3.8; an op moves it::

    %d2 = amdg.update_tensor_descriptor %d add_offsets = [%i, %j] : D
    %t = amdg.async_tdm_copy_global_to_local %d2 into %buf : D -> M

Before, the copy had the coordinates and a predicate: ``%d[%i, %j] into %buf, %p``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from tilewright.dialects.tt.base import Operand, bool_prop, i32_attr, i32_prop, ints_prop, unit_prop
from tilewright.dialects.tt.constraints import DESC
from tilewright.dialects.ttg.types import MEMDESC, TOKEN_TYPE
from tilewright.dialects.ttng.effects import AccessEffect
from tilewright.dialects.ttng.text import opt_i32_prop
from tilewright.ir.text.assembly import AsmOp, Directive, TypeRule
from tilewright.ir.text.elements import ParseState
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

_SEGMENTS = (AttrSizedOperandSegments(as_property=True),)
_TOKEN: Mapping[str, TypeRule] = {
    "token": TypeRule("the result is a token", lambda types: TOKEN_TYPE)
}


def _parse_signals(parser: IRParser, state: ParseState) -> bool:
    """``, %pred, barrier = %bar``, both optional."""
    state.operands["pred"] = []
    state.operands["barrier"] = []
    while parser.parse_optional_characters(",") is not None:
        name = "pred"
        if parser.next_text == "barrier":
            name = "barrier"
            parser.parse_keyword("barrier")
            parser.parse_punctuation("=")
        state.operands[name] = [parser.parse_unresolved_operand("expected SSA operand")]
    state.types["pred"] = (i32,) * len(state.operands["pred"])
    if not state.operands["barrier"]:
        state.types["barrier"] = ()
    return True


def _print_signals(printer: IRPrinter, op: Any) -> None:
    if op.pred is not None:
        printer.print_string(", ")
        printer.print_operand(op.pred)
    if op.barrier is not None:
        printer.print_string(", barrier = ")
        printer.print_operand(op.barrier)


def _parse_store_signals(parser: IRParser, state: ParseState) -> bool:
    # Since 3.9 a store returns a token, of which its text does not speak.
    state.types["token"] = (TOKEN_TYPE,) * parser.num_named_results
    return _parse_signals(parser, state)


@irdl_op_definition
class UpdateTensorDescriptorOp(AsmOp):
    """A descriptor moved by `add_offsets`, with other bounds, or made to do nothing."""

    name = "amdg.update_tensor_descriptor"
    desc = operand_def(DESC)
    add_offsets = var_operand_def(i32)
    set_bounds = var_operand_def(i32)
    pred = opt_operand_def(i32)
    clamp_bounds = unit_prop()
    result = result_def(DESC)
    irdl_options = _SEGMENTS
    traits = traits_def(Pure())

    ASM: ClassVar[str] = (
        "$desc (`add_offsets` `=` `[` $add_offsets^ `]`)? (`set_bounds` `=` `[` $set_bounds^ `]`)? "
        "(`pred` `=` $pred^)? attr-dict `:` type($result)"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "desc": TypeRule("result and desc have the same type", lambda types: types["result"])
    }

    def __init__(
        self,
        desc: Operand,
        add_offsets: Sequence[Operand] = (),
        set_bounds: Sequence[Operand] = (),
        pred: Operand | None = None,
    ) -> None:
        value = SSAValue.get(desc)
        super().__init__(operands=[value, add_offsets, set_bounds, pred], result_types=[value.type])


@irdl_op_definition
class AsyncTDMCopyGlobalToLocalOp(AsmOp):
    """Copies a block to shared memory."""

    name = "amdg.async_tdm_copy_global_to_local"
    desc = operand_def(DESC)
    indices = var_operand_def(i32)
    result = operand_def(MEMDESC)
    pred = opt_operand_def(i32)
    barrier = opt_operand_def(MEMDESC)
    cache = opt_i32_prop()
    warp_used_hint = opt_i32_prop()
    token = result_def(TOKEN_TYPE)
    irdl_options = _SEGMENTS
    traits = traits_def(AccessEffect(reads=("desc",), writes=("result", "barrier")))

    ASM: ClassVar[str] = (
        "$desc (`[` $indices^ `]`)? `into` $result `` custom<Signals>() attr-dict "
        "`:` type($desc) (`,` type($barrier)^)? `->` type($result)"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Signals": Directive(_parse_signals, _print_signals)
    }

    def __init__(self, desc: Operand, result: Operand, barrier: Operand | None = None) -> None:
        super().__init__(operands=[desc, (), result, None, barrier], result_types=[TOKEN_TYPE])


@irdl_op_definition
class AsyncTDMFusedCopyGlobalToLocalOp(AsmOp):
    """Copies several blocks to shared memory, each by the warps in its hint."""

    name = "amdg.async_tdm_fused_copy_global_to_local"
    descs = var_operand_def(DESC)
    results_ = var_operand_def(MEMDESC)
    barrier = opt_operand_def(MEMDESC)
    warp_used_hints = ints_prop()
    token = result_def(TOKEN_TYPE)
    irdl_options = _SEGMENTS
    traits = traits_def(AccessEffect(reads=("descs",), writes=("results_", "barrier")))

    ASM: ClassVar[str] = "$descs `into` $results_ attr-dict `:` type($descs) `->` type($results_)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = _TOKEN


@irdl_op_definition
class AsyncTDMCopyLocalToGlobalOp(AsmOp):
    """Copies a block from shared memory."""

    name = "amdg.async_tdm_copy_local_to_global"
    desc = operand_def(DESC)
    indices = var_operand_def(i32)
    src = operand_def(MEMDESC)
    pred = opt_operand_def(i32)
    barrier = opt_operand_def(MEMDESC)
    token = opt_result_def(TOKEN_TYPE)
    irdl_options = _SEGMENTS
    traits = traits_def(AccessEffect(reads=("src",), writes=("desc", "barrier")))

    ASM: ClassVar[str] = (
        "$desc (`[` $indices^ `]`)? `from` $src `` custom<Signals>() attr-dict "
        "`:` type($src) (`,` type($barrier)^)? `->` type($desc)"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Signals": Directive(_parse_store_signals, _print_signals)
    }

    def __init__(self, desc: Operand, src: Operand, barrier: Operand | None = None) -> None:
        super().__init__(operands=[desc, (), src, None, barrier], result_types=[TOKEN_TYPE])


@irdl_op_definition
class AsyncTDMWaitOp(AsmOp):
    """Waits until at most `num` copies are unfinished."""

    name = "amdg.async_tdm_wait"
    async_token = var_operand_def(TOKEN_TYPE)
    num = i32_prop()
    token = result_def(TOKEN_TYPE)

    ASM: ClassVar[str] = "$async_token attr-dict"

    def __init__(self, num: int, tokens: Sequence[Operand] = ()) -> None:
        super().__init__(
            operands=[tokens], result_types=[TOKEN_TYPE], properties={"num": i32_attr(num)}
        )


@irdl_op_definition
class TDMPrefetchOp(AsmOp):
    """Prefetches a block into the L2 cache; a `speculative` one may be wrong about the address."""

    name = "amdg.tdm_prefetch"
    desc = operand_def(DESC)
    indices = var_operand_def(i32)
    pred = operand_def(i1)
    speculative = bool_prop()
    traits = traits_def(AccessEffect(reads=("desc",), writes=("desc",)))

    ASM: ClassVar[str] = (
        "$desc `[` $indices `]` `,` $pred `,` `speculative` `=` $speculative attr-dict "
        "`:` type($desc)"
    )
