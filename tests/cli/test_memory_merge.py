"""``tilewright memory --merge``: the plan as a picture, and why two buffers cannot share."""

import json
import re
from pathlib import Path

import pytest

from tilewright.cli import memory, opt
from tilewright.report import memory_json

ROOT = Path(__file__).parents[2]
GEMM = Path("examples") / "buffers" / "gemm_epilogue.mlir"
WHY = (
    "a_ring and b_ring cannot share: a_ring is written by ttng.async_tma_copy_global_to_local "
    "(line 47), read by ttng.warp_group_dot (line 69); b_ring is used by "
    "ttng.async_tma_copy_global_to_local (line 49)"
)


@pytest.fixture
def show(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = memory.run(["--merge", *arguments], "tilewright memory")
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_text(show):
    code, out, err = show(str(GEMM))
    assert (code, err) == (0, "")
    assert "shared memory on sm_90: 98328 of 232448 bytes" in out
    assert "4 c_tile: 1 x 32768 bytes at 0; line 92; in use at ops 68..72" in out
    assert "line 37; mbarriers are never merged with data" in out
    assert "- 32768 bytes saved by sharing; no plan needs less" in out
    assert WHY in re.sub(r"\s+", " ", out)


def test_json_and_back(show):
    _, out, _ = show(str(GEMM), "--format", "json")
    (found,) = json.loads(out)["memories"]
    assert found["used"] == 98328
    (region,) = found["regions"]
    assert region["notes"] == ["32768 bytes saved by sharing; no plan needs less", WHY]
    places = {b["name"]: [(c["start"], c["end"]) for c in b["cells"]] for b in region["buffers"]}
    assert places["c_tile"] == [(0, 32768)]
    assert places["a_ring"] == [(0, 16384), (16384, 32768), (32768, 49152)]
    assert memory_json.render(memory_json.read(out)) == out


@pytest.mark.parametrize("format", ("html", "svg"))
def test_drawings_have_the_reasons(show, format: str):
    _, out, _ = show(str(GEMM), "--format", format)
    words = re.sub(r"<[^>]*>|\s+", " ", out)
    assert "a_ring and b_ring cannot share" in words
    assert "32768 bytes saved by sharing" in words


def test_too_small_a_chip(show):
    code, out, err = show(str(GEMM), "--target", "sm_86")
    assert code == 0
    assert "98328 of 101376 bytes" in out
    code, out, err = show(str(GEMM), "--target", "gfx942")
    assert code == 1
    assert "98328 of 65536 bytes" in out
    assert "error[TW5001]: shared memory: 98328 bytes needed, 65536 available" in err


def test_nothing_allocated(show, tmp_path):
    file = tmp_path / "empty.mlir"
    file.write_text("module {\n  tt.func @f() {\n    tt.return\n  }\n}\n")
    assert show(str(file)) == (0, "no shared or tensor memory is allocated\n", "")


def test_the_page_shows_what_is_printed(show, capsys):
    """docs/buffers.md: every command on the example, with its output."""
    page = (ROOT / "docs" / "buffers.md").read_text()
    pieces = re.split(r"^```(.*)\n", page, flags=re.MULTILINE)
    blocks = [
        body for body in pieces[2::4] if body.startswith("$ tilewright") and GEMM.name in body
    ]
    assert len(blocks) == (2 if GEMM.name in page else 0)
    for block in blocks:
        command, _, expected = block.partition("\n")
        program, *arguments = command.removeprefix("$ ").replace('"', "").split()
        if program == "tilewright-opt":
            assert opt.run([each for each in arguments if each not in ("-o", "/dev/null")]) == 0
            assert capsys.readouterr().err == expected
        else:
            assert show(*[each for each in arguments[1:] if each != "--merge"])[1] == expected
