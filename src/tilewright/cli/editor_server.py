"""The language server: what editors show of a kernel, from a run in another process.

A file is run when it is opened and when it is saved, by `editor_details`; a newer run of the same
file ends an older one, and a run that takes too long is ended and reported. Diagnostics are
published when it is done, for every file that they are in. Between two runs the text may have
changed: hovers are by the name of a buffer and by the line as it was saved.

Positions are converted once, here: diagnostics count lines and characters from 1, the protocol
counts both from 0, and columns in UTF-16 code units.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from tilewright._version import __version__

DETAILS = "tilewright.cli.editor_details"
_SOURCE = Path(__file__).parents[2]
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "remark": types.DiagnosticSeverity.Information,
}
_SUFFIXES = (".py", ".ttir", ".ttgir", ".mlir")
_KERNEL = re.compile(r"^\s*(?:import|from)\s+(?:tilewright|triton|tilelang)\b", re.MULTILINE)
_NAME = re.compile(r"\w+")


@dataclass
class _File:
    """What is known of a file since it was last run."""

    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    run: asyncio.Task[None] | None = None
    published: set[str] = field(default_factory=set[str])
    """Files in which its diagnostics are."""


class KernelServer:
    """The state of a server: the files that are open, and their runs."""

    def __init__(self, timeout_s: float) -> None:
        self.server = LanguageServer("tilewright", __version__)
        self._timeout_s = timeout_s
        self._files: dict[str, _File] = {}
        self._register(types.TEXT_DOCUMENT_DID_OPEN, self.opened)
        self._register(types.TEXT_DOCUMENT_DID_SAVE, self.saved)
        self._register(types.TEXT_DOCUMENT_DID_CLOSE, self.closed)
        self._register(types.TEXT_DOCUMENT_HOVER, self.hover)

    def _register(self, name: str, handle: Callable[[Any], object]) -> None:
        def feature(params: Any) -> object:  # pygls marks functions, which methods do not allow
            return handle(params)

        self.server.feature(name)(feature)

    # -- runs ------------------------------------------------------------------------------------

    def opened(self, params: types.DidOpenTextDocumentParams) -> None:
        self._start(params.text_document.uri, params.text_document.text)

    def saved(self, params: types.DidSaveTextDocumentParams) -> None:
        uri = params.text_document.uri
        self._start(uri, self.server.workspace.get_text_document(uri).source)

    def closed(self, params: types.DidCloseTextDocumentParams) -> None:
        file = self._files.pop(params.text_document.uri, None)
        if file is not None:
            if file.run is not None:
                file.run.cancel()
            self._publish(file, {})

    def _start(self, uri: str, text: str) -> None:
        path = path_of(uri)
        if path.suffix not in _SUFFIXES or (path.suffix == ".py" and not _KERNEL.search(text)):
            return
        file = self._files.setdefault(uri, _File())
        if file.run is not None:
            file.run.cancel()
        file.run = asyncio.get_running_loop().create_task(self._run(path, file))

    async def _run(self, path: Path, file: _File) -> None:
        file.details = await details_about(path, self._timeout_s)
        found: dict[str, list[types.Diagnostic]] = {uri_of(path): []}
        for each in file.details["diagnostics"]:
            source = Path(each["file"]) if each["file"] else path
            found.setdefault(uri_of(source), []).append(diagnostic_of(each))
        self._publish(file, found)

    def _publish(self, file: _File, found: Mapping[str, Sequence[types.Diagnostic]]) -> None:
        """Show the diagnostics of a run, and no more those of the one before it."""
        for uri in sorted(file.published | found.keys()):
            self.server.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri, list(found.get(uri, ())))
            )
        file.published = {uri for uri, each in found.items() if each}

    # -- hovers ----------------------------------------------------------------------------------

    def hover(self, params: types.HoverParams) -> types.Hover | None:
        uri, position = params.text_document.uri, params.position
        file = self._files.get(uri)
        if file is None or not file.details:
            return None
        lines = self.server.workspace.get_text_document(uri).lines
        text = lines[position.line] if position.line < len(lines) else ""
        column = character_of(text, position.character)
        found = hover_texts(file.details, path_of(uri), position.line + 1, column, text)
        if not found:
            return None
        value = "\n\n---\n\n".join(found)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, value))


def hover_texts(
    details: Mapping[str, Any], path: Path, line: int, column: int, text: str
) -> list[str]:
    """What is known at a position, which counts from 1: of a buffer, else of accesses."""
    name = next(
        (
            identifier[0]
            for identifier in _NAME.finditer(text)
            if identifier.start() < column <= identifier.end() + 1
        ),
        "",
    )
    buffers = [each["text"] for each in details["buffers"] if name and each["name"] == name]
    if buffers:
        return buffers
    here = [
        each
        for each in details["accesses"]
        if each["line"] == line and Path(each["file"]) == path.absolute()
    ]
    # Of several on a line, the last one that begins before the cursor; else the first.
    before = [each["column"] for each in here if each["column"] <= column]
    first = min((each["column"] for each in here), default=0)
    chosen = max(before, default=first)
    return list(dict.fromkeys(each["text"] for each in here if each["column"] == chosen))


async def details_about(path: Path, timeout_s: float) -> Mapping[str, Any]:
    """The details of a file, from a process that ends with the run."""
    with tempfile.TemporaryDirectory(prefix="tilewright-lsp-") as directory:
        out = Path(directory) / "details.json"
        search = os.pathsep.join(filter(None, [str(_SOURCE), os.environ.get("PYTHONPATH", "")]))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", DETAILS, str(path), str(out)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            cwd=path.parent,
            env={**os.environ, "PYTHONPATH": search},
        )
        try:
            _, errors = await asyncio.wait_for(process.communicate(), timeout_s)
        except TimeoutError:
            return _failure(f"not checked: the file ran for more than {timeout_s:g} s")
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if out.exists():
            return json.loads(out.read_text(encoding="utf-8"))
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        return _failure(f"not checked: the run ended with {process.returncode}: {last}")


def _failure(message: str) -> Mapping[str, Any]:
    at = {"file": "", "line": 1, "column": 0, "end_line": None, "end_column": None}
    entry: dict[str, Any] = {
        **at,
        "severity": "warning",
        "code": "",
        "message": message,
        "related": [],
    }
    return {"diagnostics": [entry], "accesses": [], "buffers": []}


# -- positions -----------------------------------------------------------------------------------


def path_of(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))


def uri_of(path: Path) -> str:
    return path.absolute().as_uri()


def character_of(text: str, units: int) -> int:
    """The column, counted from 1, of a number of UTF-16 code units."""
    taken = 0
    for column, character in enumerate(text, start=1):
        if taken >= units:
            return column
        taken += 2 if ord(character) > 0xFFFF else 1
    return len(text) + 1


def units_of(text: str, column: int) -> int:
    """The UTF-16 code units before a column, which counts from 1."""
    return len(text[: max(column - 1, 0)].encode("utf-16-le")) // 2


def _line(file: str, line: int) -> str:
    try:
        lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return lines[line - 1] if 0 < line <= len(lines) else ""


def range_of(entry: Mapping[str, Any]) -> types.Range:
    """The range of a entry; without an end, the identifier at its beginning, or the whole line."""
    line, column = max(entry["line"], 1), entry["column"]
    text = _line(entry["file"], line)
    if not column:
        indent = len(text) - len(text.lstrip())
        return types.Range(
            types.Position(line - 1, units_of(text, indent + 1)),
            types.Position(line - 1, units_of(text, len(text) + 1)),
        )
    end_line, end_column = entry.get("end_line"), entry.get("end_column")
    if end_line is None or not end_column:
        identifier = _NAME.match(text, column - 1)
        end_line, end_column = line, (identifier.end() if identifier else column) + 1
    last = text if end_line == line else _line(entry["file"], end_line)
    return types.Range(
        types.Position(line - 1, units_of(text, column)),
        types.Position(end_line - 1, units_of(last, end_column)),
    )


def diagnostic_of(entry: Mapping[str, Any]) -> types.Diagnostic:
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(uri_of(Path(each["file"])), range_of(each)), each["message"]
        )
        for each in entry["related"]
    ]
    return types.Diagnostic(
        range_of(entry),
        entry["message"],
        _SEVERITIES[entry["severity"]],
        entry["code"] or None,
        source="tilewright",
        related_information=related or None,
    )


def serve(timeout_s: float) -> None:
    """Serve an editor over standard input and output until it ends."""
    replies = os.fdopen(os.dup(1), "wb")  # closed by the server
    os.dup2(2, 1)  # anything printed must not get between the messages
    KernelServer(timeout_s).server.start_io(sys.stdin.buffer, replies)
