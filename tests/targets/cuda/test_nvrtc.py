"""The compiler as a library: which one is taken, with which headers, and what is said of none."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from tilewright.targets.cuda.nvrtc import compile_source, include_directories
from tilewright.targets.cuda.nvrtc_library import NvrtcMissing, nvrtc, packaged
from tilewright.targets.errors import CudaCompilerError


def packages(monkeypatch: pytest.MonkeyPatch, root: Path, *files: str) -> None:
    """Packages of NVIDIA with these files, instead of those that are installed."""
    for file in files:
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    module = ModuleType("nvidia")
    module.__path__ = [str(root)]
    monkeypatch.setitem(sys.modules, "nvidia", module)


@pytest.fixture(autouse=True)
def no_toolkit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder where toolkits are looked for."""
    folder = tmp_path / "local"
    monkeypatch.setattr("tilewright.targets.cuda.nvrtc._INSTALLED", folder)
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    return folder


_TRAITS = "cuda/std/type_traits"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["cu13/include/cuda_fp16.h", f"cu13/include/cccl/{_TRAITS}"],
         ["cu13/include", "cu13/include/cccl"]),
        (["cuda_runtime/include/cuda_fp16.h", f"cuda_cccl/include/{_TRAITS}"],
         ["cuda_runtime/include", "cuda_cccl/include"]),
        (["cu13/include/cuda_fp16.h", f"local/cuda/include/cccl/{_TRAITS}"],
         ["cu13/include", "local/cuda/include/cccl"]),
        (["local/cuda/include/cuda_fp16.h", f"local/cuda/include/cccl/{_TRAITS}"],
         ["local/cuda/include", "local/cuda/include/cccl"]),
        (["local/cuda-12.4/include/cuda_fp16.h", f"local/cuda-12.4/include/{_TRAITS}",
          "local/cuda-9.0/include/cuda_fp16.h"],
         ["local/cuda-12.4/include"]),
        (["local/cuda/targets/x86_64-linux/include/cuda_fp16.h",
          f"local/cuda/targets/x86_64-linux/include/cccl/{_TRAITS}"],
         ["local/cuda/targets/x86_64-linux/include",
          "local/cuda/targets/x86_64-linux/include/cccl"]),
        (["cu13/include/cuda_fp16.h"], ["cu13/include"]),
        ([], []),
    ],
    ids=["package", "two packages", "package and toolkit", "toolkit 13", "toolkit 12",
         "toolkit by targets", "nothing of it", "nothing"],
)  # fmt: skip
def test_the_headers_of_the_core_libraries_are_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: list[str], expected: list[str]
) -> None:
    packages(monkeypatch, tmp_path, *files)
    assert include_directories.__wrapped__() == tuple(str(tmp_path / each) for each in expected)


def test_the_toolkit_of_the_environment_comes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    packages(
        monkeypatch, tmp_path, "local/cuda/include/cuda_fp16.h", "mine/include/cuda_fp16.h"
    )  # fmt: skip
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "mine"))
    assert include_directories.__wrapped__() == (str(tmp_path / "mine/include"),)


def test_a_kernel_that_waits_for_the_grid_finds_its_headers() -> None:
    """``cooperative_groups.h`` includes ``cuda/std/type_traits``."""
    source = "\n".join(
        [
            "#include <cooperative_groups.h>",
            'extern "C" __global__ void wait() { cooperative_groups::this_grid().sync(); }',
        ]
    )
    assert compile_source(source, "sm_90a").cubin


def test_of_two_releases_the_newer_with_its_own_headers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    packages(
        monkeypatch,
        tmp_path,
        "cuda_nvrtc/lib/libnvrtc.so.12",
        "cuda_nvrtc/lib/libnvrtc-builtins.so.12.9",
        "cu9/include/cuda_fp16.h",
        "cu13/lib/libnvrtc.so.13",
        "cu13/lib/libnvrtc.alt.so.14",
        "cu13/include/cuda_fp16.h",
        "cuda_runtime/include/cuda_fp16.h",
        "cudnn/include/cudnn.h",
    )
    assert packaged() == tmp_path / "cu13/lib/libnvrtc.so.13"
    assert include_directories.__wrapped__() == tuple(
        str(tmp_path / folder / "include") for folder in ("cu13", "cu9", "cuda_runtime")
    )


def test_where_there_is_none_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class NotFoundError(RuntimeError):
        """What NVIDIA's search raises."""

    def search(name: str) -> None:
        raise NotFoundError(f"no lib{name}.so anywhere")

    packages(monkeypatch, tmp_path)
    finder = ModuleType("cuda.pathfinder")
    vars(finder)["load_nvidia_dynamic_lib"] = search
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", finder)
    with pytest.raises(NvrtcMissing, match=r"is not installed: pip install"):
        nvrtc.__wrapped__()


def test_what_the_compiler_says_comes_with_the_error() -> None:
    with pytest.raises(CudaCompilerError) as caught:
        compile_source("__global__ void f() { return 1; }", "sm_90a", name="wrong.cu")
    assert "failed to compile the source for sm_90a" in str(caught.value)
    assert "wrong.cu(1): error" in caught.value.log
    with pytest.raises(CudaCompilerError, match=r"unrecognized option|invalid"):
        compile_source("", "sm_90a", ["--no-such-flag"])


class _Caching:
    """A compiler that keeps machine code, which then comes without the assembler's log."""

    def __init__(self, *, knows_option: bool = True) -> None:
        self.knows_option = knows_option
        self.given: list[list[bytes]] = []

    @contextmanager
    def program(self, source: bytes, name: bytes) -> Iterator[int]:
        yield len(self.given)

    def compiles(self, program: int, options: list[bytes]) -> bool:
        self.given.append(options)
        return self.knows_option or b"--no-cache" not in options

    def log(self, program: int) -> str:
        is_new = b"--no-cache" in self.given[-1] and self.knows_option
        return "8 bytes spill stores\nptxas info : Used 40 registers" if is_new else ""

    def cubin(self, program: int) -> bytes:
        return b"code"

    def ptx(self, program: int) -> str:
        return ""


def test_machine_code_without_a_log_is_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether registers spill decides which form of a kernel is taken."""
    fake = _Caching()
    monkeypatch.setattr("tilewright.targets.cuda.nvrtc.nvrtc", lambda: fake)
    assert "8 bytes spill" in compile_source("kernel", "sm_90a").log
    assert [b"--no-cache" in each for each in fake.given] == [False, True]


def test_a_compiler_without_that_option_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = _Caching(knows_option=False)
    monkeypatch.setattr("tilewright.targets.cuda.nvrtc.nvrtc", lambda: fake)
    assert compile_source("device functions only", "sm_90a").cubin == b"code"
