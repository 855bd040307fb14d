"""Small kernels that apply every operator to every pair of types, and what to feed them.

A `Plan` is a kernel with one statement a case. Operands are loaded, so that nothing is known about
them when the kernel is compiled; each result is stored as it is, in a row of the output for its
type. The text serves Tilewright and Triton alike.

Operands meet in all combinations of edge values (both zeros, both infinities, NaN, the least and
the greatest numbers, subnormals, widths of shifts), then in random ones. Integer divisions take
operands without zero: what becomes of a division by zero is a matter of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import ml_dtypes
import numpy as np

from tests.language.tl.outcomes import BLOCK, Batch, Case, Refused, our_outcomes

Array = np.ndarray[Any, Any]
Key = tuple[str, str, str]
"""Operator, left and right operand: no two cases share it."""

LANES = 512
EDGES = 20
"""Edge values of a type; all pairs of them come first, then random numbers."""

DTYPES: dict[str, Any] = {
    "int1": np.bool_,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
    "fp64": np.float64,
    "fp8e4nv": ml_dtypes.float8_e4m3fn,
    "fp8e5": ml_dtypes.float8_e5m2,
}
SPELLED = {
    **{name: name for name in DTYPES},
    **{name: f"float{name[2:]}" for name in DTYPES if name.startswith("fp")},
    "bf16": "bfloat16",
}
SMALL_FLOATS = ("fp8e4nv", "fp8e5")
TYPES = tuple(name for name in DTYPES if name not in SMALL_FLOATS)
INTEGERS = tuple(name for name in TYPES if "int" in name)
FLOATS = tuple(name for name in TYPES if "int" not in name)

OPERATORS = ("+", "-", "*", "/", "%", "//", "<<", ">>", "&", "|", "^")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
FUNCTIONS = {
    "minimum": "tl.minimum({x}, {y})",
    "minimum nan": "tl.minimum({x}, {y}, propagate_nan=tl.PropagateNan.ALL)",
    "maximum": "tl.maximum({x}, {y})",
    "maximum nan": "tl.maximum({x}, {y}, propagate_nan=tl.PropagateNan.ALL)",
    "where": "tl.where(c, {x}, {y})",
    "fdiv": "tl.fdiv({x}, {y})",
    "fdiv ieee": "tl.fdiv({x}, {y}, ieee_rounding=True)",
    "umulhi": "tl.umulhi({x}, {y})",
}
BINARY = {
    **{sign: f"{{x}} {sign} {{y}}" for sign in (*OPERATORS, *COMPARISONS)},
    **FUNCTIONS,
}
UNARY = {
    "neg": ("-x", ""),
    "invert": ("~x", ""),
    "abs": ("tl.abs(x)", ""),
    "not": ("not x", "logical_not(x)"),
    "and": ("x and c", "logical_and(x, c)"),
    "or": ("c or x", "logical_or(c, x)"),
}
NUMBERS = ("True", "3", "-1", "2**40", "-0.0", "0.1", "1e300")


@dataclass(frozen=True)
class Value:
    """One case: an operator, its operands, and the text of it."""

    operator: str
    left: str
    """A type, or a number of Python."""
    right: str
    """Likewise; for a cast the type to cast to."""
    text: str
    plain: str = ""
    """The same without `and`, `or` and `not`."""
    operands: tuple[str, ...] = ("x", "y")
    """Names of the inputs; numbers of Python are none."""

    @property
    def key(self) -> Key:
        return self.operator, self.left, self.right


@dataclass(frozen=True)
class Plan:
    """A kernel, its inputs by name, and where each case's result goes: type and row."""

    name: str
    inputs: dict[str, str]
    cases: tuple[Value, ...]
    results: tuple[tuple[str, int], ...]

    def dtype(self, key: Key) -> str:
        """The type of a case's result."""
        return self._types[key]

    @cached_property
    def _types(self) -> dict[Key, str]:
        return {case.key: dtype for case, (dtype, _) in zip(self.cases, self.results, strict=True)}

    def only(self, name: str, cases: Sequence[Value]) -> Plan:
        """A kernel with some of the cases."""
        rows: dict[str, int] = {}
        results: list[tuple[str, int]] = []
        for case in cases:
            dtype = self.dtype(case.key)
            results.append((dtype, rows.setdefault(dtype, 0)))
            rows[dtype] += 1
        used = {word for case in cases for word in re.findall(r"\w+", case.text)}
        inputs = {each: dtype for each, dtype in self.inputs.items() if each in used}
        return Plan(name, inputs, tuple(cases), tuple(results))

    @property
    def outputs(self) -> dict[str, int]:
        """How many rows there are of each type."""
        rows: dict[str, int] = {}
        for dtype, row in self.results:
            rows[dtype] = row + 1
        return rows

    @property
    def source(self) -> str:
        """The kernel's text."""
        outputs = [f"out_{dtype}" for dtype in self.outputs]
        parameters = ", ".join([*(f"{name}_ptr" for name in self.inputs), *outputs])
        lines = [f"o = tl.arange(0, {LANES})"]
        lines += [f"{name} = tl.load({name}_ptr + o)" for name in self.inputs]
        lines += [f"to_{dtype} = out_{dtype} + o" for dtype in self.outputs]
        for case, (dtype, row) in zip(self.cases, self.results, strict=True):
            lines.append(f"tl.store(to_{dtype} + {row * LANES}, {case.text})")
        body = "".join(f"    {line}\n" for line in lines)
        return f"@tw.jit\ndef {self.name}({parameters}):\n{body}"

    def operands(self) -> dict[str, Array]:
        return {name: operand(name, dtype) for name, dtype in self.inputs.items()}

    def empty(self) -> dict[str, Array]:
        """Outputs to fill, every byte 0x5a beforehand (True for conditions)."""
        made: dict[str, Array] = {}
        for dtype, rows in self.outputs.items():
            scalar = np.dtype(DTYPES[dtype])
            fill = np.full(rows * LANES * scalar.itemsize, 0x01 if dtype == "int1" else 0x5A, "u1")
            made[dtype] = fill.view(scalar).reshape(rows, LANES)
        return made

    def split(self, outputs: dict[str, Array]) -> dict[Key, Array]:
        """The results of each case."""
        return {
            case.key: outputs[dtype][row]
            for case, (dtype, row) in zip(self.cases, self.results, strict=True)
        }


# Cases.


def _is_integer_division(operator: str, *operands: str) -> bool:
    return operator in ("//", "%") and all("int" in each for each in operands)


def _pairs(left: str) -> tuple[dict[str, str], list[Value]]:
    """A tensor of `left` with tensors of all types."""
    inputs = {"x": left, "c": "int1"}
    cases: list[Value] = []
    for right in TYPES:
        inputs |= {f"y_{right}": right} | ({f"z_{right}": right} if right in INTEGERS else {})
        for operator, template in BINARY.items():
            y = f"{'z' if _is_integer_division(operator, left, right) else 'y'}_{right}"
            text = template.format(x="x", y=y)
            cases.append(Value(operator, left, right, text, operands=("x", y)))
    return inputs, cases


def _numbers(type: str) -> tuple[dict[str, str], list[Value]]:
    """A tensor with numbers of Python, on either side."""
    inputs = {"x": type, "c": "int1"} | ({"z": type} if type in INTEGERS else {})
    cases: list[Value] = []
    for number in NUMBERS:
        for operator, template in BINARY.items():
            if operator == "umulhi" and not number.isdigit():
                continue  # the front ends take floats here, the verifiers do not
            divides = operator in ("//", "%") and type in INTEGERS
            x = "z" if divides else "x"
            text = template.format(x="x", y=number)
            cases.append(Value(operator, type, number, text, operands=("x",)))
            text = template.format(x=number, y=x)
            cases.append(Value(operator, number, type, text, operands=(x,)))
    return inputs, cases


def _unary(type: str) -> tuple[dict[str, str], list[Value]]:
    cases = [
        Value(operator, type, "", text, plain, ("x",)) for operator, (text, plain) in UNARY.items()
    ]
    return {"x": type, "c": "int1"}, cases


def _casts(source: str) -> tuple[dict[str, str], list[Value]]:
    cases: list[Value] = []
    for target, spelled in SPELLED.items():
        ways = {"cast": "", "bitcast": ", bitcast=True"}
        ways |= {f"cast {mode}": f", fp_downcast_rounding='{mode}'" for mode in ("rtne", "rtz")}
        for way, option in ways.items():
            text = f"x.to(tl.{spelled}{option})"
            cases.append(Value(way, source, target, text, operands=("x",)))
    return {"x": source}, cases


def _plan(name: str, inputs: dict[str, str], cases: Sequence[Value]) -> Plan:
    """The cases that the front end takes, and the types it gives their results."""
    prologue = [f"{each} = tl.broadcast_to(s_{each}, {BLOCK})" for each in inputs]
    parameters = {f"s_{each}": _short(dtype) for each, dtype in inputs.items()}
    batch = Batch(parameters, prologue, [Case(case.text, case.plain) for case in cases])
    found = zip(cases, our_outcomes(batch), strict=True)
    types = {case: outcome for case, outcome in found if not isinstance(outcome, Refused)}
    whole = Plan(name, inputs, tuple(types), tuple((_element(each), 0) for each in types.values()))
    return whole.only(name, whole.cases)


def _element(type: str) -> str:
    found = re.fullmatch(r"<\[.*\], (\w+)>", type)
    assert found is not None, type
    return found[1]


def _short(dtype: str) -> str:
    """A type as Triton writes it in a signature."""
    if dtype == "int1":
        return "u1"
    return dtype.replace("uint", "u").replace("int", "i")


GROUPS = {"pairs": _pairs, "numbers": _numbers, "unary": _unary, "casts": _casts}
NAMES = tuple(
    f"{group}_{type}"
    for type in DTYPES
    for group in (GROUPS if type in TYPES else ("unary", "casts"))
)


@cache
def plan(name: str) -> Plan:
    """One of the kernels in `NAMES`."""
    group, _, type = name.partition("_")
    return _plan(name, *GROUPS[group](type))


# Operands.


def operand(name: str, dtype: str) -> Array:
    """The elements of an input: left operands repeat each edge value, right ones all of them."""
    edges = _edges(dtype)
    chance = _random(name, dtype, LANES - EDGES * EDGES)
    is_right = name[0] in "yzc"
    laid = np.tile(edges, EDGES) if is_right else np.repeat(edges, EDGES)
    found = np.concatenate([laid, chance])
    if name[0] == "z":
        found = np.where(found == 0, np.ones_like(found), found)
    return found


def _edges(dtype: str) -> Array:
    values = _integer_edges(dtype) if "int" in dtype else _float_edges(dtype)
    assert len(values) == EDGES
    return values


def _integer_edges(dtype: str) -> Array:
    scalar = np.dtype(DTYPES[dtype])
    if dtype == "int1":
        return np.resize(np.array([False, True]), EDGES)
    limits = np.iinfo(scalar)
    bits = limits.bits
    values = [
        0, 1, 2, 3, 5, 7, 10, bits - 1, bits, bits + 1, limits.min, limits.min + 1, limits.max - 1,
        limits.max, limits.max // 2 + 1, limits.max // 3, 100,
        *([-1, -2, -7] if limits.min else [limits.max - 7, limits.max // 5, limits.max // 2]),
    ]  # fmt: skip
    return np.array(values, scalar)


def _float_edges(dtype: str) -> Array:
    scalar = np.dtype(DTYPES[dtype])
    limits = ml_dtypes.finfo(scalar)
    least, normal, most = (float(getattr(limits, each)) for each in
                           ("smallest_subnormal", "smallest_normal", "max"))  # fmt: skip
    infinity = math.inf if dtype != "fp8e4nv" else most
    values = [
        0.0, -0.0, 1.0, -1.0, infinity, -infinity, math.nan, most, -most, least, -least,
        normal, -(normal - least), 1.5, -2.5, 1 / 3, 100.0, -200.7, 3.0e4, -3.0e9,
    ]  # fmt: skip
    with np.errstate(over="ignore"):
        return np.array(values, np.float64).astype(scalar)


def _random(name: str, dtype: str, count: int) -> Array:
    rng = np.random.default_rng([*name.encode(), *dtype.encode()])
    scalar = np.dtype(DTYPES[dtype])
    if dtype == "int1":
        return rng.integers(0, 2, count).astype(scalar)
    bits = rng.integers(0, 256, count * scalar.itemsize, dtype=np.uint8).view(scalar)
    if "int" in dtype:
        limits = np.iinfo(scalar)
        small = rng.integers(max(-20, limits.min), 21, count).astype(scalar)
        return np.where(rng.random(count) < 0.5, bits, small)
    usual = (rng.normal(size=count) * 10 ** rng.uniform(-2, 2, count)).astype(scalar)
    return np.where(rng.random(count) < 0.5, bits, usual)
