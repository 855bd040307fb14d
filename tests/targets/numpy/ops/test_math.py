"""Functions of the `math` dialect and of device libraries against double precision."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.targets.numpy.kernels import DTYPES, compiled, elementwise
from tilewright.dialects.math import Math
from tilewright.targets.numpy import Unsupported
from tilewright.targets.numpy.ops.math import RULES

POSITIVE = np.geomspace(1e-4, 50, 80)
ANY = np.concatenate([np.linspace(-8, 8, 65), [-0.3, 1e-5, 0.0]])
UNIT = np.linspace(-0.999, 0.999, 60)

FUNCTIONS = {
    "acos": (np.arccos, UNIT),
    "acosh": (np.arccosh, 1 + POSITIVE),
    "asin": (np.arcsin, UNIT),
    "asinh": (np.arcsinh, ANY),
    "atan": (np.arctan, ANY),
    "atanh": (np.arctanh, UNIT),
    "cbrt": (np.cbrt, ANY),
    "ceil": (np.ceil, ANY),
    "cos": (np.cos, ANY),
    "cosh": (np.cosh, ANY),
    "erf": (np.vectorize(math.erf), ANY),
    "erfc": (np.vectorize(math.erfc), ANY),
    "exp": (np.exp, ANY),
    "exp2": (np.exp2, ANY),
    "expm1": (np.expm1, ANY),
    "floor": (np.floor, ANY),
    "log": (np.log, POSITIVE),
    "log10": (np.log10, POSITIVE),
    "log1p": (np.log1p, POSITIVE),
    "log2": (np.log2, POSITIVE),
    "round": (lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), ANY),
    "roundeven": (np.rint, ANY),
    "rsqrt": (lambda x: 1 / np.sqrt(x), POSITIVE),
    "sin": (np.sin, ANY),
    "sinh": (np.sinh, ANY),
    "softsign": (lambda x: x / (1 + np.abs(x)), ANY),
    "sqrt": (np.sqrt, POSITIVE),
    "tan": (np.tan, ANY),
    "tanh": (np.tanh, ANY),
    "trunc": (np.trunc, ANY),
}
EPSILON = {"f16": 2**-10, "bf16": 2**-7, "f32": 2**-22, "f64": 2**-50}


def test_every_op_has_a_rule() -> None:
    assert {op.name for op in Math.operations} == {*RULES}


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("type", EPSILON)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(type: str, name: str) -> None:
    function, inputs = FUNCTIONS[name]
    x = inputs.astype(DTYPES[type])
    exact = x.astype(np.float64)
    found = elementwise(f"%r = math.{name} %a : <A>", type, x).astype(np.float64)
    # A function of a rounded argument is off by what the argument is off; here it is exact.
    np.testing.assert_allclose(found, function(exact), rtol=EPSILON[type], atol=EPSILON[type] / 64)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("type", EPSILON)
def test_precise_functions_are_rounded_correctly(type: str) -> None:
    x = POSITIVE.astype(DTYPES[type])
    y = POSITIVE[::-1].astype(DTYPES[type])
    wide = np.longdouble if type == "f64" else np.float64
    found = elementwise("%r = tt.precise_sqrt %a : <A>", type, x)
    assert (
        found.tolist()
        == np.sqrt(x.astype(wide))
        .astype(np.float64 if type == "f64" else np.float32)
        .astype(x.dtype)
        .tolist()
    )
    found = elementwise("%r = tt.precise_divf %a, %b : <A>", type, x, y)
    expected = (x.astype(np.float64) / y.astype(np.float64)).astype(
        np.float32 if type != "f64" else np.float64
    )
    assert found.tolist() == expected.astype(x.dtype).tolist()


def test_two_arguments() -> None:
    x, y = ANY.astype(np.float32), ANY[::-1].astype(np.float32)
    for name, function in {"atan2": np.arctan2, "copysign": np.copysign}.items():
        found = elementwise(f"%r = math.{name} %a, %b : <A>", "f32", x, y)
        np.testing.assert_allclose(found, function(x.astype(float), y.astype(float)), rtol=1e-6)
    base = np.abs(x) + np.float32(0.1)
    found = elementwise("%r = math.powf %a, %b : <A>", "f32", base, y, shared_tolerance=1e-6)
    np.testing.assert_allclose(found, base.astype(float) ** y.astype(float), rtol=1e-5)
    exponent = np.arange(-3, 4, dtype=np.int32)
    found = elementwise(
        "%r = math.fpowi %a, %b : <A>, <B>", "f32", base[:7], exponent, shared_tolerance=1e-6
    )
    np.testing.assert_allclose(found, base[:7].astype(float) ** exponent, rtol=1e-5)


def test_what_a_scalar_is() -> None:
    x = np.array([1, math.nan, math.inf, 1e-40, 0], np.float32)
    for name, expected in {
        "isnan": [0, 1, 0, 0, 0],
        "isinf": [0, 0, 1, 0, 0],
        "isfinite": [1, 0, 0, 1, 1],
        "isnormal": [1, 0, 0, 0, 0],
    }.items():
        found = elementwise(f"%r = math.{name} %a : <A>", "i1", x)
        assert found.tolist() == [bool(value) for value in expected]


def test_sine_and_cosine_at_once() -> None:
    x = ANY.astype(np.float32)
    found = elementwise("%s, %r = math.sincos %a : <A>", "f32", x)
    np.testing.assert_allclose(found, np.cos(x.astype(float)), atol=1e-6)


def library(symbol: str, count: int = 1) -> str:
    operands = ", ".join(["%a", "%b"][:count])
    types = ", ".join(["<A>", "<B>"][:count])
    attributes = f'libname = "", libpath = "", pure = true, symbol = "{symbol}"'
    return f"%r = tt.extern_elementwise {operands} {{{attributes}}} : ({types}) -> <R>"


@pytest.mark.parametrize(
    ("symbol", "function"),
    [
        ("__nv_tanhf", np.tanh),
        ("__nv_fast_expf", np.exp),
        ("__ocml_log1p_f32", np.log1p),
        ("__nv_erff", np.vectorize(math.erf)),
        ("__nv_rintf", np.rint),
        ("__nv_rsqrtf", lambda x: 1 / np.sqrt(x)),
    ],
)
def test_device_library(symbol: str, function) -> None:
    x = POSITIVE.astype(np.float32)
    found = elementwise(library(symbol), "f32", x)
    np.testing.assert_allclose(found, function(x.astype(float)), rtol=1e-6)


def test_device_library_with_integers() -> None:
    x, n = np.array([1.5, -2, 0.25], np.float32), np.array([3, -1, 10], np.int32)
    found = elementwise(library("__nv_ldexpf", 2), "f32", x, n)
    assert found.tolist() == [12, -1, 256]
    found = elementwise(library("__nv_isnanf"), "i32", np.array([1, math.nan], np.float32))
    assert found.tolist() == [0, 1]


def test_an_unknown_library_function_is_refused() -> None:
    with pytest.raises(Unsupported, match="'__nv_j0f' has no counterpart in NumPy"):
        elementwise(library("__nv_j0f"), "f32", POSITIVE.astype(np.float32))


def test_inline_assembly_is_refused_where_it_stands() -> None:
    text = """tt.func public @kernel(%x: i32) {
  %r = tt.elementwise_inline_asm "lop3.b32 $0, $1, $1, 0, 0xb8;" {constraints = "=r,r", packed_element = 1 : i32, pure = false} %x : i32 -> i32
  tt.return
}"""
    with pytest.raises(Unsupported) as caught:
        compiled(text)
    message = str(caught.value)
    assert message.startswith("kernel.mlir:2:")
    assert "error[TW6001]: inline assembly is not supported on target numpy: lop3.b32" in message
