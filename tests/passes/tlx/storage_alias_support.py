"""Modules with storage-alias specs for tests: random ones, and the addresses that lowered ones use.

`random_case` draws a tree of reuse groups that is valid by construction (counts are multiples of the
group sizes above, every leaf occurs once) and writes it as IR, with one index op for every leaf.
`addresses` runs the index arithmetic of a lowered module, op by op, and answers where each buffer of
each leaf starts. `expected_addresses` says where it should, by the formulas of
docs/design/storage-alias.md#placement alone; it shares no code with the planner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerAttr,
    ModuleOp,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilewright.dialects.tlx import (
    DummyTMemLayout,
    DumpLayoutOp,
    LocalAliasOp,
    PlacedAliasOp,
    ReuseGroupOp,
    SetBufferOverlapOp,
    StorageAliasLocalAllocOp,
    StorageAliasSpecOp,
)
from tilewright.dialects.tt.functions import FuncOp, ReturnOp
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.shared import (
    NvmmaSharedEncoding,
    PaddedSharedEncoding,
    SwizzledSharedEncoding,
)
from tilewright.dialects.ttg.types import SHARED_MEMORY, MemDescType
from tilewright.dialects.ttg.views import MemDescIndexOp
from tilewright.dialects.ttng.attributes import (
    TENSOR_MEMORY,
    TensorMemoryEncoding,
    TensorMemoryScalesEncoding,
)
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes.tlx.storage_alias.buffers import unit_of
from tilewright.passes.tlx.storage_alias_lowering import StorageAliasLowering

MAX_DEPTH = 5
TMEM_COLUMNS = 512

WIDE_TYPES = (Float32Type(), Float16Type(), BFloat16Type(), i8, i32, i64, Float64Type())
TMEM_TYPES = (Float32Type(), Float16Type(), BFloat16Type(), i8)


@dataclass(frozen=True)
class Leaf:
    """One allocation of a tree."""

    name: str
    type: MemDescType

    @property
    def count(self) -> int:
        return self.type.shape[0]

    @property
    def unit(self) -> int:
        return unit_of(self.type)


@dataclass(frozen=True)
class Group:
    """One group of a tree."""

    kind: str
    children: tuple[Leaf | Group, ...]
    size: int = 1


Tree = Leaf | Group


@dataclass(frozen=True)
class Case:
    """A tree and the module that says it."""

    tree: Group
    memory: str
    module: ModuleOp
    outside: tuple[Leaf, ...] = ()

    @property
    def leaves(self) -> list[Leaf]:
        return list(leaves(self.tree))


def leaves(tree: Tree) -> Iterator[Leaf]:
    if isinstance(tree, Leaf):
        yield tree
    else:
        for child in tree.children:
            yield from leaves(child)


# -- drawing -------------------------------------------------------------------------------------


@dataclass
class _Draw:
    random: Random
    memory: str
    logical: int
    budget: int
    names: int = 0
    used: list[str] = field(default_factory=list)

    def tree(self, depth: int, copies: int) -> Tree:
        """A subtree whose leaves have `copies` buffers for each of the logical ones."""
        self.budget -= 1
        if depth == MAX_DEPTH or self.budget <= 0 or (depth and self.random.random() < 0.35):
            return self.leaf(copies)
        kind = self.random.choice(("shared", "distinct"))
        size = self.random.choice((1, 1, 2, 2, 3, 4)) if kind == "shared" else 1
        if copies * size > 12:
            size = 1
        count = self.random.choice((1, 2, 2, 3, 3, 4))
        children = tuple(self.tree(depth + 1, copies * size) for _ in range(count))
        return Group(kind, children, size)

    def leaf(self, copies: int) -> Leaf:
        name = f"b{self.names}"
        self.names += 1
        logical = self.logical
        if self.random.random() < 0.1:
            logical = self.random.randint(1, 3)
        count = copies * logical
        draw = self.shared_type if self.memory == "smem" else self.tensor_type
        return Leaf(name, draw(count))

    def shared_type(self, count: int) -> MemDescType:
        rows, columns = self.random.choice((8, 16, 64)), self.random.choice((16, 32, 64, 128))
        element = self.random.choice(WIDE_TYPES)
        width = bit_width(element)
        kind = self.random.choice(("swizzled", "swizzled", "nvmma", "padded", "row"))
        shape: tuple[int, ...] = (count, rows, columns)
        layout: Attribute = SwizzledSharedEncoding(vec=1, per_phase=1, max_phase=1, order=(1, 0))
        if kind == "nvmma" and width <= 32:
            fitting = [s for s in (0, 32, 64, 128) if s * 8 // width <= columns]
            layout = NvmmaSharedEncoding(
                swizzling_byte_width=self.random.choice(fitting), element_bit_width=width
            )
        elif kind == "padded":
            layout = PaddedSharedEncoding.in_order((columns,), (8,), (rows, columns), (1, 0))
        elif kind == "row":
            shape = (count, columns)
            layout = SwizzledSharedEncoding(vec=1, per_phase=1, max_phase=1, order=(0,))
        return MemDescType(shape, element, layout, SHARED_MEMORY, mutable=True)

    def tensor_type(self, count: int) -> MemDescType:
        kind = self.random.choice(("tile", "tile", "tile", "scales", "dummy"))
        if kind == "scales":
            shape = (count, self.random.choice((64, 128)), self.random.choice((4, 8)))
            layout: Attribute = TensorMemoryScalesEncoding()
            return MemDescType(shape, i8, layout, TENSOR_MEMORY, mutable=True)
        element = self.random.choice(TMEM_TYPES)
        if kind == "dummy":
            shape = (count, self.random.choice((32, 64)), self.random.choice((4, 8)))
            return MemDescType(shape, element, DummyTMemLayout(), TENSOR_MEMORY, mutable=True)
        rows, columns = self.random.choice((64, 128)), self.random.choice((1, 2, 4, 8, 16, 32))
        layout = TensorMemoryEncoding(block_m=rows, block_n=columns, col_stride=1)
        shape = (count, rows, columns)
        return MemDescType(shape, element, layout, TENSOR_MEMORY, mutable=True)


def random_case(seed: int) -> Case:
    """The tree and module of one seed. Tensor memory is never asked for more than there is."""
    random = Random(seed)
    memory = random.choice(("smem", "tmem"))
    for budget in (random.randint(2, 20), 8, 5, 3, 1):
        draw = _Draw(random, memory, random.randint(1, 3), budget)
        tree = draw.tree(0, 1)
        if isinstance(tree, Leaf):
            tree = Group("shared", (tree,))
        if memory == "smem" or extent(tree) <= TMEM_COLUMNS:
            break
    else:
        tree = Group("shared", (Leaf("b", _Draw(random, "tmem", 1, 1).tensor_type(1)),))
    outside = ()
    if memory == "smem" and random.random() < 0.1:
        outside = (Leaf("outside", _Draw(random, memory, 1, 1).shared_type(2)),)
    return Case(tree, memory, module_of(tree, memory, outside), outside)


# -- writing -------------------------------------------------------------------------------------


def module_of(tree: Group, memory: str, outside: tuple[Leaf, ...] = ()) -> ModuleOp:
    """A function with the spec of `tree` that indexes every leaf with its argument."""
    block = Block(arg_types=(i32,))
    spec = StorageAliasSpecOp(memory)
    block.add_op(spec)
    values: dict[str, SSAValue] = {}
    for leaf in (*leaves(tree), *outside):
        op = StorageAliasLocalAllocOp(spec.result, leaf.type)
        op.result.name_hint = leaf.name
        values[leaf.name] = op.result
        block.add_op(op)
    root = _write(tree, values, block)
    block.add_op(SetBufferOverlapOp(spec.result, root))
    for leaf in (*leaves(tree), *outside):
        one = leaf.type.with_shape(leaf.type.shape[1:])
        index = MemDescIndexOp(values[leaf.name], block.args[0], one)
        block.add_op(index)
        block.add_op(DumpLayoutOp(index.result))
    block.add_op(ReturnOp())
    return ModuleOp([FuncOp("f", ([i32], []), body=Region(block))])


def _write(tree: Tree, values: Mapping[str, SSAValue], block: Block) -> SSAValue:
    if isinstance(tree, Leaf):
        return values[tree.name]
    children = [_write(child, values, block) for child in tree.children]
    op = ReuseGroupOp(children, tree.kind, tree.size)
    block.add_op(op)
    return op.result


def lower(module: ModuleOp, **options) -> DiagnosticEngine:
    """Lower `module`; the engine has what was said."""
    engine = DiagnosticEngine(max_errors=None)
    StorageAliasLowering(**options).run(module, engine)
    return engine


# -- what a lowered module does ------------------------------------------------------------------


def views(module: ModuleOp) -> Iterator[LocalAliasOp | PlacedAliasOp]:
    for op in walk(module):
        if isinstance(op, LocalAliasOp | PlacedAliasOp):
            yield op


def addresses(module: ModuleOp, counts: Mapping[str, int]) -> dict[str, list[int]]:
    """Where every buffer of every leaf starts, as the module computes it."""
    found: dict[str, list[int]] = {}
    for op in walk(module):
        if not isinstance(op, MemDescIndexOp):
            continue
        view = op.src.owner
        assert isinstance(view, LocalAliasOp | PlacedAliasOp)
        name = view.result.name_hint
        assert name is not None
        starts = [run(op.index, index) for index in range(counts[name])]
        unit = unit_of(memdesc(view.result.type))
        if isinstance(view, PlacedAliasOp):
            found[name] = [placed(view, start) for start in starts]
        else:
            found[name] = [start * unit for start in starts]
    return found


def placed(view: PlacedAliasOp, index: int) -> int:
    total = view.start
    for radix, stride in view.levels:
        digit, index = (index, 0) if radix is None else (index % radix, index // radix)
        total += digit * stride
    return total


_ARITHMETIC = {
    "arith.addi": lambda a, b: a + b,
    "arith.muli": lambda a, b: a * b,
    "arith.remui": lambda a, b: a % b,
    "arith.divui": lambda a, b: a // b,
}


def run(value: SSAValue, argument: int) -> int:
    """The number `value` is when the function gets `argument`."""
    op = value.owner
    if not isinstance(op, Operation):
        return argument
    if op.name == "arith.constant":
        constant = op.properties["value"]
        assert isinstance(constant, IntegerAttr)
        return constant.value.data
    left, right = (run(operand, argument) for operand in op.operands)
    return _ARITHMETIC[op.name](left, right)


# -- what it should do: the placement of docs/design/storage-alias.md ----------------------------


def up(value: int, step: int) -> int:
    return -(-value // step) * step


def _is_tensor_memory(tree: Tree) -> bool:
    return next(leaves(tree)).type.memory_space == TENSOR_MEMORY


def step_of(tree: Tree) -> int:
    return max(leaf.unit for leaf in leaves(tree)) if _is_tensor_memory(tree) else 128


def block_of(group: Group) -> int:
    return up(max(size_of(child) for child in group.children), step_of(group))


def size_of(tree: Tree) -> int:
    if isinstance(tree, Leaf):
        return tree.unit
    if tree.kind == "shared":
        widest = max(size_of(child) for child in tree.children)
        return widest if tree.size == 1 else tree.size * block_of(tree)
    end = 0
    for child in tree.children:
        end = up(end, step_of(child)) + size_of(child)
    return end


def stride_of(tree: Tree) -> int:
    return up(size_of(tree), step_of(tree))


def expected_addresses(tree: Tree) -> dict[str, list[int]]:
    """Where every buffer starts when indices are rewritten."""
    found: dict[str, list[int]] = {}

    def go(node: Tree, offset: int, levels: list[tuple[int | None, int]]) -> None:
        if isinstance(node, Leaf):
            found[node.name] = [_address(offset, levels, i) for i in range(node.count)]
        elif node.kind == "shared":
            if node.size > 1:
                levels = [(node.size, block_of(node)), *levels]
            for child in node.children:
                go(child, offset, levels)
        else:
            for child in node.children:
                offset = up(offset, step_of(child))
                go(child, offset, levels)
                offset += size_of(child)

    go(tree, 0, [(None, stride_of(tree))])
    return found


def _address(offset: int, levels: list[tuple[int | None, int]], index: int) -> int:
    for radix, block in levels:
        digit, index = (index, 0) if radix is None else (index % radix, index // radix)
        offset += digit * block
    return offset


def extent(tree: Tree) -> int:
    starts = expected_addresses(tree)
    return max(starts[leaf.name][-1] + leaf.unit for leaf in leaves(tree))


# -- whether promises are kept, pair by pair -----------------------------------------------------


def broken_promises(
    tree: Tree, starts: Mapping[str, list[int]], stride: int | None = None
) -> list[str]:
    """Every guarantee of docs/design/storage-alias.md#checking that buffers at `starts` break.

    Without a `stride` it is not asked whether buffers stay in the window of their logical index.
    """
    spans = {
        leaf.name: [(start, start + leaf.unit) for start in starts[leaf.name]]
        for leaf in leaves(tree)
    }
    ways = dict(_ways(tree, ()))
    broken = [
        f"{name} touches itself"
        for name, own in spans.items()
        if any(_touch(a, b) for i, a in enumerate(own) for b in own[i + 1 :])
    ]
    names = list(spans)
    for position, one in enumerate(names):
        for two in names[position + 1 :]:
            group, one_per, two_per = _meeting(ways[one], ways[two])
            for i, a in enumerate(spans[one]):
                for j, b in enumerate(spans[two]):
                    apart = group.kind == "distinct" or i // one_per != j // two_per
                    if apart and _touch(a, b):
                        broken.append(f"{one}[{i}] touches {two}[{j}]")
    return broken if stride is None else broken + _outside_window(tree, spans, ways, stride)


_Way = tuple[tuple[Group, int], ...]


def _ways(tree: Tree, above: _Way) -> Iterator[tuple[str, _Way]]:
    if isinstance(tree, Leaf):
        yield tree.name, above
        return
    for index, child in enumerate(tree.children):
        yield from _ways(child, (*above, (tree, index)))


def _meeting(one: _Way, two: _Way) -> tuple[Group, int, int]:
    """The group where two leaves meet, and how many buffers of each are in one repetition."""
    depth = next(d for d, (a, b) in enumerate(zip(one, two, strict=False)) if a[1] != b[1])
    return one[depth][0], _repeats(one[depth + 1 :]), _repeats(two[depth + 1 :])


def _repeats(way: _Way) -> int:
    total = 1
    for group, _ in way:
        total *= group.size
    return total


def _touch(one: tuple[int, int], two: tuple[int, int]) -> bool:
    return one[0] < two[1] and two[0] < one[1]


def _outside_window(
    tree: Tree,
    spans: Mapping[str, list[tuple[int, int]]],
    ways: Mapping[str, _Way],
    stride: int,
) -> list[str]:
    broken: list[str] = []
    for leaf in leaves(tree):
        per = _repeats(ways[leaf.name])
        for index, (start, end) in enumerate(spans[leaf.name]):
            low = index // per * stride
            if start < low or end > low + stride:
                broken.append(f"{leaf.name}[{index}] leaves its window")
    return broken
