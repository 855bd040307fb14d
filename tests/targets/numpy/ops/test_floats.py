"""Float ops: rounded once, to the type of the op, with the NaN rules each one has."""

from __future__ import annotations

from fractions import Fraction
from math import frexp, inf, nan
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.targets.numpy.kernels import DTYPES, elementwise
from tilewright.targets.numpy.support.floats import cast_signed, cast_unsigned

NARROW = ("f16", "bf16", "f8E4M3FN", "f8E5M2")
ARITHMETIC = {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide}


EXACT = {
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "divf": lambda a, b: a / b,
}


def samples(name: str, count: int = 300, seed: int = 0) -> np.ndarray:
    """Numbers of all sizes, specials among them."""
    rng = np.random.default_rng(seed)
    dtype = DTYPES[name]
    if name == "f64":
        scale = rng.integers(-200, 200, count).astype(float)
    else:
        scale = rng.integers(-12, 12, count).astype(float)
    values = np.ldexp(rng.uniform(-2, 2, count), scale.astype(int))
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, nan, inf, -inf, 3.0]
    with np.errstate(all="ignore"):
        return np.concatenate([values, special]).astype(dtype)


def rounded(exact: Fraction, dtype: np.dtype) -> float:
    """The nearest number of the type, even on a tie; infinite beyond the greatest."""
    info = ml_dtypes.finfo(dtype)
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = frexp(size.numerator / size.denominator)[1] if size < 2**1000 else 1000
    while Fraction(2) ** exponent <= size:
        exponent += 1
    while Fraction(2) ** (exponent - 1) > size:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, info.minexp + 1) - 1 - info.nmant)
    nearest = round(size / quantum) * quantum
    value = float(nearest)
    if value > float(info.max):
        value = inf
    return value if exact > 0 else -value


def same(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal numbers, NaN for NaN, and the sign of zeros."""
    with np.errstate(all="ignore"):  # signalling NaNs
        found, expected = found.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("type", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_rounds_once(type: str, name: str) -> None:
    a, b = samples(type, seed=1), samples(type, seed=2)[::-1].copy()
    found = elementwise(f"%r = arith.{name} %a, %b : <A>", type, a, b)
    with np.errstate(all="ignore"):
        expected = ARITHMETIC[name](a.astype(np.float64), b.astype(np.float64))
    for index in np.flatnonzero(np.isfinite(expected) & (expected != 0)):
        exact = EXACT[name](Fraction(float(a[index])), Fraction(float(b[index])))
        expected[index] = rounded(exact, a.dtype)
    same(found, expected)


@pytest.mark.parametrize("type", ["f16", "bf16", "f32", "f64"])
def test_fused_multiply_add_rounds_once(type: str) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.uniform(-2, 2, 200).astype(DTYPES[type]) for _ in range(2))
    with np.errstate(all="ignore"):
        near = -a.astype(np.float64) * b.astype(np.float64)
        wiggle = 1 + np.ldexp(rng.uniform(-1, 1, 200), rng.integers(-30, 0, 200))
        c = (near * wiggle).astype(DTYPES[type])
    found = elementwise("%r = math.fma %a, %b, %c : <A>", type, a, b, c)
    exact = [
        Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        for x, y, z in zip(a, b, c, strict=True)
    ]
    expected = np.array([rounded(value, a.dtype) for value in exact])
    np.testing.assert_array_equal(found.astype(np.float64), expected)


EXTREMA = {
    # NaN is ignored if the other is a value, or propagated.
    "maxnumf": [1.0, 2.0, 2.0, nan, inf],
    "minnumf": [0.5, 2.0, 2.0, nan, 1.0],
    "maximumf": [1.0, nan, nan, nan, inf],
    "minimumf": [0.5, nan, nan, nan, 1.0],
}


@pytest.mark.parametrize("type", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("name", EXTREMA)
def test_extrema(type: str, name: str) -> None:
    a = np.array([1.0, nan, 2.0, nan, inf], DTYPES[type])
    b = np.array([0.5, 2.0, nan, nan, 1.0], DTYPES[type])
    found = elementwise(f"%r = arith.{name} %a, %b : <A>", type, a, b)
    same(found, np.array(EXTREMA[name]))


@pytest.mark.parametrize(("word", "last"), [("none", -1.0), ("all", nan)])
def test_clamp(word: str, last: float) -> None:
    x = np.array([-5, 0.5, 7, nan], np.float32)
    low, high = np.full(4, -1, np.float32), np.full(4, 2, np.float32)
    ops = f"%r = tt.clampf %a, %b, %c, propagateNan = {word} : <A>"
    same(elementwise(ops, "f32", x, low, high), np.array([-1, 0.5, 2, last]))


PREDICATES = {
    "oeq": lambda a, b: a == b,
    "ogt": lambda a, b: a > b,
    "oge": lambda a, b: a >= b,
    "olt": lambda a, b: a < b,
    "ole": lambda a, b: a <= b,
    "one": lambda a, b: a != b and not unordered(a, b),
    "ord": lambda a, b: not unordered(a, b),
    "ueq": lambda a, b: a == b or unordered(a, b),
    "ugt": lambda a, b: a > b or unordered(a, b),
    "uge": lambda a, b: a >= b or unordered(a, b),
    "ult": lambda a, b: a < b or unordered(a, b),
    "ule": lambda a, b: a <= b or unordered(a, b),
    "une": lambda a, b: a != b,
    "uno": lambda a, b: unordered(a, b),
    "false": lambda a, b: False,
    "true": lambda a, b: True,
}


def unordered(a: float, b: float) -> bool:
    return a != a or b != b


@pytest.mark.parametrize("type", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("name", PREDICATES)
def test_comparison(type: str, name: str) -> None:
    numbers = [1.0, 2.0, nan, -inf, 0.0, -0.0]
    pairs = [(x, y) for x in numbers for y in numbers]
    a, b = (np.array(side, DTYPES[type]) for side in zip(*pairs, strict=True))
    found = elementwise(f"%r = arith.cmpf {name}, %a, %b : <A>", "i1", a, b)
    assert found.tolist() == [PREDICATES[name](x, y) for x, y in pairs]


def test_remainder_has_the_sign_of_the_dividend() -> None:
    a, b = np.array([5.5, -5.5, 5.5, 1], np.float32), np.array([2, 2, -2, 0], np.float32)
    found = elementwise("%r = arith.remf %a, %b : <A>", "f32", a, b)
    same(found, np.array([1.5, -1.5, 1.5, nan]))


# Conversions.


@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize("target", NARROW)
@pytest.mark.parametrize("mode", ["rtne", "rtz"])
def test_narrowing_is_rounded_once(source: str, target: str, mode: str) -> None:
    dtype = DTYPES[target]
    bits = np.arange(1 << (8 * dtype.itemsize), dtype=f"u{dtype.itemsize}")
    if target == "bf16":
        bits = bits[::37]
    with np.errstate(all="ignore"):
        exact = bits.view(dtype).astype(np.float64)
    exact = np.unique(exact[np.isfinite(exact)])
    between = (exact[:-1] + exact[1:]) / 2
    near = np.concatenate([np.nextafter(between, -inf), between, np.nextafter(between, inf)])
    inputs = np.concatenate([exact, near, [nan, inf, -inf, 0.0, -0.0]]).astype(DTYPES[source])
    ops = f"%r = tt.fp_to_fp %a, rounding = {mode} : <A> -> <R>"
    inputs = inputs[:: max(1, len(inputs) // 3000)].copy()
    found = elementwise(ops, target, inputs)
    for value, result in zip(inputs, found, strict=True):
        check_rounding(float(value), result, dtype, mode)


def check_rounding(value: float, result, dtype: np.dtype, mode: str) -> None:
    largest = float(ml_dtypes.finfo(dtype).max)
    saturates = dtype.itemsize == 1
    got = float(result)
    if value != value:
        assert got != got
    elif abs(value) == inf:
        # Cutting bits off leaves an infinity one; only the conversion that rounds saturates.
        stays = not saturates or (mode == "rtz" and dtype == ml_dtypes.float8_e5m2)
        assert got == (value if stays else np.sign(value) * largest)
    elif mode == "rtne":
        expected = rounded(Fraction(value), dtype)
        if saturates:
            expected = min(max(expected, -largest), largest)
        assert got == expected, value
    else:
        assert abs(got) <= abs(value), value
        step = np.array(result).view(f"u{dtype.itemsize}") + 1
        following = float(step.view(dtype))
        assert not abs(following) <= abs(value) or abs(got) == largest, value


@pytest.mark.parametrize("source", NARROW)
def test_widening_keeps_every_value(source: str) -> None:
    dtype = DTYPES[source]
    bits = np.arange(1 << (8 * dtype.itemsize), dtype=f"u{dtype.itemsize}")[
        :: dtype.itemsize * 8 - 7
    ]
    a = bits.copy().view(dtype)
    for target in ("f32", "f64"):
        found = elementwise("%r = arith.extf %a : <A> to <R>", target, a)
        same(found, a)


@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("target", ["f16", "bf16", "f32", "f64"])
def test_integers_become_floats(width: int, target: str) -> None:
    edges = [0, 1, -1, 3, 127, -128, 257, 2049, 2051, 65519, 65520, 2**24 + 1, 2**24 + 3]
    edges += [2**31 - 1, -(2**31), 2**53 + 1, 2**62 + 2**38 + 1, -(2**63), 2**63 - 1]
    edges += [0x7F807FFF, 0x00FF8001, 0x7FBFFFFFFFFFFFFF]
    values = [value for value in edges if -(1 << (width - 1)) <= value < 1 << (width - 1)]
    a = np.array(values, DTYPES[f"i{width}"])
    found = elementwise("%r = arith.sitofp %a : <A> to <R>", target, a)
    expected = [rounded(Fraction(value), found.dtype) for value in values]
    np.testing.assert_array_equal(found.astype(np.float64), expected)
    found = elementwise("%r = arith.uitofp %a : <A> to <R>", target, a)
    expected = [rounded(Fraction(value % (1 << width)), found.dtype) for value in values]
    np.testing.assert_array_equal(found.astype(np.float64), expected)


def test_floats_become_integers_as_hardware_makes_them() -> None:
    a = np.array([0, 1.9, -1.9, 2147483520, 3e9, -3e9, inf, -inf, nan, 1e20], np.float32)
    found = elementwise("%r = arith.fptosi %a : <A> to <R>", "i32", a)
    top, bottom = 2**31 - 1, -(2**31)
    assert found.tolist() == [0, 1, -1, 2147483520, top, bottom, top, bottom, 0, top]
    found = elementwise("%r = arith.fptoui %a : <A> to <R>", "i32", a).view(np.uint32)
    assert found.tolist() == [0, 1, 0, 2147483520, 3000000000, 0, 2**32 - 1, 0, 0, 2**32 - 1]
    found = elementwise("%r = arith.fptosi %a : <A> to <R>", "i64", a[:6])
    assert found.tolist() == [0, 1, -1, 2147483520, 3000000000, -3000000000]
    found = elementwise(
        "%r = arith.fptosi %a : <A> to <R>", "i8", np.array([5, -5, 300], np.float16)
    )
    assert found.tolist() == [5, -5, 44]


OUT_OF_RANGE = [0, 1.9, -1.9, 127, 128, -129, 300, -300, 32767, 32768, -32769, 65536, 132038688]
OUT_OF_RANGE += [2147483520, 2.0**31, -(2.0**32), 1e9, -1e9, 2.0**63, -(2.0**63), 1e20, -1e20]
OUT_OF_RANGE += [inf, -inf, nan]


def converted(value: float, width: int, through: int, *, signed: bool, double: bool) -> int:
    """What `cvt.rzi` to `through` bits makes of `value`, and its low `width` bits, signed."""
    low, high = (-(1 << (through - 1)), (1 << (through - 1)) - 1)
    if not signed:
        low, high = 0, (1 << through) - 1
    if value != value:
        whole = 1 << (through - 1) if double or through == 64 else 0
    else:
        whole = low if value <= low else high if value >= high else int(value)
    bits = whole % (1 << width)
    return bits - (1 << width) if bits >> (width - 1) else bits


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64])
def test_floats_out_of_range_become_what_triton_makes_of_them(
    source: Any, width: int, signed: bool
) -> None:
    """PTX by Triton for sm_90: cvt.rzi.s16 for int8, whose low byte is stored."""
    with np.errstate(over="ignore"):
        a = np.array(OUT_OF_RANGE).astype(source)
    op = "fptosi" if signed else "fptoui"
    found = elementwise(f"%r = arith.{op} %a : <A> to <R>", f"i{width}", a)
    double = source is np.float64
    expected = [converted(float(x), width, max(width, 16), signed=signed, double=double) for x in a]
    assert found.tolist() == expected


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64])
def test_floats_out_of_range_become_what_cxx_makes_of_them(
    source: Any, width: int, signed: bool
) -> None:
    """PTX by NVRTC: cvt.rzi.s32 for int8 and int16, whose low bits are stored."""
    with np.errstate(over="ignore"):
        a = np.array(OUT_OF_RANGE).astype(source)
    with np.errstate(invalid="ignore"):
        found = (cast_signed if signed else cast_unsigned)(a, np.dtype(f"i{width // 8}").type)
    double = source is np.float64
    expected = [converted(float(x), width, max(width, 32), signed=signed, double=double) for x in a]
    assert found.tolist() == expected


def test_bits_as_another_type() -> None:
    a = np.array([0x3F800000, 0x7FC00001, -1], np.int32)
    found = elementwise("%r = arith.bitcast %a : <A> to <R>", "f32", a)
    assert found.view(np.int32).tolist() == a.tolist()
    found = elementwise("%r = tt.bitcast %a : <A> -> <R>", "i32", found)
    assert found.tolist() == a.tolist()


CONSTANTS = ["0.1", "-0.0", "1.0e-40", "3.40282347E+38", "0x7FC00123", "0xFF800000", "0x7F800000"]


@pytest.mark.parametrize("value", CONSTANTS)
def test_constants_have_their_bits(value: str) -> None:
    a = np.zeros(3, np.float32)
    found = elementwise(f"%r = const {value} : <A>\n%u = arith.addf %a, %a : <A>", "f32", a)
    expected = (
        np.uint32(int(value, 16)) if value.startswith("0x") else np.float32(value).view(np.uint32)
    )
    assert found.view(np.uint32).tolist() == [int(expected)] * 3
