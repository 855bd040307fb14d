"""What an editor shows about a file: diagnostics, accesses and buffers, each with its line.

    python -m tilewright.cli.editor_details FILE OUT.json

The language server starts this in a process of its own, because a script does what it likes. A
script is run with every check on; IR text is parsed, verified and analysed. The result is JSON:

    {"diagnostics": [{"file", "line", "column", "end_line", "end_column", "severity", "code",
                      "message", "related": [{"file", "line", "column", "message"}]}],
     "accesses":    [{"file", "line", "column", "text"}],          Markdown
     "buffers":     [{"file", "line", "name", "text"}]}            line 0: only the name is known
"""

from __future__ import annotations

import json
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any

from tilewright.analysis.pid_address import AnalysisError, MemoryOp
from tilewright.analysis.pid_address.checks import ALL_CHECKS, run_checks
from tilewright.cli.analyze_inputs import read_text
from tilewright.cli.analyze_options import options_of
from tilewright.cli.command_line import UsageError
from tilewright.cli.studio_run import CheckedRun, addresses, checked_run
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import CompileError, Diagnostic, DiagnosticEngine, SourcePosition
from tilewright.ir.text import parse_source
from tilewright.ir.verify import verify
from tilewright.memory.map import MemoryMap, RegionMap, Row, memory_maps
from tilewright.report.address_document import Document, accesses_of
from tilewright.runtime.addresses import named_module
from tilewright.runtime.memory_maps.plans import Unlimited, allocations
from tilewright.runtime.memory_maps.tiles import has_tile_kernels, shared_memory_maps

_SCHEDULES = 4
_FOREIGN = re.compile(r"^\s*(?:import|from)\s+(?:triton|tilelang)\b", re.MULTILINE)
Entry = dict[str, Any]


def details_of(file: str) -> dict[str, list[Entry]]:
    """Everything about a file."""
    return _of_script(file) if file.endswith(".py") else _of_text(file)


# -- scripts -------------------------------------------------------------------------------------


def _of_script(file: str) -> dict[str, list[Entry]]:
    ended: list[Entry] = []

    def notice(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
        ended.append(_exception(file, kind, error, at))

    hook, sys.excepthook = sys.excepthook, notice
    try:
        run = checked_run(file, (), schedules=_SCHEDULES, has_compat=_is_foreign(file))
    except UsageError as error:
        return _details([_whole_file(file, str(error))], [], [])
    finally:
        sys.excepthook = hook
    found = [*run.errors, *run.log.faults, *run.reports, *run.log.warnings]
    diagnostics = [*map(_diagnostic, found), *ended]
    if not diagnostics and not run.log.launches:
        text = "no kernel was launched when the file was run, so nothing was checked"
        diagnostics.append({**_whole_file(file, text), "severity": "remark"})
    documents, _ = addresses(run)
    accesses = [each for document in documents for each in _accesses(document)]
    return _details(diagnostics, accesses, list(_buffers(_maps(run), file)))


def _is_foreign(file: str) -> bool:
    """Whether a script is written for Triton or TileLang themselves."""
    text = Path(file).read_text(encoding="utf-8", errors="replace")
    return _FOREIGN.search(text) is not None


def _exception(
    file: str, kind: type[BaseException], error: BaseException, at: TracebackType | None
) -> Entry:
    """An exception of the script itself, at its innermost line in the file."""
    path = str(Path(file).absolute())
    lines = [each.lineno or 1 for each in traceback.extract_tb(at) if each.filename == path]
    line = lines[-1] if lines else 1
    if isinstance(error, SyntaxError) and error.lineno:
        line = error.lineno
    return {**_whole_file(file, f"{kind.__name__}: {error}"), "line": line}


def _whole_file(file: str, message: str) -> Entry:
    return {
        "file": str(Path(file).absolute()),
        "line": 1,
        "column": 0,
        "end_line": None,
        "end_column": None,
        "severity": "error",
        "code": "",
        "message": message,
        "related": [],
    }


def _maps(run: CheckedRun) -> Iterator[MemoryMap]:
    """The memory of every kernel, with the aliasing as it was written."""
    for tile in run.tiles.values():
        yield from shared_memory_maps(tile.prim_func.module)
    for pointer in run.pointers.values():
        try:
            found = allocations(named_module(pointer), Unlimited(), DiagnosticEngine())
        except CompileError:
            continue
        for each in found or ():
            yield from memory_maps(each.plans, None, each.kernel)


# -- IR text -------------------------------------------------------------------------------------


def _of_text(file: str) -> dict[str, list[Entry]]:
    engine = DiagnosticEngine()
    text = Path(file).read_bytes().decode("utf-8", errors="surrogateescape")
    parsed = parse_source(make_context(), text, file, engine)
    if parsed is None or not verify(parsed.module, engine):
        return _details(list(map(_diagnostic, engine.diagnostics)), [], [])
    accesses: list[Entry] = []
    try:
        for each in read_text(options_of([file]), DiagnosticEngine()):
            report = each.report()
            accesses += _accesses(Document(report, run_checks(report, ALL_CHECKS)))
    except (AnalysisError, UsageError):
        accesses = []  # no kernel in it
    if has_tile_kernels(parsed.module):
        maps: Sequence[MemoryMap] = shared_memory_maps(parsed.module)
    else:
        found = allocations(parsed.module, Unlimited(), engine)
        maps = [map for one in found or () for map in memory_maps(one.plans, None, one.kernel)]
    diagnostics = list(map(_diagnostic, engine.diagnostics))
    return _details(diagnostics, accesses, list(_buffers(iter(maps), file)))


# -- as JSON ---------------------------------------------------------------------------------------


def _details(
    diagnostics: list[Entry], accesses: list[Entry], buffers: list[Entry]
) -> dict[str, list[Entry]]:
    return {"diagnostics": diagnostics, "accesses": accesses, "buffers": buffers}


def _diagnostic(diagnostic: Diagnostic) -> Entry:
    trail = diagnostic.trail
    placed = [note for note in diagnostic.notes if note.trail.primary is not None]
    others = [note.message for note in diagnostic.notes if note.trail.primary is None]
    related = [{**_position(note.trail.primary), "message": note.message} for note in placed]
    related += [
        {**_position(frame.position), "message": "called from here"} for frame in trail.callers
    ]
    return {
        **_position(trail.primary),
        "severity": diagnostic.severity.label,
        "code": diagnostic.code or "",
        "message": "\n".join([diagnostic.message, *others]),
        "related": related,
    }


def _position(position: SourcePosition | None) -> Entry:
    if position is None:
        return {"file": "", "line": 1, "column": 0, "end_line": None, "end_column": None}
    return {
        "file": str(Path(position.file).absolute()),
        "line": position.line,
        "column": position.column,
        "end_line": position.end_line,
        "end_column": position.end_column,
    }


def _accesses(document: Document) -> Iterator[Entry]:
    for access in document.report.accesses:
        if access.loc is None:
            continue
        file, line, column = access.loc.rsplit(":", 2)
        checks = [
            f"{finding.check}: {finding.verdict.value}"
            for finding in document.findings
            if access in accesses_of(document, finding)
        ]
        yield {
            "file": str(Path(file).absolute()),
            "line": int(line),
            "column": int(column),
            "text": _access_text(access, document.launch, list(dict.fromkeys(checks))),
        }


def _access_text(access: MemoryOp, launch: str, checks: Sequence[str]) -> str:
    coalesced = {True: "coalesced", False: "not coalesced", None: "coalescing unknown"}
    count = prod(access.shape)
    shape = " × ".join(map(str, access.shape)) or "1"
    vectors = f", vectors of {access.vector_bits} bits" if access.vector_bits else ""
    lines = [
        f"**{access.kind} of {access.base.removeprefix('%')}** (`{access.op}`)",
        f"address class: `{access.pattern.value}`"
        + (f", {access.reason}" if access.reason is not None else ""),
        f"{coalesced[access.coalesced]}{vectors}",
        f"{count * access.elem_bytes} bytes for each program: {shape} elements of "
        f"{access.elem_bytes} bytes",
        f"offset: `{access.offset}`",
    ]
    if checks:
        lines.append("; ".join(checks))
    if launch:
        lines.append(f"in `{launch}`")
    return "\n\n".join(lines)


def _buffers(maps: Iterator[MemoryMap], file: str) -> Iterator[Entry]:
    seen: set[str] = set()
    for each in maps:
        for region in each.regions:
            for row in region.rows:
                text = _buffer_text(each, region, row)
                if text not in seen:
                    seen.add(text)
                    yield {
                        "file": str(Path(file).absolute()),
                        "line": _line_in(row.source),
                        "name": row.name,
                        "text": text,
                    }


def _line_in(source: str) -> int:
    parts = source.split(":")
    return next((int(part) for part in parts[1:] if part.isdigit()), 0)


def _buffer_text(memory: MemoryMap, region: RegionMap, row: Row) -> str:
    unit = memory.memory.unit_name
    cells = [f"[{cell.index}] {cell.interval}" for cell in row.cells]
    others = [
        other.name
        for other in region.rows
        if other is not row
        and any(
            one.interval.start < two.interval.end and two.interval.start < one.interval.end
            for one in row.cells
            for two in other.cells
        )
    ]
    lines = [
        f"**{row.name}**: {memory.memory.full_name}, {unit} {', '.join(cells)}",
        f"region `{region.name}`, {region.extent} {unit}"
        + (f" of {memory.used} used by the kernel" if memory.used != region.extent else ""),
    ]
    if row.path:
        lines.append(f"`{row.path}`")
    if others:
        lines.append(f"shares {unit} with {', '.join(others)}")
    return "\n\n".join(lines)


def main(file: str, out: str) -> None:
    """Write the details of a file as JSON."""
    details = details_of(file)
    Path(out).write_text(json.dumps(details), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:3])
