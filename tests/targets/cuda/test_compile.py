"""Examples become machine code without a GPU; programs go to disk and to C and come back."""

from __future__ import annotations

import importlib
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.passes.gpu.features import FEATURES
from tests.passes.gpu.tile_text import parsed
from tilewright.runtime.cuda.arrays import DeviceArray
from tilewright.runtime.tile.device import WORKSPACE, Address, Map, plan
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.targets.cuda import compile as compiler
from tilewright.targets.cuda.artefact import PROGRAMS, Program
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.cuda.export import Parameter, export, header_text
from tilewright.targets.cuda.nvrtc import include_directories
from tilewright.targets.cuda.settings import Settings
from tilewright.targets.store import digest

EXAMPLES = sorted(
    path.stem
    for path in Path("examples/tile").glob("*.py")
    if not path.stem.startswith("blackwell_")
)


SMALLER = {
    ("gemm", "sm_80"): {"num_stages": 3},
    ("gemm", "sm_120a"): {"num_stages": 2, "block_N": 128},
}
"""What an example is given where its defaults need more memory on chip than there is."""


def modules(
    name: str, monkeypatch: pytest.MonkeyPatch, settings: Mapping[str, int]
) -> list[ModuleOp]:
    """The kernels that an example runs, each once."""
    found: dict[str, ModuleOp] = {}

    def recording(self: CompiledTileKernel, values: list[Any]) -> None:
        found.setdefault(self.prim_func.script(), self.prim_func.module)

    monkeypatch.setattr(CompiledTileKernel, "launch", recording)
    monkeypatch.syspath_prepend("examples/tile")
    importlib.import_module(name).example(np.random.default_rng(0), **settings)
    return list(found.values())


def check(name: str, arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in modules(name, monkeypatch, SMALLER.get((name, arch), {})):
        program = compile_module(module, arch)
        assert program.kernels
        assert program.spill_bytes == 0
        for kernel in program.kernels.values():
            assert kernel.cubin[:4] == b"\x7fELF"
            assert 0 < kernel.metadata.registers <= 255
        launched = [step.constants[0] for step in program.steps if step.kind == "launch"]
        assert launched == list(program.kernels)


@pytest.mark.slow  # at their GPU sizes they are part of `test_entries`
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_compile_for_hopper(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(name, "sm_90a", monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_80", "sm_120a"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_compile_elsewhere(name: str, arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(name, arch, monkeypatch)


COPIED_VIEW = """
func.func public @copied(%p: memref<?xf16, #global>, %q: memref<?xf16, #global>,
                         %m: i32, %s: i32, %n: i32) attributes {tile.entry} {
  %mi = arith.index_cast %m : i32 to index
  %si = arith.index_cast %s : i32 to index
  %ni = arith.index_cast %n : i32 to index
  %pp = tile.ptr_of r %p[%ni] : memref<?xf16, #global>
  %A = tile.view %pp sizes(%mi) strides(%si)
    : !tile.ptr<f16, #global> to memref<?x32xf16, strided<[?, 1]>, #global>
  %B = tile.view %q sizes(%mi) : memref<?xf16, #global> to memref<?x32xf16, strided<[64, 1]>, #global>
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<16x32xf16, #shared>
    %ra = tile.region %A[0, 0] [16, 32]
      : memref<?x32xf16, strided<[?, 1]>, #global> to !tile.region<16x32xf16, #global>
    tile.copy %ra -> %a : !tile.region<16x32xf16, #global> -> memref<16x32xf16, #shared>
    %rb = tile.region %B[0, 0] [16, 32]
      : memref<?x32xf16, strided<[64, 1]>, #global> to !tile.region<16x32xf16, #global>
    tile.copy %a -> %rb : memref<16x32xf16, #shared> -> !tile.region<16x32xf16, #global>
  }
  func.return
}
"""


@pytest.fixture(scope="module")
def product() -> Program:
    return compile_module(FEATURES["columns_of_176"].func.module)


def array(shape: tuple[int, ...], element: str = "fp16", address: int = 4096) -> DeviceArray:
    strides = tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    return DeviceArray(address, element, shape, strides, 2, 0, None)


def test_a_plan_leaves_only_addresses_open(product: Program) -> None:
    found = plan(product.steps, [array((256, 128)), array((128, 176)), array((256, 176), "fp32")])
    (launch,) = found.launches
    assert launch.grid == (2, 1, 1)
    assert found.workspace == 0
    maps = [each for each in launch.arguments if isinstance(each, Map)]
    assert [each.address.parameter for each in maps][:2] == [0, 1]
    assert maps[0].spec["swizzle_bytes"] == 128
    assert maps[0].spec["shape"] == (256, 128)


def test_programs_come_back_from_disk(
    product: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    PROGRAMS.write(digest("some key"), product)
    found = PROGRAMS.read(digest("some key"))
    assert found is not None
    assert found.source == product.source
    assert {name: each.cubin for name, each in found.kernels.items()} == {
        name: each.cubin for name, each in product.kernels.items()
    }
    assert [each.metadata for each in found.kernels.values()] == [
        each.metadata for each in product.kernels.values()
    ]
    arrays = [array((256, 128)), array((128, 176)), array((256, 176), "fp32")]
    assert str(plan(found.steps, arrays)) == str(plan(product.steps, arrays))


def test_what_was_compiled_once_is_not_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    module = FEATURES["a_choice"].func.module
    first = PROGRAMS.compiled(module, Settings())
    calls: list[object] = []
    monkeypatch.setattr(compiler, "compile_module", lambda *a, **k: calls.append(a) or first)
    again = PROGRAMS.compiled(module, Settings())
    assert not calls
    assert again.source == first.source
    PROGRAMS.compiled(module, Settings(fast_math=True))
    assert len(calls) == 1


def test_memory_between_kernels_is_planned() -> None:
    from tilewright.targets.host.steps import Step

    steps = (
        Step("alloc", "%1_alloc", (), ((3, 5), 2)),
        Step("alloc", "%2_alloc", (), ((7,), 4)),
        Step("launch", "", (1, 1, 1, "%0", "%1_alloc", "%2_alloc"), ("k",)),
        Step("launch", "", (0, 1, 1, "%0"), ("never",)),
    )
    found = plan(steps, [array((8,))])
    (launch,) = found.launches
    assert launch.arguments == (
        Address(0, (8,), (1,)),
        Address(WORKSPACE, (3, 5), (5, 1), 0),
        Address(WORKSPACE, (7,), (1,), 256),
    )
    assert found.workspace == 512


def test_views_are_the_same_memory() -> None:
    from tilewright.targets.host.steps import Step

    steps = (
        Step("dim", "%1_dim", ("%0", 0)),
        Step("*", "%2_v", ("%1_dim", 16)),
        Step("view", "%3_view", ("%0", "%2_v"), ((-1,), None)),
        Step("ceildiv", "%4_v", ("%2_v", 128)),
        Step("launch", "", ("%4_v", 1, 1, "%3_view"), ("k",)),
    )
    (launch,) = plan(steps, [array((9, 16))]).launches
    assert launch.grid == (2, 1, 1)
    assert launch.arguments == (Address(0, (144,), (1,)),)


def test_an_exported_header_is_c(product: Program, tmp_path: Path) -> None:
    parameters = [Parameter(name, "tensor", "float16", 2) for name in "ABC"]
    header = export(product, "matmul", parameters, tmp_path / "matmul")
    files = sorted(each.name for each in header.parent.iterdir())
    assert files == ["main_kernel.cu", "main_kernel.cubin", "matmul.h"]
    accepted_by_cc(
        '#include "matmul/matmul.h"\n'
        "CUresult run(CUdeviceptr a, const int64_t* s) { return matmul(0, a, s, a, s, a, s); }\n",
        tmp_path,
    )


def test_an_exported_view_has_its_address_and_strides(tmp_path: Path) -> None:
    program = compile_module(parsed(COPIED_VIEW))
    parameters = [Parameter(name, "tensor", "float16", 1) for name in "pq"]
    parameters += [Parameter(name, "scalar", "int32", 0) for name in "msn"]
    header = export(program, "copied", parameters, tmp_path / "copied").read_text()
    assert re.search(r"const CUdeviceptr \w+_at = p \+ \(CUdeviceptr\)\(n \* 2\);", header)
    assert re.search(r"int32_t a\d+ = \(int32_t\)s;", header)
    accepted_by_cc(
        '#include "copied/copied.h"\n'
        "CUresult run(CUdeviceptr a, const int64_t* s) "
        "{ return copied(0, a, s, a, s, 1, 2, 3); }\n",
        tmp_path,
    )


def accepted_by_cc(program: str, folder: Path) -> None:
    """A C compiler has nothing to say about a program."""
    user = folder / "user.c"
    user.write_text(program)
    folders = [f"-I{each}" for each in include_directories()]
    assert any((Path(each) / "cuda.h").exists() for each in include_directories())
    done = subprocess.run(
        ["cc", "-std=c11", "-Wall", "-Werror", "-fsyntax-only", *folders, f"-I{folder}", user],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_names_that_c_has_for_something_else(product: Program, tmp_path: Path) -> None:
    names = ("stream", "strides", "short")  # a parameter, a local and a word of C
    parameters = [Parameter(name, "tensor", "float16", 2) for name in names]
    header = export(product, "main", parameters, tmp_path / "main")
    assert re.search(
        r"CUresult main_launch\(CUstream stream, CUdeviceptr stream_, const int64_t\* stream__shape, "
        r"CUdeviceptr strides_, .* CUdeviceptr short_, ",
        header.read_text(),
    )
    accepted_by_cc(
        '#include "main/main.h"\n'
        "int main(void) { const int64_t s[2] = {64, 64};"
        " return main_launch(0, 0, s, 0, s, 0, s); }\n",
        tmp_path,
    )


def test_parameters_do_not_take_the_names_of_shapes(product: Program) -> None:
    parameters = [
        Parameter("A", "tensor", "float16", 2),
        Parameter("A_shape", "tensor", "float16", 2),
        Parameter("a0", "tensor", "float16", 2),
    ]
    text = header_text(product, "f", parameters, code=False)
    declared = re.search(r"CUresult f\((.*)\) {", text)
    assert declared is not None
    found = re.findall(r"\w+(?=,|$)", declared[1])
    assert found[1:] == ["A", "A_shape", "A_shape_", "A_shape__shape", "a0_", "a0__shape"]
