"""One kernel, two front ends: ours and Triton's, compared op by op.

The source of a kernel is text that works with either `tl`. It is written to two files which differ
in their first line, and both IRs are made without a GPU:

    check('''
    @jit
    def kernel(x, y, N: tl.constexpr):
        offsets = tl.arange(0, N)
        tl.store(y + offsets, tl.exp(tl.load(x + offsets)))
    ''', dict(x="*fp32", y="*fp32"), dict(N=64))

Where Triton calls a function, we have its ops in place: calls in Triton's IR are inlined here, in
our own IR, by nothing but copying, so that no clean-up of Triton's can hide a difference. Ops
without use are dropped on both sides, because constants that end up unused are not what is
compared. Then both texts, printed by our printer, are equal.
"""

import importlib.util
import itertools
import tempfile
import textwrap
import warnings
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

# Raised through the import, this skips the module of tests that wants to compare.
pytest.importorskip("triton", reason="compares with Triton's front end, which is not installed")

from triton._C.libtriton import ir, passes
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend
from triton.runtime import driver
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from tests.language.tl.ours import argument
from tilewright.dialects import make_context
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.folding.constants import scalar_value
from tilewright.dialects.tt import BroadcastOp, CallOp, FuncOp, SplatOp
from tilewright.frontend.trace import trace
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.language.tl.options import Options, Target, using
from tilewright.passes.cleanup.dce import eliminate_dead_code

_HEADS = {
    "triton": "import triton.language as tl; from triton import jit; from triton.language.extra import libdevice",
    "ours": "import tilewright.language.tl as tl; from tests.language.tl.ours import jit; from tilewright.language.tl.extra import libdevice",
}
_numbers = itertools.count()
_scratch = tempfile.TemporaryDirectory()
"""Where kernels lie while tests run; front ends read the source of a function again."""


def check(
    source: str,
    signature: Mapping[str, str],
    constants: Mapping[str, Any] | None = None,
    *,
    target: tuple[str, int | str] = ("cuda", 90),
    **options: Any,
) -> str:
    """Assert that both front ends make the same of `source`; returns the text."""
    expected = triton_text(source, signature, constants or {}, target, **options)
    found = our_text(source, signature, constants or {}, target, **options)
    compare(expected, found)
    return found


def compare(expected: str, found: str) -> None:
    """Assert that two texts are equal; says in which lines they differ."""
    lines = unified_diff(expected.splitlines(), found.splitlines(), "triton", "ours", lineterm="")
    assert found == expected, "\n".join(lines)


def _kernel(source: str, side: str) -> Any:
    """The function `kernel` that `source` defines, with one of the two languages."""
    name = f"kernel_of_{side}_{next(_numbers)}"
    path = Path(_scratch.name) / f"{name}.py"
    path.write_text(_HEADS[side] + "\n" + textwrap.dedent(source))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


# Ours.


def our_module(
    source: str,
    signature: Mapping[str, str],
    constants: Mapping[str, Any],
    target: tuple[str, int | str] = ("cuda", 90),
    **options: Any,
) -> ModuleOp:
    arguments = {name: argument(type) for name, type in signature.items()}
    wanted = Options(target=Target(*target), **options)
    with using(wanted), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return trace(_kernel(source, "ours"), {**arguments, **constants}).module


def our_text(
    source: str,
    signature: Mapping[str, str],
    constants: Mapping[str, Any],
    target: tuple[str, int | str] = ("cuda", 90),
    **options: Any,
) -> str:
    return settled_module(our_module(source, signature, constants, target, **options))


def settled_module(module: ModuleOp) -> str:
    """The text of a module of ours, as it is compared."""
    engine = DiagnosticEngine()
    assert verify(module, engine), [str(each) for each in engine.diagnostics]
    return _normalised(_parsed(print_module(module)))


# Triton's.


class _NoDevice:
    """A driver for a machine without one: a few front-end checks ask it what is compiled for."""

    def __init__(self, target: GPUTarget) -> None:
        self.target = target

    def get_current_target(self) -> GPUTarget:
        return self.target


def triton_source(
    source: str,
    signature: Mapping[str, str],
    constants: Mapping[str, Any],
    target: tuple[str, int | str] = ("cuda", 90),
    **options: Any,
) -> str:
    """What Triton's front end makes of `source`, before any pass."""
    gpu = GPUTarget(*target, 32 if target[0] == "cuda" else 64)
    backend = make_backend(gpu)
    kernel = _kernel(source, "triton")
    types = {name: signature.get(name, "constexpr") for name in kernel.arg_names}
    wanted = {"sanitize_overflow": False, "enable_fp_fusion": True, **options}
    parsed = backend.parse_options(wanted)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    made = ASTSource(kernel, types, dict(constants))
    codegen = backend.get_codegen_implementation(parsed)
    driver.set_active(_NoDevice(gpu))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = made.make_ir(gpu, parsed, codegen, backend.get_module_map(), context)
    finally:
        driver.set_active(None)
    return module.str_nodebug()


def triton_text(
    source: str,
    signature: Mapping[str, str],
    constants: Mapping[str, Any],
    target: tuple[str, int | str] = ("cuda", 90),
    **options: Any,
) -> str:
    return settled_text(triton_source(source, signature, constants, target, **options))


def settled_text(text: str) -> str:
    """The text of a module of Triton's, as it is compared."""
    module = _parsed(text)
    _inline(module)
    return _normalised(module)


def _inline(module: ModuleOp) -> None:
    """The ops of private functions in place of their calls; what follows a return is dead."""
    functions = {
        op.sym_name.data: op
        for op in module.ops
        if isinstance(op, FuncOp) and op.attributes["noinline"] == IntegerAttr.from_bool(False)
    }
    while calls := [
        (op, functions[name])
        for op in walk(module)
        if isinstance(op, CallOp) and (name := op.callee.string_value()) in functions
    ]:
        for call, function in calls:
            _inline_call(call, function)
    for function in functions.values():
        if function.sym_visibility is not None and function.sym_visibility.data == "private":
            function.detach()
    _drop_unreachable(module)
    _fold_splats(module)


def _inline_call(call: CallOp, function: FuncOp) -> None:
    body = function.body.blocks[0]
    block = call.parent
    assert block is not None
    values = dict(zip(body.args, call.operands, strict=True))
    *copied, end = body.ops
    for op in copied:
        clone = op.clone(values)
        block.insert_op_before(clone, call)
    for result, returned in zip(call.results, end.operands, strict=True):
        result.replace_all_uses_with(values.get(returned, returned))
    call.detach()
    call.erase()


def _drop_unreachable(module: ModuleOp) -> None:
    """Without the block that Triton leaves behind each return."""
    for function in [op for op in module.ops if isinstance(op, FuncOp)]:
        _, *rest = function.body.blocks
        for block in rest:
            if not any(block in op.successors for op in walk(function)):
                function.body.erase_block(block)


def _fold_splats(module: ModuleOp) -> None:
    """Splats and broadcasts of constants as constants.

    Triton's builder does that by itself, but sees no constant behind the argument of a function.
    """
    for op in [op for op in walk(module) if isinstance(op, (SplatOp, BroadcastOp))]:
        source = op.src.owner
        if isinstance(source, ConstantOp):
            constant = ConstantOp.of(scalar_value(source.value), op.result.type)
            Rewriter().replace_op(op, constant)


def simplified_by_triton(text: str) -> str:
    """A text after Triton's own inlining and clean-up, for functions with several blocks."""
    context = ir.context()
    ir.load_dialects(context)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "kernel.mlir"
        path.write_text(text)
        module = ir.parse_mlir_module(str(path), context)
    module.context = context
    manager = ir.pass_manager(context)
    passes.common.add_inliner(manager)
    passes.common.add_canonicalizer(manager)
    passes.common.add_cse(manager)
    passes.common.add_symbol_dce(manager)
    manager.run(module, "simplified")
    return module.str_nodebug()


# Both.


def _parsed(text: str) -> ModuleOp:
    """The module of a text, without the names it gives to values."""
    engine = DiagnosticEngine()
    parsed = parse_source(make_context(), text, "kernel.mlir", engine)
    assert parsed is not None, [str(each) for each in engine.diagnostics]
    return parsed.module


def _normalised(module: ModuleOp) -> str:
    eliminate_dead_code(module, Rewriter())
    return print_module(module, use_hints=False)


# Kernels from expressions.


def block(name: str, spelled: str) -> tuple[str, str, str]:
    """A line that loads a variable, and the kernel's parameter for it: ``fp32[16, 32]``, ``i32``."""
    element, _, shape = spelled.removesuffix("]").partition("[")
    parameter = f"p_{name}"
    if not shape:
        return parameter, f"*{element}", f"{name} = tl.load({parameter})"
    extents = [int(extent) for extent in shape.split(",")]
    count = 1
    for extent in extents:
        count *= extent
    load = f"tl.load({parameter} + tl.arange(0, {count}))"
    if len(extents) > 1:
        load = f"tl.reshape({load}, {extents})"
    return parameter, f"*{element}", f"{name} = {load}"


def kernel_of(
    expression: str, variables: Mapping[str, str], *, results: int = 1, functions: str = ""
) -> tuple[str, dict[str, str]]:
    """A kernel that loads `variables`, computes an expression of them and prints its values."""
    signature: dict[str, str] = {}
    lines: list[str] = []
    for name, spelled in variables.items():
        parameter, type, line = block(name, spelled)
        signature[parameter] = type
        lines.append(line)
    names = [f"result{number}" for number in range(results)]
    lines.append(f"{', '.join(names)} = {expression}")
    lines += [f'tl.device_print("result", {name})' for name in names]
    body = "\n    ".join(lines)
    source = f"@jit\ndef kernel({', '.join(signature)}):\n    {body}\n"
    return textwrap.dedent(functions) + "\n" + source, signature


def check_expression(
    expression: str,
    variables: Mapping[str, str],
    *,
    results: int = 1,
    functions: str = "",
    **options: Any,
) -> str:
    """Assert that both front ends make the same of an expression; returns the text."""
    source, signature = kernel_of(expression, variables, results=results, functions=functions)
    return check(source, signature, **options)
