"""``triton.compile``: kernels compiled by the types of their arguments, without arguments.

    triton.compile(ASTSource(fn=kernel, signature={"x": "*fp32", "n": "i32"}, constexprs={"B": 8}))

What comes back is the kernel as a launch would have made it, for the CPU.
"""

from __future__ import annotations

import importlib
import inspect
import io
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, cast

from tilewright.compat.dtype_names import type_canonicalisation_dict
from tilewright.compat.kernels import CompiledKernel, JITFunction
from tilewright.compat.modules import VERSION
from tilewright.ir.text import print_module
from tilewright.runtime.specialise import DIVISIBLE, Key, constant_key

_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([\d, ]+)\]")


def triton_key() -> str:
    """What changes when the compiler does."""
    return f"tilewright {VERSION}"


class ASTSource:
    """A kernel and the types of its parameters."""

    def __init__(
        self,
        fn: JITFunction,
        signature: Mapping[Any, Any],
        constexprs: Mapping[Any, Any] | None = None,
        attrs: Mapping[Any, Any] | None = None,
    ) -> None:
        self.fn = fn
        self.name = fn.name
        self.signature = signature
        self.attrs = dict(attrs or {})
        self.constants = {self._name(key): value for key, value in (constexprs or {}).items()}

    def _name(self, key: Any) -> str:
        """The parameter that `key` means: its name, or a path that begins with its number."""
        first = cast("tuple[Any, ...]", key)[0] if isinstance(key, tuple) else key
        return self.fn.arg_names[first] if isinstance(first, int) else str(first)

    def keys(self) -> list[Key]:
        """What the code depends on in each parameter."""
        divisible = {self._name(key) for key in self.attrs}
        return [
            constant_key(self.constants[name])
            if name in self.constants
            else _key(self.signature.get(name), divisible=name in divisible)
            for name in self.fn.arg_names
        ]


def _key(kind: Any, *, divisible: bool) -> Key:
    if isinstance(kind, (tuple, list)):
        kind = cast("Sequence[Any]", kind)
        return ("tuple", None, *(_key(each, divisible=divisible) for each in kind))
    if kind is None or kind == "constexpr":
        return constant_key(None)
    text = str(kind)
    described = _DESCRIPTOR.match(text)
    if described is not None:
        block = tuple(int(extent) for extent in described[2].split(","))
        return ("tensordesc", type_canonicalisation_dict[described[1]], block, "zero")
    stars = re.match(r"\**k?", text) if text.startswith("*") else None
    prefix = "" if stars is None else stars[0]
    element = text[len(prefix) :]
    return prefix + type_canonicalisation_dict.get(element, element), DIVISIBLE * divisible


def compile(
    src: ASTSource | str, target: Any = None, options: Mapping[str, Any] | None = None
) -> Any:
    """The kernel of `src`, traced and verified."""
    if not isinstance(src, ASTSource):
        raise NotImplementedError(
            "triton.compile takes an ASTSource here; texts of IR are run by `tilewright run FILE`"
        )
    return src.fn.compiled_for(src.keys(), dict(options or {}))


class IRText:
    """The IR of a kernel, as Triton's modules print themselves."""

    def __init__(self, compiled: CompiledKernel) -> None:
        self._module = compiled.inner.module

    def str_nodebug(self) -> str:
        return print_module(self._module)

    def __str__(self) -> str:
        return print_module(self._module, locations=True)


def run_parser(
    kernel_fn: JITFunction,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    target: Any = None,
) -> IRText:
    """The IR that `kernel_fn` is traced to."""
    compiled = kernel_fn.run(*args, grid=(1,), warmup=True, **(kwargs or {}))
    return IRText(compiled)


def run_filecheck(name: str, module_str: str, check_template: str) -> None:
    """Compare the text of IR with the ``CHECK`` lines of `check_template`."""
    try:
        finput: Any = importlib.import_module("filecheck.finput")
        parser: Any = importlib.import_module("filecheck.parser")
        matcher: Any = importlib.import_module("filecheck.matcher")
        options: Any = importlib.import_module("filecheck.options")
    except ModuleNotFoundError:
        raise RuntimeError("comparing IR needs the package filecheck") from None
    chosen = options.Options(match_filename=name)
    found = matcher.Matcher(
        chosen,
        finput.FInput(name, module_str),
        parser.Parser(chosen, io.StringIO(check_template), *parser.pattern_for_opts(chosen)),
    )
    if found.run() != 0:
        raise ValueError(f"{name}: the IR does not match its CHECK lines\n{module_str}")


def run_filecheck_test(
    kernel_fn: JITFunction, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> None:
    """Compare the IR of a kernel with the ``CHECK`` lines in its source."""
    text = run_parser(kernel_fn, args, kwargs).str_nodebug()
    run_filecheck(kernel_fn.name, text, inspect.getsource(kernel_fn.fn))


def filecheck_test(fn: JITFunction) -> Callable[[], None]:
    """A test that compares the IR of `fn` with the ``CHECK`` lines in its source."""

    @wraps(fn.fn)
    def test() -> None:
        run_filecheck_test(fn)

    del test.__wrapped__  # pytest reads parameters of the wrapped function
    return test


class CodeGenerator:
    """Triton's walk over the syntax tree, of which there is none here."""

    def __init__(self, *_: object, **__: object) -> None:
        raise NotImplementedError(
            "Triton's CodeGenerator has no counterpart here: kernels are traced by executing them"
        )
