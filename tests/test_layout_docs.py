"""What `docs/gpu.md` shows of layouts is what happens."""

from __future__ import annotations

from pathlib import Path

from tilewright.cli import layout

from .test_docs import blocks

ROOT = Path(__file__).parents[1]
PAGE = "docs/gpu.md"
CONFLICT = ROOT / "tests" / "wrong_kernels" / "gpu_cases" / "layout_conflict.txt"


def test_the_command_draws_what_is_shown(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    shown = next(each for each in blocks(PAGE, "") if each.startswith("$ tilewright layout"))
    command, _, expected = shown.partition("\n")
    assert layout.run(command.split()[3:], "tilewright layout") == 0
    assert capsys.readouterr().out == expected


def test_the_error_is_that_of_the_case():
    shown = next(each for each in blocks(PAGE, "") if "error[TW2020]" in each)
    message = CONFLICT.read_text(encoding="utf-8").splitlines()
    assert [line for line in shown.splitlines() if line not in message] == []


def test_every_flag_and_code_is_named():
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    for flag in ("buffer", "line", "target", "svg", "html", "rows", "columns", "full", "remarks"):
        assert f"--{flag}" in page
    texts = (each.read_text(encoding="utf-8") for each in CONFLICT.parent.glob("*.txt"))
    heads = [text.partition(": ")[0] + text.partition(": ")[2].partition(":")[0] for text in texts]
    codes = {head.partition("[")[2].partition("]")[0] for head in heads} - {""}
    # Those of the front end, of other passes and of barriers have pages of their own.
    assert {each for each in codes if each not in page} <= {"TW1027", "TW3005", "TW4001"}
