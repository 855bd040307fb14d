"""The ODE example: right to its order, the same bits wherever its scratch lies, guards intact."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tilewright.buffers import BufferRegistry

pytest.importorskip(
    "numba", reason="the example runs in the simulator of numba-cuda, which is not installed"
)

FILE = Path(__file__).parents[3] / "examples" / "buffers" / "ode_step.py"
SHARED = {f"{name}_location": "shared" for name in ("k1", "k2", "k3", "error", "stage", "flux")}
LOCAL = dict.fromkeys(SHARED, "local")


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(FILE))


@pytest.fixture(scope="module")
def start():
    return np.random.default_rng(3).uniform(0.1, 1.0, size=(5, 3)).astype(np.float32)


def test_agrees_with_float64(example, start):
    states, errors, _ = example["integrate"](start, 0.04, 5)
    np.testing.assert_allclose(states, example["reference"](start, 0.04, 5), atol=2e-5)
    np.testing.assert_allclose(states.sum(axis=1), start.sum(axis=1), rtol=1e-5)
    assert (errors > 0).all()
    assert (errors < 1e-3).all()


def test_the_estimate_falls_with_the_cube_of_the_step(example, start):
    coarse, fine = (example["integrate"](start, dt, 1)[1] for dt in (0.2, 0.1))
    np.testing.assert_allclose(coarse / fine, 8, rtol=0.5)


def test_the_same_bits_wherever_scratch_lies(example, start):
    expected = example["integrate"](start, 0.05, 3)
    for locations in (SHARED, LOCAL, {"stage_location": "shared"}, {"flux_location": "shared"}):
        states, errors, layouts = example["integrate"](start, 0.05, 3, locations)
        assert layouts != expected[2]
        assert states.tobytes() == expected[0].tobytes()
        assert errors.tobytes() == expected[1].tobytes()


def test_where_its_scratch_lies_by_default(example, start):
    _, _, layouts = example["integrate"](start, 0.05, 1)
    assert list(layouts.persistent) == ["k1", "rates_persistent"]
    assert layouts.shared["error"] == layouts.shared["k2"]
    assert list(layouts.local) == ["stage"]


def test_guards_stay_whole(example, start, capsys):
    plain = example["integrate"](start, 0.05, 3, SHARED)[0]
    guarded = example["integrate"](start, 0.05, 3, SHARED, BufferRegistry(guard_words=3))[0]
    assert guarded.tobytes() == plain.tobytes()
    assert capsys.readouterr().out == ""


def test_on_the_command_line():
    command = [sys.executable, str(FILE), "--canary", "stage_location=shared"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    shared, persistent, local, estimate, error = run.stdout.splitlines()
    assert (
        shared == "shared         28  k2[2,5) k3[16,19) stage[23,26) rates_shared[0,0) error[9,12)"
    )
    assert persistent == "persistent      7  k1[2,5) rates_persistent[0,0)"
    assert local == "local           0"
    assert float(estimate.rpartition(" ")[2]) < 1e-4
    assert float(error.rpartition(" ")[2]) < 1e-4
