"""`check-element-types`: whether a GPU supports the element types of a kernel's buffers.

    A: T.Tensor((64, 64), "float8_e4m3fnuz")

    error[TW6006]: unsupported element type float8_e4m3fnuz of A: NVIDIA GPUs do not support this
    format

Formats of other vendors run on the CPU, element by element.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, ReducerAllocOp
from tilewright.dialects.tile.names import DTYPE
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.passes.tile.naming import buffer_name

NO_SUCH_TYPE = "TW6006"
_SPELLINGS = {"f8E4M3FNUZ": "float8_e4m3fnuz", "f8E5M2FNUZ": "float8_e5m2fnuz"}
"""Elements that no GPU has, by their type in the IR."""
_SIMILAR = {"float8_e4m3fnuz": "float8_e4m3fn", "float8_e5m2fnuz": "float8_e5m2"}


@dataclass(frozen=True)
class CheckElementTypes(Pass):
    """Report buffers of elements that no GPU has."""

    name = "check-element-types"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.ops:
            if not isinstance(function, FuncOp):
                continue
            chip = amd_chip_of(function)
            found: dict[str, list[SSAValue]] = {}
            for buffer in _buffers(function):
                type = str(element_type_of(buffer.type))
                if type in _SPELLINGS and not _is_native(type, chip):
                    dtype = _given(buffer) or _SPELLINGS[type]
                    found.setdefault(dtype, []).append(buffer)
            for dtype, buffers in found.items():
                _report(buffers, dtype, function, chip, engine)


def _is_native(type: str, chip: Chip | None) -> bool:
    """Whether the chip has the format: all but gfx942 have others of 8 bits, or none."""
    return type.endswith("FNUZ") and chip is not None and chip.fp8 == "fnuz"


def _buffers(function: FuncOp) -> Iterator[SSAValue]:
    if function.body.blocks:
        yield from (each for each in function.body.block.args if _is_buffer(each.type))
    for op in walk(function):
        if isinstance(op, AllocOp | ReducerAllocOp) and _is_buffer(op.result.type):
            yield op.result


def _is_buffer(type: Attribute) -> bool:
    return isinstance(type, MemRefType)


def _given(buffer: SSAValue) -> str | None:
    """The dtype as declared by the user: integer types of the IR have no sign."""
    if isinstance(buffer, BlockArgument):
        function = buffer.block.parent_op()
        assert isinstance(function, FuncOp)
        dtype = function.argument_attributes(buffer.index).get(DTYPE)
    else:
        assert isinstance(buffer.owner, AllocOp | ReducerAllocOp)
        dtype = buffer.owner.dtype
    return dtype.data if isinstance(dtype, StringAttr) else None


def _report(
    buffers: list[SSAValue],
    dtype: str,
    function: FuncOp,
    chip: Chip | None,
    engine: DiagnosticEngine,
) -> None:
    owner = buffers[0].owner
    where = owner if isinstance(owner, Operation) else function
    gpus = "NVIDIA GPUs do" if chip is None else f"{chip} does"
    reason = f"{gpus} not support this format"
    fix = f"use {_SIMILAR[dtype]}, which has as many exponent and mantissa bits"
    names = ", ".join(map(buffer_name, buffers))
    diagnostic = engine.error(
        where, f"unsupported element type {dtype} of {names}: {reason}", NO_SUCH_TYPE
    )
    diagnostic.note(None, f"help: {fix}")
