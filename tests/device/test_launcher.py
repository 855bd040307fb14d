"""On a GPU: launches pass what they should, in the stream they should, and faults are named.

Kernels of `tl` go through `@tw.jit` and the installed Triton. What Triton has no kernel for
(clusters, cooperative and dependent launches, scratch memory, every width of number) is tested with
CUDA C++ through NVRTC, which the launcher takes as well.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

import tilewright as tw
from tilewright import tl
from tilewright.runtime.cuda.context import current_device, device_properties
from tilewright.runtime.cuda.launcher import Launcher
from tilewright.runtime.cuda.module import load
from tilewright.runtime.cuda.tensor_map import box_of, cuda_type_of, encode
from tilewright.runtime.cuda.timing import compare, do_bench

if find_spec("torch"):
    import torch

pytestmark = pytest.mark.device

ROOT = Path(__file__).resolve().parents[2]


@tw.jit
def scaled(src, dst, n, scale=2.0, BLOCK: tl.constexpr = 128):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(dst + offsets, tl.load(src + offsets, mask=inside) * scale, mask=inside)


@tw.jit
def copied(src, dst, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    dst.store([row, column], src.load([row, column]))


@tw.jit
def numbers(out, a: i8, b: i16, c: u32, d: i64, e: fp16, f: bf16, g: fp64, h):  # noqa: F821
    tl.store(out, a.to(tl.float64))
    tl.store(out + 1, b.to(tl.float64))
    tl.store(out + 2, c.to(tl.float64))
    tl.store(out + 3, d.to(tl.float64))
    tl.store(out + 4, e.to(tl.float64))
    tl.store(out + 5, f.to(tl.float64))
    tl.store(out + 6, g)
    tl.store(out + 7, h.to(tl.float64))


def _filled(*shape, dtype=None):
    return torch.full(shape, math.nan, device="cuda", dtype=dtype or torch.float32)


@pytest.mark.parametrize("n", [1, 127, 128, 1009, 100_000])
def test_every_launch_of_a_kernel_gives_the_same(n):
    src = torch.randn(n, device="cuda")
    grid = (-(-n // 128),)
    for step in range(5):
        dst = _filled(n + 3)
        scaled[grid](src, dst, n, 0.5 + step)
        assert torch.equal(dst[:n], src * (0.5 + step))
        assert dst[n:].isnan().all()


def test_addresses_alignments_and_types_that_change_are_followed():
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        memory = torch.randn(4000, device="cuda").to(dtype)
        for offset in (0, 1, 8, 3, 0, 1):
            for n in (1, 16, 100, 128, 1000):
                src, dst = memory[offset : offset + n], _filled(n, dtype=dtype)
                scaled[lambda args: (-(-args["n"] // args["BLOCK"]),)](src, dst, n)
                assert torch.equal(dst, src * 2)


def test_numbers_of_every_width_arrive():
    given = (-3, -300, 2**32 - 5, -(2**40), 0.333, 1.7, math.pi, True)
    for _ in range(4):
        out = _filled(8, dtype=torch.float64)
        numbers[(1,)](out, *given)
        expected = [
            *given[:4],
            *(
                float(torch.tensor(x, dtype=t))
                for x, t in ((0.333, torch.float16), (1.7, torch.bfloat16))
            ),
            math.pi,
            1.0,
        ]
        assert out.tolist() == expected


@pytest.mark.parametrize(
    "name",
    [
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "int32",
        "int8",
        "uint8",
        "int16",
        "float8_e4m3fn",
    ],
)
@pytest.mark.parametrize("shape", [(64, 64), (61, 80), (1, 16), (130, 272)])
def test_descriptors_move_blocks_of_every_type(name, shape):
    dtype = getattr(torch, name)
    bits = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    rows, columns = shape
    src = torch.randint(-100, 100, shape, device="cuda").to(bits).view(dtype)
    block = [16, 32]
    grid = (-(-rows // block[0]), -(-columns // block[1]))
    for _ in range(4):
        dst = torch.full(shape, 77, device="cuda").to(bits).view(dtype)
        copied[grid](
            tw.TensorDescriptor.from_tensor(src, block),
            tw.TensorDescriptor.from_tensor(dst, block),
            *block,
        )
        assert torch.equal(dst.view(bits), src.view(bits))


def test_launches_go_into_the_current_stream_or_the_one_that_is_named():
    n = 1 << 24
    src, dst = torch.zeros(n, device="cuda"), _filled(n)
    grid = (n // 128,)
    scaled[grid](src, dst, n)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for step in range(20):  # each has to see what the one before wrote
            src.fill_(step)
            scaled[grid](src, dst, n)
    side.synchronize()
    assert (dst == 38).all()
    for step in range(20):
        with torch.cuda.stream(side):
            src.fill_(step)
        scaled[grid](src, dst, n, stream=side)
    side.synchronize()
    assert (dst == 38).all()


def test_launches_are_captured_into_graphs():
    n = 1000
    src, dst = torch.randn(n, device="cuda"), _filled(n)
    descriptors = [
        tw.TensorDescriptor.from_tensor(each.view(10, 100), [16, 32]) for each in (src, dst)
    ]
    for _ in range(3):
        scaled[(8,)](src, dst, n)
        copied[(1, 4)](*descriptors, 16, 32)
    torch.cuda.synchronize()
    for launch, factor in (
        (lambda: scaled[(8,)](src, dst, n), 2),
        (lambda: copied[(1, 4)](*descriptors, 16, 32), 1),
    ):
        graph = torch.cuda.CUDAGraph()
        dst.fill_(math.nan)
        with torch.cuda.graph(graph):
            launch()
        assert dst.isnan().all()
        for _ in range(2):
            src.copy_(torch.randn(n, device="cuda"))
            graph.replay()
            torch.cuda.synchronize()
            assert torch.equal(dst, src * factor)


def test_a_thread_without_a_context_can_launch():
    src, dst = torch.randn(100, device="cuda"), _filled(100)
    for _ in range(3):
        scaled[(1,)](src, dst, 100)
    dst.fill_(math.nan)
    torch.cuda.synchronize()
    failures = []

    def launch():
        try:
            scaled[(1,)](src, dst, 100)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=launch) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    torch.cuda.synchronize()
    assert failures == []
    assert torch.equal(dst, src * 2)


class _Interface:
    """An array of some library that has `__cuda_array_interface__`."""

    def __init__(self, tensor):
        self.__cuda_array_interface__ = tensor.__cuda_array_interface__


class _Exported:
    """An array of some library that speaks DLPack only."""

    def __init__(self, tensor):
        self._tensor = tensor

    def __dlpack__(self, **options):
        return self._tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()


@pytest.mark.parametrize("wrapped", [_Interface, _Exported])
def test_arrays_of_other_libraries_are_taken(wrapped):
    src = torch.randn(300, device="cuda")
    for _ in range(4):
        dst = _filled(300)
        scaled[(3,)](wrapped(src), wrapped(dst), 300)
        torch.cuda.synchronize()
        assert torch.equal(dst, src * 2)


def test_arrays_in_host_memory_are_refused():
    src, dst = torch.randn(100, device="cuda"), _filled(100)
    for _ in range(3):
        scaled[(1,)](src, dst, 100)
        with pytest.raises(
            ValueError, match=r"argument 'dst': .* is in host memory: move it to GPU 0"
        ):
            scaled[(1,)](src, torch.zeros(100), 100)
        with pytest.raises(
            ValueError, match=r"argument 'src': .* is in host memory: move it to GPU 0"
        ):
            scaled[(1,)](src.cpu().numpy(), dst, 100)


FAULTY = """
import torch
import tilewright as tw
from tilewright import tl

@tw.jit
def wrong(x, far):
    tl.store(x + far, 1.0)

x = torch.zeros(16, device="cuda")
for far in (3, 3, 3, 1 << 45):
    wrong[(1,)](x, far)  # launched here
{after}
"""


def _paths() -> str:
    """Where this process finds its modules: packages may be in folders instead of an environment."""
    return os.pathsep.join([str(ROOT / "src"), *filter(None, sys.path)])


@pytest.mark.parametrize("blocking", [False, True])
def test_a_fault_names_the_kernel_and_the_line_that_launched_it(tmp_path, blocking):
    after = (
        ""
        if blocking
        else (
            "import time\ntime.sleep(1)\nwrong[(1,)](x, 3)  # an innocent launch meets the fault\n"
        )
    )
    script = tmp_path / "faulty.py"
    script.write_text(FAULTY.format(after=after))
    environment = {"TILEWRIGHT_CUDA_BLOCKING": str(int(blocking))}
    found = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment, "PYTHONPATH": _paths()},
        check=False,
    )
    assert found.returncode != 0
    line = 1 + script.read_text().splitlines().index("    wrong[(1,)](x, far)  # launched here")
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in found.stderr
    assert f"wrong, launched at {script}:{line}" in found.stderr


# -- kernels of other compilers -------------------------------------------------------------------

SOURCE = r"""
extern "C" __global__ void numbers(double *out, bool a, signed char b, unsigned char c, short d,
                                   unsigned short e, int f, unsigned g, long long h,
                                   unsigned long long i, float j, double k) {
  double all[] = {double(a), double(b), double(c), double(d), double(e), double(f),
                  double(g), double(h), double(i), double(j), k};
  for (int at = 0; at < 11; ++at) out[at] = all[at];
}

extern "C" __global__ void places(unsigned *out) {
  unsigned x, y, z, rank;
  asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(x));
  asm volatile("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(y));
  asm volatile("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(z));
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (threadIdx.x == 0) {
    unsigned *mine = out + block * 8;
    mine[0] = x; mine[1] = y; mine[2] = z; mine[3] = rank;
    mine[4] = gridDim.x; mine[5] = gridDim.y; mine[6] = gridDim.z; mine[7] = blockDim.x;
  }
}

extern "C" __global__ void scratched(unsigned *out, unsigned *scratch, void *profile) {
  unsigned *mine = scratch + blockIdx.x * 64;
  mine[threadIdx.x] = blockIdx.x * 1000 + threadIdx.x;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = mine[63 - threadIdx.x] + (profile != nullptr);
}

extern "C" __global__ void waiting(int *value) {
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (threadIdx.x == 0) *value = *value * 3 + 1;
}

extern "C" __global__ void shared_bytes(unsigned *out, unsigned last) {
  extern __shared__ unsigned char memory[];
  memory[last] = 0x5A;
  __syncthreads();
  out[0] = memory[last];
}

struct alignas(64) Map { unsigned long long words[16]; };
extern "C" __global__ void mapped(unsigned long long *out, int before,
                                  const __grid_constant__ Map map, int after) {
  if (threadIdx.x < 16) out[threadIdx.x] = map.words[threadIdx.x];
  out[16] = before; out[17] = after;
}
"""


@dataclass(frozen=True)
class Facts:
    parameters: tuple[str, ...]
    threads: int = 64
    shared: int = 0
    scratch_bytes: int = 0
    scratch_align: int = 1
    profile_bytes: int = 0
    cluster: tuple[int, int, int] = (1, 1, 1)
    tensor_maps: tuple[object, ...] = ()
    cooperative: bool = False
    pdl: bool = False
    num_ctas: int = 1


@dataclass(frozen=True)
class MapFacts:
    element_bytes: int = 2
    box: tuple[int, ...] = (64, 64)
    swizzle_bytes: int = 128
    cuda_type: int = 6
    fp4_padded: bool = False


@pytest.fixture(scope="module")
def cubin():
    core = pytest.importorskip("cuda.core")
    torch.zeros(1, device="cuda")
    program = core.Program(SOURCE, "c++", core.ProgramOptions(arch="sm_90a"))
    return bytes(program.compile("cubin").code)


def _launcher(cubin, name, *parameters, **facts):
    described = Facts(parameters, **facts)
    return Launcher(load(cubin, name, described.shared, cluster=described.cluster), described)


def test_every_kind_of_number_arrives_in_cuda_code(cubin):
    kinds = ("i1", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64")
    given = (True, -5, 250, -3000, 65000, -(2**31), 2**32 - 1, -(2**50), 2**63, 0.25, math.e)
    out = _filled(11, dtype=torch.float64)
    _launcher(cubin, "numbers", "ptr", *kinds)((1,), [out, *given])
    assert out.tolist() == [float(each) for each in given]


@pytest.mark.parametrize(
    ("grid", "cluster", "num_ctas", "blocks"),
    [
        ((6, 4, 2), (1, 1, 1), 1, (6, 4, 2)),
        ((6, 4, 2), (2, 1, 1), 1, (6, 4, 2)),
        ((6, 4, 2), (2, 2, 2), 1, (6, 4, 2)),
        ((3, 2, 1), (4, 1, 1), 4, (12, 2, 1)),
        ((16, 1, 1), (16, 1, 1), 1, (16, 1, 1)),
    ],
)
def test_clusters_and_grids_are_as_asked(cubin, grid, cluster, num_ctas, blocks):
    out = torch.full((math.prod(blocks), 8), -1, device="cuda", dtype=torch.int32)
    launcher = _launcher(cubin, "places", "ptr", cluster=cluster, num_ctas=num_ctas)
    launcher(grid, [out])
    found = out.tolist()
    assert {tuple(row[:3]) for row in found} == {cluster}
    assert {row[3] for row in found} == set(range(math.prod(cluster)))
    assert {tuple(row[4:]) for row in found} == {(*blocks, 64)}


def test_a_grid_that_is_no_multiple_of_the_cluster_is_named(cubin):
    out = torch.zeros(80, device="cuda", dtype=torch.int32)
    with pytest.raises(RuntimeError, match="Axis 0 of the grid has 3 blocks, not a multiple"):
        _launcher(cubin, "places", "ptr", cluster=(2, 1, 1))((3,), [out])


def test_cooperative_launches_run_at_once_or_not_at_all(cubin):
    count = device_properties().multiprocessors
    out = torch.full((count, 8), -1, device="cuda", dtype=torch.int32)
    launcher = _launcher(cubin, "places", "ptr", cooperative=True)
    launcher((count,), [out])
    assert out[:, 4].eq(count).all()
    with pytest.raises(RuntimeError, match=f"All blocks of a cooperative launch .* {count} multi"):
        launcher((count * 1000,), [out])


def test_scratch_memory_is_there_for_every_block(cubin):
    launcher = _launcher(
        cubin, "scratched", "ptr", "scratch", "profile", scratch_bytes=256, scratch_align=128
    )
    expected = torch.arange(50)[:, None] * 1000 + 63 - torch.arange(64)
    for _ in range(3):
        out = torch.full((50, 64), -1, device="cuda", dtype=torch.int32)
        launcher((50,), [out])
        assert torch.equal(out.cpu(), expected.int())
    side = torch.cuda.Stream()
    launcher((50,), [out.fill_(-1)], stream=side)
    torch.cuda.synchronize()


def test_dependent_launches_keep_their_order(cubin):
    value = torch.zeros(1, device="cuda", dtype=torch.int32)
    launcher = _launcher(cubin, "waiting", "ptr", pdl=True)
    expected = 0
    for _ in range(15):
        launcher((1,), [value])
        expected = expected * 3 + 1
    assert value.item() == expected


def test_all_of_the_shared_memory_can_be_used(cubin):
    bytes_ = device_properties().shared_optin
    out = torch.zeros(1, device="cuda", dtype=torch.int32)
    _launcher(cubin, "shared_bytes", "ptr", "i32", shared=bytes_)((1,), [out, bytes_ - 1])
    assert out.item() == 0x5A
    with pytest.raises(ValueError, match=f"needs {bytes_ + 1} bytes of shared memory"):
        _launcher(cubin, "shared_bytes", "ptr", "i32", shared=bytes_ + 1)


def test_tensor_maps_are_passed_by_value(cubin):
    base = torch.zeros(256, 128, device="cuda", dtype=torch.float16)
    out = torch.full((18,), -1, device="cuda", dtype=torch.int64)
    launcher = _launcher(
        cubin, "mapped", "ptr", "i32", "tensormap", "i32", tensor_maps=(MapFacts(),)
    )
    descriptor = tw.TensorDescriptor.from_tensor(base, [64, 64])
    launcher((1,), [out, 11, descriptor, 12])
    expected = encode(
        base.data_ptr(),
        cuda_type=cuda_type_of("fp16"),
        element_bytes=2,
        shape=base.shape,
        strides=base.stride(),
        box=box_of((64, 64), 2, 128),
        swizzle_bytes=128,
    )
    found = out.cpu()
    assert found[:16].numpy().tobytes() == expected
    assert found[16:].tolist() == [11, 12]
    assert any(expected)


def test_the_driver_makes_maps_of_every_type_and_swizzle():
    address = torch.zeros(1 << 20, device="cuda", dtype=torch.uint8).data_ptr()
    address += -address % 128
    maps = set()
    for element, size in (("i8", 1), ("i16", 2), ("i32", 4), ("u32", 4), ("i64", 8), ("u64", 8),
                          ("fp16", 2), ("bf16", 2), ("fp32", 4), ("fp64", 8)):  # fmt: skip
        for swizzle in (0, 32, 64, 128):
            for rank in range(1, 6):
                shape = (*[3] * (rank - 1), 1024 // size)
                strides = [1]
                for extent in reversed(shape[1:]):
                    strides.insert(0, strides[0] * extent)
                maps.add(
                    encode(
                        address,
                        cuda_type=cuda_type_of(element),
                        element_bytes=size,
                        shape=shape,
                        strides=strides,
                        box=box_of((*[2] * (rank - 1), 256), size, swizzle),
                        swizzle_bytes=swizzle,
                        padding="nan" if element in ("fp16", "bf16", "fp32", "fp64") else "zero",
                    )
                )
    assert len(maps) == 10 * 4 * 5


# -- time -------------------------------------------------------------------------------------------


def test_times_are_those_that_torch_measures():
    n = 1 << 26
    src, dst = torch.randn(n, device="cuda"), _filled(n)

    def call():
        scaled[(n // 1024,)](src, dst, n, BLOCK=1024)

    call()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    for _ in range(20):
        call()
    end.record()
    torch.cuda.synchronize()
    theirs = start.elapsed_time(end) / 20
    assert do_bench(call) == pytest.approx(theirs, rel=0.2)
    both = compare({"one": call, "same": call})
    assert both["one"].median == pytest.approx(both["same"].median, rel=0.05)
    assert current_device() == 0
