"""`T` kernels compiled in processes: the same programs and errors, and an end to all of them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.passes.gpu.features import FEATURES
from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.runtime.tile.jit import traced_tile
from tilewright.targets import compilers as compiling
from tilewright.targets import worker_pool
from tilewright.targets.compilers import Compilers, worker_count
from tilewright.targets.cuda.compile import compile_as
from tilewright.targets.cuda.settings import Settings
from tilewright.targets.errors import CudaCompilerError
from tilewright.targets.worker_pool import WorkerFailed


@T.prim_func
def too_large(A: T.Tensor((128,), "float32")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((1024, 1024), "float32")
        for i in T.Parallel(128):
            tile[i, 0] = A[i]
            A[i] = tile[i, 0] + 1


def test_programs_are_those_of_one_process():
    modules = [FEATURES[name].func.module for name in ("a_choice", "product_of_bytes")]
    with Compilers(2) as compilers:
        futures = [compilers.compile(module, Settings()) for module in modules]
        found = [future.result() for future in futures]
    for module, program in zip(modules, found, strict=True):
        here = compile_as(module, Settings())
        assert program.module is None
        assert program.source == here.source
        assert program.steps == here.steps
        assert program.remarks == here.remarks
        assert [each.cubin for each in program.kernels.values()] == [
            each.cubin for each in here.kernels.values()
        ]


def test_errors_are_those_of_one_process_and_do_not_end_it():
    with pytest.raises(CompileError) as here:
        compile_as(too_large.module, Settings())
    with Compilers(1) as compilers:
        with pytest.raises(CompileError) as there:
            compilers.compile(too_large.module, Settings()).result()
        assert str(there.value) == str(here.value)
        assert "test_compilers.py" in str(there.value)
        assert there.value.diagnostics == here.value.diagnostics
        fine = FEATURES["a_choice"].func.module
        with pytest.raises(
            CudaCompilerError, match="failed to compile the source for sm_90a"
        ) as refused:
            compilers.compile(fine, Settings(flags=("--no-such-option",))).result()
        assert "no-such-option" in refused.value.log
        assert compilers.compile(fine, Settings()).result().kernels


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Puts other processes in the place of compilers."""

    def put(text: str) -> None:
        (tmp_path / "odd_worker.py").write_text(text)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setattr(worker_pool, "MODULE", "odd_worker")

    return put


def test_a_process_that_dies_is_told_and_replaced(worker, tmp_path):
    worker(
        "import sys, pathlib\n"
        f"seen = pathlib.Path({str(tmp_path / 'seen')!r})\n"
        "seen.write_text(seen.read_text() + 'x' if seen.exists() else 'x')\n"
        "sys.stdin.buffer.read(8)\n"
        "sys.exit(7)\n"
    )
    module = FEATURES["a_choice"].func.module
    with Compilers(1) as compilers:
        for _ in range(2):
            with pytest.raises(WorkerFailed, match="the compiler process exited with code 7"):
                compilers.compile(module, Settings()).result()
    assert (tmp_path / "seen").read_text() == "xx"


_SLEEPING = """
import os, pathlib, sys, time
pathlib.Path({path!r}).write_text(str(os.getpid()))
time.sleep(1000)
"""


def test_a_process_that_takes_too_long_is_ended(worker, tmp_path):
    worker(_SLEEPING.format(path=str(tmp_path / "pid")))
    with Compilers(1, timeout_seconds=2) as compilers:
        future = compilers.compile(FEATURES["a_choice"].func.module, Settings())
        with pytest.raises(WorkerFailed, match="timed out after 2 s"):
            future.result()
    assert _is_gone(int((tmp_path / "pid").read_text()))


def test_leaving_ends_what_is_under_way(worker, tmp_path):
    worker(_SLEEPING.format(path=str(tmp_path / "pid")))
    module = FEATURES["a_choice"].func.module
    with pytest.raises(KeyboardInterrupt), Compilers(1) as compilers:
        first, second = (compilers.compile(module, Settings()) for _ in range(2))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert _is_gone(int((tmp_path / "pid").read_text()))
    assert isinstance(first.exception(), WorkerFailed)
    assert second.cancelled()


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_how_many_processes(monkeypatch):
    monkeypatch.setattr(compiling, "_cores", lambda: 16)
    monkeypatch.delenv(compiling.WORKERS, raising=False)
    assert [worker_count(jobs) for jobs in (0, 1, 3, 4, 10, 288)] == [1, 1, 1, 2, 5, 16]
    assert worker_count(288, 3) == 3
    assert worker_count(288, 1000) == 32
    monkeypatch.setenv(compiling.WORKERS, "6")
    assert (worker_count(288), worker_count(288, 2)) == (6, 2)
    monkeypatch.setenv(compiling.WORKERS, "none")
    with pytest.raises(ValueError, match="TILEWRIGHT_COMPILE_WORKERS must be at least 1"):
        worker_count(288)
    with pytest.raises(ValueError, match="num_workers must be at least 1, got 0"):
        worker_count(288, 0)
    monkeypatch.setenv(compiling.WORKERS, "6")
    monkeypatch.setenv("TILEWRIGHT_COMPILE", "inline")
    assert worker_count(288) == 1


def test_sources_of_compiled_kernels_reach_them(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    kernel = traced_tile(FEATURES["a_choice"].func, target="cuda")
    assert kernel.gpu is not None
    assert not kernel.gpu.is_compiled()
    with Compilers(1) as compilers:
        kernel.gpu.adopt(compilers.compile(kernel.gpu.module, kernel.gpu.settings).result())
    again = traced_tile(FEATURES["a_choice"].func, target="cuda")
    assert again.gpu is not None
    assert again.gpu.is_compiled()
    assert again.get_kernel_source() == kernel.get_kernel_source()
