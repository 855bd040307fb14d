"""``tilewright layout``: from scripts and IR text to pictures of layouts, and errors."""

import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tilewright.cli import layout, main

GEMM = Path(__file__).parents[2] / "examples" / "tile" / "gemm_relu.py"

SCRIPT = """
import sys
import numpy as np
import tilewright as tw
from tilewright import T

@tw.jit
def double(A, width=8):
    N = T.const("N")
    A: T.Tensor((4, N), "float32")
    B = T.empty((4, N), "float32")
    with T.Kernel(1, threads=32):
        tile = T.alloc_fragment((4, 8), "float32")
        staged = T.alloc_shared((4, 8), "float32")
        T.copy(A, tile)
        for i, j in T.Parallel(4, 8):
            tile[i, j] = tile[i, j] * 2
        T.copy(tile, staged)
        T.copy(staged, B)
    return B

@tw.jit
def conflicting(A):
    A: T.Tensor((64, 64), "float16")
    B = T.empty((64, 64), "float16")
    with T.Kernel(1, threads=128):
        staged = T.alloc_shared((64, 64), "float16")
        sums = T.alloc_fragment((64, 64), "float16")
        T.annotate_layout({sums: T.Fragment((64, 64), forward_fn=lambda i, j: (i, j))})
        T.copy(A, staged)
        T.gemm(staged, staged, sums, clear_accum=True)
        T.copy(sums, B)
    return B

print("not shown")
a = np.zeros((4, 8), np.float32)
if "conflict" in sys.argv:
    conflicting(np.zeros((64, 64), np.float16))
elif "nothing" not in sys.argv:
    double(a)
    if "assert" in sys.argv:
        assert (double(a + 1) == 2).all()
"""


@pytest.fixture
def show(tmp_path, monkeypatch, capsys):
    """Runs the command with a script and gives exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    Path("script.py").write_text(SCRIPT)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = layout.run(arguments, "tilewright layout")
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_a_fragment_shows_thread_and_register_of_each_element(show):
    code, out, err = show("--buffer", "tile", "script.py")
    assert (code, err) == (0, "")
    head, _, body = out.partition("tile: fragment")
    assert head == "double for cuda:sm_90a, 32 threads\n\n"
    assert "4 x 8 of float32: 32 threads x 1 register" in body
    # 32 elements for 32 threads: one each, row by row.
    rows = [line.split() for line in body.splitlines() if ":0" in line]
    assert rows[0] == ["0", *(f"{thread}:0" for thread in range(8))]
    assert rows[3] == ["3", *(f"{thread}:0" for thread in range(24, 32))]


def test_shared_memory_shows_bytes_and_banks(show):
    _, out, _ = show("script.py", "--buffer=staged")
    assert "4 x 8 of float32: 128 bytes, row-major" in out
    rows = [line.split() for line in out.splitlines() if "/" in line and "bank" not in line]
    assert rows == [["0", "0/0", "16/4"], ["1", "32/8", "48/12"], ["2", "64/16", "80/20"],
                    ["3", "96/24", "112/28"]]  # fmt: skip


def test_loops_refer_to_a_picture_that_is_the_same(show):
    _, out, _ = show("script.py", "--line", "16")
    assert out.count("for i, j in T.Parallel, line 16") == 1
    assert "4 x 8 iterations: 32 threads x 1 iteration each" in out
    # The picture it refers to is left out here, so it has its own.
    assert "the same as" not in out
    assert " 31:0\n" in out
    assert "the same as tile" in show("script.py")[1]


def test_swizzled_operands_have_no_bank_conflict_and_products_are_named(capsys):
    assert main.run(["layout", str(GEMM), "--buffer", "B_shared", "--rows", "3"]) == 0
    out = capsys.readouterr().out
    assert "64 x 64 x 32 by wgmma 64 x 64 x 16, 4 warps as 4 x 1" in out
    assert "swizzle of 128 bytes" in out
    assert "as read by ldmatrix: no bank conflict" in out
    # Row r of the pattern has its 16-byte pieces at place xor r.
    rows = [line.split() for line in out.splitlines() if line.lstrip()[:2] in ("0 ", "1 ", "2 ")]
    assert [row[0] for row in rows[-3:]] == ["0", "1", "2"]
    for number, row in enumerate(rows[-3:]):
        places = [int(cell.partition("/")[0]) for cell in row[1:]]
        assert places == [number * 128 + (column ^ number) * 16 for column in range(8)]


def test_a_kernel_on_pointers_has_its_own_words_and_lines(tmp_path, capsys):
    script = tmp_path / "rows.py"
    script.write_text(
        "import numpy as np\n"
        "import tilewright as tw\n"
        "from tilewright import tl\n"
        "\n"
        "@tw.jit\n"
        "def softmax(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):\n"
        "    offsets = tl.arange(0, BLOCK)\n"
        "    at = tl.program_id(0) * columns + offsets\n"
        "    x = tl.load(x_ptr + at, mask=offsets < columns, other=-float('inf'))\n"
        "    shifted = x - tl.max(x, axis=0)\n"
        "    numerator = tl.exp(shifted)\n"
        "    tl.store(out_ptr + at, numerator / tl.sum(numerator, axis=0), mask=offsets < columns)\n"
        "\n"
        "x = np.ones((4, 100), np.float32)\n"
        "softmax[(4,)](x, np.empty_like(x), 100, BLOCK=128)\n"
    )
    assert main.run(["layout", str(script)]) == 0
    out = capsys.readouterr().out
    assert "T.Parallel" not in out and "tile operation" not in out
    assert " 0 more" not in out and " 1 registers" not in out and " 1 iterations" not in out
    places = {
        line.split(":")[0]: int(line.rpartition(":")[2])
        for line in out.splitlines()
        if ": fragment" in line
    }
    assert places["x"] == 9
    assert set(places.values()) <= {9, 10, 11, 12}  # where values are computed, not the `def`
    assert re.search(r"^element-wise operation, line 1\d", out, re.MULTILINE)


def test_the_accumulator_lies_as_the_manual_says(capsys):
    layout.run([str(GEMM), "--buffer", "C_local", "--rows=9", "--columns=9"], "tilewright layout")
    out = capsys.readouterr().out
    assert "of role consumer (threads 128 to 255)" in out
    assert "0:0 0:1 1:0 1:1 2:0 2:1 3:0 3:1 0:4" in " ".join(out.split())
    assert "8 0:2 0:3 1:2" in " ".join(out.split())
    assert "55 more rows, 55 more columns" in out


def test_svg_has_a_box_for_each_cell_that_says_what_it_is(show):
    code, _, _ = show("script.py", "--buffer", "tile", "-o", "tile.svg")
    assert code == 0
    root = ElementTree.parse("tile.svg").getroot()
    name = "{http://www.w3.org/2000/svg}"
    cells = [each for each in root.iter(f"{name}g") if each.get("class") == "cell"]
    assert len(cells) == 32
    titles = [each.findtext(f"{name}title") for each in cells]
    assert titles[9] == "tile (1, 1): thread 9, register 0"
    assert [each.get("data-owner") for each in cells] == [str(thread) for thread in range(32)]


def test_html_is_one_page_with_the_same_cells_and_nothing_to_fetch(show):
    _, out, _ = show("script.py", "--html")
    opened: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            opened.append(tag)
            assert not any(name in ("src", "srcset") for name, _ in attrs)

    Reader().feed(out)
    assert opened.count("section") == opened.count("h3") == out.count('<li><a href="#k0-') > 3
    assert "staged (0, 1): byte 16, bank 4" in out
    assert "http" not in out


def test_a_script_is_not_run_to_its_results(show):
    code, out, err = show("script.py", "assert")
    assert code == 0
    assert "not shown" not in out
    assert err == (
        "tilewright layout: the script ended with AssertionError: its kernels were traced, not "
        "run\n"
    )


def test_a_conflict_shows_both_lines_and_both_layouts(show):
    code, out, err = show("script.py:conflicting", "conflict")
    assert (code, out) == (1, "")
    assert (
        "error[TW2020]: conflicting layouts for 'sums': element (0, 2) is owned by thread 1 here"
        in err
    )
    assert "T.gemm(staged, staged, sums, clear_accum=True)" in err
    assert 'sums = T.alloc_fragment((64, 64), "float16")' in err
    assert "0  0  [1]  1   2   2   3    0  0  [0]  0   0   0   0" in err


IR = """
#shared = #tile.space<shared>
func.func @k() {
  tile.kernel (%x) in (1) threads(64) {
    %s = tile.alloc "s" : memref<8x8xf32, #shared>
    %zero = arith.constant 0.0 : f32
    tile.parallel (%i, %j) in (8, 8) {
      memref.store %zero, %s[%i, %j] : memref<8x8xf32, #shared>
    }
  }
  func.return
}
"""


def test_settings_of_the_author_hold(tmp_path, capsys):
    script = tmp_path / "gemm.py"
    plain = GEMM.read_text()
    configured = plain.replace("@tw.jit", '@tw.jit(pass_configs={"tl.disable_wgmma": True})')
    assert configured != plain
    for text, word in ((plain, "by wgmma"), (configured, "by mma")):
        script.write_text(text)
        assert layout.run([str(script), "--buffer", "C_local"], "tilewright layout") == 0
        assert word in capsys.readouterr().out


def test_ir_text_is_drawn_as_well(show):
    Path("kernel.mlir").write_text(IR)
    code, out, err = show("kernel.mlir", "--target", "cuda:sm_80")
    assert (code, err) == (0, "")
    assert out.startswith("k for cuda:sm_80, 64 threads\n")
    assert "s: shared" in out
    assert "8 x 8 iterations: 64 threads x 1 iteration each" in out


def test_layouts_of_an_amd_gpu(capsys):
    """A wave of 64 lanes, and the banks of the chip; a GEMM of a pipelined loop is one line."""
    arguments = [str(GEMM), "--target", "hip:gfx942"]
    assert layout.run(arguments, "tilewright layout") == 0
    out = capsys.readouterr().out
    assert "for hip:gfx942, 128 threads" in out
    assert out.count("by mfma 32 x 32 x 8, 2 waves as 2 x 1") == 1
    assert "ldmatrix" not in out
    assert "user-specified" not in out


def test_an_amd_gpu_with_more_banks(show):
    Path("kernel.mlir").write_text(IR)
    for chip, bank in (("gfx942", 0), ("gfx950", 32)):
        code, out, err = show("kernel.mlir", "--target", f"hip:{chip}", "--buffer", "s")
        assert (code, err) == (0, "")
        assert f"128/{bank}" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no FILE; try --help"),
        (["none.py"], "cannot read 'none.py': no such file"),
        (["none.mlir"], "cannot read 'none.mlir': No such file or directory"),
        (["script.py", "--bufer=a"], "unknown command line argument '--bufer=a'; did you mean '--buffer'?"),
        (["script.py", "--line", "zero"], "--line: 'zero' is not a positive integer"),
        (["script.py", "--svg", "--html"], "--svg and --html are mutually exclusive"),
        (["script.py", "--target=numpy"], "--target: 'numpy' has no layouts; pass one like cuda:sm_90a or hip:gfx942"),
        (["script.py", "--buffer", "nope"], "no buffer 'nope'; the buffers are tile, staged"),
        (["script.py", "--line", "3"], "nothing with a layout in line 3; the buffers are tile, staged"),
        (["script.py:none"], "script.py called no kernel 'none'; it called double"),
        (["script.py", "nothing"], "script.py called no T kernel and launched no tl or tlx kernel, so nothing was traced: it defines double(A, width=8), conflicting(A) and calls none of them: add a call, double(...) or double.compile(...), which sets the sizes"),
        (["script.py", "-o", "script.py"], "the output would overwrite its input 'script.py'"),
        (["script.py", "-o", "no/such/folder.txt"], "cannot write 'no/such/folder.txt': No such file or directory"),
    ],
)  # fmt: skip
def test_mistakes_are_said_in_a_line(show, arguments, message):
    code, out, err = show(*arguments)
    assert (code, out, err) == (2, "", f"tilewright layout: {message}\n")


def test_help_names_every_flag(show):
    code, out, _ = show("--help")
    assert code == 0
    for flag in ("buffer", "line", "target", "svg", "html", "rows", "columns", "full", "remarks"):
        assert f"--{flag}" in out
