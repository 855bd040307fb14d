"""Control flow: from the name of an op to its semantics.

An op without an entry may do anything to its own results, but not to other values: its regions are
evaluated as code that may run.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.analysis.pid_address.control import choices, loops, tile
from tilewright.analysis.pid_address.control.regions import run_region
from tilewright.analysis.pid_address.scope import ControlRule

CONTROL: Mapping[str, ControlRule] = {
    "scf.if": choices.choose,
    "scf.index_switch": choices.switch,
    "scf.execute_region": choices.execute,
    "scf.for": loops.run_for,
    "scf.while": loops.run_while,
    "ttg.warp_specialize": choices.specialize,
    "tt.call": choices.call,
    "llvm.intr.assume": choices.assume,
    "tile.kernel": tile.run_kernel,
    "tile.parallel": tile.run_parallel,
    "tile.pipeline": tile.run_pipeline,
    "tile.persistent": tile.run_persistent,
    "tile.ws": tile.run_roles,
    "tile.assume": tile.assume,
    "gpu.thread_id": tile.thread_id,
    "scf.yield": choices.nothing,
    "scf.condition": choices.nothing,
    "ttg.warp_yield": choices.nothing,
    "ttg.warp_return": choices.nothing,
    "tt.return": choices.nothing,
    "cf.br": choices.nothing,
    "cf.cond_br": choices.nothing,
    "cf.switch": choices.nothing,
    "ub.unreachable": choices.nothing,
}

UNKNOWN: ControlRule = choices.unknown

__all__ = ["CONTROL", "UNKNOWN", "run_region"]
