"""Cluster launch control: clusters that have not run yet are given to one that requests them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.ir import Operation

from tilewright.dialects.nv.launch_control import RESPONSE_ELEMENTS, ClcQueryOp, ClcTryCancelOp
from tilewright.targets.numpy.simt.buffers import SharedBuffer
from tilewright.targets.numpy.simt.copies import send_elements, start_load, target_barrier
from tilewright.targets.numpy.simt.program import Act, Compiler, Rule
from tilewright.targets.numpy.simt.state import Frame

_ALIGN_BYTES = 16


def _start(frame: Frame, held: SharedBuffer, index: int) -> int:
    start = int(held.address(index))
    if start % _ALIGN_BYTES:
        raise frame.problem(
            "misaligned",
            f"the response at {held.name}[{index}] is not at a multiple of {_ALIGN_BYTES} bytes",
        )
    if not 0 <= index <= held.size - RESPONSE_ELEMENTS:
        raise frame.problem(
            "out of bounds",
            f"the response at {held.name}[{index}] needs {RESPONSE_ELEMENTS} elements, "
            f"but '{held.name}' has {held.size} elements",
        )
    return start


def _try_cancel(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, ClcTryCancelOp)
    result, at = compiler.slot(op.result_buffer), compiler.slot(op.result_index)
    barrier, index = compiler.slot(op.barrier), compiler.slot(op.barrier_index)
    is_multicast = op.multicast is not None

    def act(frame: Frame) -> None:
        leader = frame.leader(op.name)
        arrived = target_barrier(frame, barrier, index, leader)
        start = _start(frame, frame.env[result], int(frame.wide(frame.env[at])[leader]))
        taken = frame.block.take_cluster()
        response = np.zeros(RESPONSE_ELEMENTS, np.int32)
        if taken is not None:
            response[:] = (1, *taken)
        addresses = start + 4 * np.arange(RESPONSE_ELEMENTS)
        slot = int(frame.wide(frame.env[index])[leader])
        if is_multicast:
            send_elements(frame, op, addresses, response, leader, (frame.env[barrier], slot))
            return

        def load(arena: Any = frame.block.arena) -> None:
            arena.view(np.int32)[addresses // 4] = response

        start_load(frame, op, arrived, leader, addresses, 4, load)

    return act


def _query(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, ClcQueryOp)
    result, at = compiler.slot(op.result_buffer), compiler.slot(op.result_index)
    targets = compiler.all_slots(op.results)

    def act(frame: Frame) -> None:
        found = frame.env[result].read(frame, frame.env[at], RESPONSE_ELEMENTS)
        frame.env[targets[0]] = found[:, 0] != 0
        for field, slot in enumerate(targets[1:], 1):
            frame.env[slot] = found[:, field]
        frame.block.clocks.fence(frame.active_warps)

    return act


RULES: Mapping[str, Rule] = {
    "nv.clc.try_cancel": _try_cancel,
    "nv.clc.query": _query,
}
