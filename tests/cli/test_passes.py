"""``tilewright passes`` lists what can be run."""

from __future__ import annotations

import pytest

from tilewright.cli.main import run
from tilewright.passes import PASSES


def test_every_pass_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["passes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == sorted(PASSES)
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines)


def test_a_named_pass_shows_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["passes", "expand-explicit-unroll"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "expand-explicit-unroll: Replace loops marked for explicit unrolling by their turns.",
        "  max-turns=INT (default 4096)",
    ]


def test_a_pipeline_shows_its_passes_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["passes", "tile-front-half"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("  consists of") + 1
    names = [line.split()[1] for line in lines[start:]]
    assert names[:4] == ["bind-target", "canonicalize", "cse", "normalize-indices"]
    assert names.index("specialize-warps") + 1 == names.index("check-barriers")
    assert names.index("plan-pipeline") + 1 == names.index("check-plans")
    assert names.index("check-plans") + 1 == names.index("expand-pipeline")


def test_a_misspelt_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["passes", "normalise-indices"]) == 1
    error = capsys.readouterr().err
    assert error == (
        "tilewright passes: 'normalise-indices' is not a pass; did you mean 'normalize-indices'?\n"
    )
