"""Random expressions of integers mean in a kernel what they mean in Python.

Operands are a loop variable, an element, a cell, a block index and numbers; conditions are chained
comparisons, ``and``, ``or`` and ``not``, and arms of choices read memory.
"""

import random

import numpy as np
import pytest

from tests.language.T.test_meaning import run

POINTS = 24
LEAVES = ("i", "bx", "A[i]", "A[(i + 5) % 24]", "cell", "named", "3", "7", "-2")


def value(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(LEAVES)
    left, right = value(rng, depth - 1), value(rng, depth - 1)
    match rng.randrange(9):
        case 0 | 1:
            return f"({left} {rng.choice('+-')} {right})"
        case 2:
            return f"({left} * {rng.choice(['2', '-3', 'named'])} % 1009)"
        case 3:
            return f"({left} // {rng.choice(['3', '-4', '5'])})"
        case 4:
            return f"({left} % {rng.choice(['3', '-4', '16'])})"
        case 5:
            return f"{rng.choice(['min', 'max'])}({left}, {right})"
        case 6:
            return f"(({left}) if {condition(rng, depth - 1)} else ({right}))"
        case 7:
            return f"T.if_then_else({condition(rng, depth - 1)}, {left}, {right})"
        case _:
            return f"(({left}) {rng.choice('&|^')} ({right}))"


def condition(rng: random.Random, depth: int) -> str:
    left, right = value(rng, max(depth - 1, 0)), value(rng, max(depth - 1, 0))
    match rng.randrange(5):
        case 0:
            return f"({left} < {right} <= {value(rng, 0)} + 4)"
        case 1 if depth > 0:
            return f"({condition(rng, depth - 1)} and {condition(rng, depth - 1)})"
        case 2 if depth > 0:
            return f"({condition(rng, depth - 1)} or {condition(rng, depth - 1)})"
        case 3:
            return f"(not {left} == {right})"
        case _:
            return f"({left} {rng.choice(['<', '>', '!=', '>='])} {right})"


SOURCE = """\
from tilewright import T


def kernel(A: T.Tensor((24,), "int32"), out: T.Tensor((2, {count}, 24), "int32")):
    with T.Kernel(2, threads=32) as bx:
        cell = T.alloc_var("int32", init=11)
        named = A[bx] % 5
        for i in T.serial(24):
{stores}
"""


class Python:
    """What `T` is where a text is evaluated by Python itself."""

    @staticmethod
    def if_then_else(test, then, otherwise):
        return then if test else otherwise


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions(seed, tmp_path):
    rng = random.Random(seed)
    expressions = [value(rng, 4) for _ in range(30)]
    stores = "\n".join(
        f"            out[bx, {at}, i] = {text}" for at, text in enumerate(expressions)
    )
    path = tmp_path / "kernel.py"
    path.write_text(SOURCE.format(count=len(expressions), stores=stores))
    scope = {"__name__": "kernel"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    values = np.array([rng.randrange(-40, 40) for _ in range(POINTS)], np.int32)
    out = np.zeros((2, len(expressions), POINTS), np.int32)
    run(scope["kernel"], values, out)
    plain = values.tolist()
    for block in range(2):
        for at, text in enumerate(expressions):
            code = compile(text, "<expression>", "eval")
            for point in range(POINTS):
                names = {
                    "A": plain,
                    "T": Python,
                    "bx": block,
                    "cell": 11,
                    "i": point,
                    "named": plain[block] % 5,
                }
                assert out[block, at, point] == eval(code, names), text
