"""Parameters of a kernel as a launch sees them: what is compiled in, what is specialised on.

An annotation has three meanings: ``tl.constexpr`` compiles the value in, ``tl.const`` (or a type
``*k...``) makes a pointer read-only, and a type (``tl.int64``, ``"fp16"``, ``"*i8"``) fixes what
would otherwise follow from the value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

_SPELLINGS = {
    "u1": ("bool", "int1", "uint1", "i1"),
    "fp8e4nv": ("float8e4nv", "float8_e4m3fn"),
    "fp8e5": ("float8e5", "float8_e5m2"),
    "fp8e4b15": ("float8e4b15",),
    "fp8e4b8": ("float8e4b8", "float8_e4m3fnuz"),
    "fp8e5b16": ("float8e5b16", "float8_e5m2fnuz"),
    "fp16": ("half", "float16"),
    "bf16": ("bfloat16",),
    "fp32": ("float", "float32"),
    "fp64": ("double", "float64"),
    "i8": ("int8",),
    "i16": ("int16",),
    "i32": ("int", "int32"),
    "i64": ("int64",),
    "u8": ("uint8",),
    "u16": ("uint16",),
    "u32": ("uint32",),
    "u64": ("uint64",),
}

_CANONICAL = {name: name for name in _SPELLINGS} | {
    spelling: name for name, spellings in _SPELLINGS.items() for spelling in spellings
}


def _type_text(annotation: object) -> str:
    """An annotation in one spelling: ``*k`` before a read-only pointer, ``*`` before a pointer."""
    if isinstance(annotation, str):
        text = annotation.strip().removeprefix("tl.")
    elif isinstance(annotation, type):
        text = annotation.__name__
    else:
        text = str(annotation)
    if text.startswith("const "):
        return "*k" + _type_text(text.removeprefix("const ")).lstrip("*")
    if text.endswith("*"):
        return "*" + _type_text(text[:-1])
    if text.startswith("pointer<") and text.endswith(">"):
        return "*" + _type_text(text[len("pointer<") : -1])
    for prefix in ("*k", "*"):
        if text.startswith(prefix):
            return prefix + _type_text(text[len(prefix) :])
    return _CANONICAL.get(text.removesuffix("_t"), text)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel. Without `specialise`, no property of its value is compiled in."""

    name: str
    default: Any
    is_constexpr: bool
    is_const: bool
    declared_type: str
    specialise: bool
    align: bool
    is_variadic: bool = False

    @property
    def has_default(self) -> bool:
        return self.default is not inspect.Parameter.empty


def _parameter(parameter: inspect.Parameter, *, specialise: bool, align: bool) -> Parameter:
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        raise TypeError(f"a kernel cannot take **{parameter.name}: name its parameters")
    annotation = parameter.annotation
    text = "" if annotation is inspect.Parameter.empty else _type_text(annotation)
    is_constexpr = "constexpr" in text
    if is_constexpr and not (specialise and align):
        raise ValueError(
            f"{parameter.name} is a constexpr and listed in do_not_specialize: a constexpr is "
            "always specialised; remove it from one of the two"
        )
    declared = text if text.removeprefix("*k").removeprefix("*") in _SPELLINGS else ""
    return Parameter(
        name=parameter.name,
        default=parameter.default,
        is_constexpr=is_constexpr,
        is_const=not is_constexpr and ("const" in text or text.startswith("*k")),
        declared_type=declared,
        specialise=specialise,
        align=align,
        is_variadic=parameter.kind is inspect.Parameter.VAR_POSITIONAL,
    )


def parameters_of(
    function: Callable[..., object],
    do_not_specialise: Collection[str | int] = (),
    do_not_specialise_on_alignment: Collection[str | int] = (),
) -> tuple[Parameter, ...]:
    """The parameters of `function`; the collections name or number those to treat as unknown."""
    signature = inspect.signature(function).parameters.values()
    return tuple(
        _parameter(
            parameter,
            specialise=not {index, parameter.name} & set(do_not_specialise),
            align=not {index, parameter.name} & set(do_not_specialise_on_alignment),
        )
        for index, parameter in enumerate(signature)
    )
