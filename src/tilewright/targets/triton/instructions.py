"""Instructions that a GPU does not have, found before Triton dies of them.

Triton's front end never makes them, so its lowering asserts, or leaves them to LLVM, which ends the
process. Three rules are enforced here, at the user's line:

* wgmma and TMA came with sm_90, tensor memory and tcgen05.mma with sm_100, where wgmma
  is gone again;
* wgmma reads 16-bit operands in any order from shared memory, those of 8 and 32 bits only with K
  contiguous;
* of AMD GPUs, only gfx1250 has a tensor data mover and mbarriers.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from tilewright.dialects.ttg.shared import NvmmaSharedEncoding
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng import WarpGroupDotOp
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.codes.shared import NO_SUCH_INSTRUCTION
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.language.tl.options import Target

_HOPPER, _BLACKWELL, _DESKTOP_BLACKWELL = 90, 100, 120
_ANY_ORDER_BITS = 16
_WITH_TENSOR_MOVER = "gfx1250"
_TENSOR_MOVER_OPS = (
    "amdg.async_tdm_",
    "amdg.tdm_",
    "amdg.update_tensor_descriptor",
    "amdg.init_barrier",
    "amdg.wait_barrier",
    "amdg.arrive_barrier",
    "amdg.cluster_barrier_",
)
# By the beginning of an op's name: the first GPU that has it, and the first that has it no more.
_ARCHS: dict[str, tuple[int, int | None]] = {
    "ttng.warp_group_dot": (_HOPPER, _BLACKWELL),
    "ttng.async_tma_": (_HOPPER, None),
    "ttng.tc_gen5_": (_BLACKWELL, _DESKTOP_BLACKWELL),
    "ttng.tmem_": (_BLACKWELL, _DESKTOP_BLACKWELL),
}


def refuse_missing_instructions(module: ModuleOp, target: Target, engine: DiagnosticEngine) -> None:
    """Report ops of `module` that the GPU has no instruction for."""
    if isinstance(target.arch, str):
        _refuse_on_amd(module, target.arch, engine)
        return
    capability = target.arch
    for op in walk(module):
        first, end = _archs_of(op)
        if capability < first or (end is not None and capability >= end):
            until = "or later" if end is None else f"or later, before sm_{end}"
            engine.error(
                op,
                f"{op.name} is not available on sm_{capability}: it requires sm_{first} {until}",
                NO_SUCH_INSTRUCTION,
            )
        elif isinstance(op, WarpGroupDotOp):
            for side, hint in _wrong_order(op):
                engine.error(
                    op,
                    f"wgmma reads {side} of {bit_width(op.b.type)}-bit values only {hint}",
                    NO_SUCH_INSTRUCTION,
                )


def _refuse_on_amd(module: ModuleOp, arch: str, engine: DiagnosticEngine) -> None:
    if arch.startswith(_WITH_TENSOR_MOVER):
        return
    for op in walk(module):
        if op.name.startswith(_TENSOR_MOVER_OPS):
            engine.error(
                op,
                f"{op.name} is not available on {arch}: it requires {_WITH_TENSOR_MOVER}, which "
                "has a tensor data mover and mbarriers",
                NO_SUCH_INSTRUCTION,
            )


def _archs_of(op: Operation) -> tuple[int, int | None]:
    found = (archs for name, archs in _ARCHS.items() if op.name.startswith(name))
    return next(found, (0, None))


def _wrong_order(op: WarpGroupDotOp) -> Iterator[tuple[str, str]]:
    """The operands in shared memory that are in an order the instruction cannot read."""
    if bit_width(op.b.type) == _ANY_ORDER_BITS:
        return
    if _is_turned(op.a.type) is True:
        yield "A", "with K contiguous: do not transpose it with local_trans"
    if _is_turned(op.b.type) is False:
        yield "B", "with K contiguous: store it as N x K, and transpose it with local_trans"


def _is_turned(type: Attribute) -> bool | None:
    """Whether the first axis of a buffer is the contiguous one; None if it is not known."""
    encoding = type.encoding if isinstance(type, MemDescType) else None
    return encoding.transposed if isinstance(encoding, NvmmaSharedEncoding) else None
