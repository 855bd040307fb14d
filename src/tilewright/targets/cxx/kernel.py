"""What kernels of every GPU have: parameters, attributes, a source."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import BlockArgument

from tilewright.dialects.func import FuncOp, argument_attributes
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import names
from tilewright.targets.cxx import control, conversions, exchange, extern, memory, scalars
from tilewright.targets.cxx.emitter import Emitter, is_buffer

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


def parameter_name(emitter: Emitter, argument: BlockArgument) -> str:
    """The name of a parameter: the user's, where there is one."""
    hint = argument_attributes(argument).get(names.NAME)
    if isinstance(hint, StringAttr):
        argument.name_hint = hint.data
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
