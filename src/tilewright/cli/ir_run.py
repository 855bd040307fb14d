"""Run a kernel that is given as IR text, with arguments from the command line.

What was written goes to standard output, one line for every array, or into a file. Kernels on
pointers get their grid from the command line. Tile kernels compute their own; those that were
raised from pointers take it as arguments, which are filled in.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tilewright.cli.inputs import IrText, kernels_of
from tilewright.cli.ir_arguments import (
    ArgumentError,
    Formal,
    bind,
    formals_of,
    loaded_value,
    parse_spec,
    value_of,
)
from tilewright.dialects.func import FuncOp as TileFuncOp
from tilewright.dialects.functions import FunctionOp
from tilewright.dialects.tt.program import GetProgramIdOp
from tilewright.passes.raising.function import GRID
from tilewright.runtime.tile.options import current_tile_options
from tilewright.targets.numpy.api import Array, Grid, RunOptions, RunReport
from tilewright.targets.numpy.kernel import compile_module
from tilewright.targets.numpy.tile.api import TileReport
from tilewright.targets.numpy.tile.kernel import compile_tile_module


@dataclass(frozen=True)
class IrRun:
    """What to run, and on what."""

    grid: Grid | None = None
    kernel: str | None = None
    arguments: tuple[tuple[str, str], ...] = ()
    """Name and SPEC of each ``--arg``."""
    arguments_file: str | None = None
    output: str | None = None
    seed: int = 0
    is_json: bool = False
    """Whether the arrays are described as JSON."""


def run_text(
    ir: IrText, settings: IrRun, options: RunOptions
) -> tuple[str, RunReport | TileReport]:
    """Run the kernel of a file; its name, and what happened."""
    module, engine = ir.module, ir.engine
    function = chosen_kernel(module, settings.kernel)
    kernel = function.sym_name.data
    formals = formals_of(function)
    values = _values(formals, settings)
    if isinstance(function, TileFuncOp):
        _add_grid(formals, values, settings)
    unwritten = {name for name, spec in settings.arguments if parse_spec(spec).value == "empty"}
    arguments = bind(kernel, formals, values, unwritten)
    arrays = [formal for formal in formals if formal.is_array]
    before = {formal.name: values[formal.name].copy() for formal in arrays}
    if isinstance(function, TileFuncOp):
        tiles = compile_tile_module(module, name=kernel, sources=engine.sources)
        report = tiles.launch(arguments, replace(current_tile_options(), sources=engine.sources))
    else:
        if settings.grid is None and any(isinstance(op, GetProgramIdOp) for op in function.walk()):
            sys.stderr.write(f"no --grid: one program of @{kernel} is run\n")
        compiled = compile_module(module, name=kernel, sources=engine.sources)
        report = compiled.launch(settings.grid or (1, 1, 1), arguments, options)
    if settings.output is not None:
        save(settings.output, {name: values[name] for name in before})
    elif settings.is_json:
        rows = _rows(arrays, before, values)
        sys.stdout.write(
            json.dumps([{"name": a, "type": b, "change": c} for a, b, c in rows], indent=2) + "\n"
        )
    else:
        sys.stdout.write(_changes(arrays, before, values))
    return kernel, report


def _add_grid(formals: Sequence[Formal], values: dict[str, Any], settings: IrRun) -> None:
    """A tile kernel that was raised from pointers takes its grid as its last arguments."""
    if tuple(formal.name for formal in formals[-len(GRID) :]) == GRID:
        for name, count in zip(GRID, settings.grid or (1, 1, 1), strict=True):
            values.setdefault(name, np.int32(count))
    elif settings.grid is not None:
        raise ArgumentError("--grid: a tile kernel computes its own grid")


def chosen_kernel(module: ModuleOp, name: str | None) -> FunctionOp:
    """The kernel called `name`, or the only one."""
    kernels = kernels_of(module)
    if not kernels:
        raise ArgumentError("no public function (tt.func) with a body, and none with a tile.kernel")
    names = [kernel.sym_name.data for kernel in kernels]
    if name is None and len(kernels) > 1:
        raise ArgumentError(f"several kernels: {', '.join(names)}; pass --kernel NAME")
    return kernels[0 if name is None else names.index(name)]


def _values(formals: Sequence[Formal], settings: IrRun) -> dict[str, Any]:
    by_name = {formal.name: formal for formal in formals}
    rng = np.random.default_rng(settings.seed)
    values: dict[str, Any] = {}
    if settings.arguments_file is not None:
        for name, array in load(settings.arguments_file).items():
            values[name] = loaded_value(by_name[name], array) if name in by_name else array
    for name, text in settings.arguments:
        spec = parse_spec(text)
        # A name that the kernel does not have is reported with the names it has.
        values[name] = value_of(by_name[name], spec, rng) if name in by_name else spec
    return values


def load(file: str) -> dict[str, Array]:
    """The arrays of an ``.npz`` file by name."""
    try:
        with np.load(file) as found:
            return {name: found[name] for name in found.files}
    except OSError as error:
        raise ArgumentError(f"cannot read '{file}': {error.strerror or error}") from None
    except (AttributeError, BadZipFile, ValueError):
        raise ArgumentError(
            f"'{file}' is not an .npz file of plain arrays: write one with numpy.savez"
        ) from None


def save(file: str, arrays: dict[str, Array]) -> None:
    """Write `arrays` next to `file` first, so that a full disk does not cost what was there."""
    draft = Path(f"{file}.part")
    try:
        with draft.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **arrays)
        draft.replace(file)
    except OSError as error:
        raise ArgumentError(f"cannot write '{file}': {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)


def _changes(arrays: Sequence[Formal], before: dict[str, Array], after: dict[str, Array]) -> str:
    """One line for every array: what it is, how much of it was written, what it holds."""
    rows = _rows(arrays, before, after)
    names, types = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    return "".join(f"{name:{names}}  {type:{types}}  {change}\n" for name, type, change in rows)


def _rows(
    arrays: Sequence[Formal], before: dict[str, Array], after: dict[str, Array]
) -> list[tuple[str, str, str]]:
    return [
        (
            formal.name,
            f"{formal.element.name}[{','.join(map(str, after[formal.name].shape))}]",
            _change(before[formal.name], after[formal.name]),
        )
        for formal in arrays
    ]


def _change(old: Array, new: Array) -> str:
    bits = np.dtype(f"u{old.itemsize}")
    changed = int(np.count_nonzero(old.view(bits) != new.view(bits)))
    if not changed:
        return "unchanged"
    floats = new.astype(np.float64)
    finite = floats[np.isfinite(floats)]
    span = f"{finite.min():.6g} to {finite.max():.6g}" if finite.size else "nothing finite"
    odd = f", {floats.size - finite.size} not finite" if finite.size < floats.size else ""
    return f"{changed} of {old.size} changed; {span}{odd}"
