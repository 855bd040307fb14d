"""Kernels of `tlx` as text, and how to compare a few lines of it.

`emitted` traces a body and returns its ops, one a line, as TLX prints them. `check` compares the
last of them with expected lines in which values have names of the test's own: each stands for one
value throughout. Constants are left out of the comparison; they are known by their names, ``%true``
or ``%c2_i32``.
"""

import importlib.util
import itertools
import re
import tempfile
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tests.language.tl.ours import argument
from tilewright.frontend.trace import trace
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.ir.text.flavour import TLX
from tilewright.ir.verify import verify
from tilewright.language.tl.options import Options, Target, using

HEAD = "from tilewright import tl, tlx\nfrom tests.language.tl.ours import jit\n"
SIGNATURE = {
    "x": "*fp16",
    "d": "tensordesc<fp16[64,64]>",
    "n": "i32",
    "p": "i32",
    "c": "i1",
}
_FLAVOUR = replace(TLX, names_from_locations=False)
_CONSTANT = re.compile(r"^%(true|false|c-?[0-9]+_i[0-9]+|cst)(_[0-9]+)?$")
_NAME = re.compile(r"%[\w#:-]+")
_SHORT = (
    (r"#ttg\.nvmma_shared<\{swizzlingByteWidth = (\d+), transposed = false, [^}]*\}>", r"nv\1"),
    (r"#ttg\.nvmma_shared<\{swizzlingByteWidth = (\d+), transposed = true, [^}]*\}>", r"nv\1t"),
    (r"#ttg\.swizzled_shared<\{vec = 1, perPhase = 1, maxPhase = 1, order = [^}]*\}>", "plain"),
    (r"#ttng\.tensor_memory_encoding<blockM = (\d+), blockN = (\d+), colStride = 1>", r"tm\1x\2"),
    (r"#ttg\.nvidia_mma<\{.*?\}>", "mma"),
    (r"!ttg\.memdesc<", "M<"),
    (r"#ttg\.shared_memory, mutable", "smem"),
    (r"#ttng\.tensor_memory, mutable", "tmem"),
    (r"#ttng\.shared_cluster_memory, mutable", "cluster"),
)
"""Layouts and memory spaces that every line is full of, and what stands for them in a test."""
_numbers = itertools.count()
_scratch = tempfile.TemporaryDirectory()


def kernel_of(source: str) -> Any:
    """The function `kernel` that `source` defines."""
    name = f"tlx_kernel_{next(_numbers)}"
    path = Path(_scratch.name) / f"{name}.py"
    path.write_text(HEAD + textwrap.dedent(source))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def module_of(
    source: str,
    signature: Mapping[str, str] = SIGNATURE,
    target: tuple[str, int | str] = ("cuda", 90),
    constants: Mapping[str, Any] | None = None,
    **options: Any,
) -> ModuleOp:
    """A verified module of the function `kernel`."""
    arguments = {name: argument(type) for name, type in signature.items()}
    with using(Options(target=Target(*target), **options)):
        module = trace(kernel_of(source), {**arguments, **(constants or {})}).module
    engine = DiagnosticEngine()
    assert verify(module, engine), [str(each) for each in engine.diagnostics]
    return module


def text_of(source: str, *args: Any, **kwargs: Any) -> str:
    return print_module(module_of(source, *args, **kwargs), flavour=_FLAVOUR)


def emitted(body: str, *args: Any, **kwargs: Any) -> list[str]:
    """The ops of a kernel with this body, without constants."""
    lines = textwrap.dedent(body).strip().splitlines()
    source = "\n".join(
        ["@jit", f"def kernel({', '.join(SIGNATURE)}):", *(f"    {line}" for line in lines)]
    )
    text = text_of(source, *args, **kwargs)
    start = text.index("tt.func")
    found = [line.strip() for line in text[start:].splitlines()[1:]]
    found = found[: found.index("tt.return")]
    return [_expanded(line, text) for line in found if "= arith.constant" not in line]


def _expanded(line: str, text: str) -> str:
    """`line` with the layouts that stand behind its aliases, shortened."""
    for alias, layout in reversed(re.findall(r"^(#\w+) = (.*)$", text, re.M)):
        line = re.sub(rf"{alias}\b", lambda _, layout=layout: layout, line)
    for pattern, short in _SHORT:
        line = re.sub(pattern, short, line)
    return line


def check(expected: str, found: list[str]) -> None:
    """Assert that `found` ends with the lines of `expected`, up to the names of values."""
    wanted = [line.strip() for line in expected.strip().splitlines()]
    tail = found[len(found) - len(wanted) :]
    names: dict[str, str] = {}
    for line, other in zip(wanted, tail, strict=True):
        assert _shape(line) == _shape(other), f"\nexpected {line}\nfound    {other}"
        for name, actual in zip(_NAME.findall(line), _NAME.findall(other), strict=True):
            if _CONSTANT.match(name):
                stem = _CONSTANT.match(actual)
                assert stem is not None, f"{name} in {line} is {actual}"
                assert f"%{stem[1]}" == name, f"{name} in {line} is {actual}"
            else:
                assert names.setdefault(name, actual) == actual, f"{name} in {line} is {actual}"
    assert len(set(names.values())) == len(names), f"two names for one value: {names}"


def _shape(line: str) -> str:
    return _NAME.sub("%", line)
