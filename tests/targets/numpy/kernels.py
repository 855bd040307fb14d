"""Kernels from a few lines of IR, run on arrays.

`elementwise` wraps ops on `%a`, `%b`, … into a kernel and runs it three ways, which must agree bit
by bit: on tensors, on scalars that differ between programs, and on scalars that all programs share.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine, pretty_all
from tilewright.ir.text import parse_source
from tilewright.targets.numpy import Buffer, NumpyKernel, RunOptions, RunReport, compile_module

IR_NAMES: dict[Any, str] = {
    np.dtype(np.bool_): "i1",
    np.dtype(np.int8): "i8",
    np.dtype(np.int16): "i16",
    np.dtype(np.int32): "i32",
    np.dtype(np.int64): "i64",
    np.dtype(np.float16): "f16",
    np.dtype(np.float32): "f32",
    np.dtype(np.float64): "f64",
    np.dtype(ml_dtypes.bfloat16): "bf16",
    np.dtype(ml_dtypes.float8_e4m3fn): "f8E4M3FN",
    np.dtype(ml_dtypes.float8_e5m2): "f8E5M2",
}
DTYPES = {name: dtype for dtype, name in IR_NAMES.items()}


@lru_cache(maxsize=256)
def compiled(text: str, **options: Any) -> NumpyKernel:
    """The kernel in `text`."""
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, "kernel.mlir", engine)
    assert source is not None, pretty_all(engine.diagnostics, engine.sources)
    return compile_module(source.module, sources=engine.sources, **options)


def run(
    text: str, grid: Sequence[int], *arguments: Any, batch: int | None = None, **options: Any
) -> RunReport:
    """Compile and launch; arrays become buffers named after their position."""
    kernel = compiled(text)
    given = [
        Buffer(kernel.parameters[index].name, argument)
        if isinstance(argument, np.ndarray)
        else argument
        for index, argument in enumerate(arguments)
    ]
    return kernel.launch(grid, given, RunOptions(batch=batch, **options))


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


def elementwise(
    ops: str, result: str, *inputs: np.ndarray, shared_tolerance: float = 0
) -> np.ndarray:
    """What `ops` compute from `%a`, `%b`, … as `%r`, an element of IR type `result` each.

    In `ops`, `<A>`, `<B>`, … are the types of the inputs, `<R>` that of the result and `<I>` that of
    a condition, as scalars or tensors; `const 7 : <A>` is a constant of such a type. NumPy computes
    a few functions in another way for a single number, within `shared_tolerance`.
    """
    on_tensors = _on_tensors(ops, result, inputs)
    by_program = _on_scalars(ops, result, inputs)
    shared = _on_shared(ops, result, inputs)
    assert same_bits(on_tensors, by_program), (on_tensors, by_program)
    few = len(shared)
    if shared_tolerance:
        np.testing.assert_allclose(on_tensors[:few], shared, rtol=shared_tolerance)
    else:
        assert same_bits(on_tensors[:few], shared), (on_tensors[:few], shared)
    return on_tensors


def _typed(ops: str, result: str, inputs: Sequence[np.ndarray], wrap: str) -> str:
    for letter, array in zip("ABCD", inputs, strict=False):
        ops = ops.replace(f"<{letter}>", wrap.format(IR_NAMES[array.dtype]))
    ops = ops.replace("<R>", wrap.format(result)).replace("<I>", wrap.format("i1"))
    dense = "arith.constant dense<\\1> :" if wrap != "{}" else "arith.constant \\1 :"
    return re.sub(r"const (\S+) :", dense, ops)


def _pointers(inputs: Sequence[np.ndarray], result: str) -> str:
    names = [
        f"%{letter}p: !tt.ptr<{IR_NAMES[array.dtype]}>"
        for letter, array in zip("abcd", inputs, strict=False)
    ]
    return ", ".join([*names, f"%rp: !tt.ptr<{result}>", "%n: i32"])


def _on_tensors(ops: str, result: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
    count = max(64, 1 << (len(inputs[0]) - 1).bit_length())
    lines = [
        f"%lane = tt.make_range {{start = 0 : i32, end = {count} : i32}} : tensor<{count}xi32>",
        f"%all = tt.splat %n : i32 -> tensor<{count}xi32>",
        f"%m = arith.cmpi slt, %lane, %all : tensor<{count}xi32>",
    ]
    for letter, array in zip("abcd", inputs, strict=False):
        pointer = f"!tt.ptr<{IR_NAMES[array.dtype]}>"
        lines += [
            f"%{letter}s = tt.splat %{letter}p : {pointer} -> tensor<{count}x{pointer}>",
            f"%{letter}q = tt.addptr %{letter}s, %lane : tensor<{count}x{pointer}>, tensor<{count}xi32>",
            f"%{letter} = tt.load %{letter}q, %m : tensor<{count}x{pointer}>",
        ]
    lines.append(_typed(ops, result, inputs, f"tensor<{count}x{{}}>"))
    pointer = f"!tt.ptr<{result}>"
    lines += [
        f"%rs = tt.splat %rp : {pointer} -> tensor<{count}x{pointer}>",
        f"%rq = tt.addptr %rs, %lane : tensor<{count}x{pointer}>, tensor<{count}xi32>",
        f"tt.store %rq, %r, %m : tensor<{count}x{pointer}>",
    ]
    return _launched(lines, inputs, result, (1,))


def _on_scalars(ops: str, result: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
    lines = ["%pid = tt.get_program_id x : i32"]
    for letter, array in zip("abcd", inputs, strict=False):
        pointer = f"!tt.ptr<{IR_NAMES[array.dtype]}>"
        lines += [
            f"%{letter}q = tt.addptr %{letter}p, %pid : {pointer}, i32",
            f"%{letter} = tt.load %{letter}q : {pointer}",
        ]
    lines.append(_typed(ops, result, inputs, "{}"))
    pointer = f"!tt.ptr<{result}>"
    lines += [f"%rq = tt.addptr %rp, %pid : {pointer}, i32", f"tt.store %rq, %r : {pointer}"]
    return _launched(lines, inputs, result, (len(inputs[0]),))


def _on_shared(ops: str, result: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
    lines: list[str] = []
    for letter, array in zip("abcd", inputs, strict=False):
        pointer = f"!tt.ptr<{IR_NAMES[array.dtype]}>"
        lines.append(f"%{letter} = tt.load %{letter}p : {pointer}")
    lines += [_typed(ops, result, inputs, "{}"), f"tt.store %rp, %r : !tt.ptr<{result}>"]
    kernel = compiled(_function(lines, inputs, result))
    found: list[np.ndarray] = []
    for index in range(min(len(inputs[0]), 4)):
        out = np.zeros(1, DTYPES[result])
        given = [Buffer("x", array[index : index + 1]) for array in inputs]
        kernel.launch((3,), [*given, Buffer("r", out), 1])
        found.append(out)
    return np.concatenate(found)


def _function(lines: Sequence[str], inputs: Sequence[np.ndarray], result: str) -> str:
    body = "\n".join(lines)
    return f"tt.func public @kernel({_pointers(inputs, result)}) {{\n{body}\ntt.return\n}}"


def _launched(
    lines: Sequence[str], inputs: Sequence[np.ndarray], result: str, grid: tuple[int, ...]
) -> np.ndarray:
    out = np.zeros(len(inputs[0]), DTYPES[result])
    run(_function(lines, inputs, result), grid, *inputs, out, len(out))
    return out


def tensor_type(array: np.ndarray) -> str:
    """The IR type of what each program has of an array."""
    return (
        "tensor<"
        + "".join(f"{extent}x" for extent in array.shape[1:])
        + f"{IR_NAMES[array.dtype]}>"
    )


def on_blocks(ops: str, result: np.ndarray, *inputs: np.ndarray, **options: Any) -> np.ndarray:
    """What `ops` compute from `%a`, `%b`, …, blocks of the inputs, as `%r`, a block of the result.

    The first axis of all arrays counts programs. Every number of programs at once must give the
    same bits. `result` gives shape and type only.
    """
    lines = ["%pid = tt.get_program_id x : i32"]
    for letter, array in zip("abcdef", inputs, strict=False):
        lines += _block(letter, array)
        lines.append(f"%{letter}v = tt.load %{letter}q : {_pointers_of(array)}")
        lines.append(f"%{letter} = tt.reshape %{letter}v : {_flat(array)} -> {tensor_type(array)}")
    scalar = result.ndim == 1
    lines.append(ops)
    lines += _block("r", result)
    if scalar:
        lines.append(f"tt.store %rq, %r : !tt.ptr<{IR_NAMES[result.dtype]}>")
    else:
        lines.append(f"%rv = tt.reshape %r : {tensor_type(result)} -> {_flat(result)}")
        lines.append(f"tt.store %rq, %rv : {_pointers_of(result)}")
    arrays = [*inputs, result]
    signature = ", ".join(
        f"%{letter}p: !tt.ptr<{IR_NAMES[array.dtype]}>"
        for letter, array in zip([*"abcdef"[: len(inputs)], "r"], arrays, strict=True)
    )
    body = "\n".join(lines)
    text = f"tt.func public @kernel({signature}) {{\n{body}\ntt.return\n}}"
    programs = result.shape[0]
    found: list[np.ndarray] = []
    for batch in {None, 1, max(1, programs - 1)}:
        out = np.zeros_like(result)
        run(text, (programs,), *inputs, out, batch=batch, **options)
        found.append(out)
    assert all(same_bits(found[0], other) for other in found[1:])
    return found[0]


def _flat(array: np.ndarray) -> str:
    return f"tensor<{array[0].size}x{IR_NAMES[array.dtype]}>"


def _pointers_of(array: np.ndarray) -> str:
    pointer = f"!tt.ptr<{IR_NAMES[array.dtype]}>"
    return pointer if array.ndim == 1 else f"tensor<{array[0].size}x{pointer}>"


def _block(letter: str, array: np.ndarray) -> list[str]:
    """Pointers to the block of this program."""
    size, pointer = array[0].size, f"!tt.ptr<{IR_NAMES[array.dtype]}>"
    if array.ndim == 1:
        return [f"%{letter}q = tt.addptr %{letter}p, %pid : {pointer}, i32"]
    lane = f"%{letter}lane = tt.make_range {{start = 0 : i32, end = {size} : i32}} : tensor<{size}xi32>"
    if size == 1:
        lane = f"%{letter}lane = arith.constant dense<0> : tensor<1xi32>"
    return [
        f"%{letter}size = arith.constant {size} : i32",
        f"%{letter}first = arith.muli %pid, %{letter}size : i32",
        f"%{letter}block = tt.addptr %{letter}p, %{letter}first : {pointer}, i32",
        f"%{letter}s = tt.splat %{letter}block : {pointer} -> tensor<{size}x{pointer}>",
        lane,
        f"%{letter}q = tt.addptr %{letter}s, %{letter}lane : tensor<{size}x{pointer}>, tensor<{size}xi32>",
    ]
