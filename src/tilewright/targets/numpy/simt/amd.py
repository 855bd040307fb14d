"""AMD's memory: buffer accesses, copies from global memory to LDS, and waits for them.

Buffer accesses give zeros, or store nothing, where the bound or the predicate excludes them; what
happens to a vector that is cut by the bound differs between GPUs, so it is an error. Copies to LDS
complete in any order and at any time until a wait covers them: it leaves the last ones of its wave
in flight.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.ir import Operation

from tilewright.dialects.amd.moves import BufferLoadOp, BufferStoreOp, LoadLdsOp, WaitOp
from tilewright.targets.numpy.simt.buffers import SharedBuffer, aligned, checked
from tilewright.targets.numpy.simt.machine import Groups, Pending
from tilewright.targets.numpy.simt.memory import index_of
from tilewright.targets.numpy.simt.program import Act, Blocking, Compiler, Rule, Steps
from tilewright.targets.numpy.simt.state import Frame
from tilewright.targets.numpy.simt.sync import drain

# -- buffer accesses -----------------------------------------------------------------------------


def _taking(frame: Frame, index: Any, lanes: int, elements: Any, predicate: Any) -> Any:
    """Which threads access memory: inside of the bound, and with a predicate that is true."""
    found = frame.active if predicate is None else frame.active & frame.wide(predicate)
    if elements is None:
        return found
    # The hardware compares offsets without a sign: one before the tensor is outside, too.
    start, bound = frame.wide(index), frame.wide(elements)
    inside = found & (start >= 0) & (start < bound)
    cut = inside & (start + lanes > bound)
    if cut.any():
        where = int(np.argmax(cut))
        raise frame.problem(
            "out of bounds",
            f"buffer access cut by its bound: thread {int(frame.tids[where])} accesses {lanes} "
            f"elements from {int(start[where])} on, but the bound is {int(bound[where])}; "
            "GPUs differ in what they do with the rest",
        )
    return inside


def _buffer_load(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, BufferLoadOp)
    source, target = compiler.slot(op.src), compiler.slot(op.dst)
    at = index_of(compiler, op.src, op.src_indices)
    to = index_of(compiler, op.dst, op.dst_indices)
    elements = compiler.slot(op.elements)
    predicate = None if op.predicate is None else compiler.slot(op.predicate)
    lanes = op.width

    def act(frame: Frame) -> None:
        given = None if predicate is None else frame.env[predicate]
        index = at(frame)
        taking = _taking(frame, index, lanes, frame.env[elements], given)
        mask, frame.mask = frame.mask, taking
        found = frame.env[source].read(frame, np.where(taking, frame.wide(index), 0), lanes)
        frame.mask = mask
        values = np.where(taking[:, None], found, np.zeros(1, found.dtype))
        frame.env[target].write(frame, to(frame), values)

    return act


def _buffer_store(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, BufferStoreOp)
    source, target = compiler.slot(op.src), compiler.slot(op.dst)
    at = index_of(compiler, op.src, op.src_indices)
    to = index_of(compiler, op.dst, op.dst_indices)
    elements = compiler.slot(op.elements)
    predicate = None if op.predicate is None else compiler.slot(op.predicate)
    lanes = op.width

    def act(frame: Frame) -> None:
        given = None if predicate is None else frame.env[predicate]
        index = to(frame)
        values = frame.env[source].read(frame, at(frame), lanes)
        mask = frame.mask
        frame.mask = _taking(frame, index, lanes, frame.env[elements], given)
        frame.env[target].write(frame, frame.wide(index), values)
        frame.mask = mask

    return act


# -- copies to LDS -------------------------------------------------------------------------------


def _load_lds(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, LoadLdsOp)
    source, target = compiler.slot(op.src), compiler.slot(op.dst)
    at = index_of(compiler, op.src, op.src_indices)
    to = index_of(compiler, op.dst, op.dst_indices)
    elements = None if op.elements is None else compiler.slot(op.elements)
    predicate = None if op.predicate is None else compiler.slot(op.predicate)
    lanes = op.width

    def act(frame: Frame) -> None:
        waves = frame.whole_warps(op.name)
        src, dst = frame.env[source], frame.env[target]
        index, base = frame.wide(at(frame)), frame.wide(to(frame))
        _check_uniform(frame, base, waves)
        destination = base + frame.tids % frame.warp_size * lanes
        checked(frame, dst.name, dst.size, destination, lanes)
        aligned(frame, dst.name, destination, lanes, dst.base, dst.dtype.itemsize)
        bound = None if elements is None else frame.env[elements]
        given = None if predicate is None else frame.env[predicate]
        taking = _taking(frame, index, lanes, bound, given)
        mask, frame.mask = frame.mask, taking
        checked(frame, src.name, src.size, index, lanes)
        aligned(frame, src.name, index, lanes, src.lead_bytes, dst.dtype.itemsize)
        frame.mask = mask
        of_wave = frame.tids // frame.warp_size
        for wave in waves:
            _start(
                frame,
                op,
                src,
                index,
                dst,
                destination,
                taking,
                np.flatnonzero(of_wave == wave),
                lanes,
            )

    return act


def _check_uniform(frame: Frame, base: Any, waves: Any) -> None:
    """The destination is one number of the wave, in a scalar register."""
    of_wave = frame.tids // frame.warp_size
    for wave in waves:
        found = base[of_wave == wave]
        if (found != found[0]).any():
            raise frame.problem(
                "divergent",
                f"lanes of wave {int(wave)} have different destinations of a copy to LDS: the "
                "hardware uses that of one lane, and adds the lane's share itself",
            )


def _start(
    frame: Frame,
    op: Operation,
    src: Any,
    index: Any,
    dst: SharedBuffer,
    destination: Any,
    taking: Any,
    threads: Any,
    lanes: int,
) -> None:
    """The copy of one wave, whose threads are at positions `threads`."""
    columns, given = np.arange(lanes), taking[threads][:, None]
    reads = np.where(given, index[threads][:, None] + columns, 0)
    writes = destination[threads][:, None] + columns

    def finish() -> None:
        dst.data[writes] = np.where(given, src.data[reads], np.zeros(1, src.data.dtype))

    operation = Pending(f"copy to {dst.name}", finish, op, frame.name)
    if frame.block.options.checked:
        shadow, size = frame.block.shadow, lanes * dst.dtype.itemsize
        access = shadow.access(dst.address(destination[threads]), size, frame.tids[threads])
        times = shadow.start_copy(op, access)
        operation.landed = lambda: shadow.finish_copy(op, access, times)
    frame.block.machine.issue("copies to LDS", operation)
    groups = frame.lds_copies.setdefault(int(frame.tids[threads[0]]) // frame.warp_size, Groups())
    groups.issue(operation)
    groups.commit()  # waits count copies, not groups of them


def _wait(compiler: Compiler, op: Operation) -> Blocking:
    assert isinstance(op, WaitOp)
    leave = op.loads.value.data

    def process(frame: Frame) -> Steps:
        for wave in frame.whole_warps(op.name):
            groups = frame.lds_copies.get(int(wave))
            if groups is not None:
                yield from drain(frame, groups, leave, "copies to LDS")

    return Blocking(process)


def _hint(compiler: Compiler, op: Operation) -> None:
    """A hint to a scheduler: nothing is computed."""


RULES: Mapping[str, Rule] = {
    "amd.buffer_load": _buffer_load,
    "amd.buffer_store": _buffer_store,
    "amd.load_lds": _load_lds,
    "amd.wait": _wait,
    "amd.sched_group": _hint,
    "amd.sched_barrier": _hint,
    "amd.setprio": _hint,
    "amd.iglp": _hint,
}
