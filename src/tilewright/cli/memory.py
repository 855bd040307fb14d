"""``tilewright memory``: the map of shared and tensor memory.

Storage-alias specs are planned as ``tlx-storage-alias-lowering`` would plan them; every other
allocation is a region of its own, or with ``--merge`` a buffer of the one region that
``merge-shared-memory`` would plan. The picture goes to standard output, diagnostics to standard
error. Where the target has less than is needed, the same table comes with the error, and with it
the smallest changes that were planned and found to fit.

    IR text, or a script without a compiler's target    as it is written (`_as_written`)
    a script for cuda:sm_90a, hip:gfx942                as it is placed by the passes for that GPU
    tenstorrent:wormhole                                the circular buffers in the L1 of a core
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.cli.command_line import (
    DONE,
    WRONG_KERNEL,
    CommandLine,
    UsageError,
    choice,
    ended,
    parse,
    show_diagnostics,
)
from tilewright.cli.commands import MEMORY
from tilewright.cli.inputs import Launched, launched, read_ir
from tilewright.cli.memory_merge import merged_maps
from tilewright.cli.outputs import printable, write_output
from tilewright.cli.support import MEMORY_OF_TRITON
from tilewright.cli.targets import GPUS, TENSTORRENT, TRITON, checked_name, kind_of
from tilewright.cli.working import working_on
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine, Severity, locate
from tilewright.memory import (
    Memory,
    MemoryMap,
    Mode,
    Options,
    StoragePlan,
    Target,
    fitting_changes,
    memory_maps,
    target_named,
)
from tilewright.passes.tlx.storage_alias.messages import code_of
from tilewright.passes.tlx.storage_alias.planning import PlacementName, target_of
from tilewright.report import memory_html, memory_json, memory_svg, memory_text
from tilewright.runtime.memory_maps.plans import Allocations, Unlimited, allocations
from tilewright.runtime.memory_maps.tiles import has_tile_kernels, shared_memory_maps

if TYPE_CHECKING:
    from tilewright.runtime.tile.kernel import CompiledTileKernel

Renderer = Callable[[Sequence[MemoryMap]], str]

_FORMATS: dict[str, Renderer] = {
    "text": memory_text.render,
    "svg": memory_svg.render,
    "html": memory_html.render,
    "json": memory_json.render,
}
_AS_WRITTEN = ("placement", "infer-overlap", "multi-overlap", "merge")
"""Flags about memory that nothing has placed yet."""

OUT_OF_MEMORY = code_of("E17")


@dataclass(frozen=True)
class _Request:
    """What a command line requests."""

    line: CommandLine
    format: str
    placement: PlacementName
    target: Target | None
    """The GPU to compare with."""
    compiled_for: str | None = None
    """``cuda:sm_90a``, ``tenstorrent:wormhole``: the kernels are compiled for it."""

    @property
    def is_merged(self) -> bool:
        return "merge" in self.line.switches


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""

    def memory() -> int:
        request = _read(arguments)
        if request.compiled_for is not None:
            return _placed(request, request.compiled_for, program)
        if request.line.is_script:
            return _script_as_written(request, program)
        return _text_as_written(request)

    return ended(MEMORY, arguments, program, memory)


def _read(arguments: Sequence[str]) -> _Request:
    line = parse(MEMORY, arguments)
    if line.is_json:
        line.values["format"] = "json"
    # `choice` has checked that it is one of the three.
    placement = cast("PlacementName", choice(line, MEMORY, "placement", "reindex"))
    request = _Request(line, choice(line, MEMORY, "format", "text"), placement, None)
    target = line.values.get("target")
    if target is None:
        return request
    kind = kind_of(target)
    written = [each for each in _AS_WRITTEN if each in line.values or each in line.switches]
    if kind == TRITON:
        raise UsageError(
            f"--target {target}: {MEMORY_OF_TRITON.printed}: 'tilewright compile {line.name} "
            f"--target {target} -o DIR', then 'tilewright memory DIR/*.ttgir.final'"
        )
    if kind == TENSTORRENT:
        if written:
            raise UsageError(f"--{written[0]} applies to GPUs, not to --target {target}")
        return replace(request, compiled_for=checked_name(target))
    try:
        request = replace(request, target=target_named(target))
    except LookupError as error:
        raise UsageError(error.args[0]) from None
    if kind in GPUS and line.is_script:
        if written:
            raise UsageError(
                f"--{written[0]} is about memory as it is written, and with --target {target} the "
                "compiler has placed it: leave one of them out"
            )
        return replace(request, compiled_for=checked_name(target))
    return request


# -- as it is placed -------------------------------------------------------------------------------


def _placed(request: _Request, target: str, program: str) -> int:
    # The compilers of kernels on tiles; maps of kernels as they are written do without.
    if kind_of(target) == TENSTORRENT:
        from tilewright.cli.compile_tenstorrent import compile_file

        programs, sources = compile_file(request.line, target, program)
        maps = [each.memory_map() for one in programs for each in one.artefact.launches]
    else:
        from tilewright.cli.lowered_calls import lowered_calls

        modules, sources = lowered_calls(request.line, target, program)
        maps = [
            named
            for name, module in modules
            for each in shared_memory_maps(module, request.target)
            for named in [replace(each, kernel=each.kernel or (name if len(modules) > 1 else ""))]
        ]
    if maps or not sources.refused:
        _draw(request, maps)
    return sources.show_rest()


# -- as it is written ------------------------------------------------------------------------------


def _text_as_written(request: _Request) -> int:
    ir = read_ir(request.line)
    maps = _as_written(request, ir.module, ir.engine)
    # The picture comes first: errors at the end of a terminal are the ones that are read.
    if maps is not None:
        _draw(request, maps)
    show_diagnostics(ir.engine.diagnostics, ir.engine)
    return WRONG_KERNEL if ir.engine.has_errors else DONE


def _script_as_written(request: _Request, program: str) -> int:
    found: list[MemoryMap] = []
    engine, without = DiagnosticEngine(), list[str]()
    every = launched(request.line, program, done="traced")
    for each in working_on(every, "planning"):
        module, target = _written(each, request.target)
        maps = _as_written(replace(request, target=target), module, engine)
        if maps == ():
            without.append(
                f"{each.name} ({each.language}) allocates no shared or tensor memory; what the "
                "compiler adds: --target cuda:sm_90a"
            )
        name = each.name if len({one.name for one in every}) > 1 else ""
        named = [replace(one, kernel=one.kernel or name) for one in maps or ()]
        found += [one for one in named if one not in found]  # of other arguments, the same
    if found or not engine.has_errors:
        _draw(request, found)
    show_diagnostics(list(dict.fromkeys(engine.diagnostics)), engine)
    for text in dict.fromkeys(without):
        sys.stderr.write(f"{program}: {text}\n")
    return WRONG_KERNEL if engine.has_errors else DONE


def _written(each: Launched, target: Target | None) -> tuple[ModuleOp, Target | None]:
    """The IR of a kernel as it was written, and the GPU that it is compared with."""
    compiled = each.pointers
    if compiled is None:
        kernel = each.kernel
        return cast("CompiledTileKernel", kernel).prim_func.module.clone(), target
    # Scripts alone need the runtime.
    from tilewright.runtime.addresses import named_module

    machine = compiled.choice.machine
    own = target_named(f"sm_{machine.arch}") if machine.is_cuda else None
    return named_module(compiled), target or own


def _as_written(
    request: _Request, module: ModuleOp, engine: DiagnosticEngine
) -> tuple[MemoryMap, ...] | None:
    """The maps of a module; None where something could not be planned."""
    target = request.target or target_of(module)
    if has_tile_kernels(module):
        return shared_memory_maps(module, target)
    if request.is_merged:
        return merged_maps(module, target, engine)
    switches = request.line.switches
    settings = Unlimited(
        request.placement, "infer-overlap" in switches, "multi-overlap" in switches, target
    )
    kernels = allocations(module, settings, engine)
    if kernels is None:
        return None
    maps: list[MemoryMap] = []
    for found in kernels:
        for each in memory_maps(found.plans, target, found.kernel):
            maps.append(each)
            if each.capacity is not None and each.used > each.capacity:
                _out_of_memory(module, each, found, engine, with_table=request.format != "text")
    return tuple(maps)


# -- output ----------------------------------------------------------------------------------------


def _draw(request: _Request, maps: Sequence[MemoryMap]) -> None:
    rendered = _FORMATS[request.format](_only(maps, request.line.values.get("region")))
    write_output(request.line, printable(rendered))


def _only(maps: Sequence[MemoryMap], region: str | None) -> Sequence[MemoryMap]:
    """The maps with one region only; totals stay those of all."""
    if region is None:
        return maps
    names = [each.name for memory in maps for each in memory.regions]
    if region not in names:
        known = f"expected one of {', '.join(names)}" if names else "there are none"
        raise UsageError(f"no region '{region}'; {known}")
    return [
        replace(memory, regions=regions)
        for memory in maps
        if (regions := tuple(each for each in memory.regions if each.name == region))
    ]


# -- out of memory -------------------------------------------------------------------------------


def _out_of_memory(
    module: ModuleOp,
    memory: MemoryMap,
    found: Allocations,
    engine: DiagnosticEngine,
    *,
    with_table: bool,
) -> None:
    """Report the missing memory, and the changes that fit."""
    assert memory.capacity is not None
    plans = [plan for plan in found.plans if plan.region.memory is memory.memory]
    largest = max(plans, key=lambda plan: plan.backing.allocated).region
    unit = memory.memory.unit_name
    whose = f" of @{memory.kernel}" if memory.kernel else ""
    message = (
        f"{memory.memory.full_name}{whose}: {memory.used} {unit} needed, "
        f"{memory.capacity} available on {memory.target}"
    )
    where: Operation = found.ops.get(largest.name, module)
    severity = _severity(memory, found)
    diagnostic = Diagnostic(severity, message, locate(where), OUT_OF_MEMORY)
    if with_table:
        diagnostic.note(None, f"as planned:\n{memory_text.render([memory]).rstrip()}")
    for text in _ways_out(memory, plans, memory.capacity):
        diagnostic.note(None, text)
    if severity is Severity.WARNING:
        diagnostic.note(
            None, "plain allocations are summed; those with disjoint live ranges can overlap"
        )
    engine.emit(diagnostic)


def _severity(memory: MemoryMap, found: Allocations) -> Literal[Severity.ERROR, Severity.WARNING]:
    """An error only where no order of life could save it: specs and the largest plain one."""
    plain = [region.extent for region in memory.regions if region.name in found.plain]
    apart = sum(region.extent for region in memory.regions if region.name not in found.plain)
    minimum = apart + max(plain, default=0)
    return Severity.ERROR if minimum > (memory.capacity or 0) else Severity.WARNING


def _ways_out(memory: MemoryMap, plans: Sequence[StoragePlan], capacity: int) -> Iterator[str]:
    # What was placed by address may have no other way; indices are a special case of addresses.
    is_explicit = any(plan.mode is Mode.EXPLICIT for plan in plans)
    options = Options(Mode.EXPLICIT if is_explicit else Mode.REINDEX)
    kind = memory.memory
    assert isinstance(kind, Memory), "regions of storage alias specs are in shared or tensor memory"
    changes = fitting_changes([plan.region for plan in plans], kind, capacity, options)
    yield from map(str, changes)
    if not changes:
        yield "no order, alias or number of stages fits"
