"""From TTGIR to a finished launch: Triton builds the machine code, our launcher runs it.

The text goes to `triton.compile` as it is, without the passes of target `triton`, so that what is
tested is the text. A kernel takes what its text says and nothing else (Triton's own launcher passes
shape and strides of every tensor descriptor along), and `Kernel.launch` waits, so that a fault shows
in the test that caused it.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.text import print_module
from tilewright.ir.text.flavour import FLAVOURS, Flavour
from tilewright.runtime.cuda.launcher import Launcher
from tilewright.runtime.cuda.module import load
from tilewright.runtime.cuda.tensor_map import box_of, cuda_type_of, encode
from tilewright.targets.metadata import HIDDEN, KernelMetadata, TensorMapSpec

WARP = 32
TARGET = GPUTarget("cuda", 90, WARP)
VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])

_SWIZZLE_BYTES = 128
_ELEMENTS = {torch.float16: "fp16", torch.float32: "fp32"}
# What the kernels of these tests have, by how the entry of PTX declares it.
_KINDS = {".u64": "ptr", ".b64": "ptr", ".u32": "i32", ".b32": "i32", ".b8": "tensormap"}
_GIVEN_AS_BYTES = TensorMapSpec(2, (), 0, 0)

Argument = ctypes._SimpleCData | int | bytes


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

    launcher: Launcher

    @property
    def shared_bytes(self) -> int:
        return self.launcher.metadata.shared

    def launch(self, grid: tuple[int, int], *arguments: Argument) -> None:
        """Run and wait. Pointers come from `pointer`, descriptors from `tensor_map`."""
        values: list[Any] = [
            each.value if isinstance(each, ctypes._SimpleCData) else each for each in arguments
        ]
        self.launcher((*grid, 1), values)
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
    parameters = _parameters(compiled.asm["ptx"])
    facts = KernelMetadata(
        name=metadata.name,
        arch=TARGET.arch,
        threads=32 * metadata.num_warps,
        shared=metadata.shared,
        parameters=parameters,
        tensor_maps=(_GIVEN_AS_BYTES,) * parameters.count("tensormap"),
    )
    return Kernel(Launcher(load(compiled.asm["cubin"], facts.name, facts.shared), facts))


def _parameters(ptx: str) -> tuple[str, ...]:
    """The kind of each parameter; the last two are Triton's own."""
    entry = re.search(r"\.entry\s+\w+\s*\(([^)]*)\)", ptx)
    assert entry is not None
    found = re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?(\.\w+)", entry[1])
    kinds = [_KINDS[each] for each in found]
    return (*kinds[: -len(HIDDEN)], *HIDDEN)


def pointer(tensor: torch.Tensor) -> int:
    return tensor.data_ptr()


def tensor_map(tensor: torch.Tensor, shape: Sequence[int], tile: Sequence[int]) -> bytes:
    """A descriptor of the first `shape` elements of a matrix, for tiles swizzled over 128 bytes.

    What a tile has beyond `shape` is read as zero and not written.
    """
    size = tensor.element_size()
    return encode(
        tensor.data_ptr(),
        cuda_type=cuda_type_of(_ELEMENTS[tensor.dtype]),
        element_bytes=size,
        shape=shape,
        strides=tensor.stride(),
        box=box_of(tile, size, _SWIZZLE_BYTES),
        swizzle_bytes=_SWIZZLE_BYTES,
    )
