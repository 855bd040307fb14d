"""Allocators as IR: a private function from two byte pools to one typed view.

    func.func private @allocate_k1(%shared: memref<?xi8>, %persistent: memref<?xi8>)
        -> memref<8xf32> {
      %offset = arith.constant 64 : index
      %view = memref.view %shared[%offset][] : memref<?xi8> to memref<8xf32>
      func.return %view : memref<8xf32>
    }

Only the required branch is emitted, as for numba. This package works on bytes, not ops, so the
function is text, which callers parse. Offsets are in bytes, so layouts come from the strict
policy. A child's region is a byte pool again, which the child's own allocators take.

In canary mode two more functions arm the guards and count, guard byte by guard byte, what changed::

    @arm(%shared, %persistent)     @check(%shared, %persistent, %report: memref<?xi32>)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

import numpy as np

from tilewright.memory.registry.buffer import CUDABuffer
from tilewright.memory.registry.guards import BYTE_PATTERN, Canary, runs_of
from tilewright.memory.registry.layout import Layouts

ELEMENTS = {"float16": "f16", "float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64"}
"""Element types by NumPy's names for them."""

_POOL = "memref<?xi8>"


def allocator_text(buffer: CUDABuffer, at: Layouts, zero: bool, is_region: bool = False) -> str:
    """The function that allocates `buffer` where `at`, in bytes, places it."""
    element = "i8" if is_region else ELEMENTS[np.dtype(buffer.precision).name]
    elements = buffer.nbytes if is_region else buffer.size
    if buffer.name in at.local:
        elements = max(elements, 1)
    view = f"memref<{elements}x{element}>"
    body = _view(buffer, at, view)
    if zero and buffer.size:
        literal = "0.0" if element.startswith("f") else "0"
        body += [
            f"%zero = arith.constant {literal} : {element}",
            f"linalg.fill ins(%zero : {element}) outs(%view : {view})",
        ]
    result = view
    if is_region:
        # The child's allocators take a pool of any size. In the form that all parsers know.
        result = _POOL
        body.append(f'%pool = "memref.cast"(%view) : ({view}) -> {_POOL}')
    value = "%pool" if is_region else "%view"
    body.append(f"func.return {value} : {result}")
    pools = f"%shared: {_POOL}, %persistent: {_POOL}"
    return _function(f"func.func private @{symbol(buffer.name)}({pools}) -> {result}", body)


def guards_text(canary: Canary) -> str:
    """The functions ``@arm`` and ``@check`` for the guards of both pools."""
    pools = f"%shared: {_POOL}, %persistent: {_POOL}"
    arm, check = [*_pattern()], [*_pattern(), "%one = arith.constant 1 : i32"]
    first = 0
    for pool, words in (
        ("shared", canary.shared_words),
        ("persistent", canary.persistent_words),
    ):
        for run in runs_of(words):
            arm += _guard_loop(pool, run, [f"memref.store %expected, %{pool}[%i] : {_POOL}"])
            check += _guard_loop(pool, run, _count(pool, first - run.start))
            first += len(run)
    return _function(f"func.func private @arm({pools})", [*arm, "func.return"]) + _function(
        f"func.func private @check({pools}, %report: memref<?xi32>)", [*check, "func.return"]
    )


def _function(head: str, body: Sequence[str]) -> str:
    lines = "\n".join(f"  {line}" for line in body)
    return f"{head} {{\n{lines}\n}}\n"


def _pattern() -> Iterator[str]:
    for name, value in zip(("base", "scale", "period"), BYTE_PATTERN, strict=True):
        yield f"%{name} = arith.constant {value} : index"
    yield "%step = arith.constant 1 : index"


def _guard_loop(pool: str, run: range, body: Sequence[str]) -> Iterator[str]:
    """`body` for every byte %i of a run of guards, with %expected as what it holds when armed."""
    start, stop = f"%{pool}_{run.start}", f"%{pool}_to_{run.stop}"
    yield f"{start} = arith.constant {run.start} : index"
    yield f"{stop} = arith.constant {run.stop} : index"
    yield f"scf.for %i = {start} to {stop} step %step {{"
    yield "  %scaled = arith.muli %i, %scale : index"
    yield "  %wrapped = arith.remui %scaled, %period : index"
    yield "  %sum = arith.addi %wrapped, %base : index"
    yield "  %wide = arith.index_cast %sum : index to i32"
    yield "  %expected = arith.trunci %wide : i32 to i8"
    yield from (f"  {line}" for line in body)
    yield "}"


def _count(pool: str, shift: int) -> list[str]:
    return [
        f"%found = memref.load %{pool}[%i] : {_POOL}",
        "%changed = arith.cmpi ne, %found, %expected : i8",
        "scf.if %changed {",
        f"  %shift = arith.constant {shift} : index",
        "  %counter = arith.addi %i, %shift : index",
        # In the form that all parsers know; kind 1 is addition of integers.
        '  %old = "memref.atomic_rmw"(%one, %report, %counter) <{kind = 1 : i64}> : '
        "(i32, memref<?xi32>, index) -> i32",
        "}",
    ]


def _view(buffer: CUDABuffer, at: Layouts, view: str) -> list[str]:
    name = buffer.name
    for pool, windows in (("%shared", at.shared), ("%persistent", at.persistent)):
        if name in windows:
            # An empty view at the very end of a pool fails static bounds checks.
            offset = windows[name].start if buffer.size else 0
            return [
                f"%offset = arith.constant {offset} : index",
                f"%view = memref.view {pool}[%offset][] : {_POOL} to {view}",
            ]
    return [f"%view = memref.alloca() : {view}"]


def symbol(name: str) -> str:
    """The name of a buffer's allocator, quoted where it has to be."""
    plain = f"allocate_{name}"
    return plain if re.fullmatch(r"\w+", plain, re.ASCII) else json.dumps(plain)
