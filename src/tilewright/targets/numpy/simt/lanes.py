"""Data exchange between lanes of a warp through registers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np
from xdsl.ir import Operation

from tilewright.dialects.simt.across import AllReduceOp
from tilewright.dialects.tile.lanes import WARP, ShuffleOp, VoteOp, WarpReduceOp
from tilewright.dialects.type_utils import bit_width
from tilewright.targets.numpy.simt.program import Act, Compiler, Rule
from tilewright.targets.numpy.simt.state import Frame
from tilewright.targets.numpy.support.extrema import maxnumf, minnumf

_COMBINE: Mapping[str, Any] = {
    "sum": np.add,
    "prod": np.multiply,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}

_RUBBISH = b"\x5a"
_WIDE_BALLOT = 64


def _combiner(kind: str, dtype: np.dtype[Any]) -> Any:
    if kind in _COMBINE:
        return _COMBINE[kind]
    if dtype.kind in "iu":
        return np.maximum if kind == "max" else np.minimum
    return maxnumf if kind == "max" else minnumf


def _by_group(frame: Frame, value: Any, what: str, lanes: int, absent: Any = None) -> Any:
    """[groups, lanes], of the threads that take part: warps, or parts of warps.

    The last group of a block may have lanes without a thread. They hold `absent`; without it
    they hold garbage, as on a GPU, so that reads of them are detected.
    """
    groups = frame.whole_warps(what, lanes)
    values = frame.wide(value)[frame.active]
    missing = len(groups) * lanes - len(values)
    if missing:
        values = np.concatenate([values, _lanes_without_thread(missing, values.dtype, absent)])
    return values.reshape(len(groups), lanes)


def _lanes_without_thread(count: int, dtype: np.dtype[Any], absent: Any) -> Any:
    if absent is None:
        return np.frombuffer(_RUBBISH * (count * dtype.itemsize), dtype)
    return np.full(count, absent, dtype)


def _back(frame: Frame, values: Any) -> Any:
    """One value for each thread of the frame again."""
    flat = values.reshape(-1)[: len(frame.active_tids)]
    if frame.mask is None:
        return flat
    result = np.zeros(frame.count, flat.dtype)
    result[frame.mask] = flat
    return result


def _shuffle(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, ShuffleOp)
    value, offset = compiler.slot(op.value), compiler.slot(op.offset)
    result = compiler.slot(op.result)
    mode, width = op.mode.data, op.lanes(compiler.warp_size)
    # Lanes exchange in groups, but a group smaller than a warp of the language is not alone.
    lanes = max(width, WARP)
    lane = np.arange(lanes)
    first = lane // width * width

    def act(frame: Frame) -> None:
        values = _by_group(frame, frame.env[value], "tile.shuffle", lanes)
        by = _by_group(frame, frame.env[offset], "tile.shuffle", lanes, 0).astype(np.int64)
        if mode == "xor":
            source = lane ^ by
        elif mode == "up":
            source = lane - by
        elif mode == "down":
            source = lane + by
        else:
            source = first + by % width
        inside = (source >= first) & (source < first + width)
        source = np.where(inside, source, lane)
        frame.env[result] = _back(frame, np.take_along_axis(values, source, axis=1))

    return act


def _warp_reduce(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, WarpReduceOp)
    value, result, kind = compiler.slot(op.value), compiler.slot(op.result), op.kind.data
    lanes = WarpReduceOp.LANES
    lane = np.arange(lanes)

    def act(frame: Frame) -> None:
        values = _by_group(frame, frame.env[value], "tile.warp_reduce", lanes)
        combine = _combiner(kind, values.dtype)
        total, step = values, lanes // 2
        while step:
            total = combine(total, total[:, lane ^ step])
            step //= 2
        frame.env[result] = _back(frame, total)

    return act


def _vote(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, VoteOp)
    predicate, result, mode = compiler.slot(op.predicate), compiler.slot(op.result), op.mode.data
    ballot = np.uint64 if bit_width(op.result.type) == _WIDE_BALLOT else np.uint32
    lanes = op.lanes(compiler.warp_size)
    bits = np.uint64(1) << np.arange(lanes, dtype=np.uint64)

    def act(frame: Frame) -> None:
        votes = _by_group(frame, frame.env[predicate], "tile.vote", lanes, mode == "all")
        if mode == "ballot":
            found = np.where(votes, bits, np.uint64(0)).sum(axis=1)
            outcome = found.astype(ballot).view(f"i{ballot().itemsize}")
        else:
            outcome = votes.any(axis=1) if mode == "any" else votes.all(axis=1)
        frame.env[result] = _back(frame, np.repeat(outcome, votes.shape[1]))

    def by_active_lanes(frame: Frame) -> None:
        """A wave of 64 lanes: those that do not take part vote no."""
        waves, position = np.unique(frame.active_tids // lanes, return_inverse=True)
        votes = np.zeros((len(waves), lanes), np.bool_)
        votes[position, frame.active_tids % lanes] = frame.wide(frame.env[predicate])[frame.active]
        found = np.where(votes, bits, np.uint64(0)).sum(axis=1)
        frame.env[result] = _back(frame, found.view(np.int64)[position])

    return by_active_lanes if mode == "ballot" and lanes == _WIDE_BALLOT else act


def _allreduce(compiler: Compiler, op: Operation) -> Act:
    """Before it is lowered: threads whose numbers differ by multiples of `scale`."""
    assert isinstance(op, AllReduceOp)
    value, result, kind = compiler.slot(op.value), compiler.slot(op.result), op.kind.data
    threads, scale = op.threads.value.data, op.scale.value.data

    def act(frame: Frame) -> None:
        values = frame.wide(frame.env[value])[frame.active]
        grouped = values.reshape(-1, threads, scale)
        combine = _combiner(kind, values.dtype)
        if threads & (threads - 1):
            total = reduce(combine, [grouped[:, each] for each in range(threads)])
            frame.env[result] = _back(frame, np.repeat(total[:, None], threads, axis=1))
            return
        step = threads // 2
        while step:  # in the order of exchanges between lanes
            grouped = combine(grouped, grouped[:, np.arange(threads) ^ step])
            step //= 2
        frame.env[result] = _back(frame, grouped)

    return act


def _elect(compiler: Compiler, op: Operation) -> Act:
    result = compiler.slot(op.results[0])

    def act(frame: Frame) -> None:
        frame.whole_warps("nv.elect")
        frame.env[result] = frame.tids % frame.warp_size == 0

    return act


def _dp4a(compiler: Compiler, op: Operation) -> Act:
    a, b, c = compiler.all_slots(op.operands)
    result = compiler.slot(op.results[0])

    def act(frame: Frame) -> None:
        one, other = (
            np.ascontiguousarray(frame.wide(frame.env[each])).view(np.int8).reshape(-1, 4)
            for each in (a, b)
        )
        total = (one.astype(np.int32) * other.astype(np.int32)).sum(axis=1, dtype=np.int32)
        frame.env[result] = frame.wide(frame.env[c]) + total

    return act


RULES: Mapping[str, Rule] = {
    "tile.shuffle": _shuffle,
    "tile.warp_reduce": _warp_reduce,
    "tile.vote": _vote,
    "simt.allreduce": _allreduce,
    "nv.elect": _elect,
    "nv.dp4a": _dp4a,
}
