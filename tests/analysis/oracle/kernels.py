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

from tests.analysis.oracle.access_maker import AccessMaker
from tests.analysis.oracle.builder import Integer, IntegerArg, PointerArg, Writer
from tests.analysis.oracle.recording import Launch, Program

_AXES = "xyz"
_ELEMENTS = (("f32", 4), ("f32", 4), ("f16", 2), ("i8", 1), ("f64", 8), ("i32", 4))


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


class _Maker(AccessMaker):
    def __init__(self, pick: Random, name: str) -> None:
        super().__init__(pick)
        self.name = name
        self.helper: list[str] = []
        self.depth = 0
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
