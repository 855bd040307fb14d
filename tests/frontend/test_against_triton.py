"""The same text, traced by Triton and by us, is the same IR at the same places.

Compared is what is left after Triton's own clean-up of its IR, which runs on both: it removes dead
blocks, takes functions in, and folds. Constants are written where they are used, for nothing
depends on the order in which they stand at the top of a function.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

pytest.importorskip("triton", reason="Triton is what we compare with")

import triton
import triton.language as triton_language
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget, Language
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

from tests.frontend.flow_kernels import KERNELS, SOURCE
from tilewright.dialects import make_context
from tilewright.frontend.functions.function import KernelFunction
from tilewright.frontend.trace import Argument, trace
from tilewright.ir.diagnostics import DiagnosticEngine, resolve
from tilewright.ir.text import DEFAULT, parse_source, print_module
from tilewright.language import tl
from tilewright.language.tl.vocabulary import TL

FILE = "flow_kernels_text.py"
GPU = GPUTarget("cuda", 90, 32)
TYPES = {"x_ptr": "*i32", "n": "i32", "m": "i32"}
CONSTANTS = {"BLOCK": 4}
PLAIN = replace(DEFAULT, names_from_locations=False)


def our_jit(fn: Any = None, *, noinline: bool = False) -> Any:
    if fn is None:
        return lambda found: KernelFunction(found, TL, noinline=noinline)
    return KernelFunction(fn, TL)


@cache
def kernels(owner: str) -> dict[str, Any]:
    """The kernels of the text, Triton's or ours."""
    linecache.cache[FILE] = (len(SOURCE), None, SOURCE.splitlines(keepends=True), FILE)
    names: dict[str, Any] = {"__name__": "flow"}
    names |= {"jit": our_jit, "tl": tl} if owner == "ours" else {}
    names |= {"jit": triton.jit, "tl": triton_language} if owner == "triton" else {}
    exec(compile(SOURCE, FILE, "exec"), names)
    return names


def our_text(name: str) -> str:
    pointer = tl.pointer_type(tl.int32)
    types = {"x_ptr": pointer, "n": tl.int32, "m": tl.int32}
    arguments: dict[str, Any] = {
        key: Argument([type.to_ir()], lambda handles, type=type: tl.tensor(next(handles), type))
        for key, type in types.items()
    }
    module = trace(kernels("ours")[name], {**arguments, **CONSTANTS}).module
    return print_module(module, locations=True)


def their_text(name: str) -> str:
    kernel = kernels("triton")[name]
    types = {key: TYPES.get(key, "constexpr") for key in kernel.arg_names}
    constants = {(kernel.arg_names.index(key),): value for key, value in CONSTANTS.items()}
    source = ASTSource(kernel, types, constants, {})
    backend = make_backend(GPU)
    options = backend.parse_options({"enable_fp_fusion": True, "sanitize_overflow": False})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    codegen = backend.get_codegen_implementation(options)
    return str(source.make_ir(GPU, options, codegen, backend.get_module_map(), context))


def cleaned(text: str, folder: Any) -> ModuleOp:
    """Triton's clean-up of its IR, read back."""
    backend = make_backend(GPU)
    options = backend.parse_options({"enable_fp_fusion": True})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    path = folder / "module.mlir"
    path.write_text(text, encoding="utf-8")
    module = ir.parse_mlir_module(str(path), context)
    module.context = context
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, Language.TRITON)
    result = str(stages["ttir"](module, {"target": GPU, **options.__dict__}))
    engine = DiagnosticEngine()
    parsed = parse_source(make_context(), result, "cleaned", engine, keep_names=False)
    engine.raise_if_errors()
    assert parsed is not None
    return parsed.module


def body(module: ModuleOp) -> list[str]:
    """The text without names, with constants where they are used."""
    text = print_module(module, use_hints=False, flavour=PLAIN)
    names: dict[str, str] = {}
    result: list[str] = []
    for line in text.splitlines():
        constant = re.match(r" *(%[\w-]+) = (arith.constant .*)", line)
        if constant:
            names[constant.group(1)] = f"<{constant.group(2)}>"
        else:
            result.append(re.sub(r"%[\w-]+", lambda name: names.get(name[0], name[0]), line))
    return result


def places(module: ModuleOp) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Op, position and calls that led there; constants are where the folder left them."""
    for op in module.walk():
        if op.name == "arith.constant" or _has_no_place(op):
            continue
        trail = resolve(op.location)
        calls = tuple(str(frame.position) for frame in trail.callers)
        yield op.name, str(trail.primary), calls


def _has_no_place(op: Operation) -> bool:
    """Ends of loops are not written, so what is read back is where the text is."""
    trail = resolve(op.location)
    return trail.primary is None or trail.primary.file != FILE


@pytest.mark.parametrize("name", KERNELS)
def test_same_ir_at_the_same_places(name: str, tmp_path: Any) -> None:
    ours, theirs = (cleaned(text, tmp_path) for text in (our_text(name), their_text(name)))
    assert body(ours) == body(theirs)
    if name != "backwards":  # Triton counts down where the body's first op happens to be
        assert list(places(ours)) == list(places(theirs))


def test_the_places_are_those_of_the_text(tmp_path: Any) -> None:
    found = {position for _, position, _ in places(cleaned(our_text("memory"), tmp_path))}
    line = SOURCE.splitlines().index("    v = tl.load(") + 1
    assert f"{FILE}:{line}:9" in found
