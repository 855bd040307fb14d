"""``tilewright memory``: from IR text to pictures and errors."""

import io
import json
import sys
from pathlib import Path

import pytest

from tilewright.cli import main, memory

ROOT = Path(__file__).parents[2]
GEMM = ROOT / "examples" / "storage_alias" / "hopper_gemm_ring.mlir"
CORPUS = ROOT / "tests" / "corpus" / "ttgir"

HEAD = """\
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
"""
TILE = "!ttg.memdesc<2x64x64xf16, #flat, #smem, mutable>"
WIDE = "!ttg.memdesc<2x128x64xf16, #flat, #smem, mutable>"
SPEC = "!tlx.storage_alias_spec<smem>"


def module(*body: str, target: str = "", head: str = HEAD) -> str:
    attributes = f'attributes {{ttg.target = "{target}"}} ' if target else ""
    lines = "\n".join(f"  {line}" for line in body)
    return f"{head}module {attributes}{{\ntt.func @f() {{\n{lines}\n  tt.return\n}}\n}}\n"


def spec(tree: str, *allocations: tuple[str, str]) -> list[str]:
    types = ", ".join(type for _, type in allocations)
    names = ", ".join(f"%{name}" for name, _ in allocations)
    return [
        f"%region = tlx.storage_alias_spec storage = smem : {SPEC}",
        *(
            f"%{name} = tlx.storage_alias_local_alloc %region : {SPEC} -> {type}"
            for name, type in allocations
        ),
        f"%tree = tlx.reuse_group({names}) group_kind = {tree} : ({types}) -> !tlx.reuse_group<{tree}>",
        f"tlx.set_buffer_overlap(%region, %tree) : ({SPEC}, !tlx.reuse_group<{tree}>) -> ()",
    ]


@pytest.fixture
def show(tmp_path, monkeypatch, capsys):
    """Runs the command over a text and gives exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(text: str, *arguments: str) -> tuple[int, str, str]:
        Path("kernel.mlir").write_text(text)
        code = memory.run(["kernel.mlir", *arguments], "tilewright memory")
        out, err = capsys.readouterr()
        return code, out, err

    return run


def as_data(text: str) -> dict:
    (found,) = json.loads(text)["memories"]
    return found


def test_a_spec_and_its_buffers(show):
    text = module(*spec("shared", ("a", WIDE), ("b", TILE)), target="cuda:90")
    code, out, err = show(text, "--format=json")
    assert (code, err) == (0, "")
    found = as_data(out)
    assert (found["target"], found["capacity"], found["used"]) == ("sm_90", 232448, 32768)
    (region,) = found["regions"]
    assert (region["name"], region["source"]) == ("region", "kernel.mlir:5")
    places = {b["name"]: [c["start"] for c in b["cells"]] for b in region["buffers"]}
    assert places == {"a": [0, 16384], "b": [0, 16384]}
    assert [b["source"] for b in region["buffers"]] == ["kernel.mlir:6", "kernel.mlir:7"]


def test_plain_allocations_are_single_unless_pipelined(show):
    single = "!ttg.memdesc<128x64xf16, #flat, #smem, mutable>"
    text = module(
        f"%one = ttg.local_alloc : () -> {single}", f"%ring = ttg.local_alloc : () -> {TILE}"
    )
    code, out, _ = show(text, "--format=json")
    found = as_data(out)
    cells = {
        r["name"]: [(c["start"], c["end"]) for c in r["buffers"][0]["cells"]]
        for r in found["regions"]
    }
    assert code == 0
    assert cells == {"one": [(0, 16384)], "ring": [(0, 8192), (8192, 16384)]}
    assert (found["capacity"], found["target"]) == (None, "")


def test_equal_names_of_specs_and_plain_allocations_stay_apart(show):
    text = module(*spec("shared", ("a", TILE)), target="cuda:90")
    other = f"tt.func @g() {{\n  %a = ttg.local_alloc : () -> {TILE}\n  tt.return\n}}\n}}\n"
    code, out, _ = show(text.rstrip()[:-1] + other, "--format=json")
    assert code == 0
    first, second = json.loads(out)["memories"]
    assert [r["name"] for m in (first, second) for r in m["regions"]] == ["region", "a.1"]


def test_target_of_the_command_line_wins(show):
    text = module(*spec("shared", ("a", TILE)), target="cuda:90")
    assert as_data(show(text, "--target", "sm_100", "--format=json")[1])["target"] == "sm_100"
    assert as_data(show(text, "--target=hip:gfx942", "--format=json")[1])["capacity"] == 65536


def test_region(show):
    text = module(*spec("shared", ("a", TILE)), f"%ring = ttg.local_alloc : () -> {TILE}")
    _, out, _ = show(text, "--region=ring", "--format=json")
    found = as_data(out)
    assert ([r["name"] for r in found["regions"]], found["used"]) == (["ring"], 32768)
    code, out, err = show(text, "--region=rong")
    assert (code, out) == (2, "")
    assert err == "tilewright memory: no region 'rong'; expected one of region, ring\n"


def test_a_tree_that_cannot_be_placed_is_an_error_with_a_way_out(show):
    text = module(*spec("distinct", ("b", TILE), ("a", WIDE)))
    code, out, err = show(text)
    assert (code, out) == (1, "")
    assert "kernel.mlir:7:" in err
    assert "buffer_offset (8192) must be a multiple of the original buffer size (16384)" in err
    assert "note: placement=explicit works with the order as it is" in err
    code, out, _ = show(text, "--placement=explicit")
    assert code == 0
    assert "2 a: 2 x 16384 bytes at 8192 32768" in out


def test_text_that_is_no_ir(show):
    code, out, err = show("module { nonsense }")
    assert (code, out) == (2, "")
    assert "kernel.mlir:1:10: error" in err


def test_out_of_memory_shows_the_table_and_what_fits(capsys):
    assert memory.run([str(GEMM), "--target=sm_86"], "tilewright memory") == 1
    out, err = capsys.readouterr()
    assert "shared memory on sm_86: 131136 of 101376 bytes (129%), 29760 too many" in out
    assert "error[TW5037]: shared memory: 131136 bytes needed, 101376 available on sm_86" in err
    assert (
        "note: fits with group_size=3 instead of 4, with 3 instead of 4 buffers of 'a' and 'b' (98368 bytes)"
        in err
    )
    assert "too many" not in err
    assert memory.run([str(GEMM), "--target=sm_86", "--format=json"], "tilewright memory") == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["memories"][0]["free"] == -29760
    assert "note: as planned:\n" in err
    assert "131136 of 101376 bytes (129%), 29760 too many" in err


def test_plain_allocations_that_might_overlie_are_a_warning(show):
    big = "!ttg.memdesc<1x64x512xf16, #flat, #smem, mutable>"
    body = [f"%{name} = ttg.local_alloc : () -> {big}" for name in ("a", "b")]
    code, out, err = show(module(*body, target="cuda:120"))
    assert code == 0
    assert "131072 of 101376 bytes" in out
    assert "warning[TW5037]: shared memory: 131072 bytes needed, 101376 available on sm_120" in err
    assert (
        "fits with storage of 'b' shared with 'a', if they are never live at the same time" in err
    )
    assert "those with disjoint live ranges can overlap" in err
    huge = big.replace("64x512", "64x1024")
    code, _, err = show(module(f"%a = ttg.local_alloc : () -> {huge}", target="cuda:120"))
    assert code == 1
    assert "error[TW5037]" in err
    assert "no order, alias or number of stages fits" in err


def test_formats_and_output_file(capsys, tmp_path):
    starts = {
        "text": "lines of ",
        "svg": "<?xml",
        "html": "<!DOCTYPE html>",
        "json": '{\n  "schema"',
    }
    for name, start in starts.items():
        file = tmp_path / name
        assert memory.run([str(GEMM), f"--format={name}", "-o", str(file)], "m") == 0
        assert file.read_text().startswith(start)
    assert capsys.readouterr().out == ""
    assert memory.run([str(GEMM), "-o", str(tmp_path / "no" / "x")], "m") == 2
    assert "m: cannot write" in capsys.readouterr().err


def test_standard_input(capsys, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(GEMM.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main.run(["memory", "-"]) == 0
    assert capsys.readouterr().out.startswith("lines of <stdin>\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target=sm_1", "-"], "unknown target 'sm_1'; known: sm_80, "),
        (["--format=png", "-"], "--format: 'png' is not one of text, svg, html, json"),
        (["--format"], "'--format' needs a value"),
        (
            ["--formt=svg", "-"],
            "unknown command line argument '--formt=svg'; did you mean '--format'?",
        ),
        (["--placement=best", "-"], "'best' is not one of reindex, explicit, auto"),
        (["a", "b"], "two input files, 'a' and 'b'"),
        (["absent.mlir"], "cannot read 'absent.mlir': No such file"),
        (["kernel.py"], "cannot read 'kernel.py': no such file"),
        (["--target=cuda:sm_1", "kernel.py"], "unknown target 'cuda:sm_1'"),
        (["kernel.py", "--target=hip:gfx942"], "cannot read 'kernel.py': no such file"),
    ],
)
def test_command_line_errors(capsys, arguments, message):
    assert memory.run(arguments, "tilewright memory") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_help(capsys):
    assert memory.run(["--help"], "tilewright memory") == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "usage: tilewright memory [flags] FILE          ('-' is standard input)\n"
    )
    assert "sm_90, sm_100" in out


@pytest.mark.parametrize("file", sorted(CORPUS.glob("*.ttgir")), ids=lambda file: file.name)
def test_dumps_of_triton_can_be_drawn(capsys, file):
    assert memory.run([str(file)], "tilewright memory") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert max(map(len, out.splitlines())) <= 80
