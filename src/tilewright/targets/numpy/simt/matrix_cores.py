"""AMD's matrix instructions: operands and accumulators in the registers of a wave.

Which element a register holds comes from `layouts/hardware`. Where lanes hold copies of an operand
(gfx11), the copies have to agree: which of them the hardware takes is not documented.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from xdsl.ir import Operation

from tilewright.dialects.amd.ops import MatrixCoreOp, matrix_core
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.hardware.matrix_core import MatrixCore
from tilewright.targets.numpy.simt.mma import multiply
from tilewright.targets.numpy.simt.program import Act, Compiler, Rule
from tilewright.targets.numpy.simt.state import Frame


def _maps(fragment: Fragment) -> list[tuple[Any, Any]]:
    """Thread and register of each element, copy by copy."""
    points = np.indices(fragment.shape)
    register = np.broadcast_to(fragment.index(*points), fragment.shape)
    return [
        (np.broadcast_to(fragment.thread_of(*points, replica=copy), fragment.shape), register)
        for copy in range(fragment.replicas)
    ]


@cache
def _core_maps(core: MatrixCore) -> tuple[list[tuple[Any, Any]], ...]:
    return _maps(core.a()), _maps(core.b()), _maps(core.c())


def _bits(values: Any) -> Any:
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def _matrix_core(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, MatrixCoreOp)
    buffers = compiler.all_slots((op.a, op.b, op.c))
    indices = compiler.all_slots((op.a_index, op.b_index, op.c_index))
    maps = _core_maps(matrix_core(op.instruction()))
    counts, lanes, unsigned = op.registers(), compiler.warp_size, op.unsigned

    def act(frame: Frame) -> None:
        warps = len(frame.whole_warps(op.name))
        held = [frame.env[each] for each in buffers]
        values: list[Any] = []
        for buffer, index, count in zip(held, indices, counts, strict=True):
            where = buffer.fragment(frame, frame.env[index], count)
            values.append(buffer.data[where].reshape(warps, lanes, count))
        a, b, c = (_gathered(frame, value, each) for value, each in zip(values, maps, strict=True))
        a, b = (
            _bits(each) if is_unsigned else each
            for each, is_unsigned in zip((a, b), unsigned, strict=True)
        )
        ((thread, register),) = maps[2]
        values[2][:, thread, register] = multiply(a, b, c)
        where = held[2].fragment(frame, frame.env[indices[2]], counts[2], writes=True)
        held[2].data[where] = values[2].reshape(warps * lanes, counts[2])

    def _gathered(frame: Frame, value: Any, copies: list[tuple[Any, Any]]) -> Any:
        found, *others = (value[:, thread, register] for thread, register in copies)
        for other in others:
            if (_bits(found) != _bits(other)).any():
                raise frame.problem(
                    "divergent", f"lanes of a wave hold different copies of an operand of {op.name}"
                )
        return found

    return act


RULES: Mapping[str, Rule] = {"amd.mfma": _matrix_core, "amd.wmma": _matrix_core}
