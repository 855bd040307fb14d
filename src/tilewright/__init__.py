"""Tilewright: a tile-kernel compiler in Python.

    import tilewright as tw
    from tilewright import tl

Importing the package is free of weight: it loads neither xDSL nor any device library. What is used
is loaded when it is used, by name.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.ir.diagnostics import CompileError as CompileError
    from tilewright.language import T as T
    from tilewright.language import tl as tl
    from tilewright.language.tl.aggregates import aggregate as aggregate
    from tilewright.language.tl.constexpr import constexpr_function as constexpr_function
    from tilewright.runtime.addresses import analyze as analyze
    from tilewright.runtime.autotune import autotune as autotune
    from tilewright.runtime.config import Config as Config
    from tilewright.runtime.descriptors import TensorDescriptor as TensorDescriptor
    from tilewright.runtime.fresh import empty as empty
    from tilewright.runtime.heuristics import heuristics as heuristics
    from tilewright.runtime.integers import cdiv as cdiv
    from tilewright.runtime.integers import next_power_of_2 as next_power_of_2
    from tilewright.runtime.jit import JITFunction as JITFunction
    from tilewright.runtime.jit import jit as jit
    from tilewright.runtime.launch import reachable as reachable
    from tilewright.runtime.options import running as running
    from tilewright.targets.numpy.api import NumpyFault as NumpyFault

__version__ = "0.1.0.dev0"

_WHERE = {
    "CompileError": "tilewright.ir.diagnostics",
    "Config": "tilewright.runtime.config",
    "JITFunction": "tilewright.runtime.jit",
    "NumpyFault": "tilewright.targets.numpy.api",
    "T": "tilewright.language",
    "TensorDescriptor": "tilewright.runtime.descriptors",
    "aggregate": "tilewright.language.tl.aggregates",
    "analyze": "tilewright.runtime.addresses",
    "autotune": "tilewright.runtime.autotune",
    "cdiv": "tilewright.runtime.integers",
    "constexpr_function": "tilewright.language.tl.constexpr",
    "empty": "tilewright.runtime.fresh",
    "heuristics": "tilewright.runtime.heuristics",
    "jit": "tilewright.runtime.jit",
    "next_power_of_2": "tilewright.runtime.integers",
    "reachable": "tilewright.runtime.launch",
    "running": "tilewright.runtime.options",
    "tl": "tilewright.language",
}

__all__ = [
    "CompileError",
    "Config",
    "JITFunction",
    "NumpyFault",
    "T",
    "TensorDescriptor",
    "__version__",
    "aggregate",
    "analyze",
    "autotune",
    "cdiv",
    "constexpr_function",
    "empty",
    "heuristics",
    "jit",
    "next_power_of_2",
    "reachable",
    "running",
    "tl",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'tilewright' has no attribute {name!r}")
    if name in ("T", "tl"):
        value: object = importlib.import_module(f"tilewright.language.{name}")
    else:
        value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
