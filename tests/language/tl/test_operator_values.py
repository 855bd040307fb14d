"""Every operator on every pair of types: the values, to the bit, as in Triton's interpreter.

Each case is one operator on tensors of edge values and random ones, run by the NumPy target and by
the interpreter that comes with Triton. Results are the same bits, NaN for NaN. Where the
interpreter does not do what compiled kernels do, `operator_reference` says so element by element
and has the value instead; what it has for all other floats is compared as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("triton", reason="values are compared with Triton's interpreter")

from tests.language.tl.operator_cases import DTYPES, LANES, NAMES, Array, Key, Plan, Value, plan
from tests.language.tl.operator_reference import BROKEN, departures, expected, fails
from tests.sampling import every

ROOT = Path(__file__).resolve().parents[3]
_HEAD = "import tilewright as tw\nfrom tilewright import tl\n"
MINIMUM = 1500
"""The fewest cases that are compared."""


# Triton's.


class Interpreted:
    """What Triton's interpreter makes of all cases."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.language.tl.interpreted_operators", str(folder)]
        environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONWARNINGS": "ignore"}
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        self._folder = folder
        self._process = subprocess.Popen(command, env=environment, cwd=ROOT)

    @cache  # noqa: B019 - one instance a run
    def _values(self) -> dict[str, Array]:
        assert self._process.wait() == 0
        with np.load(self._folder / "values.npz") as found:
            return {name: found[name] for name in found.files}

    def values(self, plan: Plan) -> dict[Key, Array]:
        found = self._values()
        good = plan.only(plan.name, [case for case in plan.cases if not fails(case)])
        outputs = {
            dtype: found[f"{plan.name}|{dtype}"].view(DTYPES[dtype]).reshape(rows, LANES)
            for dtype, rows in good.outputs.items()
        }
        return good.split(outputs)

    def failures(self) -> dict[str, str]:
        assert self._process.wait() == 0
        return json.loads((self._folder / "failures.json").read_text())


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory: pytest.TempPathFactory) -> Interpreted:
    return Interpreted(tmp_path_factory.mktemp("interpreted"))


# Ours.


def our_values(plan: Plan, folder: Path) -> dict[Key, Array]:
    path = folder / "kernels.py"
    path.write_text(f"{_HEAD}\n\n{plan.source}")
    module = ModuleType(plan.name)
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    outputs = plan.empty()
    getattr(module, plan.name)[(1,)](*plan.operands().values(), *outputs.values())
    return plan.split(outputs)


# Both.


def differ(found: Array, wanted: Array) -> Array:
    """Where two arrays have other bits and are not both NaN."""
    assert found.dtype == wanted.dtype
    bits = np.dtype(f"u{found.dtype.itemsize}")
    unequal = found.view(bits) != wanted.view(bits)
    return unequal & ~((found != found) & (wanted != wanted))


def complaint(plan: Plan, case: Value, found: Array, wanted: Array, wrong: Array) -> str:
    lane = int(np.flatnonzero(wrong)[0])
    operands = ", ".join(str(plan.operands()[name][lane]) for name in case.operands)
    return (
        f"{case.text} of {operands} ({case.left}, {case.right}): {found[lane]} instead of "
        f"{wanted[lane]}, and {int(wrong.sum()) - 1} more of {LANES}"
    )


def aside(plan: Plan, case: Value) -> Array:
    """The elements for which the interpreter is not followed."""
    masks = [mask for _, mask in departures(plan, case)]
    return np.logical_or.reduce(masks) if masks else np.zeros(LANES, np.bool_)


@pytest.mark.parametrize("name", every(5, NAMES))
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
def test_values_are_those_of_triton(name: str, interpreted: Interpreted, tmp_path: Path) -> None:
    wanted, complaints = plan(name), []
    ours, theirs = our_values(wanted, tmp_path), interpreted.values(wanted)
    for case in wanted.cases:
        found, reference = ours[case.key], expected(wanted, case)
        followed = ~aside(wanted, case)
        if followed.any():
            wrong = differ(found, theirs[case.key]) & followed
            if wrong.any():
                complaints.append(complaint(wanted, case, found, theirs[case.key], wrong))
        if reference is not None and (wrong := differ(found, reference)).any():
            complaints.append(complaint(wanted, case, found, reference, wrong) + " by definition")
        assert followed.all() or reference is not None
    assert not complaints, "\n".join(complaints[:20])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_departures_are_needed(interpreted: Interpreted) -> None:
    """The interpreter is wrong as often as is said: for each operator and each reason."""
    needed: dict[tuple[str, str], int] = {}
    for name in NAMES:
        wanted = plan(name)
        theirs = interpreted.values(wanted)
        for case in wanted.cases:
            for reason, mask in departures(wanted, case):
                if reason == BROKEN or not mask.any():
                    continue
                reference = expected(wanted, case)
                assert reference is not None
                count = int((differ(theirs[case.key], reference) & mask).sum())
                key = reason, case.operator
                needed[key] = needed.get(key, 0) + count
    assert [key for key, count in needed.items() if not count] == []


def test_cases_that_the_interpreter_cannot_evaluate(interpreted: Interpreted) -> None:
    cases = [case for name in NAMES for case in plan(name).cases if fails(case)]
    assert sorted(interpreted.failures()) == sorted(" ".join(case.key) for case in cases)


def test_how_many_cases_there_are() -> None:
    cases = [case for name in NAMES for case in plan(name).cases]
    assert len({case.key for case in cases}) == len(cases) > MINIMUM
    followed = [
        case for name in NAMES for case in plan(name).cases if not aside(plan(name), case).all()
    ]
    assert len(followed) > MINIMUM
