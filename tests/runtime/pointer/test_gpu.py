"""Kernels of the JIT as machine code: compiled without a GPU, kept on disk, found without tracing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl
from tilewright.frontend import trace as tracing
from tilewright.ir.diagnostics import CompileError
from tilewright.runtime.pointer import compiled as compiled_kernels
from tilewright.targets.triton import processes

pytest.importorskip("triton", reason="the machine code is made by Triton, which is not installed")

TARGET = "triton:sm_90"
STEP = tl.constexpr(3)


@tw.jit
def more(x):
    return x + STEP


@tw.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, more(tl.load(x_ptr + at, mask=at < n)), mask=at < n)


X = np.zeros(1000, np.float32)


@pytest.fixture
def cold(tmp_path, monkeypatch):
    """An empty disk, and nothing compiled in this process."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    add.cache.clear()
    yield tmp_path
    add.cache.clear()


def refuse(monkeypatch):
    """From here on, neither tracing nor compiling is allowed."""

    def no(*_, **__):
        raise AssertionError("this is on disk already")

    monkeypatch.setattr(compiled_kernels, "trace", no)
    monkeypatch.setattr(processes, "build", no)


def test_warmup_gives_every_stage():
    compiled = add.warmup(X, X, 1000, BLOCK=128, target=TARGET)
    assert list(compiled.asm) == ["ttir", "ttir.final", "ttgir.final", "llir", "ptx", "cubin"]
    assert compiled.asm["cubin"].startswith(b"\x7fELF")
    assert compiled.text("ptx") == compiled.asm["ptx"]
    assert ".entry add(" in compiled.asm["ptx"]
    assert str(Path(__file__)) in compiled.asm["ptx"]  # the lines of this file
    assert compiled.artefact.metadata.parameters[:3] == ("ptr", "ptr", "i32")
    with pytest.raises(ValueError, match=r"'cubin' is binary: use asm\['cubin'\]"):
        compiled.text("cubin")
    with pytest.raises(
        ValueError, match="unknown stage 'hip'; expected one of ttir, optimised, numpy, ttir"
    ):
        compiled.text("hip")
    assert "EXIT" in compiled.text("sass")


def test_the_target_comes_from_the_launch_or_from_around():
    assert add.warmup(X, X, 1000, BLOCK=128).artefact is None
    with tw.running(target=TARGET):
        around = add.warmup(X, X, 1000, BLOCK=128)
        host = add.warmup(X, X, 1000, BLOCK=128, target="numpy")
        machine = add.warmup(X, X, 1000, BLOCK=128, target="cuda:100")
    assert around.artefact.metadata.arch == 90
    assert host.artefact is None
    assert machine.artefact.metadata.arch == 100
    assert str(around.choice) == TARGET


def test_options_of_a_launch_reach_the_machine_code():
    options = {"num_warps": 8, "maxnreg": 40, "launch_pdl": True, "ctas_per_cga": (2, 1, 1)}
    facts = add.warmup(X, X, 1000, BLOCK=128, target=TARGET, **options).artefact.metadata
    assert (facts.threads, facts.pdl, facts.cluster) == (256, True, (2, 1, 1))
    assert facts.registers <= 40


def test_arrays_of_the_host_are_not_launched_on_a_gpu():
    with pytest.raises(Exception, match="x_ptr") as caught:
        add[(8,)](X, X, 1000, BLOCK=128, target=TARGET)
    assert "host" in str(caught.value)


def test_descriptors_become_tensor_maps():
    @tw.jit
    def copy(source, into):
        into.store([0, 0], source.load([0, 0]))

    x = np.zeros((64, 64), np.float16)
    described = tw.TensorDescriptor.from_tensor(x, [32, 64])
    facts = copy.warmup(described, described, target=TARGET).artefact.metadata
    shape = ("i32", "i32", "i64", "i64")
    one = ("tensormap", *shape)
    assert facts.parameters == (*one, *one, "scratch", "profile")
    assert [each.box for each in facts.tensor_maps] == [(32, 64), (32, 64)]
    older = copy.warmup(described, described, target="triton:sm_80").artefact.metadata
    assert older.tensor_maps == ()
    flags = older.parameters.count("i1") // 2
    apart = ("ptr", "i64", "i64", "i64", "i64", *["i1"] * flags)
    assert older.parameters == (*apart, *shape, *apart, *shape, "scratch", "profile")


def test_descriptors_made_by_the_kernel_need_scratch_memory():
    @tw.jit
    def fill(out_ptr, n):
        out = tl.make_tensor_descriptor(out_ptr, [n, n], [n, 1], [32, 32])
        out.store([0, 0], tl.zeros((32, 32), tl.float32))

    x = np.zeros((64, 64), np.float32)
    facts = fill.warmup(x, 64, target=TARGET).artefact.metadata
    assert facts.scratch_bytes >= 128
    assert facts.scratch_align >= 64


def test_an_error_that_llvm_only_mentions_is_an_error():
    @tw.jit
    def wrong(x_ptr):
        x = tl.arange(0, 32)
        tl.store(x_ptr + x, tl.inline_asm_elementwise("?", "=z,r", [x], tl.int32, True, 1))

    with pytest.raises(CompileError) as caught:
        wrong.warmup(np.zeros(32, np.int32), target=TARGET)
    line = wrong.first_line + 1
    assert str(caught.value).startswith(
        f"{__file__}:{line}:5: error[TW6202]: could not allocate output register for constraint 'z'"
    )


# -- the disk ------------------------------------------------------------------------------------


def test_a_second_process_neither_traces_nor_compiles(cold, monkeypatch):
    first = add.warmup(X, X, 1000, BLOCK=128, target=TARGET)
    add.cache.clear()
    refuse(monkeypatch)
    again = add.warmup(X, X, 1000, BLOCK=128, target=TARGET)
    assert again is not first
    assert again.asm == first.asm
    assert again.artefact == first.artefact
    assert {each.key for each in again.captured} >= {each.key for each in first.captured}
    with pytest.raises(AssertionError, match="on disk"):
        add.warmup(X, X, 1000, BLOCK=256, target=TARGET)
    # Traced after all where somebody asks for it.
    monkeypatch.setattr(compiled_kernels, "trace", tracing.trace)
    assert "tt.load" in again.text("ttir")


def test_a_captured_value_that_changed_is_compiled_in_anew(cold, monkeypatch):
    first = add.warmup(X, X, 1000, BLOCK=128, target=TARGET)
    monkeypatch.setitem(globals(), "STEP", tl.constexpr(5))
    assert not first.is_current()
    second = add.warmup(X, X, 1000, BLOCK=128, target=TARGET)
    assert second.asm["ptx"] != first.asm["ptx"]
    monkeypatch.undo()
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(cold))
    add.cache.clear()
    refuse(monkeypatch)
    third = add.warmup(X, X, 1000, BLOCK=128, target=TARGET)
    assert third.asm["ptx"] == first.asm["ptx"]


def test_a_damaged_disk_costs_time_only(cold):
    first = add.warmup(X, X, 1000, BLOCK=128, target=TARGET)
    for path in cold.glob("*/*-*"):
        path.write_bytes(b"\x00" * 100)
    add.cache.clear()
    again = add.warmup(X, X, 1000, BLOCK=128, target=TARGET)
    assert again.asm["cubin"] == first.asm["cubin"]


SCRIPT = """\
import json, sys, time
import numpy as np
import tilewright as tw
from tilewright import tl
import helpers

@tw.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, helpers.twice(at), mask=at < n)

x = np.zeros(1000, np.int32)
start = time.perf_counter()
compiled = kernel.warmup(x, 1000, BLOCK=128, target="triton:sm_90")
took = time.perf_counter() - start
print(json.dumps({
    "traced": "traced" in vars(compiled), "triton": "triton" in sys.modules,
    "worker": "tilewright.targets.triton.processes" in sys.modules,
    "compiler": "tilewright.targets.triton.compile" in sys.modules,
    "took": took, "key": compiled.artefact.key,
}))
"""
HELPERS = """\
import tilewright as tw

@tw.jit
def twice(x):
    return x * FACTOR

import tilewright.language.tl as tl
FACTOR = tl.constexpr(2)
"""


def run_script(folder: Path) -> dict[str, object]:
    import json

    environment = {
        **os.environ,
        "PYTHONPATH": f"{Path(tw.__file__).parents[1]}{os.pathsep}{folder}",
    }
    done = subprocess.run(
        [sys.executable, str(folder / "script.py")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_warm_start_of_another_process(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "helpers.py").write_text(HELPERS)
    cold = run_script(tmp_path)
    assert (cold["traced"], cold["triton"], cold["worker"]) == (True, False, True)
    warm = run_script(tmp_path)
    assert warm["key"] == cold["key"]
    loaded = (warm["traced"], warm["triton"], warm["worker"], warm["compiler"])
    assert loaded == (False, False, False, False)
    # A constant of another module is compiled in: a changed one is another kernel.
    (tmp_path / "helpers.py").write_text(HELPERS.replace("constexpr(2)", "constexpr(4)"))
    changed = run_script(tmp_path)
    assert changed["traced"]
    assert changed["key"] != cold["key"]
