"""The header's mathematics: errors in units of the last place, on the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.targets.hip.accuracy import DOMAINS, PAIRS, measured
from tests.targets.hip.support import needs_clang
from tilewright.layouts.hardware.amd_chips import chip_named
from tilewright.targets.cxx.scalars import RULES, Call
from tilewright.targets.hip.header.functions import functions_of
from tilewright.targets.hip.header.mathematics import MATHEMATICS

pytestmark = needs_clang

EXACT = ("ceil", "floor", "rint", "round", "trunc", "fabs", "fmod", "copysign", "fmin", "fmax")
CLOSE = ("acos", "cbrt", "cos", "erf", "exp", "exp2", "log", "log1p", "log2", "sin", "sqrt", "pow")
"""Within 1.25 units; the host's own log10 of `float` is off by two."""
LIMIT, CLOSE_LIMIT = 2.5, 1.25


def limit_of(name: str) -> float:
    if name in EXACT:
        return 0.0
    return CLOSE_LIMIT if name in CLOSE else LIMIT


def check(directory: Path, count: int, seed: int) -> None:
    found = measured(directory, count, seed=seed)
    assert len(found) == 2 * len(DOMAINS) + 2 * len(PAIRS)
    wrong = {
        name: worst
        for name, worst in found.items()
        if not worst.ulps <= limit_of(name if name in (*DOMAINS, *PAIRS) else name[:-1])
    }
    assert not wrong


def test_errors(tmp_path: Path) -> None:
    check(tmp_path, 2_000, seed=20)


@pytest.mark.slow
def test_errors_of_many(tmp_path: Path) -> None:
    check(tmp_path, 3_000_000, seed=21)


FAULTS = {
    "expm1": ("0.041666", "0.041668"),  # a coefficient
    "sin": ("1.57079", "1.57078"),  # the first part of pi/2
    "cos": ("0x4e441529u", "0x4e441528u"),  # the bits of 2/pi
    "pow": ("+ y * log_low", ""),
}


def test_faults_are_seen(tmp_path: Path) -> None:
    found = measured(tmp_path, 2_000, names=FAULTS, changed=FAULTS.values())
    for name in FAULTS:
        assert max(found[name].ulps, found[f"{name}f"].ulps) > LIMIT


def test_every_function_that_scalar_rules_call_is_there() -> None:
    functions = functions_of(chip_named("gfx942"))
    rules = [rule for rule in RULES.values() if isinstance(rule, Call)]
    assert len(rules) > 30
    for rule in rules:
        for name in (*rule.names.values(), rule.default):
            assert name.removeprefix("__") in functions, name


def test_every_function_of_floats_is_measured() -> None:
    measured_names = {f"{name}{suffix}" for name in (*DOMAINS, *PAIRS) for suffix in ("f", "")}
    others = {name for name, each in MATHEMATICS.items() if each.arguments} - measured_names
    assert others == {"fma", "fmaf", "hfma", "hmax", "hmin"}  # single instructions
