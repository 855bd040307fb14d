"""Tilewright: a tile-kernel compiler in Python.

    import tilewright as tw
    from tilewright import tl

Importing the package is free of weight: it loads neither xDSL nor any device library. What is used
is loaded when it is used, by name.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tilewright._version import __version__

if TYPE_CHECKING:
    from tilewright.ir.diagnostics import CompileError as CompileError
    from tilewright.language import T as T
    from tilewright.language import tl as tl
    from tilewright.language import tlx as tlx
    from tilewright.language.tl.aggregates import aggregate as aggregate
    from tilewright.language.tl.constexpr import constexpr_function as constexpr_function
    from tilewright.runtime.addresses import analyze as analyze
    from tilewright.runtime.autotune import autotune as autotune
    from tilewright.runtime.config import Config as Config
    from tilewright.runtime.decorator import jit as jit
    from tilewright.runtime.descriptors import TensorDescriptor as TensorDescriptor
    from tilewright.runtime.executors.current import executing as executing
    from tilewright.runtime.grid import reachable as reachable
    from tilewright.runtime.heuristics import heuristics as heuristics
    from tilewright.runtime.integers import cdiv as cdiv
    from tilewright.runtime.integers import next_power_of_2 as next_power_of_2
    from tilewright.runtime.memory_maps.kernels import memory_map as memory_map
    from tilewright.runtime.options import running as running
    from tilewright.runtime.pointer.jit import JITFunction as JITFunction
    from tilewright.runtime.tile.autotune import AutoTuner as AutoTuner
    from tilewright.runtime.tile.autotune import set_autotune_inputs as set_autotune_inputs
    from tilewright.runtime.tile.bench import do_bench as do_bench
    from tilewright.runtime.tile.input_generators import TensorSupplyType as TensorSupplyType
    from tilewright.runtime.tile.jit import compile_tile as compile
    from tilewright.runtime.tile.lower import lower as lower
    from tilewright.runtime.tile.options import tile_running as tile_running
    from tilewright.runtime.tile.pass_configs import PassConfigKey as PassConfigKey
    from tilewright.runtime.tile.profiler import Profiler as Profiler
    from tilewright.runtime.tile.tenstorrent_options import (
        tenstorrent_running as tenstorrent_running,
    )
    from tilewright.runtime.torch_op import torch_op as torch_op
    from tilewright.runtime.tuning_table import tuning_table as tuning_table
    from tilewright.runtime.uninitialised import empty as empty
    from tilewright.targets.numpy.api import NumpyFault as NumpyFault

_EXTENSION = "tilewright.cli.notebook"
"""What ``%load_ext tilewright`` loads."""

_WHERE = {
    "AutoTuner": "tilewright.runtime.tile.autotune",
    "CompileError": "tilewright.ir.diagnostics",
    "Config": "tilewright.runtime.config",
    "JITFunction": "tilewright.runtime.pointer.jit",
    "NumpyFault": "tilewright.targets.numpy.api",
    "PassConfigKey": "tilewright.runtime.tile.pass_configs",
    "Profiler": "tilewright.runtime.tile.profiler",
    "T": "tilewright.language",
    "TensorDescriptor": "tilewright.runtime.descriptors",
    "TensorSupplyType": "tilewright.runtime.tile.input_generators",
    "aggregate": "tilewright.language.tl.aggregates",
    "analyze": "tilewright.runtime.addresses",
    "autotune": "tilewright.runtime.autotune",
    "cdiv": "tilewright.runtime.integers",
    "compile": "tilewright.runtime.tile.jit:compile_tile",
    "constexpr_function": "tilewright.language.tl.constexpr",
    "do_bench": "tilewright.runtime.tile.bench",
    "empty": "tilewright.runtime.uninitialised",
    "executing": "tilewright.runtime.executors.current",
    "heuristics": "tilewright.runtime.heuristics",
    "jit": "tilewright.runtime.decorator",
    "lower": "tilewright.runtime.tile.lower",
    "memory_map": "tilewright.runtime.memory_maps.kernels",
    "next_power_of_2": "tilewright.runtime.integers",
    "reachable": "tilewright.runtime.grid",
    "running": "tilewright.runtime.options",
    "set_autotune_inputs": "tilewright.runtime.tile.autotune",
    "tenstorrent_running": "tilewright.runtime.tile.tenstorrent_options",
    "tile_running": "tilewright.runtime.tile.options",
    "tl": "tilewright.language",
    "tlx": "tilewright.language",
    "torch_op": "tilewright.runtime.torch_op",
    "tuning_table": "tilewright.runtime.tuning_table",
}

__all__ = [
    "AutoTuner",
    "CompileError",
    "Config",
    "JITFunction",
    "NumpyFault",
    "PassConfigKey",
    "Profiler",
    "T",
    "TensorDescriptor",
    "TensorSupplyType",
    "__version__",
    "aggregate",
    "analyze",
    "autotune",
    "cdiv",
    "compile",
    "constexpr_function",
    "do_bench",
    "empty",
    "executing",
    "heuristics",
    "jit",
    "lower",
    "memory_map",
    "next_power_of_2",
    "reachable",
    "running",
    "set_autotune_inputs",
    "tenstorrent_running",
    "tile_running",
    "tl",
    "tlx",
    "torch_op",
    "tuning_table",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'tilewright' has no attribute {name!r}")
    if name in ("T", "tl", "tlx"):
        value: object = importlib.import_module(f"tilewright.language.{name}")
    else:
        module, _, inside = _WHERE[name].partition(":")
        value = getattr(importlib.import_module(module), inside or name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: object) -> None:
    """``%load_ext tilewright``: the magics ``%%check`` and ``%%studio``."""
    importlib.import_module(_EXTENSION).load(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
