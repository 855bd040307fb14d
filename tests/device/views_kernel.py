"""A kernel that shows which bytes every buffer of a tree of reuse groups really has.

Each program of the grid plays one round, in its own shared memory:

1. all of the allocation is filled with a background of random bytes, through a plain view;
2. one buffer (of one leaf, at one index) is filled with random bytes of its own;
3. every buffer of every leaf is read, and the plain view as well.

There are as many rounds as buffers. What a buffer reads depends on where it lies, to the byte: the
background tells one place from another, and the bytes of step 2 tell who shares with whom.
`views_model` says what has to be read.

The plain view is part of no tree. It is written as an allocation of its own and put over the
region once that has been lowered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import ModuleOp, i8
from xdsl.ir import Operation, SSAValue

from tests.passes.pass_support import parse
from tests.passes.tlx.storage_alias_support import Case, Leaf, Tree, lower, run
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tlx import LocalAliasOp
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttg.shared import (
    SwizzledSharedEncoding,
)
from tilewright.dialects.ttg.types import SHARED_MEMORY, MemDescType
from tilewright.dialects.ttg.views import MemDescIndexOp
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.passes.tlx.rewrite_local_alias import RewriteLocalAlias
from tilewright.passes.tlx.storage_alias.buffers import span_bits

WHOLE = "whole"
_FLAT = SwizzledSharedEncoding(vec=1, per_phase=1, max_phase=1, order=(0,))


@dataclass(frozen=True)
class Rounds:
    """A tree and the numbers that kernel and model share."""

    case: Case
    size_bytes: int
    """All of the allocation."""

    @cached_property
    def leaves(self) -> list[Leaf]:
        return [*self.case.leaves, *self.case.outside]

    @cached_property
    def whole(self) -> Leaf:
        width = self.size_bytes & -self.size_bytes
        width = min(width, 1024)
        shape = (self.size_bytes // width, width)
        return Leaf(WHOLE, MemDescType(shape, i8, _FLAT, SHARED_MEMORY, mutable=True))

    @cached_property
    def buffers(self) -> list[tuple[Leaf, int]]:
        """What is written, round by round."""
        return [(leaf, index) for leaf in self.leaves for index in range(leaf.count)]

    @cached_property
    def columns(self) -> dict[str, int]:
        """Where in a row of the output a leaf's buffers begin."""
        found: dict[str, int] = {}
        end = 0
        for leaf in (self.whole, *self.leaves):
            found[leaf.name] = end
            end += leaf.count * data_bytes(leaf.type)
        return found

    @property
    def row_bytes(self) -> int:
        return sum(leaf.count * data_bytes(leaf.type) for leaf in (self.whole, *self.leaves))

    @property
    def pattern_bytes(self) -> int:
        return max(data_bytes(leaf.type) for leaf in self.leaves)


def rounds_of(case: Case) -> Rounds | None:
    """None where buffers can only be reached by address, which no index of Triton's can say."""
    module = case.module.clone()
    if lower(module, placement="reindex").has_errors:
        return None
    (backing,) = (op for op in walk(module) if isinstance(op, LocalAllocOp))
    return Rounds(case, span_bits(memdesc(backing.result.type)) // 8)


def data_bytes(type: MemDescType) -> int:
    """One buffer without gaps."""
    return prod(type.shape[1:]) * bit_width(type.element_type) // 8


# -- the kernel ----------------------------------------------------------------------------------


@dataclass
class _Writer:
    """Text with numbered values."""

    lines: list[str]
    values: int = 0

    def value(self, text: str) -> str:
        name = f"%v{self.values}"
        self.values += 1
        self.lines.append(f"{name} = {text}")
        return name

    def number(self, number: int) -> str:
        return self.value(f"arith.constant {number} : i32")

    def sum(self, one: str, two: str) -> str:
        return self.value(f"arith.addi {one}, {two} : i32")

    def product(self, one: str, factor: int) -> str:
        return self.value(f"arith.muli {one}, {self.number(factor)} : i32")

    def places(self, source: str, start: str, leaf: Leaf) -> tuple[str, str]:
        """Pointers to the elements of a buffer that lies without gaps at ``source + start``."""
        element = leaf.type.element_type
        offsets, shape, layout = self.offsets(leaf.type.shape[1:])
        pointer = self.value(f"tt.addptr {source}, {start} : !tt.ptr<i8>, i32")
        pointer = self.value(f"tt.bitcast {pointer} : !tt.ptr<i8> -> !tt.ptr<{element}>")
        type = f"tensor<{shape}x!tt.ptr<{element}>, {layout}>"
        many = self.value(f"tt.splat {pointer} : !tt.ptr<{element}> -> {type}")
        return (
            self.value(f"tt.addptr {many}, {offsets} : {type}, tensor<{shape}xi32, {layout}>"),
            type,
        )

    def offsets(self, shape: tuple[int, ...]) -> tuple[str, str, str]:
        """Row after row: the numbers, the shape as text, the layout."""
        if len(shape) == 1:
            text = f"tensor<{shape[0]}xi32, #row>"
            return (
                self.value(f"tt.make_range {{end = {shape[0]} : i32, start = 0 : i32}} : {text}"),
                f"{shape[0]}",
                "#row",
            )
        rows, columns = shape
        full = f"tensor<{rows}x{columns}xi32, #tile>"
        parts: list[str] = []
        for axis, size, one in ((1, rows, f"{rows}x1"), (0, columns, f"1x{columns}")):
            sliced = f"tensor<{size}xi32, #ttg.slice<{{dim = {axis}, parent = #tile}}>>"
            thin = f"tensor<{one}xi32, #tile>"
            part = self.value(f"tt.make_range {{end = {size} : i32, start = 0 : i32}} : {sliced}")
            part = self.value(f"tt.expand_dims {part} {{axis = {axis} : i32}} : {sliced} -> {thin}")
            parts.append(self.value(f"tt.broadcast {part} : {thin} -> {full}"))
        width = self.value(f"arith.constant dense<{columns}> : {full}")
        down = self.value(f"arith.muli {parts[0]}, {width} : {full}")
        return self.value(f"arith.addi {down}, {parts[1]} : {full}"), f"{rows}x{columns}", "#tile"

    def buffer(self, leaf: Leaf, index: str) -> tuple[str, str]:
        type = leaf.type.with_shape(leaf.type.shape[1:])
        return (
            self.value(f"ttg.memdesc_index %{leaf.name}[{index}] : {leaf.type} -> {type}"),
            str(type),
        )

    def write(self, leaf: Leaf, index: str, source: str, start: str) -> None:
        """Fill a buffer from global memory."""
        places, type = self.places(source, start, leaf)
        data = self.value(f"tt.load {places} : {type}")
        view, view_type = self.buffer(leaf, index)
        self.lines.append(f"ttg.local_store {data}, {view} : {_data(leaf)} -> {view_type}")

    def read(self, leaf: Leaf, index: str, target: str, start: str) -> None:
        """Copy a buffer to global memory."""
        view, view_type = self.buffer(leaf, index)
        data = self.value(f"ttg.local_load {view} : {view_type} -> {_data(leaf)}")
        places, type = self.places(target, start, leaf)
        self.lines.append(f"tt.store {places}, {data} : {type}")

    def loop(self, leaf: Leaf) -> str:
        """Begin a loop over the buffers of `leaf`."""
        low, high, step = self.number(0), self.number(leaf.count), self.number(1)
        index = f"%i{self.values}"
        self.lines.append(f"scf.for {index} = {low} to {high} step {step} : i32 {{")
        return index

    def end(self) -> None:
        self.lines.append("}")


def _data(leaf: Leaf) -> str:
    shape = leaf.type.shape[1:]
    layout = "#row" if len(shape) == 1 else "#tile"
    return f"tensor<{'x'.join(map(str, shape))}x{leaf.type.element_type}, {layout}>"


_HEAD = """\
#row = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#tile = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
!spec = !tlx.storage_alias_spec<smem>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @views(%background: !tt.ptr<i8>, %patterns: !tt.ptr<i8>, %out: !tt.ptr<i8>) {
%spec = tlx.storage_alias_spec storage = smem : !spec
"""


def kernel_text(rounds: Rounds) -> str:
    """The kernel, before lowering."""
    writer = _Writer([])
    for leaf in rounds.leaves:
        writer.lines.append(
            f"%{leaf.name} = tlx.storage_alias_local_alloc %spec : !spec -> {leaf.type}"
        )
    root, root_type = _groups(writer, rounds.case.tree)
    writer.lines.append(f"tlx.set_buffer_overlap(%spec, {root}) : (!spec, {root_type}) -> ()")
    whole = rounds.whole
    writer.lines.append(f"%{whole.name} = ttg.local_alloc : () -> {whole.type}")
    me = writer.value("tt.get_program_id x : i32")

    index = writer.loop(whole)
    writer.write(whole, index, "%background", writer.product(index, data_bytes(whole.type)))
    writer.end()

    pattern, first = writer.product(me, rounds.pattern_bytes), 0
    for leaf in rounds.leaves:
        index = writer.sum(me, writer.number(-first))
        mine = writer.value(f"arith.cmpi ult, {index}, {writer.number(leaf.count)} : i32")
        writer.lines.append(f"scf.if {mine} {{")
        writer.write(leaf, index, "%patterns", pattern)
        writer.end()
        first += leaf.count

    row = writer.product(me, rounds.row_bytes)
    for leaf in (whole, *rounds.leaves):
        column = writer.sum(row, writer.number(rounds.columns[leaf.name]))
        index = writer.loop(leaf)
        writer.read(
            leaf, index, "%out", writer.sum(column, writer.product(index, data_bytes(leaf.type)))
        )
        writer.end()
    return _HEAD + "\n".join(writer.lines) + "\ntt.return\n}\n}\n"


def _groups(writer: _Writer, tree: Tree) -> tuple[str, str]:
    if isinstance(tree, Leaf):
        return f"%{tree.name}", str(tree.type)
    children = [_groups(writer, child) for child in tree.children]
    names, types = (", ".join(parts) for parts in zip(*children, strict=True))
    type = f"!tlx.reuse_group<{tree.kind}>"
    size = f", group_size = {tree.size}" if tree.size > 1 else ""
    text = f"tlx.reuse_group({names}) group_kind = {tree.kind}{size} : ({types}) -> {type}"
    return writer.value(text), type


def lowered(rounds: Rounds) -> ModuleOp:
    """The kernel with every buffer in its place, the views still apart from the allocation."""
    module = parse(kernel_text(rounds))
    lower(module, placement="reindex").raise_if_errors()
    region, whole = (op for op in walk(module) if isinstance(op, LocalAllocOp))
    Rewriter().replace_op(whole, LocalAliasOp(region.result, memdesc(whole.result.type)))
    return module


def finished(module: ModuleOp) -> ModuleOp:
    """What `lowered` made, without anything of ``tlx``."""
    engine = DiagnosticEngine()
    RewriteLocalAlias().run(module, engine)
    verify(module, engine)
    engine.raise_if_errors()
    assert not any(op.name.startswith("tlx.") for op in walk(module))
    return module


# -- reading and changing addresses --------------------------------------------------------------


def reads(module: ModuleOp, rounds: Rounds) -> Iterator[tuple[Leaf, MemDescIndexOp]]:
    """The index ops of step 3, in loops over the buffers of a leaf."""
    known = {leaf.name: leaf for leaf in rounds.leaves}
    for op in walk(module):
        if isinstance(op, MemDescIndexOp) and isinstance(op.parent_op(), ForOp):
            view = op.src.owner
            assert isinstance(view, LocalAliasOp)
            if view.result.name_hint in known:
                yield known[view.result.name_hint], op


def read_starts(module: ModuleOp, rounds: Rounds) -> dict[str, list[int]]:
    """Where step 3 finds every buffer, by running the index arithmetic of the module."""
    return {
        leaf.name: [run(op.index, index) * leaf.unit for index in range(leaf.count)]
        for leaf, op in reads(module, rounds)
    }


def constants_of(value: SSAValue) -> Iterator[ConstantOp]:
    """The constants that `value` is computed from."""
    op = value.owner
    if isinstance(op, ConstantOp):
        yield op
    elif isinstance(op, Operation):
        for operand in op.operands:
            yield from constants_of(operand)
