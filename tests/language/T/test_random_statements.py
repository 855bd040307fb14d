"""Random programs over mutable scalars do in a kernel what they do in Python.

The text of a program is executed twice: traced as `T`, and by Python itself with ``T.alloc_var`` a
plain variable and ``T.serial`` a range.
"""

import random

import numpy as np
import pytest

from tests.language.T.test_meaning import run

CELLS = ("x", "y", "z")


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._names = 0
        self.lines: list[str] = []

    def name(self, stem: str) -> str:
        self._names += 1
        return f"{stem}{self._names}"

    def value(self, known: list[str]) -> str:
        rng = self._rng
        left, right = (rng.choice([*CELLS, *known, "A[x % 8]", "2", "5"]) for _ in range(2))
        form = rng.choice(["({} + {})", "({} - {})", "({} * {})", "min({}, {})", "({} ^ {})"])
        return form.format(left, right) + f" % {rng.choice([13, 101, 1009])}"

    def test(self, known: list[str]) -> str:
        rng = self._rng
        form = rng.choice(
            ["{} < {}", "{} >= {}", "{} % 3 == 1 or {} < 4", "{} > 2 and {} % 2 == 0"]
        )
        return form.format(self.value(known), self.value(known))

    def block(self, depth: int, indent: str, known: list[str], *, in_loop: bool) -> None:
        rng = self._rng
        known = list(known)
        for _ in range(rng.randrange(1, 4)):
            kind = rng.randrange(8 if depth else 4)
            if kind <= 1:
                self.lines.append(f"{indent}{rng.choice(CELLS)} = {self.value(known)}")
            elif kind == 2:
                operator = rng.choice(["+=", "-=", "^="])
                self.lines.append(f"{indent}{rng.choice(CELLS)} {operator} {self.value(known)}")
            elif kind == 3:
                name = self.name("v")
                self.lines.append(f"{indent}{name} = {self.value(known)}")
                known.append(name)
            elif kind in (4, 5):
                self.branch(depth, indent, known, in_loop=in_loop)
            elif kind == 6:
                self.loop(depth, indent, known)
            else:
                self.repeat(depth, indent, known)
        if in_loop and rng.random() < 0.2:
            self.lines.append(f"{indent}if {self.test(known)}:")
            self.lines.append(f"{indent}    {rng.choice(['break', 'continue'])}")
            self.lines.append(f"{indent}{rng.choice(CELLS)} = {self.value(known)}")

    def branch(self, depth: int, indent: str, known: list[str], *, in_loop: bool) -> None:
        self.lines.append(f"{indent}if {self.test(known)}:")
        self.block(depth - 1, indent + "    ", known, in_loop=in_loop)
        if self._rng.random() < 0.5:
            self.lines.append(f"{indent}else:")
            self.block(depth - 1, indent + "    ", known, in_loop=in_loop)

    def loop(self, depth: int, indent: str, known: list[str]) -> None:
        name = self.name("i")
        bounds = self._rng.choice(["4", "1, 6, 2", "5, 0, -2", "x % 5"])
        self.lines.append(f"{indent}for {name} in T.serial({bounds}):")
        self.block(depth - 1, indent + "    ", [*known, name], in_loop=True)

    def repeat(self, depth: int, indent: str, known: list[str]) -> None:
        name = self.name("n")
        self.lines.append(f'{indent}{name} = T.alloc_var("int32", init=0)')
        self.lines.append(f"{indent}while {name} < 5 and ({self.test(known)}):")
        self.lines.append(f"{indent}    {name} += 1")
        self.block(depth - 1, indent + "    ", known, in_loop=True)


HEAD = """\
from tilewright import T


def kernel(A: T.Tensor((8,), "int32"), out: T.Tensor((3,), "int32")):
    with T.Kernel(1, threads=1):
        x = T.alloc_var("int32", init=3)
        y = T.alloc_var("int32", init=-4)
        z = T.alloc_var("int32", init=0)
"""
TAIL = "        out[0] = x\n        out[1] = y\n        out[2] = z\n"


class Python:
    """What `T` is where a program is executed by Python itself."""

    serial = range

    @staticmethod
    def alloc_var(dtype, init):
        return init


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore:Immutable value", "ignore:the condition of this while")
def test_random_programs(seed, tmp_path):
    writer = Writer(seed)
    writer.block(3, "        ", [], in_loop=False)
    text = "\n".join(writer.lines) + "\n"
    path = tmp_path / "kernel.py"
    path.write_text(HEAD + text + TAIL)
    scope = {"__name__": "kernel"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    values = np.random.default_rng(seed).integers(-20, 20, 8).astype(np.int32)
    out = np.zeros(3, np.int32)
    run(scope["kernel"], values, out)
    plain = "".join(line.removeprefix("        ") + "\n" for line in writer.lines)
    names = {"T": Python, "A": values.tolist(), "x": 3, "y": -4, "z": 0}
    exec(plain, names)
    assert out.tolist() == [names[name] for name in CELLS], text
