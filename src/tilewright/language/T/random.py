"""Random numbers of each thread: ``T.rng_init``, ``T.rng_rand``, ``T.rng_rand_float``.

T.rng_init(seed, seq=thread, off=0)
x = T.rng_rand()                       the next 32 bits

The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011),
with the counters of cuRAND: number n of a sequence is part ``n % 4`` of the block that belongs to
counter ``(n // 4, sequence)`` and the key `seed`. The number is the only state of a thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from xdsl.ir import Block

from tilewright.frontend.errors import FrontendError
from tilewright.language.T import scalars
from tilewright.language.T.allocate import alloc_var
from tilewright.language.T.buffers import ScalarCell
from tilewright.language.T.dtypes import DTYPES
from tilewright.language.T.expressions import Expr, as_expr, constant, convert
from tilewright.language.T.kernel import get_block_binding, get_thread_binding, get_thread_extent
from tilewright.language.T.loop_forms import BAD_ARGUMENT
from tilewright.language.T.session import kernel

_UINT32, _UINT64, _FLOAT32 = DTYPES["uint32"], DTYPES["uint64"], DTYPES["float32"]
_ROUNDS = 10
_FACTORS = (0xD2511F53, 0xCD9E8D57)
_STEPS = (0x9E3779B9, 0xBB67AE85)
_GENERATOR = "curandStatePhilox4_32_10_t"


@dataclass
class _State:
    """Variables of a thread."""

    seed: ScalarCell
    sequence: ScalarCell
    position: ScalarCell
    """How many numbers come before the next one."""


_states: WeakKeyDictionary[Block, _State] = WeakKeyDictionary()


def rng_init(seed: Any, seq: Any = None, off: Any = 0, generator: str = _GENERATOR) -> None:
    """Begin the sequence `seq` of a seed at number `off`; without one, each thread has its own."""
    found = kernel("T.rng_init")
    if generator != _GENERATOR:
        raise FrontendError(
            f"T.rng_init: the generator {generator!r} is not supported, only {_GENERATOR!r}",
            code=BAD_ARGUMENT,
        )
    if seq is None:
        seq = get_thread_binding() + get_block_binding() * get_thread_extent()
    state = _states.get(found.body)
    if state is None:
        names = ("rng_seed", "rng_sequence", "rng_position")
        state = _State(*[alloc_var("uint64", name=name) for name in names])
        _states[found.body] = state
    for cell, value in ((state.seed, seed), (state.sequence, seq), (state.position, off)):
        cell.write(convert(as_expr(value), _UINT64))


def _halves(value: Expr) -> list[Any]:
    """The low and the high 32 bits."""
    return [convert(value, _UINT32), convert(scalars.shift_right(value, 32), _UINT32)]


def philox(counter: list[Any], key: list[Any]) -> list[Any]:
    """A block of four numbers."""
    for step in range(_ROUNDS):
        if step:
            key = [part + constant(size, _UINT32) for part, size in zip(key, _STEPS, strict=True)]
        first, second = (
            _halves(convert(part, _UINT64) * constant(factor, _UINT64))
            for part, factor in ((counter[0], _FACTORS[0]), (counter[2], _FACTORS[1]))
        )
        counter = [
            scalars.bitwise_xor(scalars.bitwise_xor(second[1], counter[1]), key[0]),
            second[0],
            scalars.bitwise_xor(scalars.bitwise_xor(first[1], counter[3]), key[1]),
            first[0],
        ]
    return counter


def rng_rand() -> Expr:
    """The next number of this thread, 32 bits."""
    found = kernel("T.rng_rand")
    state = _states.get(found.body)
    if state is None:
        raise FrontendError(
            "T.rng_rand: no T.rng_init is before it: give it a seed", code=BAD_ARGUMENT
        )
    position = state.position.value()
    seed, sequence = state.seed.value(), state.sequence.value()
    block = scalars.shift_right(position, 2)
    parts = philox([*_halves(block), *_halves(sequence)], _halves(seed))
    part = convert(scalars.bitwise_and(position, 3), _UINT32)
    result: Any = parts[3]
    for index in reversed(range(3)):
        result = scalars.Select(part == index, parts[index], result)
    state.position.write(position + constant(1, _UINT64))
    return result


def rng_rand_float(bit: int = 32, dist: str = "uniform") -> Expr:
    """The next number as a float32 above 0, up to 1."""
    if (bit, dist) != (32, "uniform"):
        raise FrontendError(
            f"T.rng_rand_float({bit}, {dist!r}) is not supported, only 32 bits and 'uniform'",
            code=BAD_ARGUMENT,
        )
    return scalars.fma(convert(rng_rand(), _FLOAT32), 2.0**-32, 2.0**-33)
