"""Random numbers: the counter-based generator Philox.

A generator without state: `seed` and an offset, different for every element, give the number. Ten
rounds of multiplying and mixing turn the four 32-bit words of a counter into four random ones:

    c0, c1, c2, c3  <-  hi(B*c2) ^ c1 ^ k0,  lo(B*c2),  hi(A*c0) ^ c3 ^ k1,  lo(A*c0)

with a key that grows by a constant each round. Numbers are the same on every target, bit by bit.
See Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.language.tl.arithmetic import add, mul, umulhi
from tilewright.language.tl.comparison import maximum, where
from tilewright.language.tl.constants import full, to_tensor
from tilewright.language.tl.conversion import bitcast, convert
from tilewright.language.tl.dtypes import dtype, int32, int64, uint32, uint64
from tilewright.language.tl.math import cos, log, sin, sqrt
from tilewright.language.tl.tensor import Operand, tensor

N_ROUNDS_DEFAULT = 10
_MASK32 = 0xFFFFFFFF
_SMALLEST_UNIFORM = 1.0e-7
_TWO_PI = 6.283185307179586


@dataclass(frozen=True)
class _Constants:
    """Multipliers of a round, and what the key grows by."""

    key_a: int
    key_b: int
    round_a: int
    round_b: int


_CONSTANTS = {
    uint32: _Constants(0x9E3779B9, 0xBB67AE85, 0xD2511F53, 0xCD9E8D57),
    uint64: _Constants(
        0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B, 0xD2E7470EE14C6C93, 0xCA5A826395121157
    ),
}

_UNIFORM: dict[dtype, float] = {int32: 4.6566127342e-10, int64: 1.0842020432385337e-19}
"""The largest factor with which no integer of the type, rounded, becomes 1."""


def _wrapping_mul(a: Operand, b: Operand) -> tensor:
    return mul(a, b, sanitize_overflow=False)


def philox_impl(
    c0: tensor,
    c1: tensor,
    c2: tensor,
    c3: tensor,
    k0: tensor,
    k1: tensor,
    n_rounds: int = N_ROUNDS_DEFAULT,
) -> tuple[tensor, tensor, tensor, tensor]:
    """`n_rounds` rounds for the counter (c0, c1, c2, c3) and the key (k0, k1)."""
    constants = _CONSTANTS.get(c0.dtype)
    if constants is None:
        raise TypeError(f"philox counters must be uint32 or uint64, got {c0.dtype}")
    for _ in range(n_rounds):
        a, b = to_tensor(constants.round_a), to_tensor(constants.round_b)
        low, high = c0, c2
        c0 = umulhi(b, high) ^ c1 ^ k0
        c2 = umulhi(a, low) ^ c3 ^ k1
        c1 = _wrapping_mul(b, high)
        c3 = _wrapping_mul(a, low)
        k0 = add(k0, constants.key_a, sanitize_overflow=False)
        k1 = add(k1, constants.key_b, sanitize_overflow=False)
    return c0, c1, c2, c3


def philox(
    seed: Operand,
    c0: Operand,
    c1: Operand,
    c2: Operand,
    c3: Operand,
    n_rounds: int = N_ROUNDS_DEFAULT,
) -> tuple[tensor, tensor, tensor, tensor]:
    """Four blocks of random bits from a seed and four 32-bit words of a counter."""
    key = to_tensor(seed)
    if not key.dtype.is_int():
        raise TypeError(f"the seed must be an integer, got {key}")
    key = convert(key, uint64)
    counter = [to_tensor(part) for part in (c0, c1, c2, c3)]
    bits = counter[0].dtype.primitive_bitwidth
    if bits == 32:
        part = uint32
        high = convert((key >> 32) & _MASK32, uint32)
        low = convert(key & _MASK32, uint32)
    elif bits == 64:
        part = uint64
        high = full((1,), 0, uint64)
        low = key
    else:
        raise TypeError(f"philox counters must have 32 or 64 bits, got {counter[0].dtype}")
    parts = [bitcast(value, part) for value in counter]
    return philox_impl(parts[0], parts[1], parts[2], parts[3], low, high, n_rounds)


# Integers.


def randint4x(
    seed: Operand, offset: tensor, n_rounds: int = N_ROUNDS_DEFAULT
) -> tuple[tensor, tensor, tensor, tensor]:
    """Four blocks of random `uint32` for the price of one."""
    low = convert(offset, uint32)
    zero = low * 0
    wide = offset.dtype.primitive_bitwidth > 32
    high = convert(offset >> 32, uint32) if wide else zero
    return philox(seed, low, high, zero, zero, n_rounds)


def randint(seed: Operand, offset: tensor, n_rounds: int = N_ROUNDS_DEFAULT) -> tensor:
    """A block of random `uint32`, one for each element of `offset`."""
    return randint4x(seed, offset, n_rounds)[0]


# Floats between 0 and 1.


def uint_to_uniform_float(x: tensor) -> tensor:
    """Random bits as floats, evenly spread over [0, 1)."""
    bits = x.dtype.primitive_bitwidth
    if not x.dtype.is_int() or bits not in (32, 64):
        raise TypeError(f"random bits must be 32- or 64-bit integers, got {x.dtype}")
    signed = int32 if bits == 32 else int64
    x = bitcast(x, signed)
    scale = to_tensor(_UNIFORM[signed])
    return where(x < 0, ~x, x) * scale


def rand(seed: Operand, offset: tensor, n_rounds: int = N_ROUNDS_DEFAULT) -> tensor:
    """A block of random `float32` in [0, 1), one for each element of `offset`."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


def rand4x(
    seed: Operand, offsets: tensor, n_rounds: int = N_ROUNDS_DEFAULT
) -> tuple[tensor, tensor, tensor, tensor]:
    """Four blocks of random `float32` in [0, 1) for the price of one."""
    i1, i2, i3, i4 = randint4x(seed, offsets, n_rounds)
    return (
        uint_to_uniform_float(i1),
        uint_to_uniform_float(i2),
        uint_to_uniform_float(i3),
        uint_to_uniform_float(i4),
    )


# Floats of the normal distribution.


def pair_uniform_to_normal(u1: tensor, u2: tensor) -> tuple[tensor, tensor]:
    """Two normally distributed floats from two evenly distributed ones (Box-Muller)."""
    u1 = maximum(_SMALLEST_UNIFORM, u1)
    angle = _TWO_PI * u2
    radius = sqrt(-2.0 * log(u1))
    return radius * cos(angle), radius * sin(angle)


def randn(seed: Operand, offset: tensor, n_rounds: int = N_ROUNDS_DEFAULT) -> tensor:
    """A block of normally distributed `float32`, one for each element of `offset`."""
    i1, i2, _, _ = randint4x(seed, offset, n_rounds)
    return pair_uniform_to_normal(uint_to_uniform_float(i1), uint_to_uniform_float(i2))[0]


def randn4x(
    seed: Operand, offset: tensor, n_rounds: int = N_ROUNDS_DEFAULT
) -> tuple[tensor, tensor, tensor, tensor]:
    """Four blocks of normally distributed `float32` for the price of one."""
    u1, u2, u3, u4 = rand4x(seed, offset, n_rounds)
    n1, n2 = pair_uniform_to_normal(u1, u2)
    n3, n4 = pair_uniform_to_normal(u3, u4)
    return n1, n2, n3, n4
