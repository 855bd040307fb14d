"""The dialects: one module or package each, loaded when its first op or type is used.

``DIALECTS`` maps the name in the text to a function that imports the dialect; ``make_context``
registers them all and loads none, except ``builtin``. A name without an entry, or an entry whose
module is not part of this installation, is an unknown operation at its position in the text, not an
import error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.ir import Dialect

_MODULES: Mapping[str, tuple[str, str]] = {
    "amd": ("tilewright.dialects.amd", "Amd"),
    "amdg": ("tilewright.dialects.amdg", "Amdg"),
    "arith": ("tilewright.dialects.arith", "Arith"),
    "cf": ("tilewright.dialects.cf", "Cf"),
    "func": ("tilewright.dialects.func", "Func"),
    "gluon": ("tilewright.dialects.gluon", "Gluon"),
    "gpu": ("tilewright.dialects.gpu", "Gpu"),
    "llvm": ("tilewright.dialects.llvm", "Llvm"),
    "math": ("tilewright.dialects.math", "Math"),
    "memref": ("tilewright.dialects.memref", "Memref"),
    "nv": ("tilewright.dialects.nv", "Nv"),
    "nvg": ("tilewright.dialects.nvg", "Nvg"),
    "nvws": ("tilewright.dialects.nvws", "Nvws"),
    "rocdl": ("tilewright.dialects.rocdl", "Rocdl"),
    "scf": ("tilewright.dialects.scf", "Scf"),
    "simt": ("tilewright.dialects.simt", "Simt"),
    "tensix": ("tilewright.dialects.tensix", "Tensix"),
    "tile": ("tilewright.dialects.tile", "Tile"),
    "tlx": ("tilewright.dialects.tlx", "Tlx"),
    "tt": ("tilewright.dialects.tt", "Tt"),
    "ttg": ("tilewright.dialects.ttg", "Ttg"),
    "ttng": ("tilewright.dialects.ttng", "Ttng"),
    "ub": ("tilewright.dialects.ub", "Ub"),
}
"""Name in the text to module and constant, of those that may be absent from an installation."""


def _loader(module: str, constant: str) -> Callable[[], Dialect]:
    return lambda: getattr(import_module(module), constant)


def _is_installed(module: str) -> bool:
    spec = find_spec(module)
    return spec is not None and spec.origin is not None


DIALECTS: Mapping[str, Callable[[], Dialect]] = {
    "builtin": _loader("xdsl.dialects.builtin", "Builtin"),
    **{
        name: _loader(module, constant)
        for name, (module, constant) in _MODULES.items()
        if _is_installed(module)
    },
}
"""All dialects of this installation; calling an entry imports and returns the dialect."""


def make_context(*, allow_unregistered: bool = False) -> Context:
    """A context with every dialect registered and only ``builtin`` loaded."""
    from xdsl.context import Context

    context = Context(allow_unregistered=allow_unregistered)
    for name, load in DIALECTS.items():
        context.register_dialect(name, load)
    context.load_registered_dialect("builtin")
    return context
