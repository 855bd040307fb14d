"""Statements of a random kernel: each uses whole buffers, as circular buffers require."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from tests.fuzz.tenstorrent import values
from tests.fuzz.tenstorrent.expressions import AXES, Expressions
from tests.fuzz.tenstorrent.scope import Dim, Memory, Scope
from tests.fuzz.tenstorrent.values import EXACT, Known, Value

INPUT = Known(4.0)
"""Elements of inputs are integers of up to this magnitude."""
FAMILIES = (
    ("bfloat16", "bfloat16", "bfloat16", "float32", "float32"),
    ("float16", "float16", "float16", "float32", "float32"),
)
"""Element types of one kernel: circular buffers of 5 and of 8 exponent bits do not go together."""


class Statements(Expressions):
    """Random statements, written line by line."""

    lines: list[str]
    tensors: list[Memory]
    dims: dict[str, Dim]
    is_batched: bool
    floats: tuple[str, ...]
    outputs: dict[str, Known]
    _indent = 2

    # -- text ------------------------------------------------------------------------------------

    def add(self, line: str) -> None:
        self.lines.append("    " * self._indent + line)

    @contextmanager
    def block(self, header: str) -> Generator[None]:
        self.add(header)
        self._indent += 1
        yield
        self._indent -= 1

    # -- memory ----------------------------------------------------------------------------------

    def buffer(self, dims: tuple[Dim, ...], dtype: str, space: str | None = None) -> Memory:
        name = f"b{len(self.buffers)}"
        space = space or self.rng.choice(("shared", "fragment"))
        made = Memory(name, dims, dtype, space)
        self.buffers.append(made)
        return made

    def tensor(self, dims: tuple[Dim, ...], dtype: str, role: str) -> Memory:
        if role == "input":
            same = [each for each in self.tensors
                    if each.dims == dims and each.dtype == dtype and each.role == role]  # fmt: skip
            if same and self.rng.random() < 0.6:
                return self.rng.choice(same)
        letter = {"input": "A", "output": "O"}[role]
        made = Memory(f"{letter}{len(self.tensors)}", dims, dtype, role=role)
        self.tensors.append(made)
        return made

    def box(self, tensor: Memory, scope: Scope) -> str:
        """The block of a tensor that this block of the kernel processes."""
        is_slice = self.rng.random() < 0.3
        index: list[str] = []
        for dim in tensor.dims:
            start = self.offset(dim, scope)
            if dim.name == "m" and self.rows and tensor.role == "input" and self.rng.random() < 0.4:
                start = f"{self.rows.name}[by]"
            whole = dim.blocks == 1 and dim.block == dim.size
            if is_slice and whole:
                index.append(":")
            elif is_slice:
                index.append(f"{start} : {start} + {dim.block}")
            else:
                index.append(start)
        batch = ["bz"] * self.is_batched
        return f"{tensor.name}[{', '.join([*batch, *index])}]"

    # -- statements ------------------------------------------------------------------------------

    def statement(self, scope: Scope) -> None:
        rng = self.rng
        kinds = [self.load] * 3 + [self.elementwise] * 6 + [self.reduction] * 3 + [self.fill]
        kinds += [self.gemm] * 3 + [self.move] * 2 + [self.transpose] + [self.accumulate] * 3
        if any(each.dtype == "int32" for each in self.buffers):
            kinds += [self.integers] * 3
        if scope.depth < 2:
            kinds += [self.branch]
        for _ in range(8):
            if rng.choice(kinds)(scope):
                return

    def writable(self, scope: Scope) -> list[Memory]:
        """The buffers of floats that may be written."""
        found = [each for each in self.buffers if scope.may_write(each.name)]
        return [each for each in found if each.dtype != "int32"]

    def integers(self, scope: Scope) -> bool:
        """A loop on int32 elements, or a load of them."""
        found = [each for each in self.buffers if each.dtype == "int32"]
        found = [each for each in found if scope.may_write(each.name)]
        if not found:
            return False
        target = self.rng.choice(found)
        value = self.integer(target.dims, scope)
        if value is None or value.bound > 500:
            tensor = self.tensor(target.dims, "int32", "input")
            self.add(f"T.copy({self.box(tensor, scope)}, {target.name})")
            scope.known[target.name] = INPUT
            return True
        floats = self.leaf(target.dims, scope)
        if self.rng.random() < 0.3 and floats.known.is_exact:
            value = Value(f"T.cast({floats.text}, 'int32')", "int32", floats.known)
        with self.loop_over(target.dims):
            self.add(f"{target.name}[{self.names(target.dims)}] = {value.text}")
        scope.known[target.name] = value.known
        return True

    def load(self, scope: Scope) -> bool:
        found = self.writable(scope)
        if not found:
            return False
        target = self.rng.choice(found)
        self.load_into(target, scope)
        return True

    def load_into(self, target: Memory, scope: Scope) -> None:
        dtype = target.dtype if self.rng.random() < 0.8 else self.rng.choice(self.floats)
        tensor = self.tensor(target.dims, dtype, "input")
        self.add(f"T.copy({self.box(tensor, scope)}, {target.name})")
        scope.known[target.name] = INPUT

    def ready(self, buffer: Memory, scope: Scope) -> bool:
        """Make sure that a buffer holds values."""
        if buffer.name in scope.known:
            return True
        if not scope.may_write(buffer.name):
            return False
        self.load_into(buffer, scope)
        return True

    def fill(self, scope: Scope) -> bool:
        found = self.writable(scope)
        if not found:
            return False
        target = self.rng.choice(found)
        content = self.rng.choice((0, 0, 1, -2, 3))
        text = f"T.fill({target.name}, {content})" if content else f"T.clear({target.name})"
        same = [each for each in self.scalars if each.dtype == target.dtype]
        if same and self.rng.random() < 0.3:
            text, content = f"T.fill({target.name}, {same[0].name})", same[0].value
        self.add(text)
        scope.known[target.name] = Known(abs(content))
        return True

    def move(self, scope: Scope) -> bool:
        """A copy on the chip, which may convert."""
        pairs = [
            (source, target)
            for source in self.buffers if source.name in scope.known
            for target in self.writable(scope)
            if source is not target and source.dims == target.dims and source.dtype != "int32"
        ]  # fmt: skip
        if not pairs:
            return False
        source, target = self.rng.choice(pairs)
        self.add(f"T.copy({source.name}, {target.name})")
        scope.known[target.name] = scope.known[source.name].rounded(target.dtype)
        return True

    def transpose(self, scope: Scope) -> bool:
        pairs = [
            (source, target)
            for source in self.buffers if source.name in scope.known and len(source.dims) == 2
            for target in self.writable(scope)
            if source.dims == target.dims[::-1] and source.dtype == target.dtype
        ]  # fmt: skip
        if not pairs:
            return False
        source, target = self.rng.choice(pairs)
        self.add(f"T.transpose({source.name}, {target.name})")
        scope.known[target.name] = scope.known[source.name]
        return True

    def elementwise(self, scope: Scope) -> bool:
        """A loop over a block that writes one or two buffers, or a tensor."""
        rng = self.rng
        found = self.writable(scope)
        if not found:
            return False
        target = rng.choice(found)
        if not self.readable(target.dims, scope):
            self.load_into(target, scope)
        direct = self.direct_read(target.dims, scope) if rng.random() < 0.1 else None
        value = self.stored(self.value(target.dims, scope, rng.choice((1, 2, 2, 3, 4))), target)
        if direct is not None:
            value = self.stored(values.binary(rng.choice("+-*"), value, direct), target)
        if value.known.is_coarse:
            return False
        with self.loop_over(target.dims):
            name = f"{target.name}[{self.names(target.dims)}]"
            before = scope.known.get(target.name)
            if before is not None and rng.random() < 0.15:
                self._conditional(name, value, target, scope)
                known = value.known.joined(before)
            else:
                self.add(f"{name} = {value.text}")
                known = value.known
            scope.known[target.name] = known
            others = [each for each in found if each is not target and each.dims == target.dims]
            if others and rng.random() < 0.15:
                self._second(target, rng.choice(others), scope)
        return True

    def names(self, dims: tuple[Dim, ...]) -> str:
        return "i, j" if len(dims) == 2 else "i"

    @contextmanager
    def loop_over(self, dims: tuple[Dim, ...]) -> Generator[None]:
        """``T.Parallel``, its indices in either order."""
        pairs = list(zip(("i", "j"), (str(dim.block) for dim in dims), strict=False))
        if self.rng.random() < 0.15:
            pairs.reverse()
        names, extents = (", ".join(each) for each in zip(*pairs, strict=True))
        with self.block(f"for {names} in T.Parallel({extents}):"):
            yield

    def _conditional(self, name: str, value: Value, target: Memory, scope: Scope) -> None:
        """A store under a condition; ``else`` stores the value of before, negated."""
        with self.block(f"if {self.condition(target.dims, scope)}:"):
            self.add(f"{name} = {value.text}")
        if self.rng.random() < 0.3:
            with self.block("else:"):
                self.add(f"{name} = -{name}")

    def _second(self, first: Memory, target: Memory, scope: Scope) -> None:
        """Another store of the same loop, which may read what the first has written."""
        value = self.stored(self.value(target.dims, scope, 1), target)
        name = f"{first.name}[{self.names(first.dims)}]"
        own = Value(name, first.dtype, scope.known[first.name])
        value = self.stored(values.binary(self.rng.choice(("+", "max")), value, own), target)
        if not value.known.is_coarse:
            self.add(f"{target.name}[{self.names(target.dims)}] = {value.text}")
            scope.known[target.name] = value.known

    def direct_read(self, dims: tuple[Dim, ...], scope: Scope) -> Value:
        """An element of a tensor in global memory."""
        dtype = self.rng.choice(self.floats)
        tensor = self.tensor(dims, dtype, "input")
        index = [
            f"{self.offset(dim, scope)} + {name}" for dim, name in zip(dims, "ij", strict=False)
        ]
        batch = ["bz"] * self.is_batched
        return Value(f"{tensor.name}[{', '.join([*batch, *index])}]", dtype, INPUT)

    def reduction(self, scope: Scope) -> bool:
        rng = self.rng
        pairs = [
            (source, target, axis)
            for source in self.buffers if len(source.dims) == 2 and source.name in scope.known
            and source.dtype != "int32"
            for axis in (0, 1)
            for target in self.buffers
            if target.dims == (source.dims[1 - axis],) and target.dtype == source.dtype
            and (AXES[target.dims[0].name] == 1 - axis or rng.random() < 0.2)
            and not scope.known[source.name].is_coarse
        ]  # fmt: skip
        if not pairs:
            return False
        source, target, axis = rng.choice(pairs)
        known = scope.known[source.name]
        kind = rng.choice(("sum", "sum", "max", "max", "min", "absmax", "abssum"))
        is_sum = kind in ("sum", "abssum")
        total = known
        if is_sum:
            extent = source.dims[axis].block
            total = Known(known.bound * extent, known.error * extent).rounded(target.dtype)
        is_growing = target.name in scope.growing
        if (
            total.is_coarse
            or total.bound > 4000
            or not (is_growing or scope.may_write(target.name))
        ):
            return False
        if is_growing:
            if is_sum and not self._grow(target, total, scope):
                return False
            if not is_sum and total.bound > scope.known[target.name].bound:
                return False
            if not is_sum and total.error > scope.known[target.name].error:
                return False
        clears = not is_growing and (target.name not in scope.known or rng.random() < 0.7)
        shown = axis if rng.random() < 0.5 else axis - 2
        option = "" if clears else ", clear=False"
        self.add(f"T.reduce_{kind}({source.name}, {target.name}, dim={shown}{option})")
        if not is_growing:
            before = scope.known.get(target.name)
            if clears or before is None:
                scope.known[target.name] = total
            elif is_sum:
                grown = Known(total.bound + before.bound, total.error + before.error)
                scope.known[target.name] = grown.rounded(target.dtype)
            else:
                scope.known[target.name] = total.joined(before)
        return True

    def gemm(self, scope: Scope) -> bool:
        rng = self.rng
        matrices = [each for each in self.buffers if len(each.dims) == 2 and each.dtype != "int32"]
        found: list[tuple[Memory, Memory, Memory, bool, bool]] = []
        for c in matrices:
            if (c.dtype, c.space) != ("float32", "fragment") or not (
                scope.may_write(c.name) or c.name in scope.growing
            ):
                continue
            for a in matrices:
                for b in matrices:
                    if a.dtype != b.dtype or c in (a, b) or b.space != "shared":
                        continue
                    for flips in ((False, False), (True, False), (False, True), (True, True)):
                        left = a.dims[::-1] if flips[0] else a.dims
                        right = b.dims[::-1] if flips[1] else b.dims
                        if (left[0], right[1]) == c.dims and left[1] == right[0]:
                            found.append((a, b, c, *flips))
        if not found:
            return False
        a, b, c, flip_a, flip_b = rng.choice(found)
        if not (self.ready(a, scope) and self.ready(b, scope)):
            return False
        one, other = scope.known[a.name], scope.known[b.name]
        inner = a.dims[0 if flip_a else 1].block
        total = Known(
            inner * one.bound * other.bound,
            inner * (one.error * other.bound + other.error * one.bound),
        ).rounded("float32")
        if total.is_coarse or total.bound > EXACT["float32"] / 64:
            return False
        clears = c.name not in scope.growing and (c.name not in scope.known or rng.random() < 0.3)
        if c.name in scope.growing:
            if not self._grow(c, total, scope):
                return False
        else:
            before = Known(0.0) if clears else scope.known[c.name]
            scope.known[c.name] = Known(
                before.bound + total.bound, before.error + total.error
            ).rounded("float32")
        if inner > 1 and rng.random() < 0.1:
            self._written_out(a, b, c, flip_a, flip_b, clears=clears)
            return True
        options = ["transpose_A=True"] * flip_a + ["transpose_B=True"] * flip_b
        options += ["clear_accum=True"] * clears
        if c.name in scope.growing and "k" in scope.loops and rng.random() < 0.15:
            options.append(f"clear_accum=kx == {rng.choice((0, 0, 1))}")
        self.add(f"T.gemm({', '.join([a.name, b.name, c.name, *options])})")
        return True

    def _written_out(
        self, a: Memory, b: Memory, c: Memory, flip_a: bool, flip_b: bool, *, clears: bool
    ) -> None:
        """A GEMM as the loops that it is."""
        if clears:
            self.add(f"T.clear({c.name})")
        extents = ", ".join(map(str, c.blocks))
        inner = a.dims[0 if flip_a else 1].block
        left = f"{a.name}[q, i]" if flip_a else f"{a.name}[i, q]"
        right = f"{b.name}[j, q]" if flip_b else f"{b.name}[q, j]"
        factors = [f"T.cast({each}, 'float32')" for each in (left, right)]
        loops = f"for i, j in T.Parallel({extents}):", f"for q in T.serial({inner}):"
        with self.block(loops[0]), self.block(loops[1]):
            self.add(f"{c.name}[i, j] += {' * '.join(factors)}")

    # -- accumulators ----------------------------------------------------------------------------

    def _grow(self, target: Memory, by: Known, scope: Scope) -> bool:
        """Take what one iteration adds from the budget of an accumulator."""
        left = scope.growing[target.name]
        if by.bound > left or (not by.is_exact and scope.known[target.name].is_exact):
            return False
        if by.error > 2.0**-7 * by.bound:
            return False
        scope.growing[target.name] = left - by.bound
        return True

    def accumulate(self, scope: Scope) -> bool:
        """One more term of a sum or a maximum that a loop computes."""
        found = [each for each in self.buffers if each.name in scope.growing]
        if not found:
            return False
        target = self.rng.choice(found)
        hidden = scope.inner()
        del hidden.known[target.name]
        value = self.stored(self.value(target.dims, hidden, 2), target)
        element = f"{target.name}[{self.names(target.dims)}]"
        now = scope.known[target.name]
        if self.rng.random() < 0.3 and value.bound <= now.bound and value.error <= now.error:
            text = f"{element} = T.max({element}, {value.text})"
        elif self._grow(target, value.known, scope):
            text = f"{element} {self.rng.choice(('+=', '-='))} {value.text}"
        else:
            return False
        with self.loop_over(target.dims):
            self.add(text)
        return True

    # -- control flow ----------------------------------------------------------------------------

    def branch(self, scope: Scope) -> bool:
        """Some statements for some blocks or iterations only."""
        rng = self.rng
        indices = [*(name for name in self.indices), *(f"{dim}x" for dim in scope.loops)]
        if not indices or not any(scope.may_write(name) for name in scope.known):
            return False
        integers = [each.name for each in self.scalars if each.dtype == "int32"]
        name = rng.choice(integers if integers and rng.random() < 0.3 else indices)
        inner = scope.inner()
        inner.only_ready = True
        inner.growing = {}
        inner.frozen |= set(scope.growing)
        mark = len(self.lines)
        with self.block(f"if {name} {rng.choice(('>', '<', '==', '!='))} {rng.randint(0, 2)}:"):
            first = len(self.lines)
            for _ in range(rng.randint(1, 2)):
                self.statement(inner)
            if len(self.lines) == first:
                del self.lines[mark:]
        for each, known in inner.known.items():
            scope.known[each] = known.joined(scope.known.get(each, known))
        return True

    indices: tuple[str, ...] = ()
