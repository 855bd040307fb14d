"""Every kernel of the dumps through our own front end, beside Triton's.

The kernel files are loaded a second time with their imports of Triton changed to Tilewright. Both
front ends then see the same function, the same types of arguments and the same options, and after
Triton's clean-up of TTIR both texts must be equal: every op, attribute, type and their order.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("triton", reason="the dumps are made and judged by Triton")

from triton import JITFunction
from triton._C.libtriton import ir
from triton.backends.compiler import Language
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend
from triton.language import dtype as triton_dtype

from tilewright import tl
from tilewright.frontend.trace import trace
from tilewright.ir.text import print_module
from tilewright.language.tl.arguments import argument_of
from tilewright.language.tl.options import Options, Target, using

from . import kernels
from .case import TARGETS, Case
from .generate import _no_device, cases

_IMPORTS = (
    ("import triton.language as tl\n", "from tilewright import tl\n"),
    ("import triton\n", "import tilewright as triton\n"),
    (
        "from triton.language.extra import libdevice\n",
        "from tilewright.language.tl.extra import libdevice\n",
    ),
)

_SUFFIX = "_tilewright"

CASES = tuple(case for case in cases() if case.language == "triton")

DIFFERENT: dict[str, str] = {}
"""Cases whose text differs, and why."""


@functools.cache
def _ours(module: str) -> ModuleType:
    """The kernel file `module` with Tilewright in place of Triton."""
    path = Path(kernels.__path__[0]) / f"{module}.py"
    text = path.read_text()
    for theirs, ours in _IMPORTS:
        text = text.replace(theirs, ours)
    name = f"{kernels.__name__}.{module}{_SUFFIX}"
    changed = Path(tempfile.mkdtemp()) / path.name
    changed.write_text(text)
    spec = importlib.util.spec_from_file_location(name, changed)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def _our_kernel(case: Case):
    (found,) = [each for each in _ours(_file(case)).CASES if each.name == case.name]
    return found.kernel


def _file(case: Case) -> str:
    return case.kernel.fn.__module__.rpartition(".")[2]


def _key(case: Case, index: int, name: str, target: str):
    """What the launch would know of an argument, in our runtime's words."""

    def one(path, spelled):
        if isinstance(spelled, tuple):
            return ("tuple", None, *(one((*path, i), each) for i, each in enumerate(spelled)))
        if spelled.startswith("tensordesc"):
            element, block = re.match(r"tensordesc<(\w+)\[([\d, ]+)\]", spelled).groups()
            return ("tensordesc", element, tuple(int(n) for n in block.split(",")), "zero")
        attrs = [attr[0] for attr in case.attrs_for(target).get(path, [])]
        return (spelled, "D" if "tt.divisibility" in attrs else "")

    if name in case.constexprs:
        return ("constexpr", _our_constant(case, case.constexprs[name]))
    return one((index,), case.signature[name])


def _our_constant(case: Case, value):
    """Types and functions of Triton among the constants, as Tilewright has them."""
    if isinstance(value, triton_dtype):
        return tl.dtype(value.name)
    if isinstance(value, JITFunction):
        return getattr(_ours(_file(case)), value.__name__)
    return value


def our_text(case: Case, target: str, *, locations: bool = False) -> str:
    kernel = _our_kernel(case)
    arguments = {
        name: argument_of(_key(case, index, name, target))
        for index, name in enumerate(kernel.arg_names)
    }
    gpu = TARGETS[target]
    settings = Options(
        Target(gpu.backend, gpu.arch),
        debug=case.options.get("debug", False),
        sanitize_overflow=case.options.get("sanitize_overflow", False),
        num_warps=case.options.get("num_warps", 4),
    )
    with using(settings):
        text = print_module(trace(kernel, arguments).module, locations=locations)
    return text.replace(f"{_file(case)}{_SUFFIX}.", f"{_file(case)}.")


def _pointer_ranges(text: str) -> str:
    """The promise that a buffer is small is the launcher's, not the front end's: left out."""
    return text.replace(", tt.pointer_range = 32 : i32", "")


def cleaned(case: Case, target: str, text: str | None) -> str:
    """The TTIR after Triton's clean-up, of our `text` or of what Triton's front end makes."""
    gpu = TARGETS[target]
    backend = make_backend(gpu)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(
        case.kernel,
        dict(case.signature),
        {(case.kernel.arg_names.index(name),): value for name, value in case.constexprs.items()},
        case.attrs_for(target),
    )
    options = backend.parse_options({**case.options, **source.parse_options()})
    with _no_device(gpu):
        if text is None:
            codegen = backend.get_codegen_implementation(options)
            module = source.make_ir(gpu, options, codegen, backend.get_module_map(), context)
        else:
            with tempfile.TemporaryDirectory() as scratch:
                path = Path(scratch) / "kernel.mlir"
                path.write_text(text)
                module = ir.parse_mlir_module(str(path), context)
            module.context = context
        stages = {}
        backend.add_stages(stages, options, Language.TRITON)
        module = stages["ttir"](module, {"target": gpu, **options.__dict__})
    return _settled(_pointer_ranges(module.str_nodebug()))


_CONSTANT = re.compile(r"^ *(%[\w$.-]+) = arith\.constant (.*)\n", re.MULTILINE)
_NAME = re.compile(r"%[\w$.-]+")


def _settled(text: str) -> str:
    """Constants written where they are used, other values numbered in order of appearance.

    Triton inlines called functions after the fact, so the constants that clean-up collects at the
    top of a function come in another order; nothing else may differ.
    """
    constants = dict(_CONSTANT.findall(text))
    names: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        found = match[0]
        return (
            f"({constants[found]})"
            if found in constants
            else names.setdefault(found, f"%{len(names)}")
        )

    return _NAME.sub(name, _CONSTANT.sub("", text))


def _targets(case: Case) -> str:
    available = case.available_targets
    return "sm90" if "sm90" in available else available[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_our_front_end_says_what_tritons_says(case):
    target = _targets(case)
    ours = cleaned(case, target, our_text(case, target))
    same = ours == cleaned(case, target, None)
    assert same == (case.name not in DIFFERENT), DIFFERENT.get(case.name)
