"""Random programs on tensors, as text, and the way back from layouts.

A program loads a few matrices and rows, computes with them and with ranges and constants, reduces,
turns, reshapes, broadcasts, loops and branches, and stores what is left. Every op is valid by
construction; extents are small powers of two.
"""

from __future__ import annotations

from random import Random

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.tt import FuncOp
from tilewright.dialects.ttg import ConvertLayoutOp
from tilewright.dialects.type_utils import is_tensor, with_encoding
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.text.literals import SplatElementsAttr
from tilewright.ir.traversal import walk
from tilewright.passes.ttg.apply_layouts import update_signature

Shape = tuple[int, ...]
SHAPES: tuple[Shape, ...] = ((64,), (16, 32), (32, 16), (64, 8))


def tensor(shape: Shape, element: str = "f32") -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


class Maker:
    """Writes one program."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.count = 0

    def program(self, size: int) -> str:
        values: list[tuple[str, Shape]] = [self.loaded(shape) for shape in SHAPES]
        values += self.steps(values, size)
        for name, shape in values[-3:]:
            self.stored(name, shape)
        body = "\n".join(self.lines)
        arguments = "%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32, %x: f32, %yes: i1"
        return f"module {{\ntt.func public @k({arguments}) {{\n{body}\ntt.return\n}}\n}}\n"

    def emit(self, text: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"{name} = {text}")
        return name

    # -- memory ----------------------------------------------------------------------------------

    def addresses(self, shape: Shape) -> str:
        offset = self.count_up(shape[-1:])
        if len(shape) == 2:
            row = self.spread(self.count_up(shape[:1]), shape[:1], 1, shape)
            stride = self.emit(f"tt.splat %n : i32 -> {tensor(shape, 'i32')}")
            scaled = self.emit(f"arith.muli {row}, {stride} : {tensor(shape, 'i32')}")
            column = self.spread(offset, shape[1:], 0, shape)
            offset = self.emit(f"arith.addi {scaled}, {column} : {tensor(shape, 'i32')}")
        pointers = tensor(shape, "!tt.ptr<f32>")
        base = self.emit(f"tt.splat %p : !tt.ptr<f32> -> {pointers}")
        return self.emit(f"tt.addptr {base}, {offset} : {pointers}, {tensor(shape, 'i32')}")

    def count_up(self, shape: Shape) -> str:
        end = f"{{end = {shape[0]} : i32, start = 0 : i32}}"
        return self.emit(f"tt.make_range {end} : {tensor(shape, 'i32')}")

    def spread(
        self, name: str, shape: Shape, axis: int, target: Shape, element: str = "i32"
    ) -> str:
        thin = tuple(1 if dim == axis else extent for dim, extent in enumerate(target))
        types = f"{tensor(shape, element)} -> {tensor(thin, element)}"
        wide = self.emit(f"tt.expand_dims {name} {{axis = {axis} : i32}} : {types}")
        return self.emit(
            f"tt.broadcast {wide} : {tensor(thin, element)} -> {tensor(target, element)}"
        )

    def loaded(self, shape: Shape) -> tuple[str, Shape]:
        at = self.addresses(shape)
        return self.emit(f"tt.load {at} : {tensor(shape, '!tt.ptr<f32>')}"), shape

    def stored(self, name: str, shape: Shape) -> None:
        at = self.addresses(shape)
        self.lines.append(f"tt.store {at}, {name} : {tensor(shape, '!tt.ptr<f32>')}")

    # -- computing -------------------------------------------------------------------------------

    def steps(self, known: list[tuple[str, Shape]], size: int) -> list[tuple[str, Shape]]:
        made: list[tuple[str, Shape]] = []
        computing = (self.add, self.constant, self.reduce, self.range)
        moving = (self.turn, self.reshape, self.grow, self.pair, self.halves)
        for _ in range(size):
            kind = self.random.choice((*computing, *moving, self.add, self.loop, self.branch))
            made.append(kind([*known, *made]))
        return made

    def pick(self, known: list[tuple[str, Shape]], rank: int | None = None) -> tuple[str, Shape]:
        return self.random.choice([v for v in known if rank in (None, len(v[1]))])

    def like(self, known: list[tuple[str, Shape]], shape: Shape) -> str:
        return self.random.choice([name for name, found in known if found == shape])

    def add(self, known: list[tuple[str, Shape]]) -> tuple[str, Shape]:
        name, shape = self.pick(known)
        other = self.like(known, shape)
        return self.emit(f"arith.addf {name}, {other} : {tensor(shape)}"), shape

    def constant(self, known: list[tuple[str, Shape]]) -> tuple[str, Shape]:
        shape = self.random.choice(SHAPES)
        return self.emit(f"arith.constant dense<1.500000e+00> : {tensor(shape)}"), shape

    def range(self, known: list[tuple[str, Shape]]) -> tuple[str, Shape]:
        number = self.count_up(SHAPES[0])
        types = f"{tensor(SHAPES[0], 'i32')} to {tensor(SHAPES[0])}"
        return self.emit(f"arith.sitofp {number} : {types}"), SHAPES[0]

    def reduce(self, known: list[tuple[str, Shape]]) -> tuple[str, Shape]:
        name, shape = self.pick(known, 2)
        axis = self.random.randrange(2)
        kept = (shape[1 - axis],)
        region = (
            "({\n^bb0(%a: f32, %b: f32):\n%s = arith.addf %a, %b : f32\n"
            "tt.reduce.return %s : f32\n})"
        )
        types = f"({tensor(shape)}) -> {tensor(kept)}"
        return self.emit(f'"tt.reduce"({name}) <{{axis = {axis} : i32}}> {region} : {types}'), kept

    def turn(self, known: list[tuple[str, Shape]]) -> tuple[str, Shape]:
        name, shape = self.pick(known, 2)
        turned = shape[::-1]
        types = f"{tensor(shape)} -> {tensor(turned)}"
        return self.emit(f"tt.trans {name} {{order = array<i32: 1, 0>}} : {types}"), turned

    def reshape(self, known: list[tuple[str, Shape]]) -> tuple[str, Shape]:
        name, shape = self.pick(known, 2)
        flat = (shape[0] * shape[1] // 8, 8)
        return self.emit(f"tt.reshape {name} : {tensor(shape)} -> {tensor(flat)}"), flat

    def pair(self, known: list[tuple[str, Shape]]) -> tuple[str, Shape]:
        name, shape = self.pick(known)
        other = self.like(known, shape)
        both = (*shape, 2)
        made = self.emit(f"tt.join {name}, {other} : {tensor(shape)} -> {tensor(both)}")
        return self.half(made, both)

    def halves(self, known: list[tuple[str, Shape]]) -> tuple[str, Shape]:
        """One half of the columns, as an epilogue takes them."""
        name, (rows, columns) = self.pick(known, 2)
        cut, turned = (rows, 2, columns // 2), (rows, columns // 2, 2)
        types = f"{tensor((rows, columns))} -> {tensor(cut)}"
        made = self.emit(f"tt.reshape {name} : {types}")
        order = "{order = array<i32: 0, 2, 1>}"
        made = self.emit(f"tt.trans {made} {order} : {tensor(cut)} -> {tensor(turned)}")
        return self.half(made, turned)

    def half(self, pairs: str, shape: Shape) -> tuple[str, Shape]:
        self.count += 2
        left, right = f"%v{self.count - 1}", f"%v{self.count}"
        types = f"{tensor(shape)} -> {tensor(shape[:-1])}"
        self.lines.append(f"{left}, {right} = tt.split {pairs} : {types}")
        return self.random.choice((left, right)), shape[:-1]

    def grow(self, known: list[tuple[str, Shape]]) -> tuple[str, Shape]:
        name, shape = self.pick(known, 1)
        axis = self.random.randrange(2)
        target = (shape[0], 8) if axis else (8, shape[0])
        return self.spread(name, shape, axis, target, "f32"), target

    # -- control ---------------------------------------------------------------------------------

    def loop(self, known: list[tuple[str, Shape]]) -> tuple[str, Shape]:
        start, shape = self.pick(known)
        self.count += 1
        carried, number = f"%c{self.count}", f"%i{self.count}"
        head = f"scf.for {number} = %n to %n step %n iter_args({carried} = {start})"
        result = self.emit(f"{head} -> ({tensor(shape)}) : i32 {{")
        inner = self.steps([*known, (carried, shape)], self.random.randrange(3))
        last = self.like([*known, *inner, (carried, shape)], shape)
        self.lines.append(f"scf.yield {last} : {tensor(shape)}\n}}")
        return result, shape

    def branch(self, known: list[tuple[str, Shape]]) -> tuple[str, Shape]:
        _, shape = self.pick(known)
        result = self.emit(f"scf.if %yes -> ({tensor(shape)}) {{")
        for end in ("} else {", "}"):
            inner = self.steps(known, self.random.randrange(2))
            last = self.like([*known, *inner], shape)
            self.lines.append(f"scf.yield {last} : {tensor(shape)}\n{end}")
        return result, shape


# -- back ----------------------------------------------------------------------------------------


def without_layouts(module: ModuleOp) -> ModuleOp:
    """A copy of `module` without layouts and without conversions between them."""
    copy = module.clone()
    copy.attributes.clear()
    rewriter = Rewriter()
    for op in list(walk(copy)):
        if isinstance(op, ConvertLayoutOp):
            rewriter.replace_op(op, (), [op.src])
    for op in walk(copy):
        for value in [*op.results, *(arg for r in op.regions for b in r.blocks for arg in b.args)]:
            if is_tensor(value.type):
                rewriter.retype(value, with_encoding(value.type, None))
        if isinstance(op, ConstantOp) and isinstance(op.value, SplatElementsAttr):
            op.properties["value"] = SplatElementsAttr(op.value.value, op.result.type)
    for op in walk(copy):
        if isinstance(op, FuncOp):
            update_signature(op)
    return copy
