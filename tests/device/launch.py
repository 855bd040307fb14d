"""From TTGIR to a finished launch: Triton builds the machine code, the CUDA driver runs it.

Triton's own launcher is made for kernels its front end wrote: for every tensor descriptor it passes
the shape and strides along as further arguments. Our kernels take what their text says and nothing
else, so arguments go to the driver directly.

Parameters that the text does not name (Triton appends pointers to scratch memory) are null; a kernel
that asks for scratch memory is refused. Every call of the driver is checked, and `Kernel.launch`
waits, so that a fault shows in the test that caused it.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.text import print_module
from tilewright.ir.text.flavour import FLAVOURS, Flavour

WARP = 32
TARGET = GPUTarget("cuda", 90, WARP)
VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])

_DYNAMIC_SHARED_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_MAP_BYTES = 128
_MAP_ALIGNMENT = 64
_MAP_TYPES = {torch.float16: 6, torch.float32: 7}  # CU_TENSOR_MAP_DATA_TYPE_...
_SWIZZLE_BYTES = 128
_SWIZZLE_128 = 3  # CU_TENSOR_MAP_SWIZZLE_128B

Argument = ctypes._SimpleCData | ctypes.Array[Any]


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _call(name: str, *arguments: Any) -> None:
    status = getattr(_driver(), name)(*arguments)
    if status:
        text = ctypes.c_char_p()
        _driver().cuGetErrorString(status, ctypes.byref(text))
        raise RuntimeError(f"{name} returned {status}: {(text.value or b'?').decode()}")


def flavour() -> Flavour:
    """The spelling of the installed release, or of the latest known one before it."""
    known = [each for each in FLAVOURS.values() if not each.is_tlx and each.version <= VERSION]
    return max(known, key=lambda each: each.version)


def text_of(module: ModuleOp) -> str:
    """`module` as the installed Triton reads it."""
    text = print_module(module, flavour=flavour())
    # Releases before 3.7 have one barrier, under this name.
    return text if VERSION >= (3, 7) else text.replace("ttg.barrier local", "ttg.local_barrier")


@dataclass(frozen=True)
class Kernel:
    """Machine code in the current context."""

    function: ctypes.c_void_p
    parameters: int
    warps: int
    shared_bytes: int

    def launch(self, grid: tuple[int, int], *arguments: Argument) -> None:
        """Run and wait. Pointers are ``c_void_p``, descriptors come from `tensor_map`."""
        hidden = [ctypes.c_void_p() for _ in range(self.parameters - len(arguments))]
        values = [*arguments, *hidden]
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        block = (self.warps * WARP, 1, 1)
        _call(
            "cuLaunchKernel",
            self.function,
            *grid,
            1,
            *block,
            self.shared_bytes,
            stream,
            addresses,
            None,
        )
        torch.cuda.synchronize()


def build(text: str, folder: Path) -> Kernel:
    """The kernel in `text`, a module with one public function, loaded."""
    path = folder / "kernel.ttgir"
    path.write_text(text)
    compiled = triton.compile(str(path), target=TARGET, options={"enable_fp_fusion": True})
    metadata = compiled.metadata
    assert (metadata.global_scratch_size, metadata.profile_scratch_size) == (0, 0)
    torch.cuda.init()
    torch.cuda.synchronize()  # makes torch's context the current one
    handle, function = ctypes.c_void_p(), ctypes.c_void_p()
    _call("cuModuleLoadData", ctypes.byref(handle), compiled.asm["cubin"])
    _call("cuModuleGetFunction", ctypes.byref(function), handle, metadata.name.encode())
    _call("cuFuncSetAttribute", function, _DYNAMIC_SHARED_BYTES, metadata.shared)
    entry = re.search(r"\.entry\s+\w+\s*\(([^)]*)\)", compiled.asm["ptx"])
    assert entry is not None
    return Kernel(function, entry[1].count(".param"), metadata.num_warps, metadata.shared)


def pointer(tensor: torch.Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


def tensor_map(
    tensor: torch.Tensor, shape: Sequence[int], tile: Sequence[int]
) -> ctypes.Array[Any]:
    """A descriptor of the first `shape` elements of a matrix, for tiles swizzled over 128 bytes.

    What a tile has beyond `shape` is read as zero and not written. The copy engine moves at most
    as many columns at once as one swizzled row has; Triton issues one copy for each such part.
    """
    size = tensor.element_size()
    (rows, columns), (tile_rows, tile_columns) = shape, tile
    box = (min(tile_columns, _SWIZZLE_BYTES // size), tile_rows)
    room = ctypes.create_string_buffer(_MAP_BYTES + _MAP_ALIGNMENT)
    skipped = -ctypes.addressof(room) % _MAP_ALIGNMENT
    found = (ctypes.c_char * _MAP_BYTES).from_buffer(room, skipped)
    _call(
        "cuTensorMapEncodeTiled",
        found,
        _MAP_TYPES[tensor.dtype],
        2,
        pointer(tensor),
        (ctypes.c_uint64 * 2)(columns, rows),
        (ctypes.c_uint64 * 1)(tensor.stride(0) * size),
        (ctypes.c_uint32 * 2)(*box),
        (ctypes.c_uint32 * 2)(1, 1),
        0,
        _SWIZZLE_128,
        0,
        0,
    )
    return found
