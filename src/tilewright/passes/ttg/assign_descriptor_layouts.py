"""Which layout of shared memory a tensor descriptor copies to and from.

TMA swizzles as its descriptor specifies, so the descriptor's type names the layout of the buffers
that it fills: that of the buffers in the copies where there are any, else the widest swizzle that a
block allows. A descriptor that passes through captures, loops and branches is one descriptor, and
so is one that is made in memory and read from there. Two copies that need different layouts need
two descriptors, which is reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.tt import FuncOp, MakeTensorDescOp
from tilewright.dialects.tt.types import TensorDescType
from tilewright.dialects.ttg.shared import NvmmaSharedEncoding
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng import ReinterpretTensorDescOp
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.layouts.encodings import default_nvmma_shared
from tilewright.passes.ttg.apply_layouts import update_signature
from tilewright.passes.ttg.layout_links import edges_of

TWO_LAYOUTS = "TW2041"


@dataclass(frozen=True)
class AssignDescriptorLayouts(Pass):
    """Put the layout of shared memory into the type of every descriptor."""

    name = "assign-descriptor-layouts"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        ops = list(walk(module))
        groups = _Groups(ops)
        chosen = _required(ops, groups, engine)
        rewriter = Rewriter()
        for value in groups.values:
            type = value.type
            assert isinstance(type, TensorDescType)
            if type.encoding is None:
                layout = chosen.get(groups.find(value)) or default_layout(type)
                rewriter.retype(value, TensorDescType.get(type.shape, type.element_type, layout))
        for op in ops:
            if isinstance(op, FuncOp) and op.body.blocks:
                update_signature(op)


@dataclass(frozen=True)
class OptimizeDescriptorEncoding(AssignDescriptorLayouts):
    """The same, by the name that Triton's pass of this purpose has."""

    name = "triton-nvidia-optimize-descriptor-encoding"


def default_layout(type: TensorDescType) -> NvmmaSharedEncoding:
    """The layout with the widest swizzle that rows of a block fill."""
    found = default_nvmma_shared(type.shape, bit_width(type.element_type))
    return NvmmaSharedEncoding(
        swizzling_byte_width=found.swizzle_bytes,
        transposed=False,
        element_bit_width=found.element_bits,
        tensor_rank=len(type.shape),
    )


class _Groups:
    """Descriptor values by the descriptor that they stand for."""

    def __init__(self, ops: list[Operation]) -> None:
        self.values = [value for op in ops for value in defined_values(op) if _is_descriptor(value)]
        self._parent: dict[SSAValue, SSAValue] = {value: value for value in self.values}
        for op in ops:
            for edge in edges_of(op):
                for source, target in zip(edge.operands, edge.inputs, strict=False):
                    if _is_descriptor(source):
                        self._parent[self.find(target)] = self.find(source)
            if op.name == "arith.select" and _is_descriptor(op.results[0]):
                for source in op.operands[1:]:
                    self._parent[self.find(source)] = self.find(op.results[0])
        self._join_by_memory(ops)

    def _join_by_memory(self, ops: list[Operation]) -> None:
        made = {
            op.desc_ptr: op.result
            for op in ops
            if isinstance(op, MakeTensorDescOp) and op.desc_ptr is not None
        }
        for op in ops:
            if isinstance(op, ReinterpretTensorDescOp) and op.raw_desc in made:
                self._parent[self.find(op.result)] = self.find(made[op.raw_desc])

    def find(self, value: SSAValue) -> SSAValue:
        while self._parent[value] is not value:
            value = self._parent[value]
        return value


def _is_descriptor(value: SSAValue) -> bool:
    return isinstance(value.type, TensorDescType)


def defined_values(op: Operation) -> Iterator[SSAValue]:
    """The results of `op` and the arguments of its blocks."""
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


def _required(
    ops: list[Operation], groups: _Groups, engine: DiagnosticEngine
) -> dict[SSAValue, Attribute]:
    """The layouts that copies have, by descriptor."""
    chosen: dict[SSAValue, tuple[Attribute, Operation]] = {}
    for op in ops:
        layout = _copied(op)
        if layout is None:
            continue
        descriptor = groups.find(op.operands[0])
        known, first = chosen.setdefault(descriptor, (layout, op))
        if known != layout:
            diagnostic = engine.error(
                op, f"layout mismatch: copy requires {layout}, descriptor has {known}", TWO_LAYOUTS
            )
            diagnostic.note(first, "the descriptor is for this copy; use a second descriptor")
    return {descriptor: layout for descriptor, (layout, _) in chosen.items()}


def _copied(op: Operation) -> Attribute | None:
    """The layout of the buffer of a copy through a descriptor."""
    if not op.name.startswith("ttng.async_tma_") or not op.operands:
        return None
    if not _is_descriptor(op.operands[0]):
        return None
    for operand in op.operands[1:]:
        type = operand.type
        if isinstance(type, MemDescType):
            layout = unwrapped(type.encoding)
            if isinstance(layout, NvmmaSharedEncoding):
                return layout
    return None
