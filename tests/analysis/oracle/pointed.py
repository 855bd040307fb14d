"""Small kernels, each made to show one thing that random ones seldom or never do.

All have the same signature and begin alike; ``$ %x`` stands for a store at index ``%x``, and
``$16 %t`` for one at a tensor of sixteen indices.
"""

from __future__ import annotations

import re

from tests.analysis.oracle import pointed_control as control
from tests.analysis.oracle import pointed_overflow as overflow
from tests.analysis.oracle import pointed_values as values
from tests.analysis.oracle.kernels import Kernel
from tests.analysis.oracle.recording import Launch, Program

_HEAD = """
tt.func public @kernel(
    %p0: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %p1: !tt.ptr<f32>,
    %ids: !tt.ptr<i32> {tt.divisibility = 16 : i32},
    %n0: i32, %n1: i32, %n2: i32 {tt.divisibility = 16 : i32}) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c5 = arith.constant 5 : i32
  %c8 = arith.constant 8 : i32
  %c16 = arith.constant 16 : i32
  %c63 = arith.constant 63 : i32
  %no = arith.constant false
  %yes = arith.constant true
  %z = arith.constant 0.0 : f32
  %zs = arith.constant dense<0.0> : tensor<16xf32>
  %zb = arith.constant dense<0.0> : tensor<4x16xf32>
  %w1 = arith.constant 1 : i64
  %w16 = arith.constant 16 : i64
  %w64 = arith.constant 64 : i64
  %pid = tt.get_program_id x : i32
  %pid1 = tt.get_program_id y : i32
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %row = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
  %s0 = tt.splat %n0 : i32 -> tensor<16xi32>
  %s1 = tt.splat %n1 : i32 -> tensor<16xi32>
  %s2 = tt.splat %n2 : i32 -> tensor<16xi32>
  %spid = tt.splat %pid : i32 -> tensor<16xi32>
  %t2 = arith.constant dense<2> : tensor<16xi32>
  %t3 = arith.constant dense<3> : tensor<16xi32>
  %t4 = arith.constant dense<4> : tensor<16xi32>
  %t8 = arith.constant dense<8> : tensor<16xi32>
  %t16 = arith.constant dense<16> : tensor<16xi32>
  %first = arith.muli %spid, %t16 : tensor<16xi32>
  %place = arith.addi %first, %lane : tensor<16xi32>
  %ps = tt.splat %p0 : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
"""

_HUGE = 2**30 + 7
_NUMBERS = (
    (3, 7, 16), (-5, 2, 32), (12, -9, 48), (1, 30, 0),
    (_HUGE, 7, 16), (2**31 - 8, 5, 32), (2**31 - 16, 5, 32),
    (3, _HUGE, 32), (3, 7, 2**30 + 16), (-_HUGE, -_HUGE, -(2**30) - 16),
)  # fmt: skip
"""Arguments of the launches; with the last ones, sums and products overflow."""

_GRID: Program = (3, 2, 1)

_BODIES = {**control.BODIES, **values.BODIES, **overflow.BODIES}


def _expanded(body: str) -> str:
    """The body with its stores written out."""
    count = 0

    def store(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        value, mask = match["value"], match["mask"] or ""
        if match["many"]:
            return (
                f"%q{count} = tt.addptr %ps, {value} : tensor<16x!tt.ptr<f32>>, tensor<16xi32>\n"
                f"tt.store %q{count}, %zs{mask} : tensor<16x!tt.ptr<f32>>"
            )
        return (
            f"%q{count} = tt.addptr %p0, {value} : !tt.ptr<f32>, i32\n"
            f"tt.store %q{count}, %z{mask} : !tt.ptr<f32>"
        )

    return re.sub(r"\$(?P<many>16)? (?P<value>%[\w#]+)(?P<mask>, %\w+)?", store, body)


def pointed_kernels() -> list[Kernel]:
    return [_kernel(name, body) for name, body in _BODIES.items()]


def _kernel(name: str, body: str) -> Kernel:
    body, _, helpers = body.partition("HELPERS")
    launches = tuple(
        Launch(
            _GRID,
            {"n0": a, "n1": b, "n2": c},
            {"p0": (1 << 40) + 16 * (2 * at + 1), "p1": (2 << 40) + 4 * at, "ids": 3 << 40},
            {"ids": tuple((7 * k + at) % 23 * 4 for k in range(64))},
            seed=at,
        )
        for at, (a, b, c) in enumerate(_NUMBERS)
    )
    text = f"{_HEAD}{_expanded(body)}\n  tt.return\n}}\n{helpers}"
    return Kernel(name, text, launches, (("p0", 4096), ("p1", 4096), ("ids", 256)))
