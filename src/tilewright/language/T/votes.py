"""Votes of a warp or a block, and the bit operations that their masks are read with.

lanes = T.ballot_sync(value > 0)        one bit for each lane
first = T.__ffs(lanes) - 1
count = T.syncthreads_count(value > 0)  of all threads of the block, which wait for each other
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from xdsl.ir import Block, Region

from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.dialects.tile import SyncOp, VoteOp
from tilewright.dialects.tile.lanes import WARP
from tilewright.frontend.builder import current, is_outside
from tilewright.frontend.errors import FrontendError
from tilewright.frontend.merging import end_block
from tilewright.language.T import scalars
from tilewright.language.T.atomics import atomic_add
from tilewright.language.T.dtypes import DTYPES, boolean, int32
from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.expressions import (
    Expr,
    as_expr,
    condition,
    constant,
    convert,
    is_python_scalar,
)
from tilewright.language.T.kernel import get_thread_binding, get_thread_extent
from tilewright.language.T.loop_forms import BAD_ARGUMENT
from tilewright.language.T.session import effect, kernel

_ALL_LANES = 0xFFFFFFFF
_UINT32, _UINT64 = DTYPES["uint32"], DTYPES["uint64"]


def _predicate(op_name: str, value: Any) -> Any:
    """`value` as an ``i1``; a float is no predicate."""
    is_float = (
        isinstance(value, float) if is_python_scalar(value) else as_expr(value).dtype.is_float
    )
    if is_float:
        raise TypeError(f"T.{op_name} requires an integer or boolean predicate: compare the value")
    return condition(value)


def _vote(op_name: str, mode: str, predicate: Any) -> Any:
    kernel(f"T.{op_name}")
    return Expr(
        effect(VoteOp(mode, _predicate(op_name, predicate), width=WARP)).results[0], boolean
    )


def any_sync(predicate: Any, mask: Any = _ALL_LANES) -> Any:
    """Whether the predicate holds in any lane of the warp."""
    return _vote("any_sync", "any", predicate)


def all_sync(predicate: Any, mask: Any = _ALL_LANES) -> Any:
    """Whether the predicate holds in all lanes of the warp."""
    return _vote("all_sync", "all", predicate)


def _ballot(op_name: str, predicate: Any, dtype: str) -> Any:
    kernel(f"T.{op_name}")
    known = Dtype(dtype)
    if known not in (_UINT32, _UINT64):
        raise FrontendError(
            f"T.{op_name}: dtype is uint32 or uint64, got {known}", code=BAD_ARGUMENT
        )
    width = WARP if known.bits == WARP else None
    vote = VoteOp("ballot", _predicate(op_name, predicate), known.type, width)
    return Expr(effect(vote).results[0], known)


def ballot_sync(predicate: Any, mask: Any = _ALL_LANES, dtype: str = "uint32") -> Any:
    """The lanes of the warp in which the predicate holds, one bit each; see `ballot`.

    The mask may come first, as in CUDA.
    """
    if is_python_scalar(predicate) and not is_python_scalar(mask):
        predicate = mask
    return _ballot("ballot_sync", predicate, dtype)


def ballot(predicate: Any, dtype: str = "uint32") -> Any:
    """The lanes of the warp in which the predicate holds, one bit each.

    A warp is 32 threads on every GPU; with ``dtype="uint64"`` it is the GPU's own, which is 64
    threads on some of AMD's.
    """
    return _ballot("ballot", predicate, dtype)


def activemask() -> Any:
    """The lanes of the warp that execute this, one bit each."""
    return _ballot("activemask", True, "uint32")


def match_any_sync(value: Any, mask: Any = _ALL_LANES) -> Any:
    """The lanes of the warp that have the value of this one, one bit each."""
    kernel("T.match_any_sync")
    found: Any = constant(0, _UINT32)
    for lane in range(WARP):
        same = as_expr(scalars.shfl_sync(value, lane) == value)
        bit = convert(same, _UINT32)
        found = scalars.bitwise_or(found, scalars.shift_left(bit, lane))
    return found


def match_all_sync(value: Any, mask: Any = _ALL_LANES) -> Any:
    """All lanes of the warp, one bit each, if all have one value, else 0."""
    same = all_sync(scalars.shfl_sync(value, 0) == value)
    return scalars.if_then_else(same, constant(_ALL_LANES, _UINT32), constant(0, _UINT32))


# -- bits of a mask ------------------------------------------------------------------------------


def ffs(value: Any) -> Any:
    """The position of the lowest bit that is set, from 1 on; 0 if none is."""
    found = as_expr(value)
    if not found.dtype.is_integer:
        raise TypeError(f"T.__ffs takes an integer, got {found.dtype}")
    below = scalars.bitwise_xor(found, found - 1)  # the bit, and those below it
    count = convert(scalars.popcount(below), int32)
    return scalars.if_then_else(found == 0, constant(0, int32), count)


def fns(mask: Any, base: Any, offset: Any) -> Any:
    """The position of the `offset`-th bit that is set at or above bit `base`, from 1 on.

    A negative offset counts downwards from `base`, and 0 means the bit `base` itself. Where
    there is no such bit the result is ``0xFFFFFFFF``.
    """
    bits, start, rank = convert(mask, _UINT32), convert(base, int32), convert(offset, int32)
    one = constant(1, _UINT32)
    found: Any = constant(_ALL_LANES, _UINT32)
    is_up = rank >= 0
    expected = scalars.max(scalars.abs(rank), 1)
    is_single = rank == 0
    for position in range(WARP):
        is_set = scalars.bitwise_and(scalars.shift_right(bits, position), one) != 0
        upwards = _between(bits, start, position)
        downwards = _between(bits, position, start)
        count = scalars.if_then_else(is_up, upwards, downwards)
        on_side = scalars.if_then_else(is_up, start <= position, start >= position)
        is_here = scalars.all_of(
            is_set,
            on_side,
            count == expected,
            scalars.any_of(scalars.if_then_else(is_single, start == position, True)),
        )
        found = scalars.if_then_else(is_here, constant(position, _UINT32), found)
    return found


def _between(bits: Any, first: Any, last: Any) -> Any:
    """How many bits are set from `first` to `last`."""
    upper = scalars.shift_right(constant(_ALL_LANES, _UINT32), convert(WARP - 1 - last, _UINT32))
    lower = scalars.shift_left(constant(_ALL_LANES, _UINT32), convert(first, _UINT32))
    window = scalars.bitwise_and(scalars.bitwise_and(bits, upper), lower)
    return convert(scalars.popcount(window), int32)


# -- the block -----------------------------------------------------------------------------------


def syncthreads_count(predicate: Any) -> Any:
    """Wait for all threads of the block; in how many of them the predicate holds.

    They add to a counter in shared memory, so that every target has it.
    """
    from tilewright.language.T.allocate import allocated

    found = kernel("T.syncthreads_count")
    vote = Expr(_predicate("syncthreads_count", predicate), boolean)
    if is_outside():
        return convert(vote, int32)
    counter = allocated("syncthreads_count", (1,), int32, "shared")
    leads = get_thread_binding(0) == 0
    for axis in range(1, len(found.threads or (1,))):
        leads = leads & (get_thread_binding(axis) == 0)
    with when(leads):
        counter[0] = 0
    effect(SyncOp("block"))
    atomic_add(counter[0], convert(vote, int32))
    effect(SyncOp("block"))
    result = counter[0].value()
    effect(SyncOp("block"))  # before the counter is set to 0 again
    return result


def syncthreads_and(predicate: Any) -> Any:
    """Wait for all threads of the block; whether the predicate holds in all of them."""
    total = 1
    for axis in range(3):
        total *= 1 if is_outside() else get_thread_extent(axis)
    return convert(syncthreads_count(predicate) == total, int32)


def syncthreads_or(predicate: Any) -> Any:
    """Wait for all threads of the block; whether the predicate holds in any of them."""
    return convert(syncthreads_count(predicate) > 0, int32)


@contextmanager
def when(test: Any) -> Generator[None]:
    """What is emitted inside is executed where `test` holds."""
    block = Block()
    location = current().location()
    with current().at(block):
        yield
    end_block(block, YieldOp(), location)
    effect(IfOp(condition(test), [], Region(block)))
