"""``tilewright explain`` prints the entry of a code."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tilewright.cli.main import run
from tilewright.ir.codes.registry import CODES


@pytest.mark.parametrize("name", ["TW2023", "tw2023", "2023"])
def test_the_entry_of_a_code(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", name]) == 0
    out = capsys.readouterr().out
    entry = CODES["TW2023"]
    lines = out.splitlines()
    assert lines[0] == f"TW2023 (remark): {entry.title}"
    assert " ".join(out.split()) == " ".join(
        f"{lines[0]} {entry.meaning} Example: {entry.example} Fix: {entry.fix}".split()
    )
    assert all(f"    {line}" in lines for line in entry.example.splitlines())
    assert max(map(len, lines)) <= 100


def test_several_codes_in_the_order_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "TW5001", "1001"]) == 0
    out = capsys.readouterr().out
    assert 0 <= out.index("TW5001 (error)") < out.index("TW1001 (error)")


def test_an_unknown_code_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "TW2029"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == "tilewright explain: no code TW2029; the nearest are"
    assert [line.split()[0] for line in lines[1:]] == ["TW2022", "TW2023", "TW2024"]
    assert lines[3].endswith(CODES["TW2024"].title)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "pass a code, for example TW2023, or --list"),
        (["--list", "TW2023"], "pass a code, for example TW2023, or --list"),
        (["race"], "'race' is not a code: expected TW and four digits, for example TW2023"),
        (["TW2023", "--yaml"], "unknown command line argument '--yaml'; try --help"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", *arguments]) == 2
    assert capsys.readouterr() == ("", f"tilewright explain: {message}\n")


def test_the_list_has_every_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split(maxsplit=2) for line in lines if line.startswith("  TW")]
    assert rows == [[each.code, each.severity, each.title] for each in CODES.values()]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "tw4072", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["code"] == "TW4072"
    assert found.keys() == {"code", "severity", "title", "meaning", "example", "fix"}
    assert run(["explain", "--list", "--json"]) == 0
    assert [each["code"] for each in json.loads(capsys.readouterr().out)] == [*CODES]


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: tilewright explain CODE...")
    assert run(["--help"]) == 0
    assert "explain     explain a diagnostic code" in capsys.readouterr().out


def test_it_loads_no_compiler() -> None:
    program = (
        "import sys, tilewright.cli.main as m; m.run(['explain', '2023']); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"xdsl", "numpy"} & {*done.stdout.split()}
