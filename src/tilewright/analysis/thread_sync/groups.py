"""Groups of copies and MMAs that are waited for by counting, and fences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.ir import Operation

from tilewright.analysis.thread_sync.clocks import GROUP
from tilewright.analysis.thread_sync.program import Act, Compiler, Rule
from tilewright.analysis.thread_sync.registers import fence_operand
from tilewright.analysis.thread_sync.shadow import Landing
from tilewright.analysis.thread_sync.state import Frame
from tilewright.analysis.thread_sync.thread_accesses import CODE
from tilewright.dialects.amd.moves import WaitOp as LdsWaitOp
from tilewright.dialects.nv.barriers import WaitOp

# -- groups ------------------------------------------------------------------------------------


def land(copies: list[Any]) -> None:
    for each in copies:
        assert isinstance(each, Landing)
        each.region.land(each)


def _copies_commit(compiler: Compiler, op: Operation) -> Act:
    def act(frame: Frame) -> None:
        frame.flush()
        frame.copies.commit()

    return act


def _copies_wait(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, WaitOp)
    leave = op.count

    def act(frame: Frame) -> None:
        frame.flush()
        land(frame.copies.forget(leave))

    return act


def _lds_wait(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, LdsWaitOp)
    leave = op.loads.value.data

    def act(frame: Frame) -> None:
        frame.flush()
        for wave in frame.active_warps:
            groups = frame.lds_copies.get(int(wave))
            if groups is not None:
                land(groups.forget(leave))

    return act


def _wgmma_wait(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, WaitOp)
    leave = op.count

    def act(frame: Frame) -> None:
        frame.flush()
        for each in frame.mmas.forget(leave):
            each.end()
            frame.clocks.observe(np.arange(each.first, each.first + GROUP), each.agent, each.time)

    return act


def _stores_commit(compiler: Compiler, op: Operation) -> Act:
    def act(frame: Frame) -> None:
        for code in frame.active_codes:
            groups = frame.stores.get(int(code))
            if groups is not None:
                groups.commit()

    return act


def _stores_wait(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, WaitOp)
    leave = op.count

    def act(frame: Frame) -> None:
        frame.flush()
        active = {int(code) for code in frame.active_codes} if frame.stores else set[int]()
        for code, groups in frame.stores.items():
            if code in active:
                for each in groups.forget(leave):
                    frame.clocks.observe(np.array([code // CODE]), each.agent, each.time)

    return act


# -- fences ------------------------------------------------------------------------------------


def _fence_async(compiler: Compiler, op: Operation) -> Act:
    def act(frame: Frame) -> None:
        frame.flush()
        frame.clocks.fence(frame.active_warps)

    return act


def _fence_init(compiler: Compiler, op: Operation) -> Act:
    def act(frame: Frame) -> None:
        for barrier in frame.block.all_barriers():
            barrier.is_fenced = True

    return act


def _wgmma_fence(compiler: Compiler, op: Operation) -> Act:
    def act(frame: Frame) -> None:
        frame.fence_time = frame.tick()

    return act


def _fence_operand(compiler: Compiler, op: Operation) -> Act:
    buffer = op.operands[0]
    return lambda frame: fence_operand(frame, buffer)


def _plain(make: Callable[[Compiler, Operation], Act | None]) -> Rule:
    return Rule(lambda op: (), make)


RULES: Mapping[str, Rule] = {
    "nv.cp_async.commit": _plain(_copies_commit),
    "nv.cp_async.wait": _plain(_copies_wait),
    "amd.wait": _plain(_lds_wait),
    "nv.wgmma.commit": _plain(lambda compiler, op: lambda frame: frame.mmas.commit()),
    "nv.wgmma.wait": _plain(_wgmma_wait),
    "nv.tma_store.commit": _plain(_stores_commit),
    "nv.tma_store.wait": _plain(_stores_wait),
    "nv.fence_proxy_async": _plain(_fence_async),
    "nv.fence_barrier_init": _plain(_fence_init),
    "nv.prefetch_map": _plain(lambda compiler, op: None),
    "nv.wgmma.fence": _plain(_wgmma_fence),
    "nv.wgmma.fence_operand": _plain(_fence_operand),
}
