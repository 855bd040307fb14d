"""Random kernels with everything real ones have, and launches to run them with.

    program ids   on one to three axes, grouped and persistent orders, num_programs
    tensors       one to three dimensions, moved by expand, broadcast, trans, reshape, join, split
    memory        pointers, masks, gathers, atomics, casts, descriptors, block pointers
    control flow  if, early return, block arguments, cycles, for, while, nests, calls
    carried       integers, pointers, pointer tensors, block pointers

A seed makes one kernel and its launches; the same seed makes the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.analysis.oracle.builder import (
    Integer,
    IntegerArg,
    PointerArg,
    Truth,
    Writer,
    pointers,
    tensor,
)
from tests.analysis.oracle.recording import Launch, Program

_AXES = "xyz"
_ELEMENTS = (("f32", 4), ("f32", 4), ("f16", 2), ("i8", 1), ("f64", 8), ("i32", 4))
_SHAPES = (
    (8,), (16,), (32,), (64,), (4, 8), (8, 4), (2, 16), (16, 2), (8, 16), (1, 16), (16, 1),
    (2, 4, 4), (4, 2, 8), (2, 1, 8), (4, 4, 2),
)  # fmt: skip


@dataclass(frozen=True)
class Kernel:
    """Text of a kernel, its launches, and sizes of its buffers."""

    name: str
    text: str
    launches: tuple[Launch, ...]
    buffers: tuple[tuple[str, int], ...]


def random_kernel(seed: int) -> Kernel:
    return _Maker(Random(seed), f"random_{seed}").kernel()


RARE = (
    "tt.reduce", "tt.cat", "tt.gather", "tt.split", "tt.join", "tt.trans", "allow_reorder",
    "int_to_ptr", "tt.advance", "boundaryCheck = array<i32: 1>", "make_tensor_descriptor",
    "descriptor_store", "tt.atomic_rmw", "tt.call", "scf.while", "iter_args(%x", "cf.br",
    "arith.extui %h", "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi", "arith.remui",
    "arith.divui", "arith.minui", "arith.maxui", "arith.shrui", "cmpi ult", "cmpi uge",
    "arith.xori", "arith.ori", "llvm.intr.assume", "%tile",
)  # fmt: skip
"""What few kernels have."""


def seeds_with_rare_constructs(each: int, among: range) -> list[int]:
    """Seeds of kernels that have what is rare, `each` of them for every construct."""
    wanted = dict.fromkeys(RARE, each)
    chosen: list[int] = []
    for seed in among:
        text = random_kernel(seed).text
        found = [word for word, missing in wanted.items() if missing > 0 and word in text]
        if found:
            chosen.append(seed)
        for word in found:
            wanted[word] -= 1
    return chosen


class _Maker:
    def __init__(self, pick: Random, name: str) -> None:
        self.pick = pick
        self.name = name
        self.w = Writer(pick)
        self.helper: list[str] = []
        self.depth = 0
        self.accesses = 0
        self.blocks = 0
        self.pointers = self._pointer_args()
        self.integers = self._integer_args()
        self.axes = sorted(pick.sample(range(3), pick.choice((1, 1, 1, 2, 2, 3))))

    # Signature.

    def _pointer_args(self) -> list[PointerArg]:
        made = [PointerArg("ids", "i32", 4, 16)]
        for number in range(self.pick.choice((1, 1, 2))):
            element, size = self.pick.choice(_ELEMENTS)
            divisibility = self.pick.choice((16, 16, 16, 8, None))
            made.append(PointerArg(f"p{number}", element, size, divisibility))
        return made

    def _integer_args(self) -> list[IntegerArg]:
        made: list[IntegerArg] = []
        for number in range(self.pick.choice((2, 3, 4))):
            divisor = self.pick.choice((None, None, 16, 8, 4, 3))
            low = self.pick.choice((1, 1, 1, 0, -6))
            step = divisor or 1
            made.append(IntegerArg(f"n{number}", low * step, (low + 12) * step, divisor))
        return made

    def _parameter(self, arg: PointerArg | IntegerArg) -> str:
        type = f"!tt.ptr<{arg.element}>" if isinstance(arg, PointerArg) else arg.type
        hint = (
            "" if arg.divisibility is None else f" {{tt.divisibility = {arg.divisibility} : i32}}"
        )
        return f"%{arg.name}: {type}{hint}"

    def kernel(self) -> Kernel:
        w = self.w
        w.scalars = [Integer(f"%{arg.name}", arg.lo, arg.hi) for arg in self.integers]
        for axis in self.axes:
            name = f"%pid{axis}"
            w.emit(f"{name} = tt.get_program_id {_AXES[axis]} : i32")
            w.scalars += [Integer(name, 0, 7)] * 2
        if self.pick.random() < 0.3:
            w.emit(f"%np = tt.get_num_programs {_AXES[self.axes[0]]} : i32")
            w.scalars.append(Integer("%np", 1, 8))
        w.scalars += [w.constant(self.pick.choice((2, 3, 4, 8, 16, 32))) for _ in range(2)]
        if self.pick.random() < 0.35:
            self._swizzle()
        if self.pick.random() < 0.15:
            self._assume()
        for _ in range(self.pick.randrange(2, 5)):
            self._define()
        for _ in range(self.pick.randrange(1, 4)):
            self._statement(is_top=True)
        while self.accesses < 1:
            self._access()
        w.emit("tt.return")
        parameters = ", ".join(map(self._parameter, (*self.pointers, *self.integers)))
        body = "\n".join(f"  {line}" for line in w.lines)
        text = f"tt.func public @kernel({parameters}) {{\n{body}\n}}\n" + "\n".join(self.helper)
        return Kernel(self.name, text, self._launches(), self._buffers())

    # Launches.

    def _launches(self) -> tuple[Launch, ...]:
        ordinary = [self._launch(number, huge=False) for number in range(3)]
        return (*ordinary, self._launch(3, huge=True))

    def _launch(self, number: int, *, huge: bool) -> Launch:
        pick = self.pick
        sizes = [pick.randrange(1, 6) if axis in self.axes else 1 for axis in range(3)]
        if len(self.axes) > 1:
            sizes = [min(size, 3) for size in sizes]
        args: dict[str, int] = {}
        for arg in self.integers:
            step = arg.divisibility or 1
            value = pick.randrange(arg.lo // step, arg.hi // step + 1) * step
            if huge and pick.random() < 0.5:
                value = pick.randrange(2**26, 2**31 - step) // step * step
            args[arg.name] = value
        addresses = {
            arg.name: ((at + 1) << 40) + (arg.divisibility or arg.size) * (2 * number + 1)
            for at, arg in enumerate(self.pointers)
        }
        memory = {"ids": tuple(pick.randrange(0, 24) for _ in range(64))}
        grid: Program = (sizes[0], sizes[1], sizes[2])
        return Launch(grid, args, addresses, memory, pick.randrange(1000))

    def _buffers(self) -> tuple[tuple[str, int], ...]:
        sizes = (64, 200, 1000, 4096, 20000)
        return tuple((arg.name, self.pick.choice(sizes) * arg.size) for arg in self.pointers)

    # Scalars.

    def _define(self) -> None:
        w = self.w
        w.scalars.append(w.combined(w.scalar(), w.scalar()))

    def _assume(self) -> None:
        w, arg = self.w, self.pick.choice(self.integers)
        name, truth = f"%{arg.name}", w.fresh("t")
        limit = w.constant(self.pick.choice((arg.lo, arg.lo - 1)))
        w.emit(f"{truth} = arith.cmpi sge, {name}, {limit.name} : i32")
        w.emit(f"llvm.intr.assume {truth} : i1")

    def _swizzle(self) -> None:
        """Program ids in groups, as matrix products order them."""
        w, pick = self.w, self.pick
        pid = Integer(f"%pid{self.axes[0]}", 0, 7)
        columns = w.constant(pick.choice((2, 3, 4)))
        if pick.random() < 0.5:
            arg = pick.choice(self.integers)
            block = w.constant(pick.choice((4, 8)))
            raised = w.op("arith.addi", Integer(f"%{arg.name}", arg.lo, arg.hi),
                          w.constant(block.lo - 1), arg.lo, arg.hi + block.lo)  # fmt: skip
            columns = w.positive(w.op("arith.divsi", raised, block, -8, arg.hi + 1))
        if pick.random() < 0.4:
            w.scalars.append(w.op("arith.divsi", pid, columns, 0, 7))
            w.scalars.append(w.op("arith.remsi", pid, columns, 0, 7))
            return
        rows = w.positive(w.scalar())
        height = w.constant(pick.choice((2, 4)))
        group_size = w.op("arith.muli", columns, height, 2, 4 * columns.hi)
        group = w.op("arith.divsi", pid, group_size, 0, 7)
        first = w.op("arith.muli", group, height, 0, 32)
        left = w.op("arith.subi", rows, first, rows.lo - 32, rows.hi)
        size = w.op("arith.minsi", left, height, -32, 4)
        size = w.positive(size)
        inner = w.op("arith.remsi", pid, group_size, 0, 7)
        over = w.op("arith.remsi", inner, size, 0, 7)
        w.scalars.append(w.op("arith.addi", first, over, 0, 40))
        w.scalars.append(w.op("arith.divsi", inner, size, 0, 7))

    # Statements.

    def _statement(self, *, is_top: bool = False) -> None:
        pick = self.pick
        options = [self._access] * 4 + [self._if, self._if, self._choice]
        if self.depth < 2:
            options += [self._for] * 3 + [self._while, self._pointer_loop, self._pointer_loop]
        if is_top:
            options += [self._early_return, self._blocks, self._cycle, self._call, self._persistent]
            options += [self._block_loop]
        pick.choice(options)()

    def _body(self) -> None:
        self.depth += 1
        for _ in range(self.pick.choice((0, 1, 1, 2))):
            self._define()
        for _ in range(self.pick.choice((1, 1, 2)) if self.depth < 2 else 1):
            self._statement()
        self.depth -= 1

    def _if(self) -> None:
        w = self.w
        condition = w.truth(())
        w.emit(f"scf.if {condition.name} {{")
        with w.region():
            self._body()
        if self.pick.random() < 0.3:
            w.emit("} else {")
            with w.region():
                self._body()
        w.emit("}")

    def _choice(self) -> None:
        """``scf.if`` with a result."""
        w = self.w
        condition, result = w.truth(()), w.fresh("r")
        w.emit(f"{result} = scf.if {condition.name} -> (i32) {{")
        ends: list[Integer] = []
        for part in range(2):
            with w.region():
                value = w.combined(w.scalar(), w.scalar())
                if self.pick.random() < 0.3:
                    self._access()
                w.emit(f"scf.yield {value.name} : i32")
                ends.append(value)
            w.emit("} else {" if part == 0 else "}")
        low, high = min(one.lo for one in ends), max(one.hi for one in ends)
        w.scalars.append(Integer(result, low, high))
        if self.pick.random() < 0.6:
            self._access()

    def _loop_bounds(self) -> tuple[Integer, Integer, Integer]:
        w, pick = self.w, self.pick
        lower = w.constant(pick.choice((0, 0, 0, 2, -3)))
        upper = w.constant(pick.choice((0, 1, 3, 4, 7)))
        if pick.random() < 0.5:
            upper = w.op("arith.minsi", w.scalar(), w.constant(6), -9, 6)
        if pick.random() < 0.2:
            lower = Integer(f"%pid{self.axes[0]}", 0, 7)
        step = w.constant(pick.choice((1, 1, 2, 3, 4)))
        return lower, upper, step

    def _for(self) -> None:
        """A loop that carries integers: sums, triangles, what was, what changes places."""
        w, pick = self.w, self.pick
        lower, upper, step = self._loop_bounds()
        iv = w.fresh("i")
        kinds = [pick.choice(("none", "sum", "sum", "same", "triangle", "late", "wild"))]
        kinds += [pick.choice(("sum", "swap", "late"))] * (pick.random() < 0.3)
        kinds = [kind for kind in kinds if kind != "none"]
        firsts = [w.scalar() for _ in kinds]
        names = [w.fresh("x") for _ in kinds]
        result = w.fresh("r")
        many = f":{len(kinds)}" if len(kinds) > 1 else ""
        head = f"scf.for {iv} = {lower.name} to {upper.name} step {step.name}"
        if kinds:
            pairs = ", ".join(f"{n} = {f.name}" for n, f in zip(names, firsts, strict=True))
            types = ", ".join(["i32"] * len(kinds))
            w.emit(f"{result}{many} = {head} iter_args({pairs}) -> ({types}) : i32 {{")
        else:
            w.emit(f"{head} : i32 {{")
        wide = 1 << 12
        with w.region():
            counter = Integer(iv, lower.lo, max(upper.hi, lower.hi))
            carried = [
                Integer(n, f.lo - wide, f.hi + wide) for n, f in zip(names, firsts, strict=True)
            ]
            w.scalars += [counter, *carried, *carried]
            self._body()
            values = [
                self._next(kind, one, carried, counter)
                for kind, one in zip(kinds, carried, strict=True)
            ]
            if kinds:
                yielded = ", ".join(value.name for value in values)
                w.emit(f"scf.yield {yielded} : {', '.join(['i32'] * len(kinds))}")
        w.emit("}")
        for at, first in enumerate(firsts):
            name = f"{result}#{at}" if many else result
            w.scalars.append(Integer(name, first.lo - wide, first.hi + wide))
        if kinds and pick.random() < 0.5:
            self._access()

    def _next(self, kind: str, own: Integer, carried: list[Integer], counter: Integer) -> Integer:
        w, pick = self.w, self.pick
        if kind == "sum":
            step = w.constant(pick.choice((1, 4, 16, -3)))
            if pick.random() < 0.4:
                args = [one for one in w.scalars if one.name.startswith("%n")]
                step = pick.choice(args)
            return w.op("arith.addi", own, step, own.lo, own.hi)
        if kind == "triangle":
            return w.op("arith.addi", own, counter, own.lo, own.hi)
        if kind == "late":
            value = w.combined(counter, w.scalar())
            return value if abs(value.lo) + abs(value.hi) < 4096 else counter
        if kind == "swap":
            return carried[0]
        if kind == "wild":
            masked = w.op("arith.andi", own, w.constant(63), 0, 63)
            return w.op("arith.addi", masked, w.constant(5), 5, 68)
        return own

    def _while(self) -> None:
        w, pick = self.w, self.pick
        first = w.op("arith.andi", w.scalar(), w.constant(15), 0, 15)
        limit, step = w.constant(pick.choice((8, 17, 20))), w.constant(pick.choice((3, 4, 7)))
        other = w.scalar()
        x, y, result = w.fresh("x"), w.fresh("y"), w.fresh("r")
        w.emit(
            f"{result}:2 = scf.while ({x} = {first.name}, {y} = {other.name}) : "
            "(i32, i32) -> (i32, i32) {"
        )
        with w.region():
            going = w.fresh("t")
            w.emit(f"{going} = arith.cmpi slt, {x}, {limit.name} : i32")
            w.emit(f"scf.condition({going}) {x}, {y} : i32, i32")
        w.emit("} do {")
        a, b = w.fresh("a"), w.fresh("b")
        w.emit(f"^bb0({a}: i32, {b}: i32):")
        with w.region():
            mine = Integer(a, 0, 32)
            theirs = Integer(b, other.lo - 4096, other.hi + 4096)
            w.scalars += [mine, mine, theirs]
            self._body()
            following = w.op("arith.addi", mine, step, 3, 39)
            handed = theirs
            if pick.random() < 0.6:
                handed = w.op("arith.addi", theirs, w.constant(8), theirs.lo, theirs.hi)
            w.emit(f"scf.yield {following.name}, {handed.name} : i32, i32")
        w.emit("}")
        w.scalars.append(Integer(f"{result}#1", other.lo - 4096, other.hi + 4096))
        if pick.random() < 0.4:
            self._access()

    def _persistent(self) -> None:
        """Tiles dealt out to the programs there are."""
        w, pick = self.w, self.pick
        np_name, iv = w.fresh("np"), w.fresh("tile")
        axis = self.axes[0]
        w.emit(f"{np_name} = tt.get_num_programs {_AXES[axis]} : i32")
        step = Integer(np_name, 1, 8)
        if pick.random() < 0.4:
            step = w.constant(pick.choice((2, 4, 5)))
        tiles = w.constant(pick.choice((3, 6, 8)))
        w.emit(f"scf.for {iv} = %pid{axis} to {tiles.name} step {step.name} : i32 {{")
        with w.region():
            tile = Integer(iv, 0, 12)
            columns = w.constant(pick.choice((2, 3)))
            w.scalars += [tile, tile]
            if pick.random() < 0.6:
                w.scalars += [w.op("arith.divsi", tile, columns, 0, 6)] * 2
                w.scalars += [w.op("arith.remsi", tile, columns, 0, 2)] * 2
            self._body()
        w.emit("}")

    # Blocks.

    def _label(self) -> str:
        self.blocks += 1
        return f"^b{self.blocks}"

    def _early_return(self) -> None:
        w = self.w
        condition = w.truth(())
        leave, stay = self._label(), self._label()
        w.emit(f"cf.cond_br {condition.name}, {leave}, {stay}")
        w.emit(f"{leave}:")
        with w.region():
            if self.pick.random() < 0.3:
                self._access()
            w.emit("tt.return")
        w.emit(f"{stay}:")
        self._access()

    def _blocks(self) -> None:
        """Two ways that meet again, with a value from each."""
        w = self.w
        condition = w.truth(())
        one, two, meet = self._label(), self._label(), self._label()
        w.emit(f"cf.cond_br {condition.name}, {one}, {two}")
        ends: list[Integer] = []
        for label in (one, two):
            w.emit(f"{label}:")
            with w.region():
                value = w.combined(w.scalar(), w.scalar())
                if self.pick.random() < 0.3:
                    self._access()
                w.emit(f"cf.br {meet}({value.name} : i32)")
                ends.append(value)
        argument = w.fresh("m")
        w.emit(f"{meet}({argument}: i32):")
        low, high = min(end.lo for end in ends), max(end.hi for end in ends)
        w.scalars += [Integer(argument, low, high)] * 2
        self._access()

    def _cycle(self) -> None:
        """A loop made of jumps."""
        w, pick = self.w, self.pick
        head, body, leave = self._label(), self._label(), self._label()
        zero, limit = w.constant(0), w.constant(pick.choice((2, 3, 5)))
        step = w.constant(1)
        i = w.fresh("i")
        w.emit(f"cf.br {head}({zero.name} : i32)")
        w.emit(f"{head}({i}: i32):")
        going = w.fresh("t")
        w.emit(f"{going} = arith.cmpi slt, {i}, {limit.name} : i32")
        w.emit(f"cf.cond_br {going}, {body}, {leave}")
        w.emit(f"{body}:")
        with w.region():
            w.scalars += [Integer(i, 0, 5)] * 2
            self._access()
            following = w.op("arith.addi", Integer(i, 0, 5), step, 1, 6)
            w.emit(f"cf.br {head}({following.name} : i32)")
        w.emit(f"{leave}:")
        w.scalars.append(Integer(i, 0, 5))

    def _call(self) -> None:
        w, pick = self.w, self.pick
        arg = pick.choice(self.pointers[1:])
        name = f"helper{len(self.helper)}"
        inner = Writer(pick)
        inner.scalars = [Integer("%i", -4096, 4096), inner.constant(pick.choice((4, 8)))]
        outer, self.w = self.w, inner
        pointer_args, self.pointers = self.pointers, [PointerArg("p", arg.element, arg.size, None)]
        integer_args, self.integers = self.integers, []
        axes, self.axes = self.axes, []
        depth, self.depth = self.depth, 2
        self._define()
        self._access(gathers=False)
        result = inner.combined(inner.scalar(), inner.scalar())
        inner.emit(f"tt.return {result.name} : i32")
        self.w, self.pointers, self.integers, self.axes = outer, pointer_args, integer_args, axes
        self.depth = depth
        body = "\n".join(f"  {line}" for line in inner.lines)
        self.helper.append(
            f"tt.func private @{name}(%p: !tt.ptr<{arg.element}>, %i: i32) -> i32 {{\n{body}\n}}\n"
        )
        for _ in range(pick.choice((1, 2))):
            value = w.scalar()
            value = w.op("arith.andi", value, w.constant(1023), 0, 1023)
            found = w.fresh("u")
            w.emit(
                f"{found} = tt.call @{name}(%{arg.name}, {value.name}) : "
                f"(!tt.ptr<{arg.element}>, i32) -> i32"
            )
            w.scalars.append(Integer(found, result.lo, result.hi))

    # Accesses.

    def _shape(self) -> tuple[int, ...]:
        return self.pick.choice(_SHAPES)

    def _index(self, shape: tuple[int, ...]) -> Integer:
        """An index tensor: lanes with strides, scalars, and what may happen to them."""
        w, pick = self.w, self.pick
        fast = pick.choice((len(shape) - 1, len(shape) - 1, 0))
        total: Integer | None = None
        for dim in range(len(shape)):
            if shape[dim] == 1 and pick.random() < 0.7:
                continue
            lanes = w.lanes(dim, shape, pick.choice((0, 0, 0, 0, 4, 3)))
            if dim != fast or pick.random() < 0.15:
                stride = pick.choice((w.constant(pick.choice((1, 2, 8, 16, 32))), w.scalar()))
                lanes = w.mul(lanes, w.splat(stride, shape))
            if pick.random() < 0.25:
                lanes = self._bent(lanes)
            total = lanes if total is None else w.add(total, lanes)
        if total is None:
            total = w.constant(0, shape)
        for _ in range(pick.choice((1, 1, 2))):
            start = w.scalar()
            if pick.random() < 0.6:
                start = w.mul(start, w.constant(pick.choice((4, 8, 16, 32, 64, shape[fast]))))
            total = w.add(total, w.splat(start, shape))
        if pick.random() < 0.35:
            total = self._bent(total)
        return total

    def _bent(self, index: Integer) -> Integer:
        """Wrapped around, permuted, clamped or chosen."""
        w, pick = self.w, self.pick
        kind = pick.choice(("rem", "rem", "xor", "and", "min", "any", "div"))
        if kind == "rem":
            args = [one for one in w.scalars if one.lo >= 1]
            divisor = (
                pick.choice(args)
                if args and pick.random() < 0.6
                else w.constant(pick.choice((8, 16, 24, 48)))
            )
            return w.rem(index, w.splat(divisor, index.shape))
        if kind == "xor":
            return w.bits(index, index)
        if kind == "div":
            return w.div(index, w.constant(pick.choice((2, 4, 8)), index.shape))
        if kind == "and":
            mask = w.constant(pick.choice((7, 15, 63)), index.shape)
            return w.op("arith.andi", index, mask, 0, mask.hi)
        if kind == "min":
            return w.extreme(index, w.splat(w.scalar(), index.shape))
        return w.combined(index, w.splat(w.scalar(), index.shape))

    def _reshaped(self, index: Integer) -> Integer:
        """The same elements in another shape, or in another order."""
        w, pick, shape = self.w, self.pick, index.shape
        kind = pick.choice(("reshape", "trans", "join", "split", "gather", "cat", "reduce"))
        result = w.fresh("z")
        if kind == "trans" and len(shape) > 1:
            order = list(range(len(shape)))
            pick.shuffle(order)
            target = tuple(shape[source] for source in order)
            text = f"tt.trans {index.name} {{order = array<i32: {', '.join(map(str, order))}>}}"
        elif kind == "join":
            other = w.combined(index, w.splat(w.scalar(), shape))
            target = (*shape, 2)
            w.emit(
                f"{result} = tt.join {index.name}, {other.name} : {index.type} -> {tensor(target, 'i32')}"
            )
            return Integer(result, min(index.lo, other.lo), max(index.hi, other.hi), target)
        elif kind == "split" and shape[-1] == 2:
            second = w.fresh("z")
            target = shape[:-1]
            w.emit(
                f"{result}, {second} = tt.split {index.name} : {index.type} -> {tensor(target, 'i32')}"
            )
            return Integer(pick.choice((result, second)), index.lo, index.hi, target)
        elif kind == "gather" and len(shape) == 1:
            lanes = w.lanes(0, shape)
            by = w.op("arith.xori", lanes, w.constant(pick.choice((1, 4)), shape), 0, shape[0] - 1)
            w.emit(
                f"{result} = tt.gather {index.name}[{by.name}] {{axis = 0 : i32}} : "
                f"({index.type}, {by.type}) -> {index.type}"
            )
            return Integer(result, index.lo, index.hi, shape)
        elif kind == "cat" and len(shape) == 1:
            target = (2 * shape[0],)
            w.emit(
                f"{result} = tt.cat {index.name}, {index.name} : {index.type} -> {tensor(target, 'i32')}"
            )
            return Integer(result, index.lo, index.hi, target)
        elif kind == "reduce" and len(shape) > 1:
            axis = pick.randrange(len(shape))
            target = (*shape[:axis], *shape[axis + 1 :])
            w.emit(f'{result} = "tt.reduce"({index.name}) <{{axis = {axis} : i32}}> ({{')
            w.emit("^bb0(%left: i32, %right: i32):")
            w.emit("  %most = arith.maxsi %left, %right : i32")
            w.emit("  tt.reduce.return %most : i32")
            w.emit(f"}}) : ({index.type}) -> {tensor(target, 'i32')}")
            return Integer(result, index.lo, index.hi, target)
        else:
            count = 1
            for extent in shape:
                count *= extent
            rows = pick.choice([d for d in (1, 2, 4, 8, 16) if count % d == 0])
            target = pick.choice(((count,), (rows, count // rows), (2, count // 2)))
            text = f"tt.reshape {index.name}" + (" allow_reorder" if pick.random() < 0.1 else "")
        w.emit(f"{result} = {text} : {index.type} -> {tensor(target, 'i32')}")
        return Integer(result, index.lo, index.hi, target)

    def _mask(self, index: Integer) -> Truth | None:
        w, pick = self.w, self.pick
        if pick.random() < 0.3:
            return None
        bound = w.splat(w.scalar(), index.shape)
        left = index
        if index.shape and pick.random() < 0.5:
            left = w.lanes(len(index.shape) - 1, index.shape)
        if pick.random() < 0.7:
            name = w.fresh("t")
            relation = pick.choice(("slt", "slt", "slt", "sle", "sge", "ult"))
            w.emit(f"{name} = arith.cmpi {relation}, {left.name}, {bound.name} : {left.type}")
            mask = Truth(name, index.shape)
        else:
            mask = w.compared(left, bound)
        if pick.random() < 0.3:
            other = w.truth(index.shape) if pick.random() < 0.5 else w.compared(index, bound)
            mask = w.both(mask, other)
        return mask

    def _access(self, gathers: bool = True) -> None:
        self.accesses += 1
        kind = self.pick.random()
        if gathers and kind < 0.1:
            self._descriptor()
        elif gathers and kind < 0.18:
            self._block_pointer()
        elif kind < 0.28:
            self._scalar_access()
        else:
            self._tensor_access(gathers)

    def _tensor_access(self, gathers: bool) -> None:
        w, pick = self.w, self.pick
        index = self._index(self._shape())
        if pick.random() < 0.3:
            index = self._reshaped(index)
        if not index.shape:
            return
        arg = pick.choice(self.pointers[1:] or self.pointers)
        if gathers and pick.random() < 0.2:
            index = self._gathered(index)
        base = self._moved_base(arg)
        name, pointer = w.fresh("s"), w.fresh("p")
        type = pointers(index.shape, arg.element)
        w.emit(f"{name} = tt.splat {base} : !tt.ptr<{arg.element}> -> {type}")
        w.emit(f"{pointer} = tt.addptr {name}, {index.name} : {type}, {index.type}")
        self._touch(arg, pointer, index, self._mask(index))

    def _touch(self, arg: PointerArg, pointer: str, index: Integer, mask: Truth | None) -> None:
        """Load, store or add."""
        w, pick = self.w, self.pick
        type = pointers(index.shape, arg.element)
        masked = "" if mask is None else f", {mask.name}"
        kind = pick.random()
        if kind < 0.4:
            w.emit(f"{w.fresh('d')} = tt.load {pointer}{masked} : {type}")
            return
        value = w.fresh("d")
        number = "0" if arg.element.startswith("i") else "0.0"
        text = f"dense<{number}>" if index.shape else number
        data = tensor(index.shape, arg.element)
        w.emit(f"{value} = arith.constant {text} : {data}")
        if kind < 0.9 or arg.element != "i32":
            w.emit(f"tt.store {pointer}, {value}{masked} : {type}")
            return
        truth = tensor(index.shape, "i1")
        types = f"({type}, {data}{'' if mask is None else f', {truth}'}) -> {data}"
        w.emit(
            f"{w.fresh('d')} = tt.atomic_rmw add, acq_rel, gpu, {pointer}, {value}{masked} : {types}"
        )

    def _gathered(self, index: Integer) -> Integer:
        """Indices that are loaded, one per lane or one for all."""
        w, pick = self.w, self.pick
        if pick.random() < 0.5:
            loaded = self._loaded_scalar()
            return w.add(index, w.splat(loaded, index.shape))
        small = w.op("arith.andi", index, w.constant(31, index.shape), 0, 31)
        name, pointer, result = w.fresh("s"), w.fresh("p"), w.fresh("g")
        type = pointers(index.shape, "i32")
        w.emit(f"{name} = tt.splat %ids : !tt.ptr<i32> -> {type}")
        w.emit(f"{pointer} = tt.addptr {name}, {small.name} : {type}, {small.type}")
        w.emit(f"{result} = tt.load {pointer} : {type}")
        found = Integer(result, 0, 24, index.shape)
        return w.add(w.mul(found, w.constant(8, index.shape)), index)

    def _loaded_scalar(self) -> Integer:
        w = self.w
        at = w.op("arith.andi", w.scalar(), w.constant(31), 0, 31)
        pointer, result = w.fresh("p"), w.fresh("g")
        w.emit(f"{pointer} = tt.addptr %ids, {at.name} : !tt.ptr<i32>, i32")
        w.emit(f"{result} = tt.load {pointer} : !tt.ptr<i32>")
        return Integer(result, 0, 24)

    def _moved_base(self, arg: PointerArg) -> str:
        """The pointer as it is, moved by a scalar, through an integer, or chosen."""
        w, pick = self.w, self.pick
        type = f"!tt.ptr<{arg.element}>"
        kind = pick.random()
        if kind < 0.55:
            return f"%{arg.name}"
        moved = w.fresh("p")
        w.emit(f"{moved} = tt.addptr %{arg.name}, {w.scalar().name} : {type}, i32")
        if kind < 0.8:
            return moved
        if kind < 0.9:
            truth, result = w.truth(()), w.fresh("p")
            w.emit(f"{result} = arith.select {truth.name}, {moved}, %{arg.name} : {type}")
            return result
        number, by, wide, sum, result = (w.fresh("a") for _ in range(5))
        w.emit(f"{number} = tt.ptr_to_int {moved} : {type} -> i64")
        scale = w.constant(pick.choice((arg.size, 16)))
        steps = w.mul(w.op("arith.andi", w.scalar(), w.constant(255), 0, 255), scale)
        w.emit(f"{by} = arith.extsi {steps.name} : i32 to i64")
        w.emit(f"{sum} = arith.addi {number}, {by} : i64")
        w.emit(f"{result} = tt.int_to_ptr {sum} : i64 -> {type}")
        w.emit(f"{wide} = arith.constant 0 : i64")
        return result

    def _scalar_access(self) -> None:
        w = self.w
        arg = self.pick.choice(self.pointers[1:] or self.pointers)
        index = w.combined(w.scalar(), w.scalar())
        pointer = w.fresh("p")
        w.emit(
            f"{pointer} = tt.addptr {self._moved_base(arg)}, {index.name} : !tt.ptr<{arg.element}>, i32"
        )
        self._touch(arg, pointer, index, self._mask(index))

    def _wide(self, value: Integer) -> str:
        name = self.w.fresh("w")
        self.w.emit(f"{name} = arith.extsi {value.name} : i32 to i64")
        return name

    def _one(self) -> str:
        name = self.w.fresh("c")
        self.w.emit(f"{name} = arith.constant 1 : i64")
        return name

    def _descriptor(self) -> None:
        w, pick = self.w, self.pick
        arg = pick.choice([p for p in self.pointers[1:] if p.size <= 4] or self.pointers)
        rows, columns = pick.choice((4, 8)), pick.choice((16, 32))
        height, width = w.positive(w.scalar()), w.positive(w.scalar())
        stride, one, name = self._wide(w.positive(w.scalar())), self._one(), w.fresh("desc")
        block = f"{rows}x{columns}x{arg.element}"
        w.emit(
            f"{name} = tt.make_tensor_descriptor %{arg.name}, [{height.name}, {width.name}], "
            f"[{stride}, {one}] : <{arg.element}>, <{block}>"
        )
        at = [w.scalar(), w.scalar()]
        data = f"tensor<{block}>"
        value = w.fresh("d")
        places = ", ".join(one.name for one in at)
        w.emit(f"{value} = tt.descriptor_load {name}[{places}] : !tt.tensordesc<{block}> -> {data}")
        if pick.random() < 0.5:
            w.emit(
                f"tt.descriptor_store {name}[{places}], {value} : !tt.tensordesc<{block}>, {data}"
            )

    def _block_made(self, arg: PointerArg, block: str) -> str:
        w = self.w
        shape = ", ".join(self._wide(w.scalar()) for _ in range(2))
        strides = f"{self._wide(w.scalar())}, {self._one()}"
        if self.pick.random() < 0.3:
            strides = f"{self._one()}, {self._wide(w.scalar())}"
        offsets = ", ".join(w.scalar().name for _ in range(2))
        name = w.fresh("blk")
        w.emit(
            f"{name} = tt.make_tensor_ptr %{arg.name}, [{shape}], [{strides}], [{offsets}] "
            f"{{order = array<i32: 1, 0>}} : <tensor<{block}>>"
        )
        return name

    def _block_touch(self, arg: PointerArg, name: str, block: str) -> None:
        w, pick = self.w, self.pick
        checks = pick.choice(
            ("", " {boundaryCheck = array<i32: 0, 1>}", " {boundaryCheck = array<i32: 1>}")
        )
        w.emit(f"{w.fresh('d')} = tt.load {name}{checks} : !tt.ptr<tensor<{block}>>")

    def _block_pointer(self) -> None:
        w, pick = self.w, self.pick
        arg = pick.choice(self.pointers[1:])
        block = f"{pick.choice((4, 8))}x{pick.choice((8, 16))}x{arg.element}"
        name = self._block_made(arg, block)
        if pick.random() < 0.5:
            moved = w.fresh("blk")
            steps = f"{w.scalar().name}, {w.constant(8).name}"
            w.emit(f"{moved} = tt.advance {name}, [{steps}] : <tensor<{block}>>")
            name = moved
        self._block_touch(arg, name, block)

    def _block_loop(self) -> None:
        """A block pointer that a loop carries."""
        w, pick = self.w, self.pick
        self.accesses += 1
        arg = pick.choice(self.pointers[1:])
        block = f"{pick.choice((4, 8))}x{pick.choice((8, 16))}x{arg.element}"
        name = self._block_made(arg, block)
        lower, upper, step = self._loop_bounds()
        by = w.constant(pick.choice((4, 8)))
        zero, iv, it, result, moved = (w.constant(0).name, *(w.fresh("k") for _ in range(4)))
        type = f"!tt.ptr<tensor<{block}>>"
        w.emit(
            f"{result} = scf.for {iv} = {lower.name} to {upper.name} step {step.name} "
            f"iter_args({it} = {name}) -> ({type}) : i32 {{"
        )
        self._block_touch(arg, it, block)
        w.emit(f"{moved} = tt.advance {it}, [{zero}, {by.name}] : <tensor<{block}>>")
        w.emit(f"scf.yield {moved} : {type}")
        w.emit("}")

    def _pointer_loop(self) -> None:
        """A tensor of pointers that a loop moves on."""
        w, pick = self.w, self.pick
        self.accesses += 1
        arg = pick.choice(self.pointers[1:])
        index = self._index(self._shape())
        type = pointers(index.shape, arg.element)
        start, first = w.fresh("s"), w.fresh("p")
        w.emit(f"{start} = tt.splat %{arg.name} : !tt.ptr<{arg.element}> -> {type}")
        w.emit(f"{first} = tt.addptr {start}, {index.name} : {type}, {index.type}")
        lower, upper, step = self._loop_bounds()
        iv, it, result, following = (w.fresh("k") for _ in range(4))
        w.emit(
            f"{result} = scf.for {iv} = {lower.name} to {upper.name} step {step.name} "
            f"iter_args({it} = {first}) -> ({type}) : i32 {{"
        )
        with w.region():
            counter = Integer(iv, lower.lo, max(lower.hi, upper.hi))
            w.scalars.append(counter)
            self._touch(arg, it, index, self._mask(index))
            by = pick.choice((w.constant(pick.choice((8, 16, 64))), w.scalar(), counter))
            if pick.random() < 0.15:
                by = self._loaded_scalar()
            spread = w.splat(by, index.shape)
            w.emit(f"{following} = tt.addptr {it}, {spread.name} : {type}, {index.type}")
            w.emit(f"scf.yield {following} : {type}")
        w.emit("}")
        if pick.random() < 0.3:
            self._touch(arg, result, index, None)
