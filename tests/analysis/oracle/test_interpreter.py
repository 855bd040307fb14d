"""The oracle itself: what the interpreter does is what the machine would do."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.oracle.arithmetic import UndefinedBehaviour, binary, compared
from tests.analysis.oracle.interpreter import run
from tests.analysis.oracle.recording import Launch, When
from tests.analysis.pid_address.support import parse


@pytest.mark.parametrize(
    ("name", "a", "b", "result", "fits"),
    [
        ("arith.addi", 2**31 - 1, 1, -(2**31), False),
        ("arith.muli", 65536, 65536, 0, False),
        ("arith.subi", 3, 5, -2, True),
        ("arith.divsi", -7, 2, -3, True),
        ("arith.remsi", -7, 2, -1, True),
        ("arith.floordivsi", -7, 2, -4, True),
        ("arith.ceildivsi", -7, 2, -3, True),
        ("arith.divui", -1, 2, 2**31 - 1, True),
        ("arith.remui", -1, 16, 15, True),
        ("arith.shrui", -1, 28, 15, True),
        ("arith.shrsi", -16, 2, -4, True),
        ("arith.shli", 3, 30, -(2**30), False),
        ("arith.minui", -1, 3, 3, True),
        ("arith.xori", -1, 5, -6, True),
    ],
)
def test_machine_integers(name: str, a: int, b: int, result: int, fits: bool) -> None:
    found, exact = binary(name, np.asarray(a), np.asarray(b), 32)
    assert (int(found), exact) == (result, fits)


def test_64_bits_wrap_too() -> None:
    found, exact = binary("arith.addi", np.asarray(2**63 - 1), np.asarray(2), 64)
    assert (int(found), exact) == (-(2**63) + 1, False)


def test_unsigned_comparisons() -> None:
    assert bool(compared("ugt", np.asarray(-1), np.asarray(7), 32))
    assert not bool(compared("sgt", np.asarray(-1), np.asarray(7), 32))


def test_division_by_zero_has_no_meaning() -> None:
    with pytest.raises(UndefinedBehaviour):
        binary("arith.divsi", np.asarray(1), np.asarray(0), 32)


KERNEL = """
tt.func public @k(%p: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %pid = tt.get_program_id x : i32
  %stop = arith.cmpi sge, %pid, %n : i32
  cf.cond_br %stop, ^leave, ^stay
^leave:
  tt.return
^stay:
  %l = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
  %r = scf.for %i = %c0 to %pid step %c1 iter_args(%x = %c4) -> (i32) : i32 {
    %xs = tt.splat %x : i32 -> tensor<4xi32>
    %o = arith.addi %l, %xs : tensor<4xi32>
    %q = tt.addptr %ps, %o : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
    %m = arith.cmpi slt, %o, %xs : tensor<4xi32>
    %all = arith.cmpi sge, %o, %xs : tensor<4xi32>
    %v = tt.load %q, %all : tensor<4x!tt.ptr<f32>>
    %y = arith.muli %x, %c4 : i32
    scf.yield %y : i32
  }
  %e = tt.addptr %p, %r : !tt.ptr<f32>, i32
  %z = arith.constant 0.0 : f32
  tt.store %e, %z : !tt.ptr<f32>
  tt.return
}
"""


def test_addresses_masks_turns_and_programs_are_recorded() -> None:
    recording = run(parse(KERNEL), Launch((4, 1, 1), {"n": 3}, {"p": 1000}))
    [load] = [t for (op, _), t in recording.touches.items() if op.name == "tt.load"]
    [store] = [t for (op, _), t in recording.touches.items() if op.name == "tt.store"]
    # Program 0 does not turn, program 3 returns early.
    assert [touch.when for touch in load] == [
        When((1, 0, 0), (0,)),
        When((2, 0, 0), (0,)),
        When((2, 0, 0), (1,)),
    ]
    assert load[2].addresses.tolist() == [1000 + 4 * (16 + lane) for lane in range(4)]
    assert load[2].mask.all()
    assert [(t.when.program[0], int(t.addresses)) for t in store] == [
        (0, 1016),
        (1, 1064),
        (2, 1256),
    ]
    [turns] = recording.turns.values()
    assert turns == {When((p, 0, 0), ()): p for p in range(3)}
    assert not recording.wraps
