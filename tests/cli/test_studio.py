"""``tilewright studio``: what is on the page of a script, and what the command refuses."""

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tilewright.cli import main

TLX = """\
import numpy as np
import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def handed_over(out_ptr):
    storage = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    box = tlx.local_alloc((32,), tl.int32, 2, reuse=storage)
    half = tlx.local_alloc((32,), tl.int16, 2, reuse=storage)
    storage.set_buffer_overlap(
        tlx.reuse_group(box, half, group_type=tlx.reuse_group_type.shared)
    )
    ready = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            {wait}
            value = tlx.local_load(box[0])
            tlx.local_store(half[0], value.to(tl.int16))
            tl.store(out_ptr + tl.arange(0, 32), tlx.local_load(half[0]).to(tl.int32))
        with tlx.async_task(num_warps=1):
            tlx.local_store(box[0], tl.arange(0, 32) * 3)
            tlx.barrier_arrive(ready[0], 1)


out = np.zeros(32, np.int32)
handed_over[(1,)](out)
print((out == np.arange(32) * 3).all())
"""
WAIT = "tlx.barrier_wait(ready[0], 0)"
TILE = """\
import numpy as np
import tilewright as tw
from tilewright import T


@tw.jit
def double(A, block=32):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, block), threads=32) as bx:
        shared = T.alloc_shared((block,), "float32")
        T.copy(A[bx * block], shared)
        for i in T.Parallel(block):
            shared[i] = shared[i] * 2.0
        T.copy(shared, B[bx * block])
    return B


print(double(np.ones(100, np.float32)).sum())
"""


@pytest.fixture
def studio(tmp_path, monkeypatch, capsys):
    """Runs `tilewright studio` on a script: exit code, data of the page, output, messages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def run(source: str, *flags: str):
        (tmp_path / "script.py").write_text(source)
        code = main.run(["studio", *flags, "script.py"])
        page = tmp_path / "script.html"
        data = data_of(page.read_text()) if page.exists() else None
        return code, data, *capsys.readouterr()

    return run


def data_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def stage_text(data: dict, kernel: dict, name: str) -> str:
    stage = next(each for each in kernel["stages"] if each["name"] == name)
    return "\n".join(data["texts"][index] for index in stage["lines"])


def test_a_tlx_kernel_has_timeline_written_aliasing_and_stages(studio):
    code, data, out, err = studio(TLX.format(wait=WAIT))
    assert (code, out) == (0, "True\n")
    assert "no fault\n" in err and "script.html" in err
    assert data["failed"] is False and data["findings"] == []
    assert [lane["name"] for lane in data["timeline"]["lanes"] if lane["kind"] == "task"] == [
        "default",
        "partition0",
    ]
    (kernel,) = data["kernels"]
    memory = kernel["memory"][0]
    cells = {
        f"{buffer['name']}[{cell['index']}]": (cell["start"], cell["end"])
        for region in memory["regions"]
        for buffer in region["buffers"]
        for cell in buffer["cells"]
    }
    assert cells["box[0]"] == (0, 128) and cells["half[0]"] == (0, 64), "they share bytes"
    line = TLX.split("\n").index("            value = tlx.local_load(box[0])") + 1
    marks = [mark for lane in data["timeline"]["lanes"] for mark in lane["marks"]]
    assert f"0:{line}" in {mark[3] for mark in marks}


def test_a_fault_has_two_accesses_a_missing_edge_and_their_lines(studio):
    code, data, _, err = studio(TLX.format(wait="pass"))
    assert code == 0 and "fault in handed_over" in err
    assert data["failed"] is True
    finding = data["findings"][0]
    assert finding["message"]["code"] == "TW6132"
    assert {each["buffer"] for each in finding["accesses"]} == {"box[0]"}
    lines = TLX.split("\n")
    expected = {
        f"0:{1 + next(i for i, text in enumerate(lines) if part in text)}"
        for part in ("local_load(box[0])", "local_store(box[0]")
    }
    assert {each["place"] for each in finding["accesses"]} == expected
    assert finding["bytes"] == 128
    (edge,) = data["timeline"]["missing"]
    assert edge["label"].startswith("missing wait") and "missing" in edge["label"]
    marked = [
        (mark[0], lane["name"])
        for lane in data["timeline"]["lanes"]
        for mark in lane["marks"]
        if mark[2] == "finding"
    ]
    names = [lane["name"] for lane in data["timeline"]["lanes"]]
    assert sorted(marked) == sorted((at, names[lane]) for lane, at in (edge["from"], edge["to"]))


def test_a_t_kernel_has_its_passes_code_memory_layouts_and_addresses(studio):
    code, data, out, _ = studio(TILE, "--target", "cuda:sm_80")
    assert (code, out) == (0, "200.0\n")
    (kernel,) = data["kernels"]
    assert kernel["target"] == "cuda:sm_80"
    names = [stage["name"] for stage in kernel["stages"]]
    assert names[0] == "as written" and "infer-layouts" in names and "lower-tile-ops" in names
    source = stage_text(data, kernel, "double_kernel.cu")
    assert "__global__" in source
    line = TILE.split("\n").index("            shared[i] = shared[i] * 2.0") + 1
    stage = next(each for each in kernel["stages"] if each["name"] == "double_kernel.cu")
    lit = [data["texts"][i] for i in stage["lines"] if data["places"][i] == f"0:{line}"]
    assert any("* 2.0f" in text or "2.0f *" in text for text in lit), lit
    assert dict(kernel["properties"])["double_kernel: bytes spilled"] == "0"
    assert kernel["memory"][0]["regions"][0]["buffers"][0]["name"] == "shared"
    assert kernel["layouts"][0]["drawings"]
    assert [each["op"] for each in data["addresses"][0]["accesses"]] == ["tile.copy", "tile.copy"]
    assert data["timeline"] is None


def test_a_tenstorrent_program_has_its_files_and_the_timeline_of_a_core(studio):
    source = TILE.replace("block=32", "block=1024").replace("np.ones(100", "np.ones(2048")
    code, data, _, err = studio(source, "--target", "tenstorrent:wormhole")
    assert code == 0 and "no fault" in err, err
    (kernel,) = data["kernels"]
    names = [stage["name"] for stage in kernel["stages"]]
    assert {"reader.cpp", "compute.cpp", "writer.cpp"} <= set(names)
    assert [lane["name"] for lane in data["timeline"]["lanes"] if lane["kind"] == "task"] == [
        "reader",
        "compute",
        "writer",
    ]
    assert kernel["memory"][0]["regions"]


def test_a_kernel_that_does_not_compile_is_on_the_page_with_its_error(studio):
    broken = TILE.replace("shared[i] * 2.0", "shared[i, i]")
    code, data, _, err = studio(broken)
    assert code == 0 and data["failed"] is True
    assert "script.py" in err
    assert data["findings"][0]["message"]["place"].startswith("0:")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["k.ttir"], "is no Python script"),
        (["gone.py"], "cannot read 'gone.py': no such file"),
        (["--target", "metal", "script.py"], "'metal': pass one like cuda:sm_90a"),
        (["--target", "cuda:sm_9q", "script.py"], "--target: unknown target"),
        (["-o", "page.py", "script.py"], "expected a file *.html"),
        (["--schedules", "0", "script.py"], "'0' is not a positive integer"),
        (["--port", "99999", "--serve", "script.py"], "is no port: they end at 65535"),
    ],
)
def test_what_is_refused(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("script.py").write_text("1 / 0\n")
    assert main.run(["studio", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["script.py"]


def test_a_script_that_raises_leaves_a_page_about_what_it_launched(studio):
    code, data, _, err = studio(f"{TILE}\nraise KeyError('later')\n")
    assert code == 0
    assert "KeyError: 'later'" in err
    assert data["verdict"] == "the script ended with exit code 1"
    assert [kernel["name"] for kernel in data["kernels"]] == ["double"]


def test_the_server_makes_the_page_again_when_the_script_changes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(TILE)
    command = [sys.executable, "-m", "tilewright", "studio", "--serve", "--port", "0", str(script)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            url = re.search(r"http://127.0.0.1:\d+/", server.stderr.readline())
            assert url is not None

            def get(path: str = "") -> str:
                with urllib.request.urlopen(url[0] + path, timeout=100) as reply:
                    return reply.read().decode()

            first = get()
            assert data_of(first)["kernels"][0]["name"] == "double"
            start = time.perf_counter()
            assert get() == first
            assert time.perf_counter() - start < 1, "an unchanged script is not run again"
            script.write_text(TILE.replace("double", "twice"))
            assert data_of(get())["kernels"][0]["name"] == "twice"
            with pytest.raises(urllib.error.HTTPError, match="404"):
                get("etc/passwd")
            script.unlink()
            with pytest.raises(urllib.error.HTTPError, match="404"):
                get()
        finally:
            server.kill()
