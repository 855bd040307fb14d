"""Kernels for a GPU: what can be had of them on a machine that has none."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tests.runtime.cuda.fake_driver import FakeDriver
from tilewright import T
from tilewright.dialects.tile.access import may_share_bytes
from tilewright.runtime.cuda.arrays import DeviceArray
from tilewright.runtime.cuda.driver import using
from tilewright.runtime.tile.device import Map, plan
from tilewright.runtime.tile.pass_configs import PassConfigKey, checked_configs, gpu_settings
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.cuda.settings import Settings


@tw.jit(out_idx=-1, target="cuda")
def doubled(size, dtype="float32"):
    @T.prim_func
    def main(A: T.Tensor((size,), dtype), B: T.Tensor((size,), dtype)):
        with T.Kernel(T.ceildiv(size, 128), threads=128) as bx:
            for i in T.Parallel(128):
                B[bx * 128 + i] = A[bx * 128 + i] * 2

    return main


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))


def test_source_and_resources_need_no_gpu():
    kernel = doubled(1000)
    assert kernel.target == "cuda:sm_90a"
    source = kernel.get_kernel_source()
    assert "__global__ void __launch_bounds__(128, 1)" in source
    assert "main_kernel(const float* __restrict__ A, float* __restrict__ B)" in source
    assert 1 <= kernel.n_regs <= 255
    assert kernel.n_spills == 0


def test_numpy_arrays_still_run_here():
    a = np.arange(1000, dtype=np.float32)
    np.testing.assert_array_equal(doubled(1000)(a), 2 * a)


def test_times_without_a_gpu_are_told_for_what_they_are(monkeypatch):
    monkeypatch.setattr("tilewright.runtime.tile.profiler.is_available", lambda: False)
    with pytest.warns(
        UserWarning, match="main for cuda:sm_90a: no GPU available: timed on target numpy"
    ):
        assert doubled(128).get_profiler().do_bench(n_repeat=1) > 0


def test_the_former_name_of_the_directory_warns(tmp_path):
    with pytest.warns(FutureWarning, match=r"use export\(directory=\.\.\.\)"):
        header = doubled(1000).export(folder=tmp_path / "doubled")
    assert header.is_file()


def test_a_folder_for_programs_in_c(tmp_path):
    header = doubled(1000).export(tmp_path / "doubled")
    assert sorted(each.name for each in Path(header).parent.iterdir()) == [
        "main.h",
        "main_kernel.cu",
        "main_kernel.cubin",
    ]
    text = Path(header).read_text()
    assert re.search(r"static inline CUresult main_launch\(CUstream stream, CUdeviceptr A", text)
    with pytest.raises(NotImplementedError, match="compile main for a GPU"):
        tw.compile(doubled.get_tir(8), target="numpy").export(tmp_path)


def test_the_arch_is_chosen():
    traced = doubled.get_tir(256)
    kernel = tw.compile(traced, target="cuda:sm_80")
    assert kernel.target == "cuda:sm_80"
    assert kernel.gpu is not None and kernel.gpu.settings.arch == "sm_80"
    assert tw.compile(traced, target={"kind": "cuda", "arch": "sm_90"}).target == "cuda:sm_90a"


@pytest.mark.parametrize(
    ("configs", "wanted"),
    [
        ({}, Settings("sm_90a")),
        (
            {PassConfigKey.TL_DISABLE_WARP_SPECIALIZED: True},
            Settings("sm_90a", warp_specialize=False),
        ),
        ({"tl.disable_tma_lower": True}, Settings("sm_90a", warp_specialize=False)),
        ({"tl.enable_fast_math": True}, Settings("sm_90a", fast_math=True)),
        ({"tl.disable_wgmma": True}, Settings("sm_90a", wgmma=False)),
        ({"tl.ptxas_register_usage_level": 10}, Settings("sm_90a", register_level=10)),
        ({"tl.config_index_bitwidth": 64}, Settings("sm_90a", index_bits=64)),
        ({"tir.disable_vectorize": True}, Settings("sm_90a", leave_out=("vectorize-loops",))),
    ],
)
def test_settings_of_the_author(configs, wanted):
    assert gpu_settings(checked_configs(configs), "sm_90a") == wanted


def test_options_for_the_cuda_compiler():
    found = gpu_settings({}, "sm_90a", ["-O3", "-DNDEBUG"])
    assert found.options == ("-DNDEBUG",)
    fast = Settings("sm_90a", fast_math=True, register_level=5)
    assert fast.options == ("--use_fast_math", "--ptxas-options=--register-usage-level=5")


def test_settings_reach_the_passes():
    guarded = tw.compile(doubled.get_tir(1000), target="cuda").get_kernel_source()
    settings = {"tl.disable_safe_memory_legalize": True}
    bare = tw.compile(doubled.get_tir(1000), target="cuda", pass_configs=settings)
    assert "< 1000" in guarded
    assert "< 1000" not in bare.get_kernel_source()


def test_lower_gives_cuda():
    parts = tw.lower(doubled.get_tir(256), "cuda:sm_80")
    assert parts.target == "cuda:sm_80"
    assert "main_kernel(const float* __restrict__ A" in parts.kernel_source
    assert parts.device_mod is not parts.host_mod


def test_fast_math_changes_the_machine_code():
    @T.prim_func
    def root(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(128):
                B[i] = T.sqrt(A[i]) / A[127 - i]

    plain = tw.compile(root, target="cuda")
    fast = tw.compile(root, target="cuda", pass_configs={"tl.enable_fast_math": True})
    assert plain.gpu is not None and fast.gpu is not None
    one, other = (next(iter(each.gpu.program.kernels.values())).cubin for each in (plain, fast))
    assert len(other) < len(one)


class OnGpu:
    """An array of a GPU that is not there: its address, and what CuPy would say of it."""

    def __init__(self, shape, dtype="<f4", address=0x10000, device=0):
        class Device:
            id = device

            def __str__(self):
                return f"<CUDA Device {device}>"

        self.shape, self.dtype, self.device = shape, np.dtype(dtype), Device()
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": dtype,
            "data": (address, False),
            "version": 3,
        }

    def __dlpack__(self):
        raise AssertionError("not asked")


@pytest.fixture
def cuda():
    library = FakeDriver()
    with using(library):
        yield library


@T.prim_func
def scaled(A: T.Tensor((48,), "float32"), factor: T.float32, B: T.Tensor((48,), "float32")):
    with T.Kernel(3, threads=48) as bx:
        for i in T.Parallel(16):
            B[bx * 16 + i] = A[bx * 16 + i] * factor


def test_arrays_on_a_gpu_are_launched(cuda):
    kernel = tw.compile(scaled, target="cuda")
    cuda.sizes = [8, 4, 8]
    a, b = OnGpu((48,)), OnGpu((48,), address=0x20000)
    assert kernel(a, 2.0, b) is None
    (launch,) = cuda.launches
    assert (launch.grid, launch.block) == ((3, 1, 1), (48, 1, 1))
    assert [int.from_bytes(launch.parameters[place], "little") for place in (0, 2)] == [
        0x10000,
        0x20000,
    ]
    assert np.frombuffer(launch.parameters[1], np.float32)[0] == 2.0
    # The same shapes elsewhere: only the addresses change.
    kernel(OnGpu((48,), address=0x30000), 2.0, b)
    assert int.from_bytes(cuda.launches[1].parameters[0], "little") == 0x30000
    assert cuda.names().count("cuLaunchKernelEx") == 2


def test_arguments_on_a_gpu_are_checked(cuda):
    kernel = tw.compile(scaled, target="cuda")
    good = OnGpu((48,))
    with pytest.raises(ValueError, match=r"scaled\.A has shape\[0\] = 47, but 48 is expected"):
        kernel(OnGpu((47,)), 2.0, good)
    with pytest.raises(TypeError, match=r"scaled\.B has dtype float16"):
        kernel(good, 2.0, OnGpu((48,), "<f2"))
    with pytest.raises(
        ValueError, match=r"scaled\.A is misaligned: its address is 4 bytes past a multiple of 16"
    ):
        kernel(OnGpu((48,), address=0x10004), 2.0, good)
    with pytest.raises(ValueError, match=r"scaled\.B is on device cpu, but scaled\.A is on device"):
        kernel(good, 2.0, np.zeros(48, np.float32))
    with pytest.raises(TypeError, match=r"scaled\.B: expected a tensor of float32, got a list"):
        kernel(good, 2.0, [0.0] * 48)
    assert not cuda.launches


def test_a_number_may_be_an_array_of_one_element(cuda):
    kernel = tw.compile(scaled, target="cuda")
    cuda.sizes = [8, 4, 8]
    factor = np.array(2.0, np.float32)
    for wanted in (2.0, 3.0):
        factor[...] = wanted
        kernel(OnGpu((48,)), factor, OnGpu((48,), address=0x20000))
        assert np.frombuffer(cuda.launches[-1].parameters[1], np.float32)[0] == wanted


def test_arrays_on_another_gpu_than_the_current_one(cuda):
    kernel = tw.compile(scaled, target="cuda")
    cuda.sizes = [8, 4, 8]
    arrays = [OnGpu((48,), device=1, address=place) for place in (0x10000, 0x20000)]
    with pytest.raises(
        ValueError, match=r"error\[TW6030\]: the arrays are on GPU 1, but the current GPU is 0"
    ):
        kernel(arrays[0], 2.0, arrays[1])
    assert not cuda.launches
    cuda.device = 1
    kernel(arrays[0], 2.0, arrays[1])
    assert len(cuda.launches) == 1


def test_a_tensor_without_elements_has_a_map_of_a_zero():
    """The driver encodes no map of an empty tensor, yet a product over nothing is zero."""
    depth = T.dynamic("depth")

    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "float16"), B: T.Tensor((depth, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(depth, 64), num_stages=2):
                T.copy(A, a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    steps = compile_module(main.module, "sm_90a").steps

    def planned(rows):
        given = [((64, 64), "f16", 2), ((rows, 64), "f16", 2), ((64, 64), "f32", 4)]
        return plan(
            steps,
            [DeviceArray(4096, kind, shape, (64, 1), size, 0, None) for shape, kind, size in given],
        )

    def maps(found):
        return [each for each in found.launches[0].arguments if isinstance(each, Map)]

    full, empty = planned(128), planned(0)
    assert full.zeros is None
    assert [each.spec["shape"] for each in maps(full)] == [(64, 64), (128, 64)]
    assert empty.zeros == 0
    assert [each.spec["shape"] for each in maps(empty)] == [(64, 64), (1, 1)]
    assert maps(empty)[1].spec["strides"] == (8, 1)  # 16 bytes
    assert empty.workspace == 256


def test_strides_that_only_the_run_knows_are_passed():
    step = T.dynamic("step")

    @T.prim_func
    def main(A: T.StridedTensor((64, 64), (step, 1), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            T.copy(A, B)

    steps = compile_module(main.module, "sm_90a").steps
    given = [DeviceArray(4096, "f32", (64, 64), (row, 1), 4, 0, None) for row in (640, 64)]
    (launch,) = plan(steps, given).launches
    assert 640 in launch.arguments


def test_a_tensor_with_strides_is_not_exported(tmp_path):
    @T.prim_func
    def main(A: T.StridedTensor((64, 64), (128, 1), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            T.copy(A, B)

    kernel = tw.compile(main, target="cuda:sm_90a")
    with pytest.raises(ValueError, match=r"main\.A is strided, and the exported C"):
        kernel.export(tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_memory_between_kernels_is_not_exported(tmp_path):
    @T.prim_func
    def twice(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        between = T.alloc_global((64,), "float32")
        with T.Kernel(1, threads=64):
            T.copy(A, between)
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                B[i] = between[63 - i]

    kernel = tw.compile(twice, target="cuda:sm_90a")
    with pytest.raises(ValueError, match=r"twice passes T.alloc_global memory between kernels"):
        kernel.export(tmp_path / "made")
    assert not (tmp_path / "made").exists()


WARM = """
import json, sys
import tilewright as tw
from tilewright import T

@tw.jit(target="cuda:sm_90a")
def twice(A):
    n = T.const("n")
    A: T.Tensor((n,), "float32")
    B = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, 128), threads=128) as bx:
        for i in T.Parallel(128):
            B[bx * 128 + i] = A[bx * 128 + i] * 2
    return B

kernel = twice.compile(n=256)
assert "twice_kernel" in kernel.get_kernel_source()
print(any(name.startswith("tilewright.passes.gpu") for name in sys.modules))
from tilewright.targets.cuda.nvrtc_library import nvrtc
print(nvrtc.cache_info().currsize == 1)
"""


def test_a_process_that_finds_its_program_loads_no_compiler(tmp_path):
    script = tmp_path / "warm.py"
    script.write_text(WARM)
    runs = [
        subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [run.stdout.split() for run in runs] == [["True", "True"], ["False", "False"]]


@tw.jit(target="cuda:sm_90a")
def shifted(A, B):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B: T.Tensor((N,), "float32")
    with T.Kernel(T.ceildiv(N, 128), threads=128) as bx:
        for i in T.Parallel(128):
            B[bx * 128 + i] = A[bx * 128 + i] * 2


def _signature(source: str) -> str:
    found = re.search(r"\w+\((.*?)\) \{", source[source.index("__global__") :], re.DOTALL)
    assert found is not None
    return found[1]


def test_arguments_that_overlap_are_not_said_to_be_distinct(cuda):
    """`__restrict__` is a promise to the CUDA compiler, and only the call knows if it holds."""
    kernel = shifted.compile(N=64)
    ordinary = kernel.get_kernel_source()
    assert _signature(ordinary).count("__restrict__") == 2
    gpu = kernel.gpu
    assert gpu is not None
    assert gpu.for_aliased(frozenset((0, 1))).program.kernels
    assert "__restrict__" not in gpu.for_aliased(frozenset((0, 1))).program.source
    assert kernel.get_kernel_source() == ordinary

    launched: list[str] = []
    for each in (gpu, gpu.for_aliased(frozenset((0, 1)))):
        each.device.run = lambda *_, own=each: launched.append(  # type: ignore[method-assign]
            "__restrict__" if "__restrict__" in own.program.source else "plain"
        )
    for first, second in ((4096, 8192), (4096, 4352), (4096, 4096 + 240), (4096, 4096)):
        kernel(OnGpu((64,), address=first), OnGpu((64,), address=second))
        kernel(
            OnGpu((64,), address=first), OnGpu((64,), address=second)
        )  # the second time from what is known of the call
    wanted = ["__restrict__", "__restrict__", "plain", "plain"]
    assert launched == [each for each in wanted for _ in range(2)]


def test_passes_see_that_arguments_overlap():
    """A copy that runs ahead of a write to the same bytes would bring what was there before."""
    kernel = shifted.compile(N=64)
    assert kernel.gpu is not None
    module = kernel.gpu.for_aliased(frozenset((0, 1))).module
    function = next(iter(module.body.ops))
    a, b = function.regions[0].block.args
    assert may_share_bytes(a, b)
    a, b = next(iter(kernel.prim_func.module.body.ops)).regions[0].block.args
    assert not may_share_bytes(a, b)
