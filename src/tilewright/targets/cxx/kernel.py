"""What kernels of every GPU have: parameters, attributes, a source, and the module around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, BlockArgument

from tilewright.dialects.func import FuncOp, argument_attributes
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import names
from tilewright.ir.diagnostics import Diagnostic
from tilewright.ir.hints import name_hint_of
from tilewright.targets.cxx import control, conversions, exchange, extern, memory, scalars
from tilewright.targets.cxx.emitter import Emitter, is_buffer
from tilewright.targets.metadata import POINTER

RULES = {
    **scalars.RULES,
    **conversions.RULES,
    **control.RULES,
    **memory.RULES,
    **exchange.RULES,
    **extern.RULES,
}
"""What is written alike for every GPU."""

NAMES = """using uint = unsigned int;
using uchar = unsigned char;
using ushort = unsigned short;
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;
"""
"""Names that user source takes for granted, and run-time compilers do not have."""


@dataclass(frozen=True)
class Source:
    """The text of a kernel, and what a launch has to know."""

    name: str
    text: str
    threads: int
    shared_bytes: int


@dataclass(frozen=True)
class Lowered:
    """A module after the passes, and its kernels as text."""

    module: ModuleOp
    host: FuncOp
    functions: Sequence[FuncOp]
    sources: Sequence[Source]
    diagnostics: Sequence[Diagnostic]
    """Remarks and warnings of the passes, which count only if this is what becomes of it."""

    @property
    def texts(self) -> Sequence[str]:
        return [each.text for each in self.sources]

    @classmethod
    def emitted(
        cls, module: ModuleOp, emit: Callable[[FuncOp], Source], diagnostics: Sequence[Diagnostic]
    ) -> Self:
        """The kernels of a module after the passes."""
        functions = kernels_of(module)
        host = next(op for op in module.body.ops if isinstance(op, FuncOp) and op not in functions)
        return cls(module, host, functions, list(map(emit, functions)), diagnostics)


def parameter_name(emitter: Emitter, argument: BlockArgument) -> str:
    """The name of a parameter: the user's, where there is one."""
    hint = argument_attributes(argument).get(names.NAME)
    if isinstance(hint, StringAttr):
        argument.name_hint = name_hint_of(hint.data)
    return emitter.name(argument, "argument")


def parameter(emitter: Emitter, argument: BlockArgument) -> str:
    """The declaration of a pointer or a scalar."""
    name = parameter_name(emitter, argument)
    if is_buffer(argument.type):
        attributes = argument_attributes(argument)
        const = "const " if simt_names.CONST in attributes else ""
        restrict = " __restrict__" if simt_names.RESTRICT in attributes else ""
        return f"{const}{emitter.element(argument).name}*{restrict} {name}"
    return f"{emitter.scalar(argument.type).name} {name}"


def kind_of(type: Attribute, index_bits: int) -> str:
    """The kind of a parameter, for a launch."""
    if is_buffer(type):
        return POINTER
    return str(type) if str(type) != "index" else f"i{index_bits or 32}"


def user_source(function: FuncOp, emitter: Emitter) -> list[str]:
    """The source that the user supplied, which goes before the kernel."""
    prelude = function.attributes.get(simt_names.PRELUDE)
    sources = emitter.uses.sources
    return [
        prelude.data if isinstance(prelude, StringAttr) else "",
        "\n".join([NAMES, *sources]) if sources else "",
    ]


def joined(parts: list[str]) -> str:
    """The parts of a file, with an empty line between them."""
    return "\n\n".join(part for part in parts if part) + "\n"


def integer_of(function: FuncOp, name: str, default: int) -> int:
    """A number that the kernel carries."""
    found = function.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else default


def kernels_of(module: ModuleOp) -> list[FuncOp]:
    """The kernels of a module, in its order."""
    return [
        op
        for op in module.body.ops
        if isinstance(op, FuncOp) and simt_names.KERNEL in op.attributes
    ]
