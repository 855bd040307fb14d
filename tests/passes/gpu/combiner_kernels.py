"""Combiners, and kernels that reduce or scan by them, as text of the tile and the pointer level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.targets.numpy.kernels import DTYPES, tensor_type
from tests.targets.numpy.tile.tile_support import block


@dataclass(frozen=True)
class Combiner:
    """What combines ``(%a0, %a1, ...)`` and ``(%b0, %b1, ...)`` into ``(%r0, %r1, ...)``."""

    types: tuple[str, ...]
    body: str
    draw: Callable[[np.random.Generator, tuple[int, ...], int], list[Any]]
    """Sources of a shape that are reduced along an axis."""

    def region(self, end: str) -> str:
        count = range(len(self.types))
        arguments = [f"%{side}{n}: {self.types[n]}" for side in "ab" for n in count]
        results = ", ".join(f"%r{n}" for n in count)
        return (
            f"^bb0({', '.join(arguments)}):\n{self.body}\n"
            f"  {end} {results} : {', '.join(self.types)}"
        )

    def sources(self, shape: tuple[int, ...], axis: int, seed: int = 0) -> list[Any]:
        found = self.draw(np.random.default_rng(seed), shape, axis)
        return [
            np.array(each, dtype=DTYPES[type], order="C")
            for each, type in zip(found, self.types, strict=True)
        ]


def _positions(shape: tuple[int, ...], axis: int) -> Any:
    extents = [-1 if each == axis else 1 for each in range(len(shape))]
    return np.broadcast_to(np.arange(shape[axis]).reshape(extents), shape)


def _arg(predicate: str) -> str:
    return f"""
  %better = arith.cmpf {predicate}, %a0, %b0 : f32
  %eq = arith.cmpf oeq, %a0, %b0 : f32
  %lt = arith.cmpi slt, %a1, %b1 : i32
  %tie = arith.andi %eq, %lt : i1
  %left = arith.ori %better, %tie : i1
  %r0 = arith.select %left, %a0, %b0 : f32
  %r1 = arith.select %left, %a1, %b1 : i32"""


def _with_ties(draw: np.random.Generator, shape: tuple[int, ...], axis: int) -> list[Any]:
    return [draw.integers(-4, 5, shape), _positions(shape, axis)]


def _normal(draw: np.random.Generator, shape: tuple[int, ...], axis: int) -> list[Any]:
    return [draw.standard_normal(shape)]


def _integers(draw: np.random.Generator, shape: tuple[int, ...], axis: int) -> list[Any]:
    return [draw.integers(-(2**31), 2**31, shape)]


COMBINERS: dict[str, Combiner] = {
    "argmax": Combiner(("f32", "i32"), _arg("ogt"), _with_ties),
    "argmin": Combiner(("f32", "i32"), _arg("olt"), _with_ties),
    "any argmax": Combiner(
        ("f32", "i32"),
        """
  %left = arith.cmpf ogt, %a0, %b0 : f32
  %r0 = arith.select %left, %a0, %b0 : f32
  %r1 = arith.select %left, %a1, %b1 : i32""",
        _with_ties,
    ),
    # The maximum, and the sum of exponentials relative to it.
    "max and sum": Combiner(
        ("f32", "f32"),
        """
  %r0 = arith.maxnumf %a0, %b0 : f32
  %x = arith.subf %a0, %r0 : f32
  %y = arith.subf %b0, %r0 : f32
  %ex = math.exp %x : f32
  %ey = math.exp %y : f32
  %p = arith.mulf %a1, %ex : f32
  %q = arith.mulf %b1, %ey : f32
  %r1 = arith.addf %p, %q : f32""",
        lambda draw, shape, axis: [draw.standard_normal(shape) * 4, np.ones(shape)],
    ),
    # Mean, sum of squared differences, count.
    "welford": Combiner(
        ("f32", "f32", "f32"),
        """
  %d = arith.subf %b0, %a0 : f32
  %r2 = arith.addf %a2, %b2 : f32
  %w = arith.divf %b2, %r2 : f32
  %dw = arith.mulf %d, %w : f32
  %r0 = arith.addf %a0, %dw : f32
  %s = arith.addf %a1, %b1 : f32
  %dd = arith.mulf %d, %dw : f32
  %t = arith.mulf %dd, %a2 : f32
  %r1 = arith.addf %s, %t : f32""",
        lambda draw, shape, axis: [draw.standard_normal(shape), np.zeros(shape), np.ones(shape)],
    ),
    # x -> a x + b, applied sequentially.
    "linear": Combiner(
        ("f32", "f32"),
        """
  %r0 = arith.mulf %a0, %b0 : f32
  %t = arith.mulf %a1, %b0 : f32
  %r1 = arith.addf %t, %b1 : f32""",
        lambda draw, shape, axis: [draw.uniform(0.8, 1, shape), draw.standard_normal(shape)],
    ),
    "last": Combiner(("i32",), "  %r0 = arith.maxsi %b0, %b0 : i32", _integers),
    "linear of integers": Combiner(
        ("i32", "i32"),
        """
  %r0 = arith.muli %a0, %b0 : i32
  %t = arith.muli %a1, %b0 : i32
  %r1 = arith.addi %t, %b1 : i32""",
        lambda draw, shape, axis: [draw.integers(-9, 9, shape), draw.integers(-99, 99, shape)],
    ),
    "branch": Combiner(
        ("i32",),
        """
  %c = arith.cmpi slt, %a0, %b0 : i32
  %r0 = scf.if %c -> (i32) {
    %m = arith.addi %b0, %b0 : i32
    %h = arith.subi %m, %b0 : i32
    scf.yield %h : i32
  } else {
    scf.yield %a0 : i32
  }""",
        _integers,
    ),
    "sum f32": Combiner(("f32",), "  %r0 = arith.addf %a0, %b0 : f32", _normal),
    "sum f64": Combiner(("f64",), "  %r0 = arith.addf %a0, %b0 : f64", _normal),
    "multiplication f32": Combiner(
        ("f32",),
        "  %r0 = arith.mulf %a0, %b0 : f32",
        lambda draw, shape, axis: [draw.uniform(0.9, 1.1, shape)],
    ),
    "sum f16": Combiner(("f16",), "  %r0 = arith.addf %a0, %b0 : f16", _normal),
    "sum bf16": Combiner(("bf16",), "  %r0 = arith.addf %a0, %b0 : bf16", _normal),
    "min i8": Combiner(
        ("i8",),
        "  %r0 = arith.minsi %a0, %b0 : i8",
        lambda draw, shape, axis: [draw.integers(-128, 128, shape)],
    ),
    "umax": Combiner(("i32",), "  %r0 = arith.maxui %a0, %b0 : i32", _integers),
    "xor": Combiner(("i32",), "  %r0 = arith.xori %a0, %b0 : i32", _integers),
    "any": Combiner(
        ("i1",),
        "  %r0 = arith.ori %a0, %b0 : i1",
        lambda draw, shape, axis: [draw.random(shape) < 0.05],
    ),
}
REORDERED = {"any argmax", "last", "linear", "linear of integers"}
"""Not commutative: what order elements combine in can be seen."""


def _memref(shape: Sequence[int], type: str, space: str) -> str:
    return f"memref<{''.join(f'{extent}x' for extent in shape)}{type}, #{space}>"


def reduced_shape(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :]) or (1,)


def tile_kernel(
    combiner: Combiner,
    shape: tuple[int, ...],
    axis: int,
    *,
    scan: bool = False,
    reverse: bool = False,
    space: str = "fragment",
    in_place: bool = False,
    threads: int = 128,
) -> str:
    """A kernel that copies its sources to `space`, combines, and copies the results back."""
    result = shape if scan else reduced_shape(shape, axis)
    types = combiner.types
    lines: list[str] = []
    for n, type in enumerate(types):
        to, back = _memref(shape, type, space), _memref(result, type, space)
        lines += [
            f'%x{n} = tile.alloc "x{n}" : {to}',
            f'%y{n} = tile.alloc "y{n}" : {back}' if not in_place else "",
            f"tile.copy %A{n} -> %x{n} : {_memref(shape, type, 'global')} -> {to}",
        ]
    y = "x" if in_place else "y"
    count = range(len(types))
    sources, targets = (", ".join(f"%{name}{n}" for n in count) for name in ("x", y))
    one, other = (
        ", ".join(_memref(each, type, space) for type in types) for each in (shape, result)
    )
    name = "tile.scan_by" if scan else "tile.reduce_by"
    end = " reverse" if reverse else ""
    lines.append(f"{name} {sources} -> {targets} dim {axis}{end} : {one} -> {other} {{")
    lines.append(combiner.region("tile.return"))
    lines.append("}")
    for n, type in enumerate(types):
        back = _memref(result, type, space)
        lines.append(f"tile.copy %{y}{n} -> %B{n} : {back} -> {_memref(result, type, 'global')}")
    arguments = [f"%A{n}: {_memref(shape, type, 'global')}" for n, type in enumerate(types)]
    arguments += [f"%B{n}: {_memref(result, type, 'global')}" for n, type in enumerate(types)]
    return block(", ".join(arguments), "\n".join(lines), threads=threads)


def results_like(
    combiner: Combiner, shape: tuple[int, ...], axis: int, *, scan: bool = False
) -> list[Any]:
    """Arrays for the results, poisoned."""
    result = shape if scan else reduced_shape(shape, axis)
    return [np.full(result, 77).astype(DTYPES[type]) for type in combiner.types]


def pointer_ops(
    combiner: Combiner,
    sources: Sequence[Any],
    axis: int,
    which: int,
    *,
    scan: bool = False,
    reverse: bool = False,
) -> tuple[str, Any]:
    """``tt`` ops on ``%a``, ``%b``, ... whose result `which` is ``%r``, and what that is like.

    The first axis of the sources counts programs.
    """
    name = "scan" if scan else "reduce"
    outputs = [
        np.zeros(
            each.shape if scan else (each.shape[0], *np.delete(each.shape[1:], axis)), each.dtype
        )
        for each in sources
    ]
    defined = ", ".join("%r" if n == which else f"%other{n}" for n in range(len(sources)))
    operands = ", ".join(f"%{letter}" for letter in "abcdef"[: len(sources)])
    types = ", ".join(tensor_type(each) for each in sources)
    results = ", ".join(
        tensor_type(each) if each.ndim > 1 else type
        for each, type in zip(outputs, combiner.types, strict=True)
    )
    extra = f", reverse = {'true' if reverse else 'false'}" if scan else ""
    text = (
        f'{defined} = "tt.{name}"({operands}) <{{axis = {axis} : i32{extra}}}> ({{\n'
        f"{combiner.region(f'tt.{name}.return')}\n}}) : ({types}) -> ({results})"
    )
    return text, outputs[which]
