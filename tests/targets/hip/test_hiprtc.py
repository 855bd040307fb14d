"""ROCm's run-time compiler, by a stand-in: the calls, the options, the order of the search."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples.gpu_sizes import KERNELS
from tests.targets.hip.support import REVERSE, SCALE, needs_clang
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.targets.errors import HipCompilerError, HipCompilerMissing
from tilewright.targets.hip import clang, compiler
from tilewright.targets.hip import hiprtc as found
from tilewright.targets.hip.compile import lower_module
from tilewright.targets.hip.notes import architecture, kernel_notes

pytestmark = needs_clang

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in, compiled."""
    path = tmp_path_factory.mktemp("hiprtc") / "libhiprtc.so"
    source = HERE / "stand_in_hiprtc.c"
    command = [clang.clang_for("gfx942").path, "-shared", "-fPIC", str(source), "-o", str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(
            f"NO C LIBRARY TO LINK WITH, hiprtc's stand-in was not made: {done.stderr[-200:]}"
        )
    return path


@pytest.fixture
def record(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory in which the stand-in records."""
    monkeypatch.setenv("TILEWRIGHT_STAND_IN", str(tmp_path))
    monkeypatch.setenv(found.VARIABLE, str(library))
    monkeypatch.setenv(clang.VARIABLE, clang.clang_for("gfx942").path)
    monkeypatch.delenv(compiler.VARIABLE, raising=False)
    found.hiprtc.cache_clear()
    yield tmp_path
    found.hiprtc.cache_clear()


def test_hiprtc_is_preferred_to_clang(record: Path) -> None:
    done = compiler.compile_source(REVERSE, "gfx1100", ["-fapprox-func"], name="reverse.hip")
    assert architecture(done.code_object) == "gfx1100"
    assert kernel_notes(done.code_object)["reverse"].lds_bytes == 4096
    assert (done.isa, compiler.release("gfx1100")) == ("", "hiprtc 9.4")
    expected = ["--offload-arch=gfx1100", *clang.COMMON, "-fapprox-func"]
    assert (record / "options").read_text().splitlines() == expected
    assert (record / "source.hip").read_text().endswith(REVERSE)
    assert (record / "destroyed").exists()


def test_both_compilers_make_the_same_kernel(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_hiprtc = compiler.compile_source(SCALE, "gfx942")
    monkeypatch.setenv(compiler.VARIABLE, "clang")
    by_clang = compiler.compile_source(SCALE, "gfx942")
    assert compiler.release("gfx942").startswith("clang ")
    assert kernel_notes(by_hiprtc.code_object) == kernel_notes(by_clang.code_object)
    assert by_clang.isa


def test_the_text_of_a_kernel_compiles_after_hiprtcs_own_definitions(
    record: Path,
) -> None:
    """Its ``__global__`` and the like are there before ours, and the file has no includes."""
    module = KERNELS["gemm.128x128"].trace().module
    (source,) = lower_module(module, AmdPipeline(target="hip:gfx942")).sources
    done = compiler.compile_source(source.text, "gfx942", name="gemm.hip")
    note = kernel_notes(done.code_object)[source.name]
    assert (note.lds_bytes, note.max_threads) == (source.shared_bytes, source.threads)
    assert "redefined" not in done.log


def test_an_error_has_the_log(record: Path) -> None:
    source = SCALE.replace("a * x[i]", "b * x[i]")
    with pytest.raises(
        HipCompilerError, match=r"hiprtc 9.4 failed .* gfx942\nbad.hip:\d+"
    ) as error:
        compiler.compile_source(source, "gfx942", name="bad.hip")
    assert "undeclared identifier 'b'" in error.value.log
    assert (record / "destroyed").exists()


def test_a_library_without_the_functions_does_not_count(
    record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(found.VARIABLE, "libc.so.6")
    found.hiprtc.cache_clear()
    assert compiler.release("gfx942").startswith("clang ")
    monkeypatch.setenv(compiler.VARIABLE, "hiprtc")
    with pytest.raises(HipCompilerMissing, match="there is no libhiprtc on this machine"):
        compiler.release("gfx942")
    monkeypatch.setenv(compiler.VARIABLE, "nvcc")
    with pytest.raises(HipCompilerMissing, match="COMPILER=nvcc: expected hiprtc or clang"):
        compiler.release("gfx942")
