"""What scripts use around the kernels of TileLang: timing, comparing, questions about the GPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from tilewright.compat.described_gpu import (
    CAPABILITY,
    CLOCK_KHZ,
    MEMORY_BUS_BITS,
    MEMORY_CLOCK_KHZ,
    MULTIPROCESSORS,
)
from tilewright.compat.notices import print_once
from tilewright.language import T
from tilewright.language.T.prim_func import PrimFunc
from tilewright.runtime.cuda.driver import is_available
from tilewright.runtime.tile import bench
from tilewright.runtime.tile.allclose import assert_close
from tilewright.runtime.tile.compile_ahead import compile_together
from tilewright.runtime.tile.jit import compile_tile
from tilewright.runtime.tile.kernel import CompiledTileKernel

# -- timing and comparing ------------------------------------------------------------------------


def do_bench(fn: Callable[[], object], *args: Any, **kwargs: Any) -> Any:
    """Milliseconds that `fn` takes on this machine."""
    if not is_available():
        print_once("times are measured on the CPU and do not predict GPU times")
    return bench.do_bench(fn, *args, **kwargs)


def torch_assert_close(
    tensor_a: Any,
    tensor_b: Any,
    rtol: float = 1e-2,
    atol: float = 1e-3,
    max_mismatched_ratio: float = 0.001,
    verbose: bool = False,
    equal_nan: bool = True,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    base_name: str = "LHS",
    ref_name: str = "RHS",
) -> bool:
    """Raise AssertionError if more than the given part of the elements differ."""
    for is_checked, what in (
        (check_device, "device"),
        (check_dtype, "dtype"),
        (check_layout, "layout"),
        (check_stride, "stride"),
    ):
        one, other = (_attribute(tensor, what) for tensor in (tensor_a, tensor_b))
        if is_checked and one != other:
            raise AssertionError(f"{what} of {base_name} is {one}, of {ref_name} {other}")
    assert_close(
        tensor_a,
        tensor_b,
        rtol,
        atol,
        max_mismatched_ratio,
        equal_nan=equal_nan,
        base_name=base_name,
        ref_name=ref_name,
    )
    return True


def _attribute(tensor: Any, name: str) -> object:
    value = getattr(tensor, name, None)
    return value() if callable(value) else value


def par_compile(
    funcs: Iterable[PrimFunc],
    num_workers: int | None = None,
    ignore_error: bool = False,
    **options: Any,
) -> list[CompiledTileKernel | None]:
    """The kernels of several traced functions, in their order."""
    return compile_together(
        [partial(compile_tile, func, **options) for func in funcs],
        num_workers,
        ignore_error=ignore_error,
    )


# -- switches ------------------------------------------------------------------------------------

_caching = [True]


def enable_cache() -> None:
    """Kernels are cached by the function that made them, whatever the setting."""
    _caching[0] = True


def disable_cache() -> None:
    _caching[0] = False


def is_cache_enabled() -> bool:
    return _caching[0]


def set_log_level(level: object) -> None:
    """Nothing is logged."""


# -- code of a GPU, of which there is none ---------------------------------------------------------


def register_cuda_postproc(func: Callable[..., Any], override: bool = True) -> Callable[..., Any]:
    """`func` would change the source of a CUDA kernel; none is made here."""
    print_once("register_*_postproc has no effect: no GPU source is generated here")
    return func


def register_cuda_postproc_callback(
    func: Callable[..., Any] | bool | None = None, override: bool = True
) -> Any:
    """The same as a decorator, with or without arguments."""
    return register_cuda_postproc(func) if callable(func) else register_cuda_postproc


register_hip_postproc = register_c_postproc = register_cuda_postproc
register_hip_postproc_callback = register_cuda_postproc_callback


def simplify_prim_func(func: Any) -> Any:
    """Tracing simplifies what it can; there is nothing left to do."""
    return func


# -- the GPU ---------------------------------------------------------------------------------------


def determine_fp8_type(fp8_format: str = "e4m3") -> Any:
    """The 8-bit float that a GPU of NVIDIA has."""
    names = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
    if fp8_format not in names:
        raise ValueError(f"there is no 8-bit float {fp8_format!r}: it is e4m3 or e5m2")
    return T.dtype(names[fp8_format])


def determine_torch_fp8_type(fp8_format: str = "e4m3") -> Any:
    return determine_fp8_type(fp8_format).as_torch()


def get_num_sms(device_id: int = 0) -> int:
    """Multiprocessors of the GPU that is described (`compat.described_gpu`)."""
    return MULTIPROCESSORS


_BYTES_PER_SECOND = 2 * MEMORY_CLOCK_KHZ * 1e3 * MEMORY_BUS_BITS / 8
_FLOAT_UNITS = 128
"""Of a multiprocessor, for float32."""


class CUDA:
    """A GPU of NVIDIA, as the search for tile sizes describes it."""

    platform = "CUDA"

    def __init__(self, target: object = "cuda") -> None:
        self.target = target
        self.compute_max_core = MULTIPROCESSORS
        self.compute_capability = "{}{}".format(*CAPABILITY)
        self.bandwidth = (0, round(_BYTES_PER_SECOND / 1e6))
        """Of the caches, which is not known, and of global memory, in MB/s."""
        self.peak_tflops = 2 * _FLOAT_UNITS * MULTIPROCESSORS * CLOCK_KHZ * 1e3 / 1e12
        """Of arithmetic with float32, without tensor cores."""


class CDNA(CUDA):
    """A GPU of AMD."""

    platform = "CDNA"


class NoRasterization:
    """A hint to launch blocks in their plain order."""


class MatmulTemplate:
    """Recommends tile sizes from a model of the GPU, which does not exist here."""

    def __init__(self, **problem: Any) -> None:
        self.problem = problem

    def with_arch(self, arch: CUDA) -> MatmulTemplate:
        return self

    def equivalent_function(self) -> Any:
        raise NotImplementedError(
            "recommendations of tile sizes are not offered: give autotune a list of configurations"
        )

    recommend_hints = equivalent_function


# Modules of TileLang that scripts get as attributes of other modules: `from tilelang import tvm`.
def __getattr__(name: str) -> Any:
    if name == "tvm":
        return importlib.import_module("tvm")
    if name == "driver":
        return importlib.import_module("tilelang.carver.arch.driver")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
