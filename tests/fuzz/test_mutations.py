"""Damaged IR gives a positioned diagnostic and exit code 1, or it is valid. Never a traceback.

The default suite runs a seeded sample; ``make fuzz`` runs all of it.
"""

import io
import re
import time
from pathlib import Path

import pytest

from tests.fuzz.mutate import mutated
from tilewright.dialects import make_context
from tilewright.ir.opt import OptDriver, OptOptions
from tilewright.ir.passes import Pipeline

CORPUS = sorted((Path(__file__).parents[1] / "corpus").rglob("*.tt*ir"))
WHOLE, SAMPLE, BATCH = 3000, 160, 40
POSITION = re.compile(r"^\S+:\d+:\d+: error", re.MULTILINE)
LIMIT_S = 5.0


def check(seed: int) -> tuple[int, str]:
    """Run the driver over one damaged file; the exit code and the mutation."""
    file = CORPUS[seed % len(CORPUS)]
    mutation, data = mutated(file.read_bytes(), seed)
    text = data.decode("utf-8", errors="surrogateescape")
    errors = io.StringIO()
    driver = OptDriver(make_context, Pipeline([]), OptOptions(locations=True), errors)
    start = time.perf_counter()
    outcome = driver.run(text, file.name)
    elapsed = time.perf_counter() - start
    what = f"{file.name}, seed {seed} ({mutation})"
    assert elapsed < LIMIT_S, f"{what}: {elapsed:.1f} s"
    said = errors.getvalue()
    if outcome.exit_code:
        assert POSITION.search(said), f"{what}: no position in {said!r}"
        assert "verifier raised" not in said, f"{what}: {said}"
    else:
        assert not said, f"{what}: exit code 0 but {said!r}"
        assert outcome.text, what
    return outcome.exit_code, mutation


def run_batch(first: int, count: int) -> None:
    codes = [check(seed)[0] for seed in range(first, first + count)]
    assert 1 in codes, "not one of these inputs was refused: the mutations have lost their bite"


@pytest.mark.parametrize("first", range(0, SAMPLE, BATCH))
def test_sample(first):
    run_batch(first, BATCH)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, WHOLE, 100))
def test_whole(first):
    run_batch(first, 100)


HOSTILE = {
    "empty": "",
    "binary": "".join(map(chr, range(256))) * 64,
    "surrogates": b"\xff\xfe\xfd module {}".decode("utf-8", errors="surrogateescape"),
    "ten megabyte line": "module { " + "a" * 10_000_000,
    "ten megabyte string": '"' + "a" * 10_000_000,
    "ten megabytes of tokens on one line": "( " * 5_000_000,
    "deep regions": '"a"() ({ ' * 20_000,
    "deep attributes": '"a"() {x = ' + "[" * 100_000,
    "deep types": "module attributes {x = " + "tensor<1x" * 50_000,
    "deep locations": "module {} loc(" + 'callsite("a" at ' * 50_000,
    "deep parentheses": "module attributes {x = " + "(" * 100_000,
    "huge number": "module attributes {x = " + "9" * 100_000 + " : i32} {}",
    "huge shape": "module attributes {x = dense<1> : tensor<" + "9" * 5000 + "xi32>} {}",
    "huge dense": "module attributes {x = dense<[1, 2]> : tensor<99999999999x99999999999xi32>} {}",
    "huge result count": '%0:99999999999 = "a"() : () -> ()',
    "alias cycle": "#a = loc(callsite(#b at #b))\n#b = loc(callsite(#a at #a))\nmodule {} loc(#a)",
    "alias to itself": "#a = [#a]\nmodule attributes {x = #a} {}",
    "unknown op": "module { foo.bar }",
    "wrong type": "module { %0 = arith.constant 1.5 : i32 }",
    "bad attribute": "module attributes {x = #tt.nothing<>} {}",
    "value defined inside its own loop": (
        "tt.func @f(%a: i32) { scf.for %j = %t to %a step %a : i32 "
        "{ %t = arith.addi %j, %a : i32 }\ntt.return }"
    ),
    "module without a block": '"builtin.module"() ({}) : () -> ()',
    "module without a region": '"builtin.module"() : () -> ()',
    "float of 80 bits": "module attributes {x.a = 1.0 : f80} {}",
    "array of i128": "module attributes {x.a = array<i128: 1>} {}",
    "huge complex splat": (
        "module attributes {x.a = dense<(1.0,1.0)> : tensor<100000x100000xcomplex<f32>>} {}"
    ),
    "unterminated metadata": "module {}\n{-# external_resources: {",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_input(text):
    errors = io.StringIO()
    start = time.perf_counter()
    driver = OptDriver(make_context, Pipeline([]), OptOptions(), errors)
    outcome = driver.run(text, "hostile.mlir")
    assert time.perf_counter() - start < LIMIT_S
    if text == "":
        assert outcome.exit_code == 0
        return
    assert outcome.exit_code == 1
    assert POSITION.search(errors.getvalue())
    assert len(errors.getvalue()) < 10_000
