"""Tilewright: a tile-kernel compiler in Python.

    import tilewright as tw
    from tilewright import tl

Importing the package is free of weight: it loads neither xDSL nor any device library. What is used
is loaded when it is used, by name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tilewright._exports import load_on_use

if TYPE_CHECKING:
    from tilewright._version import __version__ as __version__
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
    from tilewright.runtime.tile.jit import compile_tile
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

    compile = compile_tile
else:
    load_on_use(__name__)

_EXTENSION = "tilewright.cli.notebook"
"""What ``%load_ext tilewright`` loads."""


def load_ipython_extension(shell: object) -> None:
    """``%load_ext tilewright``: the magics ``%%check`` and ``%%studio``."""
    import_module(_EXTENSION).load(shell)
