"""Every Triton kernel of the dump corpus, read by both front ends: the same IR.

The files of `tests/dumps/kernels` are read again with `triton` and `triton.language` replaced by
ours: kernels as people write them, with helpers, globals, loops and branches.
"""

import importlib.util
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("triton", reason="compares with Triton's front end, which is not installed")

import triton
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import SSAValue

from tests.dumps import kernels
from tests.dumps.case import TARGETS, Case
from tests.dumps.generate import cases
from tests.language.tl.against_triton import (
    compare,
    settled_text,
    simplified_by_triton,
)
from tests.language.tl.ours import argument
from tilewright.frontend.trace import Argument, trace
from tilewright.ir.text import print_module
from tilewright.language.tl.dtypes import dtype
from tilewright.language.tl.options import Options, Target, using

SEVERAL_BLOCKS = ("early_return", "call_multiple_returns")
"""Kernels whose control flow Triton writes with empty blocks in between."""

_scratch = tempfile.TemporaryDirectory()
CASES = {case.name: case for case in cases() if case.language == "triton"}
_REPLACED = (
    (r"^import triton$", "from tests.language.tl import ours as triton"),
    (r"^import triton\.language as tl$", "import tilewright.language.tl as tl"),
    (r"^from triton\.language\.extra import", "from tilewright.language.tl.extra import"),
    (r"^from \.\.case import", "from tests.dumps.case import"),
)


@cache
def _our_module(name: str) -> ModuleType:
    """A file of the corpus with our language, up to its list of cases."""
    source = (Path(kernels.__path__[0]) / f"{name}.py").read_text()
    source = re.split(r"^(?:CASES|def _)", source, flags=re.MULTILINE)[0]
    for pattern, ours in _REPLACED:
        source = re.sub(pattern, ours, source, flags=re.MULTILINE)
    path = Path(_scratch.name) / f"{name}.py"
    path.write_text(source)
    # Symbols of functions start with the name of their module.
    spec = importlib.util.spec_from_file_location(f"{kernels.__name__}.{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _argument(path: tuple[int, ...], spelled: Any, attrs: Mapping[Any, Any]) -> Argument:
    """An argument, or a tuple of them as one, with the attributes of each."""
    if not isinstance(spelled, tuple):
        plain = argument(spelled)
        notes = {name: IntegerAttr(value, i32) for name, value in attrs.get(path, [])}
        return Argument(plain.types, plain.make, notes)
    parts = [_argument((*path, index), item, attrs) for index, item in enumerate(spelled)]

    def make(values: Iterator[SSAValue]) -> Any:
        made = [part.make(values) for part in parts]
        return type(spelled)(*made) if hasattr(spelled, "_fields") else tuple(made)

    return Argument(
        [type for part in parts for type in part.types],
        make,
        [notes for part in parts for notes in part.each_attributes()],
    )


def _constant(value: Any) -> Any:
    """A constant of a case with our types in place of Triton's."""
    return dtype(value.name) if isinstance(value, triton.language.dtype) else value


def _ours(case: Case, target: str) -> str:
    kernel = getattr(_our_module(case.kernel.__module__.rpartition(".")[2]), case.kernel.__name__)
    attrs = case.attrs_for(target)
    arguments = {
        name: _constant(case.constexprs.get(name))
        if spelled == "constexpr"
        else _argument((index,), spelled, attrs)
        for index, (name, spelled) in enumerate(case.signature.items())
    }
    gpu = TARGETS[target]
    options = Options(
        Target(gpu.backend, gpu.arch),
        debug=case.options.get("debug", False),
        num_warps=case.options.get("num_warps", 4),
    )
    with using(options), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return print_module(trace(kernel, arguments).module)


def _triton(case: Case, target: str) -> str:
    from triton._C.libtriton import ir
    from triton.compiler.compiler import make_backend

    from tests.dumps.generate import _no_device, _source

    gpu = TARGETS[target]
    backend = make_backend(gpu)
    source = _source(case, target)
    wanted = {**case.options, **source.parse_options(), "sanitize_overflow": False}
    options = backend.parse_options(wanted)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    codegen = backend.get_codegen_implementation(options)
    with _no_device(gpu), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = source.make_ir(gpu, options, codegen, backend.get_module_map(), context)
    return module.str_nodebug()


@pytest.mark.parametrize("name", CASES)
def test_same_ir(name: str) -> None:
    case = CASES[name]
    target = case.available_targets[-1] if "sm90" not in case.available_targets else "sm90"
    expected, found = _triton(case, target), _ours(case, target)
    if name not in SEVERAL_BLOCKS:
        compare(settled_text(expected), settled_text(found))
        return
    # Where constants end up depends on the empty blocks, so lines are compared in any order.
    assert sorted(simplified_by_triton(expected).splitlines()) == sorted(
        simplified_by_triton(found).splitlines()
    )
