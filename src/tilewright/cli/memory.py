"""``tilewright memory``: the map of shared and tensor memory.

Storage-alias specs are planned as ``tlx-storage-alias-lowering`` would plan them; every other
allocation is a region of its own, or with ``--merge`` a buffer of the one region that
``merge-shared-memory`` would plan. The picture goes to standard output, diagnostics to standard
error. Where the target has less than is needed, the same table comes with the error, and with it
the smallest changes that were planned and found to fit.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.cli.command_line import Flags, UsageError, show_diagnostics, text_of
from tilewright.cli.memory_merge import merged_maps
from tilewright.cli.outputs import write_whole
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import CompileError, Diagnostic, DiagnosticEngine, Severity, locate
from tilewright.ir.text import parse_source
from tilewright.ir.verify import verify
from tilewright.memory import (
    TARGETS,
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

_USAGE = """\
usage: {program} [flags] [FILE]

Reads IR text from FILE (or standard input, also '-') and draws its shared- and tensor-memory map.
With a target like cuda:sm_90a, hip:gfx942 or tenstorrent:wormhole FILE may also be a Python script:
its T kernels, and its tl kernels raised to tiles, are compiled and not run, and their shared memory
is drawn; of Tenstorrent, the circular buffers in the L1 of a core.

  --target NAME          target to compare with, instead of the module's: {targets};
                         tenstorrent:wormhole, tenstorrent:blackhole, tenstorrent:sim
  --format FORMAT        text (80 columns, the default), svg, html (one file) or json
  -o FILE                write there instead of standard output
  --region NAME          only this region
  --placement MODE       as tlx-storage-alias-lowering: reindex (default), explicit or auto
  --infer-overlap        infer overlaps from reuse groups without set_buffer_overlap
  --multi-overlap        allow several overlap definitions of one spec
  --merge                place plain allocations as merge-shared-memory would, with the
                         reasons why two buffers cannot share bytes

Exit code: 0, or 1 if the input is wrong, a region cannot be planned or the memory is exceeded.
"""

Renderer = Callable[[Sequence[MemoryMap]], str]

_FORMATS: dict[str, Renderer] = {
    "text": memory_text.render,
    "svg": memory_svg.render,
    "html": memory_html.render,
    "json": memory_json.render,
}
_PLACEMENTS = ("reindex", "explicit", "auto")
_FLAGS = Flags(
    with_value=("target", "format", "o", "region", "placement"),
    switches=("infer-overlap", "multi-overlap", "merge"),
    are_values_plain=True,
)

_FOR_GPUS = ("placement", "infer-overlap", "multi-overlap", "merge")

OUT_OF_MEMORY = code_of("E17")


@dataclass(frozen=True)
class _CommandLine:
    input: str = "-"
    output: str = "-"
    format: str = "text"
    region: str | None = None
    target: Target | None = None
    placement: PlacementName = "reindex"
    infer_overlap: bool = False
    multi_overlap: bool = False
    merge: bool = False
    tenstorrent: str | None = None
    """A Tenstorrent target."""
    compiled_for: str | None = None
    """The GPU that the kernels of a script are compiled for: ``cuda:sm_90a``."""
    for_gpus: str = ""
    """The last flag that means something for GPUs only."""


def _parse(arguments: Sequence[str]) -> _CommandLine:
    line = _CommandLine()
    files: list[str] = []
    pending = list(arguments)
    while pending:
        argument = pending.pop(0)
        if argument == "-" or not argument.startswith("-"):
            files.append(argument)
            continue
        name, value = _FLAGS.taken(argument, pending)
        line = _applied(line, argument, name, value or "")
        if name in _FOR_GPUS:
            line = replace(line, for_gpus=name)
    if len(files) > 1:
        raise UsageError(f"two input files, '{files[0]}' and '{files[1]}'")
    if line.tenstorrent is not None and line.for_gpus:
        raise UsageError(f"--{line.for_gpus} applies to GPUs, not to --target {line.tenstorrent}")
    if files and files[0].endswith(".py") and line.tenstorrent is None:
        if line.compiled_for is None:
            raise UsageError(_script_text(files[0], line.target))
        if line.for_gpus:
            raise UsageError(f"--{line.for_gpus} applies to IR text only, not to a Python script")
    if files and line.output != "-" and Path(files[0]).resolve() == Path(line.output).resolve():
        raise UsageError(f"the output would overwrite its input '{files[0]}'")
    return replace(line, input=files[0]) if files else line


def _script_text(file: str, target: Target | None) -> str:
    """How to draw the memory of the kernels of a script, in the language that its text shows."""
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    amd = target.name if target is not None and target.name.startswith("gfx") else None
    triton, tiles = amd or "sm_90", f"hip:{amd}" if amd else "cuda:sm_90a"
    of_tiles = f"pass --target {tiles} (or tenstorrent:wormhole for the L1 of a core)"
    of_triton = (
        f"'tilewright compile {file} --target triton:{triton} -o DIR', then 'tilewright memory' on "
        "DIR/*.ttgir.final"
    )
    has_tiles = re.search(r"\bT\.Kernel\b", text) is not None
    has_triton = re.search(r"\btlx?\.\w", text) is not None
    if has_tiles and not has_triton:
        suggestion = of_tiles
    else:
        kind = "tl" if has_triton and not has_tiles else "T kernels, and tl"
        suggestion = (
            f"for {kind} kernels raised to tiles {of_tiles}; for Triton's code run {of_triton}"
        )
    return f"'{file}' is a Python script, expected IR text: {suggestion}"


def _applied(line: _CommandLine, argument: str, name: str, value: str) -> _CommandLine:
    match name:
        case "target" if value.partition(":")[0] == "tenstorrent":
            return replace(line, tenstorrent=value, target=None)
        case "target":
            is_compiled = value.partition(":")[0] in ("cuda", "hip")
            try:
                return replace(
                    line,
                    tenstorrent=None,
                    target=target_named(value),
                    compiled_for=value if is_compiled else None,
                )
            except LookupError as error:
                raise UsageError(error.args[0]) from None
        case "format":
            return replace(line, format=_choice(argument, value, tuple(_FORMATS)))
        case "o":
            return replace(line, output=value)
        case "region":
            return replace(line, region=value)
        case "placement":
            # _choice has checked that it is one of the three.
            chosen = cast("PlacementName", _choice(argument, value, _PLACEMENTS))
            return replace(line, placement=chosen)
        case "infer-overlap":
            return replace(line, infer_overlap=True)
        case "multi-overlap":
            return replace(line, multi_overlap=True)
        case _:
            return replace(line, merge=True)


def _choice(argument: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise UsageError(f"'{argument}': '{value}' is not one of {', '.join(known)}")
    return value


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""
    if any(argument in ("-h", "--help", "-help") for argument in arguments):
        sys.stdout.write(_USAGE.format(program=program, targets=", ".join(TARGETS)))
        return 0
    try:
        line = _parse(arguments)
        if line.tenstorrent is not None:
            return _draw(line, _l1_maps(line, line.tenstorrent, program), program)
        if line.compiled_for is not None and line.input.endswith(".py"):
            return _draw(line, _gpu_maps(line, line.compiled_for, program), program)
        text = text_of(line.input)
    except UsageError as error:
        sys.stderr.write(f"{program}: {error}\n")
        return 1
    except CompileError as error:
        show_diagnostics(error.diagnostics, DiagnosticEngine())
        return 1
    return _process(line, text, program)


def _l1_maps(line: _CommandLine, target: str, program: str) -> list[MemoryMap]:
    """The circular buffers of every kernel that a file holds or calls."""
    # The compiler of T kernels; maps of IR text do without.
    from tilewright.cli.compile_tenstorrent import compile_file
    from tilewright.cli.compile_tile import Request

    done = compile_file(Request(line.input, None, target), program)
    return [launch.memory_map() for each in done for launch in each.artefact.launches]


def _gpu_maps(line: _CommandLine, target: str, program: str) -> list[MemoryMap]:
    """The shared memory of every kernel that a script calls, as its passes place it."""
    from tilewright.cli.compile_tile import Request
    from tilewright.cli.lowered_calls import lowered_calls

    modules = lowered_calls(Request(line.input, None, target), program)
    return [each for module in modules for each in shared_memory_maps(module, line.target)]


def _draw(line: _CommandLine, maps: Sequence[MemoryMap], program: str) -> int:
    try:
        rendered = _printable(_FORMATS[line.format](_only(maps, line.region)))
    except LookupError as error:
        sys.stderr.write(f"{program}: {error.args[0]}\n")
        return 1
    return _write(line.output, rendered, program)


def _process(line: _CommandLine, text: str, program: str) -> int:
    engine = DiagnosticEngine()
    name = "<stdin>" if line.input == "-" else line.input
    maps = _maps(line, text, name, engine)
    # The picture comes first: errors at the end of a terminal are the ones that are read.
    code = 0 if maps is None else _draw(line, maps, program)
    show_diagnostics(engine.diagnostics, engine)
    return 1 if engine.has_errors else code


def _maps(
    line: _CommandLine, text: str, name: str, engine: DiagnosticEngine
) -> tuple[MemoryMap, ...] | None:
    """The maps of the module in `text`; None where something could not be planned."""
    source = parse_source(make_context(), text, name, engine, keep_names=True)
    if source is None or not verify(source.module, engine):
        return None
    module = source.module
    target = line.target or target_of(module)
    if has_tile_kernels(module):
        return shared_memory_maps(module, target)
    if line.merge:
        return merged_maps(module, target, engine)
    settings = Unlimited(line.placement, line.infer_overlap, line.multi_overlap, target)
    kernels = allocations(module, settings, engine)
    if kernels is None:
        return None
    maps: list[MemoryMap] = []
    for found in kernels:
        for each in memory_maps(found.plans, target, found.kernel):
            maps.append(each)
            if each.capacity is not None and each.used > each.capacity:
                _out_of_memory(module, each, found, engine, with_table=line.format != "text")
    return tuple(maps)


def _only(maps: Sequence[MemoryMap], region: str | None) -> Sequence[MemoryMap]:
    """The maps with one region only; totals stay those of all."""
    if region is None:
        return maps
    names = [each.name for memory in maps for each in memory.regions]
    if region not in names:
        known = f"expected one of {', '.join(names)}" if names else "there are none"
        raise LookupError(f"no region '{region}'; {known}")
    return [
        replace(memory, regions=regions)
        for memory in maps
        if (regions := tuple(each for each in memory.regions if each.name == region))
    ]


_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def _printable(rendered: str) -> str:
    """`picture` without what names may contain but XML, UTF-8 and terminals cannot."""
    return _UNPRINTABLE.sub("\ufffd", rendered)


def _write(output: str, rendered: str, program: str) -> int:
    if output == "-":
        sys.stdout.write(rendered)
        sys.stdout.flush()
        return 0
    try:
        write_whole(output, rendered)
    except OSError as error:
        sys.stderr.write(f"{program}: cannot write '{output}': {error.strerror}\n")
        return 1
    return 0


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
