"""The language server, over the protocol: errors of kernels, hovers over accesses and buffers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.executors.kernels import RING
from tests.test_missing_packages import without
from tilewright.cli import main

WAIT = "                tlx.barrier_wait(full[slot], (block // 2) & 1)\n"
ALIASED = (
    "    tile = tlx.local_alloc((ROWS, COLUMNS), tl.float32, 2)\n",
    "    storage = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)\n"
    "    tile = tlx.local_alloc((ROWS, COLUMNS), tl.float32, 2, reuse=storage)\n",
)
RIGHT = RING.format(factor=2).replace("tlx.local_store(spare[0], value)", "pass")
UNMASKED = """\
import numpy as np
import tilewright as tw
from tilewright import tl


@tw.jit
def add(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    "𝕋 is two units"; offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    "𝕋"; x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


x = np.ones(100, np.float32)
add[(2,)](x, np.empty_like(x), 100, BLOCK=64)
"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator:
    pytest.importorskip("pygls", reason="pygls is not installed: the language server is not tested")
    from tests.cli.lsp_client import Client

    running = Client(tmp_path, "--timeout", "60")
    yield running
    running.process.kill()
    running.process.wait()


def line_of(text: str, part: str) -> int:
    """The line of a part of a text, which counts from 0."""
    return text[: text.index(part)].count("\n")


def test_a_kernel_is_checked_when_it_is_opened_and_when_it_is_saved(client, tmp_path):
    assert client.capabilities["hoverProvider"]
    file = tmp_path / "ring.py"
    broken = RIGHT.replace(WAIT, "")
    file.write_text(broken)
    client.open(file)
    first, *_ = client.published(file)
    assert first["code"] == "TW6132"
    assert first["severity"] == 1
    assert first["source"] == "tilewright"
    assert first["message"].startswith("missing wait: the TMA load into tile[0], issued by default")
    assert "witness: program (0, 0, 0), schedule with seed 0" in first["message"]
    load = line_of(broken, "tlx.async_descriptor_load")
    column = broken.splitlines()[load].index("tlx")
    assert first["range"]["start"] == {"line": load, "character": column}
    related = {each["location"]["range"]["start"]["line"]: each["message"]
               for each in first["relatedInformation"]}  # fmt: skip
    read = line_of(broken, "value = tlx.local_load")
    assert related[read].startswith(("the other access: read of tile[0]", "smallest fix"))
    client.save(file, RIGHT, 2)
    assert client.published(file) == []
    client.save(file, broken, 3)
    assert client.published(file)[0]["code"] == "TW6132"
    client.close(file)
    assert client.published(file) == []
    assert client.stop() == 0


def test_hovers_name_the_class_of_an_access_and_the_bytes_of_a_buffer(client, tmp_path):
    file = tmp_path / "ring.py"
    text = RIGHT.replace(*ALIASED)
    file.write_text(text)
    client.open(file)
    assert client.published(file) == []
    lines = text.splitlines()
    load = line_of(text, "tlx.async_descriptor_load")
    access = client.hover(file, load, lines[load].index("async_descriptor") + 2)
    assert access.startswith("**load of x_desc** (`ttng.async_tma_copy_global_to_local`)")
    assert "address class: `PID_INDEPENDENT`" in access
    assert "coalesced" in access
    assert "2048 bytes for each program: 16 × 32 elements of 4 bytes" in access
    assert "bounds: proved" in access
    assert "in `ring[1, 1, 1](blocks=3, ROWS=16, COLUMNS=32)`" in access
    alloc = line_of(text, "tile = tlx.local_alloc")
    for line in (alloc, load):
        buffer = client.hover(file, line, lines[line].index("tile") + 1)
        assert buffer.startswith("**tile**: shared memory, bytes [0] 0..2048, [1] 2048..4096")
        assert "region `storage`" in buffer
    assert client.hover(file, 0, 2) == ""


def test_columns_count_code_units(client, tmp_path):
    """Characters outside of the basic plane are two units of a column each."""
    file = tmp_path / "add.py"
    file.write_text(UNMASKED)
    client.open(file)
    (fault,) = client.published(file)
    line = UNMASKED.splitlines()[8]
    assert fault["code"] == "TW6101"
    assert fault["range"]["start"]["line"] == 8
    assert fault["range"]["start"]["character"] == line.index("tl.load") + 1
    end = fault["range"]["end"]["character"]
    assert end == len(line) + 1
    hover = client.hover(file, 8, line.index("tl.load") + 2)
    assert hover.startswith("**load of x_ptr** (`tt.load`)")
    assert "bounds: refuted" in hover


def test_scripts_that_fail_otherwise_and_ir_text(client, tmp_path):
    raising = tmp_path / "raising.py"
    raising.write_text("import tilewright\n\nx = 1\nraise ValueError('odd')\n")
    client.open(raising)
    (found,) = client.published(raising)
    assert (found["message"], found["range"]["start"]["line"]) == ("ValueError: odd", 3)
    client.save(raising, "import tilewright\n\nx = = 1\n", 2)
    (found,) = client.published(raising)
    assert found["message"].startswith("SyntaxError: invalid syntax")
    assert found["range"]["start"]["line"] == 2
    idle = tmp_path / "idle.py"
    idle.write_text("import tilewright\n")
    client.open(idle)
    (found,) = client.published(idle)
    assert found["severity"] == 3
    assert "no kernel was launched when the file was run" in found["message"]
    other = tmp_path / "other.py"  # no kernels: not run, so nothing is published
    other.write_text("raise SystemExit(open('ran', 'w'))\n")
    client.open(other)
    text = tmp_path / "bad.ttir"
    text.write_text("module {\n  tt.func @f() {\n    %0 = arith.addi %1, %1 : i32\n  }\n}\n")
    client.open(text)
    found = client.published(text)
    assert found[0]["range"]["start"]["line"] == 2
    assert not (tmp_path / "ran").exists()


def test_a_run_that_takes_too_long_is_ended(tmp_path):
    pytest.importorskip("pygls", reason="pygls is not installed: the language server is not tested")
    from tests.cli.lsp_client import Client

    client = Client(tmp_path, "--stdio", "--timeout=3")
    file = tmp_path / "endless.py"
    file.write_text("import tilewright\nwhile True:\n    pass\n")
    client.open(file)
    (found,) = client.published(file)
    assert found["severity"] == 2
    assert found["message"] == "not checked: the file ran for more than 3 s"
    assert client.stop() == 0


def test_without_pygls_the_command_names_what_to_install(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "lsp"],
        env=without(tmp_path, "pygls", "lsprotocol"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "tilewright lsp: the language server needs pygls, which is not installed: "
        "pip install 'tilewright[editor]'\n"
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--tcp",), "unknown command line argument '--tcp'; try --help"),
        (("--timeout", "soon"), "--timeout: 'soon' is not a number of seconds"),
        (("--timeout",), "--timeout: '' is not a number of seconds"),
    ],
)
def test_flags_that_cannot_be_followed(flags, message, capsys):
    assert main.run(["lsp", *flags]) == 2
    assert capsys.readouterr().err == f"tilewright lsp: {message}\n"
    assert main.run(["lsp", "--help"]) == 0
    assert "hover over a buffer" in capsys.readouterr().out
