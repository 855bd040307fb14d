"""Random kernels, made of every construct, mean in IR what they mean in Python.

The programs are text, so each run also finds source through `linecache`. They are valid by
construction: a variable is read only where every way to that place has given it a value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.frontend.interpreter import executed, expected
from tests.frontend.mini import compiled
from tests.sampling import examples

NAMES = ("a", "b", "c", "d")


@dataclass
class Program:
    """Writes one function; `draw` decides."""

    draw: Any
    returns: bool
    lines: list[str] = field(default_factory=list)
    fresh: int = 0

    def choose(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def number(self, known: frozenset[str], depth: int = 2) -> str:
        kind = self.choose("name", "constant", "sum", "if", "load") if depth else "name"
        if kind == "name":
            return self.choose(*sorted(known))
        if kind == "constant":
            return str(self.choose(-3, 0, 1, 2, 5))
        if kind == "load":
            return f"load({self.number(known, depth - 1)})"
        left, right = self.number(known, depth - 1), self.number(known, depth - 1)
        if kind == "sum":
            return f"({left} {self.choose('+', '-')} {right})"
        return f"({left} if {self.condition(known, depth - 1)} else {right})"

    def condition(self, known: frozenset[str], depth: int = 2) -> str:
        kind = self.choose("compare", "and", "or", "not", "chain", "known") if depth else "compare"
        if kind == "known":
            return self.choose("True", "FLAG", "not FLAG")
        if kind == "not":
            return f"not {self.condition(known, depth - 1)}"
        if kind in ("and", "or"):
            left, right = self.condition(known, depth - 1), self.condition(known, depth - 1)
            return f"({left} {kind} {right})"
        op = self.choose("<", ">", "==")
        left, right = self.number(known, 1), self.number(known, 1)
        if kind == "chain":
            return f"({left} {op} {right} {self.choose('<', '>')} {self.number(known, 1)})"
        # Two constants compare to a constant, which is fine too.
        return f"({left} {op} {right})"

    def block(
        self, known: frozenset[str], indent: int, depth: int, in_loop: bool
    ) -> frozenset[str]:
        for _ in range(self.choose(1, 2, 3)):
            known = self.statement(known, indent, depth, in_loop)
        return known

    def write(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def statement(
        self, known: frozenset[str], indent: int, depth: int, in_loop: bool
    ) -> frozenset[str]:
        kinds = ["assign", "assign", "change", "store", "pair"]
        if depth:
            kinds += ["if", "if", "for", "while", "unrolled"]
            if self.returns and not in_loop:
                kinds += ["return"]
        return getattr(self, f"_{self.choose(*kinds)}")(known, indent, depth, in_loop)

    def _assign(self, known, indent, depth, in_loop):
        name = self.choose(*NAMES)
        self.write(indent, f"{name} = {self.number(known)}")
        return known | {name}

    def _change(self, known, indent, depth, in_loop):
        # What counts turns stays as it is: loops end, and that of an unrolled one is a constant.
        changeable = sorted(known & set(NAMES))
        if not changeable:
            return self._assign(known, indent, depth, in_loop)
        name = self.choose(*changeable)
        self.write(indent, f"{name} {self.choose('+=', '-=')} {self.number(known, 1)}")
        return known

    def _pair(self, known, indent, depth, in_loop):
        first, second = NAMES[0], self.choose(*NAMES[1:])
        self.write(indent, f"{first}, {second} = {self.number(known, 1)}, {self.number(known, 1)}")
        return known | {first, second}

    def _store(self, known, indent, depth, in_loop):
        self.write(indent, f"store({self.number(known, 1)}, {self.number(known)})")
        return known

    def _return(self, known, indent, depth, in_loop):
        self.write(indent, f"if {self.condition(known)}:")
        self.write(indent + 1, f"return {self.number(known)}")
        return known

    def _if(self, known, indent, depth, in_loop):
        self.write(indent, f"if {self.condition(known)}:")
        then = self.block(known, indent + 1, depth - 1, in_loop)
        if self.choose(True, False):
            return known
        self.write(indent, "else:")
        return then & self.block(known, indent + 1, depth - 1, in_loop)

    def _for(self, known, indent, depth, in_loop):
        self.fresh += 1
        name = f"i{self.fresh}"
        bounds = self.choose("3", "n", "m - n", "1, 4", "0, 6, 2")
        self.write(indent, f"for {name} in range({bounds}):")
        self.block(known | {name}, indent + 1, depth - 1, True)
        return known

    def _unrolled(self, known, indent, depth, in_loop):
        self.fresh += 1
        name = f"i{self.fresh}"
        self.write(indent, f"for {name} in static_range({self.choose(0, 1, 3)}):")
        self.block(known | {name}, indent + 1, depth - 1, in_loop)
        return known

    def _while(self, known, indent, depth, in_loop):
        self.fresh += 1
        name = f"w{self.fresh}"
        self.write(indent, f"{name} = {self.choose('n', 'm', '3')}")
        # A bound in the body's first statement: whatever follows, the loop ends.
        self.write(indent, f"while {name} > 0 and {self.condition(known, 1)}:")
        self.write(indent + 1, f"{name} -= 1")
        self.block(known | {name}, indent + 1, depth - 1, True)
        return known | {name}


@st.composite
def sources(draw: Any) -> str:
    """A helper that returns a value, and a kernel that calls it."""
    helper = Program(draw, returns=True)
    helper.write(0, "@jit")
    helper.write(0, "def helper(n, m, FLAG: constexpr):")
    known = helper.block(frozenset("nm"), 1, 2, False)
    helper.write(1, f"return {helper.number(known)}")
    kernel = Program(draw, returns=False)
    kernel.write(0, "@jit")
    kernel.write(0, "def kernel(n, m, FLAG: constexpr):")
    known = kernel.block(frozenset("nm"), 1, 3, False)
    kernel.write(1, "store(100, helper(n, m, FLAG))")
    kernel.write(1, f"store({kernel.number(known)}, {kernel.number(known)})")
    kernel.write(1, f"for i in range({kernel.choose('2', 'n')}):")
    kernel.write(2, "store(i, helper(i, m, not FLAG))")
    return "\n".join([*helper.lines, "", *kernel.lines, ""])


@settings(max_examples=examples(45))
@given(sources(), st.sampled_from([(0, 2), (3, 1), (2, 4), (-1, -2)]), st.booleans())
def test_random_kernels(source: str, values: tuple[int, int], flag: bool) -> None:
    kernel = compiled(source)["kernel"]
    assert executed(kernel, *values, FLAG=flag) == expected(kernel, *values, FLAG=flag)
