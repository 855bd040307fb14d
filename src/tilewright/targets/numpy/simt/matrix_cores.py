"""AMD's matrix instructions: operands and accumulators in the registers of a wave.

Which element a register holds comes from `layouts/hardware`; the MMA is in float32 (or int32).
Where lanes hold copies of an operand (gfx11), the copies have to agree: the hardware reads both.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from xdsl.ir import Operation

from tilewright.dialects.amd.exchange import ROW, WAVE, InterleaveOp
from tilewright.dialects.amd.matrix import MatrixCoreOp, MfmaOp, matrix_core
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.hardware.matrix_core import MatrixCore
from tilewright.targets.numpy.simt.mma import multiply
from tilewright.targets.numpy.simt.program import Act, Compiler, Rule
from tilewright.targets.numpy.simt.state import Frame

_XF32_DROPPED_BITS = 13
"""Of the mantissa of float32, which xf32 reads to 10 bits."""


def _map(fragment: Fragment) -> tuple[Any, Any]:
    """Lane and register of each element; of several that hold it, the first lane."""
    rows, columns = np.indices(fragment.shape)
    lane = np.broadcast_to(fragment.thread_of(rows, columns), fragment.shape)
    return lane, np.broadcast_to(fragment.register_of(rows, columns), fragment.shape)


@cache
def _maps(core: MatrixCore) -> tuple[tuple[Any, Any], ...]:
    return _map(core.a()), _map(core.b()), _map(core.c())


def _check_copies(frame: Frame, core: MatrixCore, name: str, values: Any) -> None:
    """Lanes that hold the same elements must have the same bits: the hardware reads both."""
    groups = values.reshape(len(values), core.copies, -1, values.shape[-1])
    bits = groups.view(np.dtype(f"u{values.dtype.itemsize}"))
    if (bits != bits[:, :1]).any():
        raise frame.problem(
            "divergent",
            f"'{name}' differs between lanes {core.wave // core.copies} apart, "
            "which hold the same elements of the operand",
        )


def _truncated(values: Any) -> Any:
    """Float32 as xf32 reads it: the low bits of the mantissa are dropped."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    return (bits >> _XF32_DROPPED_BITS << _XF32_DROPPED_BITS).view(np.float32)


def _matrix(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, MatrixCoreOp)
    buffers = compiler.all_slots((op.a, op.b, op.c))
    indices = compiler.all_slots((op.a_index, op.b_index, op.c_index))
    core, counts = matrix_core(op.instruction()), op.registers()
    maps, unsigned = _maps(core), op.unsigned
    is_xf32 = isinstance(op, MfmaOp) and op.xf32 is not None

    def act(frame: Frame) -> None:
        waves = len(frame.whole_warps(op.name))
        if len(frame.active_tids) != waves * core.wave:
            raise frame.problem(
                "divergent", f"{op.name} needs waves of {core.wave} threads, the last one has fewer"
            )
        held = [frame.env[each] for each in buffers]
        values: list[Any] = []
        for buffer, index, count in zip(held, indices, counts, strict=True):
            where = buffer.fragment(frame, frame.env[index], count)
            values.append(buffer.data[where].reshape(waves, core.wave, count))
        if core.copies > 1 and frame.block.options.checked:
            for buffer, each in zip(held[:2], values[:2], strict=True):
                _check_copies(frame, core, buffer.name, each)
        a, b, c = (
            each[:, lane, register] for each, (lane, register) in zip(values, maps, strict=True)
        )
        a, b = (
            np.ascontiguousarray(each).view(np.uint8) if is_unsigned else each
            for each, is_unsigned in zip((a, b), unsigned, strict=True)
        )
        if is_xf32:
            a, b = _truncated(a), _truncated(b)
        lane, register = maps[2]
        values[2][:, lane, register] = multiply(a, b, c)
        where = held[2].fragment(frame, frame.env[indices[2]], counts[2], writes=True)
        held[2].data[where] = values[2].reshape(waves * core.wave, counts[2])

    return act


def _interleave(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, InterleaveOp)
    source, target = compiler.slot(op.src), compiler.slot(op.dst)
    (at,), (to,) = compiler.all_slots(op.src_indices), compiler.all_slots(op.dst_indices)
    count = op.width

    def act(frame: Frame) -> None:
        waves = len(frame.whole_warps(op.name))
        if len(frame.active_tids) != waves * WAVE:
            raise frame.problem(
                "divergent", f"{op.name} needs waves of {WAVE} threads, the last one has fewer"
            )
        src, dst = frame.env[source], frame.env[target]
        own = src.data[src.fragment(frame, frame.env[at], count)].reshape(waves, 2, ROW, count)
        both = np.stack([own[:, 0], own[:, 1]], axis=-1).reshape(waves, 1, ROW, 2 * count)
        where = dst.fragment(frame, frame.env[to], 2 * count, writes=True)
        dst.data[where] = np.broadcast_to(both, (waves, 2, ROW, 2 * count)).reshape(-1, 2 * count)

    return act


RULES: Mapping[str, Rule] = {
    "amd.mfma": _matrix,
    "amd.wmma": _matrix,
    "amd.interleave": _interleave,
}
