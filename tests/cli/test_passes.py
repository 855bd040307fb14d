"""``tilewright passes`` lists what can be run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tilewright.cli.main import run
from tilewright.ir.passes import PassSpec, build_pass, option_help
from tilewright.passes import PASSES, RENAMED


def test_every_pass_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["passes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == sorted(PASSES)
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines)


def test_a_named_pass_shows_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["passes", "expand-explicit-unroll"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "expand-explicit-unroll: Replace loops marked for explicit unrolling by their iterations.",
        "  max-trip-count=INT (default 4096)",
    ]


def test_a_pipeline_shows_its_passes_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["passes", "tile-pipeline"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("  consists of") + 1
    names = [line.split()[1] for line in lines[start:]]
    assert names[:4] == ["bind-target", "canonicalize", "cse", "normalize-indices"]
    assert names.index("specialize-warps") + 1 == names.index("check-barriers")
    assert names.index("plan-pipeline") + 1 == names.index("check-plans")
    assert names.index("check-plans") + 1 == names.index("expand-pipeline")


def test_a_misspelt_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["passes", "normalise-indices"]) == 2
    error = capsys.readouterr().err
    assert error == (
        "tilewright passes: 'normalise-indices' is not a pass; did you mean 'normalize-indices'?\n"
    )


@pytest.mark.parametrize(("old", "new"), sorted(RENAMED.items()))
def test_an_old_name_still_works_and_names_the_new_one(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.warns(FutureWarning, match=f"pass '{old}' is deprecated: use '{new}'"):
        assert run(["passes", old]) == 0
    assert capsys.readouterr().out.startswith(f"{new}: ")


def test_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["passes", "zzz"]) == 2
    error = capsys.readouterr().err
    assert error == "tilewright passes: 'zzz' is not a pass; 'tilewright passes' lists them\n"


def test_the_warning_on_an_old_name_is_one_line() -> None:
    command = [sys.executable, "-m", "tilewright.cli.main", "passes", "announce-copies"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == (
        "warning: pass 'announce-copies' is deprecated: use 'insert-expect-tx'\n"
    )


@pytest.mark.parametrize("name", sorted(PASSES))
def test_old_options_lead_to_options(name: str) -> None:
    pass_class = PASSES[name]()
    known = {line.split("=")[0] for line in option_help(pass_class)}
    assert set(pass_class.old_options.values()) <= known
    assert not set(pass_class.old_options) & known


def test_an_old_option_still_works_and_names_the_new_one() -> None:
    spec = PassSpec("expand-explicit-unroll", {"max-turns": "7"})
    message = "option 'max-turns' of pass 'expand-explicit-unroll' is deprecated"
    with pytest.warns(FutureWarning, match=message):
        built = build_pass(spec, PASSES)
    assert str(built) == "expand-explicit-unroll{max-trip-count=7}"
