"""Random accesses: index tensors and what may happen to them, masks, bases, blocks.

Everything a random kernel does with memory, given a writer and the scalars in sight.
"""

from __future__ import annotations

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

_SHAPES = (
    (8,), (16,), (32,), (64,), (4, 8), (8, 4), (2, 16), (16, 2), (8, 16), (1, 16), (16, 1),
    (2, 4, 4), (4, 2, 8), (2, 1, 8), (4, 4, 2),
)  # fmt: skip


class AccessMaker:
    """Writes accesses; what kernels are made of besides is in ``kernels``."""

    pointers: list[PointerArg]
    integers: list[IntegerArg]
    axes: list[int]

    def __init__(self, pick: Random) -> None:
        self.pick = pick
        self.w = Writer(pick)
        self.accesses = 0

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
