"""What the releases of Triton differ in, as far as we call them.

One row a release: how it writes IR, which passes finish TTGIR of ours, and which flags it gives the
assembler. A release without a row is taken for the nearest one that has one, with a remark; what
then does not fit shows as an error of Triton itself.

The list of passes decides what may happen to a user's kernel after our last pass. Memory is
planned, copies and MMAs are issued, and waits are where they were written, so nothing that
moves such ops may run: no pipeliner, no warp specialisation, no prefetch, and no reordering of
instructions, which may carry a load past the barrier that gives its buffer away. What remains is
the lowering of descriptor accesses, MMA selection for plain ``tt.dot``, fewer layout conversions,
fences between the two ways into shared memory, and clean-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.ir.text.flavour import TRITON_3_6, TRITON_3_7, TRITON_3_8, TRITON_3_9, Flavour

CAPABILITY = "capability"
"""Stands for the compute capability in the arguments of a pass."""
IS_AMPERE_UP = "is_ampere_up"
"""Stands for whether the GPU is an sm_80 or later."""
AMD_ARCH = "amd_arch"
"""Stands for the name of the AMD architecture, gfx942."""
MATRIX_SIZE = "matrix_instr_nonkdim"
"""Stands for the rows of a matrix instruction, 16 or 32; 0 leaves them to Triton."""
KPACK = "kpack"
"""Stands for how many operands of matrix instructions are read together."""


@dataclass(frozen=True)
class PassCall:
    """A pass of Triton: the module that adds it, its name there, and its arguments."""

    module: str
    name: str
    arguments: tuple[object, ...] = ()
    only_with: str = ""
    """An op without which the pass has nothing to do and is left out."""
    min_capability: int = 0


def _common(name: str) -> PassCall:
    return PassCall("passes.common", name)


def _gpu(name: str, *arguments: object, only_with: str = "") -> PassCall:
    return PassCall("passes.ttgpuir", name, arguments, only_with)


def _nvidia(
    name: str, *arguments: object, only_with: str = "", min_capability: int = 0
) -> PassCall:
    return PassCall("nvidia.passes.ttnvgpuir", name, arguments, only_with, min_capability)


_LOOP_CSE = PassCall("passes.ttir", "add_loop_aware_cse")
_CANONICALIZE = _common("add_canonicalizer")

_HEAD = (
    PassCall("passes.gluon", "add_inliner"),
    _CANONICALIZE,
    _common("add_sccp"),
    _LOOP_CSE,
    _common("add_symbol_dce"),
)
# A dot whose operands the user left in registers: Triton picks the instruction.
_PLAIN_DOT = (
    _gpu("add_f32_dot_tc", IS_AMPERE_UP, only_with="tt.dot"),
    _gpu("add_accelerate_matmul", only_with="tt.dot"),
    _gpu("add_remove_layout_conversions"),
    _gpu("add_optimize_dot_operands", IS_AMPERE_UP, only_with="tt.dot"),
)
_LOWER = (
    _gpu("add_coalesce_async_copy", only_with="ttg.async_copy_global_to_local"),
    _nvidia("add_optimize_tmem_layouts", min_capability=100),
    _nvidia("add_tma_lowering", min_capability=90),
    _gpu("add_remove_layout_conversions"),
    _gpu("add_reduce_data_duplication"),
    _LOOP_CSE,
    _common("add_symbol_dce"),
    _nvidia("add_fence_insertion", CAPABILITY),
    _nvidia("add_lower_mma"),
    _common("add_sccp"),
    _common("add_cse"),
    _CANONICALIZE,
)
_FINISH = (*_HEAD, *_PLAIN_DOT, *_LOWER)
# Until 3.8 the LLVM stage checks this itself.
_FINISH_3_9 = (*_HEAD, *_PLAIN_DOT, _nvidia("add_check_matmul_two_cta"), *_LOWER)


def _amd(name: str, *arguments: object, only_with: str = "") -> PassCall:
    return PassCall("amd.passes.ttgpuir", name, arguments, only_with)


# As for NVIDIA: nothing that moves copies, waits or matrix instructions. The warp pipeline pass
# acts on the borders that the kernel itself sets.
_FINISH_AMD = (
    *_HEAD,
    _gpu("add_f32_dot_tc", False, only_with="tt.dot"),
    _amd("add_accelerate_matmul", AMD_ARCH, MATRIX_SIZE, KPACK),
    _gpu("add_remove_layout_conversions"),
    _amd("add_optimize_epilogue"),
    _amd("add_optimize_dot_operands", AMD_ARCH),
    _amd("add_hoist_layout_conversions"),
    _amd("add_sink_layout_conversions"),
    _CANONICALIZE,
    _amd("add_coalesce_async_copy", AMD_ARCH, only_with="ttg.async_copy_global_to_local"),
    _gpu("add_remove_layout_conversions"),
    _gpu("add_reduce_data_duplication"),
    _LOOP_CSE,
    _common("add_symbol_dce"),
    _amd("add_warp_pipeline", only_with="triton.warp_pipeline.border"),
    _common("add_sccp"),
    _common("add_cse"),
    _CANONICALIZE,
)
_REGISTER_FLAGS = ("--regAllocOptLevel=2",)


@dataclass(frozen=True)
class Release:
    """How to work with one release of Triton."""

    version: tuple[int, int]
    flavour: Flavour
    finish_ttgir: tuple[PassCall, ...] = _FINISH
    finish_amd: tuple[PassCall, ...] | None = None
    """The same for AMD GPUs; None if the release has not been tried."""
    ptxas_flags: tuple[str, ...] = _REGISTER_FLAGS
    respelt: Mapping[str, str] | None = None
    """Mnemonics of ours that the release's parser has under another name."""
    descriptor_flags: int = 2
    """Truth values after a descriptor that was rewritten into a pointer, extents and strides."""

    @property
    def name(self) -> str:
        return "{}.{}".format(*self.version)


RELEASES: tuple[Release, ...] = (
    Release(
        (3, 6),
        TRITON_3_6,
        ptxas_flags=(),
        respelt={"ttg.barrier local": "ttg.local_barrier", "ttg.barrier all": "gpu.barrier"},
        descriptor_flags=1,
    ),
    Release((3, 7), TRITON_3_7),
    Release((3, 8), TRITON_3_8),
    Release((3, 9), TRITON_3_9, finish_ttgir=_FINISH_3_9, finish_amd=_FINISH_AMD),
)


def release_for(version: str) -> tuple[Release, bool]:
    """The row for Triton `version`, and whether it is the row of that very release."""
    major, minor = (int(part) for part in version.split(".")[:2])
    distance = [abs((each.version[0] - major) * 100 + each.version[1] - minor) for each in RELEASES]
    nearest = min(range(len(RELEASES)), key=lambda index: distance[index])
    return RELEASES[nearest], distance[nearest] == 0
