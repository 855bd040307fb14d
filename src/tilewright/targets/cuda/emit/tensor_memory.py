"""Tensor memory and the MMAs into it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.nv.launch_control import ClcQueryOp, ClcTryCancelOp
from tilewright.dialects.nv.tcgen05 import (
    BLOCK_SCALED,
    Tcgen05CommitOp,
    Tcgen05FenceOp,
    Tcgen05MatrixOp,
    Tcgen05MmaOp,
)
from tilewright.dialects.nv.tensor_memory import (
    Tcgen05AllocOp,
    Tcgen05CpOp,
    Tcgen05DeallocOp,
    Tcgen05LdOp,
    Tcgen05RelinquishOp,
    Tcgen05StOp,
    Tcgen05WaitLdOp,
)
from tilewright.dialects.type_utils import bit_width, element_type_of, num_elements
from tilewright.layouts.hardware.tcgen05 import InstructionDescriptor
from tilewright.targets.cuda.emit.nv_ops import accumulator, ptx_type
from tilewright.targets.cuda.header.tensor_memory import (
    copy_function,
    load_function,
    mma_function,
    store_function,
)
from tilewright.targets.cxx.emitter import ATOM, SUM, Emitter, Rule, Text
from tilewright.targets.cxx.memory import address

_REGISTER_BITS = 32


def _suffix(group: int) -> str:
    return "_pair" if group == 2 else ""


def _plain(function: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        emitter.statement(f"{emitter.call(function, [])};")

    return rule


def _alloc(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Tcgen05AllocOp)
    arguments = [address(emitter, op.slot, op.index), str(op.columns.value.data)]
    function = f"tensor_alloc{_suffix(op.group.value.data)}"
    emitter.statement(f"{emitter.call(function, arguments)};")


def _dealloc(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Tcgen05DeallocOp)
    arguments = [emitter.operand(op.address), str(op.columns.value.data)]
    function = f"tensor_dealloc{_suffix(op.group.value.data)}"
    emitter.statement(f"{emitter.call(function, arguments)};")


def _relinquish(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Tcgen05RelinquishOp)
    emitter.statement(f"{emitter.call(f'tensor_relinquish{_suffix(op.group.value.data)}', [])};")


def _commit(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Tcgen05CommitOp)
    arguments = [address(emitter, op.barrier, op.index)]
    function = "tensor_commit"
    if op.multicast is not None:
        function += "_multicast"
        arguments.append(emitter.operand(op.multicast))
    function += _suffix(op.group.value.data)
    emitter.statement(f"{emitter.call(function, arguments)};")


def _fence(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Tcgen05FenceOp)
    emitter.statement(f"{emitter.call(f'tensor_fence_{op.side.data}', [])};")


# -- moves -------------------------------------------------------------------------------------


def _ld(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Tcgen05LdOp)
    emitter.element(op.registers_buffer)
    name, text = load_function(
        op.shape.data, op.repeats.value.data, op.registers, pack16=op.pack16 is not None
    )
    emitter.uses.generated[name] = text
    to = address(emitter, op.registers_buffer, op.registers_index)
    emitter.statement(f"tw::{name}({to}, {emitter.operand(op.address)});")


def _st(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Tcgen05StOp)
    emitter.element(op.registers_buffer)
    name, text = store_function(
        op.shape.data, op.repeats.value.data, op.registers, unpack16=op.unpack16 is not None
    )
    emitter.uses.generated[name] = text
    source = address(emitter, op.registers_buffer, op.registers_index)
    emitter.statement(f"tw::{name}({emitter.operand(op.address)}, {source});")


def _wait_ld(emitter: Emitter, op: Operation) -> None:
    emitter.statement(f"{emitter.call('tensor_wait_load', [])};")
    for buffer in dict.fromkeys(_loaded(op)):
        emitter.uses.functions.setdefault("tensor_settle")
        bits = num_elements(buffer.type) * bit_width(element_type_of(buffer.type))
        count = bits // _REGISTER_BITS
        emitter.statement(f"tw::tensor_settle<{count}>({emitter.operand(buffer)});")


def _loaded(wait: Operation) -> Iterator[SSAValue]:
    """The registers that loads before a wait, and after the one before it, write."""
    op: Operation | None = wait
    while op is not None:
        before = op.prev_op
        if before is None:
            op = op.parent_op()
            continue
        op = before
        if isinstance(op, Tcgen05WaitLdOp):
            return
        yield from (each.registers_buffer for each in _unfinished(op))


def _unfinished(op: Operation) -> list[Tcgen05LdOp]:
    """The load that an op is, or the loads in it that no wait follows there."""
    if isinstance(op, Tcgen05LdOp):
        return [op]
    found: list[Tcgen05LdOp] = []
    for block in (block for region in op.regions for block in region.blocks):
        inside: list[Tcgen05LdOp] = []
        for each in block.ops:
            if isinstance(each, Tcgen05WaitLdOp):
                inside.clear()
            else:
                inside += _unfinished(each)
        found += inside
    return found


def _cp(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Tcgen05CpOp)
    name, text = copy_function(op.shape.data, op.group.value.data)
    emitter.uses.generated[name] = text
    arguments = f"{emitter.operand(op.address)}, {emitter.operand(op.src)}"
    emitter.statement(f"tw::{name}({arguments});")


# -- MMA ---------------------------------------------------------------------------------------


def _matrix(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Tcgen05MatrixOp)
    emitter.uses.functions.setdefault("tensor_descriptor")
    swizzle, leading, stride = (each.value.data for each in (op.swizzle, op.leading, op.stride))
    where = address(emitter, op.buffer, op.index)
    text = Text(f"tw::tensor_descriptor<{swizzle}, {leading}, {stride}>({where})", ATOM)
    if op.advance_bytes:  # addresses have 14 bits in units of 16 bytes, enough for all of them
        text = Text(f"{text.text} + {op.advance_bytes // 16}", SUM)
    emitter.pure(op.results[0], text)


def instruction_of(emitter: Emitter, op: Tcgen05MmaOp) -> InstructionDescriptor:
    """The descriptor of an MMA; scale ids are values and are not in it."""
    types: tuple[Attribute, ...] = (op.a_type, op.b_type)
    marks = (op.unsigned_a, op.unsigned_b)
    a, b = (ptx_type(emitter, type, mark) for type, mark in zip(types, marks, strict=True))
    return InstructionDescriptor(
        op.kind.data,
        op.mnk,
        (a, b, accumulator(op.d_type)),
        (op.transposed_a is not None, op.transposed_b is not None),
    )


def _mma(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Tcgen05MmaOp)
    kind = op.kind.data
    scaled = kind == BLOCK_SCALED
    name, text = mma_function(
        kind, op.group_size, in_tensor_memory=op.a_in_tensor_memory, scaled=scaled
    )
    emitter.uses.generated[name] = text
    instruction = f"0x{instruction_of(emitter, op).encode():08x}u"
    for value, shift in zip(op.scale_ids, (29, 4), strict=False):
        shown = emitter.operand(value, ATOM)
        instruction += f" | static_cast<unsigned>({shown}) << {shift}"
    arguments = [
        emitter.operand(op.d),
        emitter.operand(op.a),
        emitter.operand(op.b),
        instruction,
        "true" if op.use_acc is None else emitter.operand(op.use_acc),
        *(emitter.operand(each) for each in op.scales),
    ]
    emitter.statement(f"tw::{name}({', '.join(arguments)});")


# -- cluster launch control --------------------------------------------------------------------


def _try_cancel(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ClcTryCancelOp)
    function = "clc_try_cancel" if op.multicast is None else "clc_try_cancel_multicast"
    arguments = [
        address(emitter, op.result_buffer, op.result_index),
        address(emitter, op.barrier, op.barrier_index),
    ]
    emitter.statement(f"{emitter.call(function, arguments)};")


def _query(emitter: Emitter, op: Operation) -> None:
    """All fields in one variable: the response is read once."""
    assert isinstance(op, ClcQueryOp)
    where = address(emitter, op.result_buffer, op.result_index)
    response = emitter.names.take("response", "response")
    emitter.statement(f"const int4 {response} = {emitter.call('clc_query', [where])};")
    emitter.define(op.taken, Text(f"({response}.x != 0)", ATOM))
    for result, name in zip((op.x, op.y, op.z), "yzw", strict=True):
        emitter.define(result, Text(f"{response}.{name}", ATOM))


RULES: Mapping[str, Rule] = {
    "nv.clc.try_cancel": _try_cancel,
    "nv.clc.query": _query,
    "nv.tcgen05.alloc": _alloc,
    "nv.tcgen05.dealloc": _dealloc,
    "nv.tcgen05.relinquish": _relinquish,
    "nv.tcgen05.commit": _commit,
    "nv.tcgen05.fence": _fence,
    "nv.tcgen05.ld": _ld,
    "nv.tcgen05.st": _st,
    "nv.tcgen05.wait_ld": _wait_ld,
    "nv.tcgen05.wait_st": _plain("tensor_wait_store"),
    "nv.tcgen05.cp": _cp,
    "nv.tcgen05.matrix": _matrix,
    "nv.tcgen05.mma": _mma,
}
