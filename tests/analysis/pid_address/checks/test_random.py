"""Random kernels: integer sets and enumeration agree, and both agree with plain Python loops."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product

import pytest

from tests.analysis.pid_address.checks.witnesses import confirm
from tests.analysis.pid_address.support import report_of
from tilewright.analysis.pid_address import AccessProperties, AddressReport
from tilewright.analysis.pid_address.checks import (
    CheckResult,
    Settings,
    overlap,
    presburger,
    run_checks,
)
from tilewright.analysis.pid_address.checks import bounds as bounds_check
from tilewright.analysis.pid_address.checks.launches import Launch
from tilewright.analysis.pid_address.checks.ownership import Ownership
from tilewright.analysis.pid_address.checks.settings import Effort


@dataclass(frozen=True)
class Kernel:
    """A store at ``a*(pid0 / d) + b*(pid0 % d) + c*pid1 + s*lane + k`` where that is below m."""

    a: int
    b: int
    c: int
    d: int
    s: int
    k: int
    m: int
    lanes: int
    grid: tuple[int, int]

    def text(self) -> str:
        constants = [f"  %{n} = arith.constant {getattr(self, n)} : i32" for n in "abcdsk"]
        t = f"tensor<{self.lanes}xi32>"
        p = f"tensor<{self.lanes}x!tt.ptr<f32>>"
        return "\n".join(
            (
                "tt.func @kernel(%x: !tt.ptr<f32>, %m: i32) {",
                *constants,
                "  %p0 = tt.get_program_id x : i32",
                "  %p1 = tt.get_program_id y : i32",
                "  %q = arith.divsi %p0, %d : i32",
                "  %r = arith.remsi %p0, %d : i32",
                "  %t0 = arith.muli %q, %a : i32",
                "  %t1 = arith.muli %r, %b : i32",
                "  %t2 = arith.muli %p1, %c : i32",
                "  %u0 = arith.addi %t0, %t1 : i32",
                "  %u1 = arith.addi %u0, %t2 : i32",
                "  %u2 = arith.addi %u1, %k : i32",
                f"  %l = tt.make_range {{start = 0 : i32, end = {self.lanes} : i32}} : {t}",
                f"  %ss = tt.splat %s : i32 -> {t}",
                f"  %ls = arith.muli %l, %ss : {t}",
                f"  %us = tt.splat %u2 : i32 -> {t}",
                f"  %o = arith.addi %us, %ls : {t}",
                f"  %ms = tt.splat %m : i32 -> {t}",
                f"  %in = arith.cmpi slt, %o, %ms : {t}",
                f"  %v = arith.constant dense<0.0> : tensor<{self.lanes}xf32>",
                f"  %xs = tt.splat %x : !tt.ptr<f32> -> {p}",
                f"  %xp = tt.addptr %xs, %o : {p}, {t}",
                f"  tt.store %xp, %v, %in : {p}",
                "  tt.return",
                "}",
            )
        )

    def addresses(self) -> dict[tuple[int, int], set[int]]:
        """Elements that each program stores to, by running the formula."""
        found: dict[tuple[int, int], set[int]] = {}
        for p0, p1 in product(range(self.grid[0]), range(self.grid[1])):
            start = self.a * (p0 // self.d) + self.b * (p0 % self.d) + self.c * p1 + self.k
            offsets = {start + self.s * lane for lane in range(self.lanes)}
            found[p0, p1] = {offset for offset in offsets if offset < self.m}
        return found


def kernel(seed: int) -> Kernel:
    pick = random.Random(seed)
    return Kernel(
        a=pick.choice([1, 4, 16, 64, 7]),
        b=pick.choice([0, 1, 4, 8, 16, -4]),
        c=pick.choice([0, 32, 64, 256, 5]),
        d=pick.choice([1, 2, 3, 4]),
        s=pick.choice([1, 1, 1, 2, 3, 0, -1]),
        k=pick.choice([0, 0, 8, 31, -3]),
        m=pick.choice([20, 100, 1000]),
        lanes=pick.choice([4, 8, 16]),
        grid=(pick.randint(1, 6), pick.randint(1, 3)),
    )


def report(example: Kernel, size: int) -> AddressReport:
    facts = AccessProperties(grid=example.grid, args={"m": example.m}, buffers={"x": 4 * size})
    return report_of(example.text(), facts)


@pytest.mark.parametrize("seed", range(60))
def test_procedures_agree_with_execution(seed: int) -> None:
    example = kernel(seed)
    size = random.Random(~seed).choice([16, 64, 128, 512])
    accessed = example.addresses()
    outside = any(not 0 <= offset < size for offsets in accessed.values() for offset in offsets)
    programs = list(accessed)
    overlaps = any(
        accessed[p] & accessed[q] for i, p in enumerate(programs) for q in programs[i + 1 :]
    )
    examined = report(example, size)
    launch = Launch(examined, Settings())
    [access] = examined.accesses

    for found in run_checks(examined, ["bounds", "race", "overflow"]):
        if found.check.value == "lanes":
            continue
        truth = {"bounds": outside, "race": overlaps, "overflow": False}[found.check.value]
        assert found.verdict is (CheckResult.REFUTED if truth else CheckResult.PROVED)
        if truth:
            confirm(examined, found)

    leaving = bounds_check.leaves(launch, access, launch.space().const(4 * size))
    assert presburger.decide(leaving, Effort(launch.settings)).possible is outside
    values = launch.enumeration(access).first_where(
        lambda chunk: (chunk.offset < 0) | (chunk.offset + 4 > 4 * size)
    )
    assert (values is not None) is outside
    common = overlap.common_byte(launch, access, access)
    assert presburger.decide(common, Effort(launch.settings)).possible is overlaps
    conflict = Ownership([launch.enumeration(access, every_program=True)]).conflict(0, 0)
    assert (conflict is not None) is overlaps


@pytest.mark.parametrize("seed", range(20))
def test_the_first_witness_is_the_first_in_order_of_execution(seed: int) -> None:
    example = kernel(seed)
    examined = report(example, 8)
    [found] = run_checks(examined, ["bounds"])
    if found.verdict is CheckResult.PROVED:
        return
    assert found.witness is not None
    offsets = [
        (p, lane)
        for p, accessed in example.addresses().items()
        for lane in range(example.lanes)
        if (at := _offset(example, p, lane)) in accessed and not 0 <= at < 8
    ]
    [point] = found.witness.points
    assert (point.program[:2], point.lanes[0]) == min(offsets)


def _offset(example: Kernel, program: tuple[int, int], lane: int) -> int:
    p0, p1 = program
    start = example.a * (p0 // example.d) + example.b * (p0 % example.d)
    return start + example.c * p1 + example.k + example.s * lane
