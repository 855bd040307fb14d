"""``tilewright studio``: one page about a script and its kernels."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.cli.command_line import (
    CommandLine,
    UsageError,
    ended,
    parse,
    positive,
    require_file,
)
from tilewright.cli.commands import STUDIO
from tilewright.cli.outputs import write_whole
from tilewright.cli.studio_document import document_of
from tilewright.cli.studio_kernels import checked_target_name
from tilewright.cli.studio_run import checked_run
from tilewright.report.studio.document import Document, Sources
from tilewright.report.studio.page import render, size_text

_PORT = "8765"
_LAST_PORT = (1 << 16) - 1
_SCHEDULES = "2"


@dataclass(frozen=True)
class _Request:
    """What the command line requests."""

    line: CommandLine
    target: str | None

    @property
    def output(self) -> str:
        return self.line.values.get("o") or f"{Path(self.line.file).stem}.html"


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""

    def make() -> int:
        request = _parse(arguments)
        if "serve" in request.line.switches:
            from tilewright.cli.studio_server import serve

            line = request.line
            return serve(_without_server(arguments), line.file, _port(line), program)
        document = collect(request, f"{program} {shlex.join(arguments)}")
        page = render(document)
        try:
            write_whole(request.output, page)
        except OSError as error:
            raise UsageError(f"cannot write '{error.filename}': {error.strerror}") from None
        sys.stdout.flush()
        sys.stderr.write(
            f"{program}: {document.verdict}\n{program}: {request.output}, {size_text([page])}\n"
        )
        return 0

    return ended(STUDIO, arguments, program, make)


def _parse(arguments: Sequence[str]) -> _Request:
    line = parse(STUDIO, arguments)
    positive(line, ("schedules",))
    port = line.values.get("port", _PORT)
    if not port.isdigit() or int(port) > _LAST_PORT:
        raise UsageError(
            f"--port: '{port}' is no port: they end at {_LAST_PORT}; 0 takes a free one"
        )
    if not line.is_script:
        raise UsageError(
            f"'{line.name}' is no Python script: for IR text use 'tilewright memory', 'analyze' or "
            "'opt --dump-ir DIR'"
        )
    if line.kernel is not None:
        raise UsageError("a page has all kernels of a script: choose one there")
    require_file(line.file)
    if Path(line.values.get("o", "")).suffix == ".py":
        raise UsageError(f"-o {line.values['o']}: expected a file *.html")
    target = line.values.get("target")
    return _Request(line, None if target is None else checked_target_name(target))


def _port(line: CommandLine) -> int:
    return int(line.values.get("port", _PORT))


def _without_server(arguments: Sequence[str]) -> list[str]:
    """The arguments of the command that makes the page: those of the script stay as they are."""
    script = next(index for index, each in enumerate(arguments) if each.endswith(".py"))
    flags, rest = list(arguments[:script]), arguments[script:]
    found: list[str] = []
    while flags:
        name, separator, _ = flags[0].lstrip("-").partition("=")
        option = STUDIO.option(name)
        taken = 2 if option is not None and option.value and not separator else 1
        if name not in ("serve", "port", "o"):
            found += flags[:taken]
        del flags[:taken]
    return [*found, *rest]


# -- what goes on the page -------------------------------------------------------------------------


def collect(request: _Request, command: str) -> Document:
    """Run the script and look at all its kernels."""
    line = request.line
    sources = Sources()
    sources.index(line.file)
    if request.target is not None and request.target.startswith("tenstorrent"):
        from tilewright.cli.studio_tenstorrent import tenstorrent_document

        return tenstorrent_document(line, request.target, sources, command)
    checked = checked_run(
        line.file,
        line.script_arguments,
        schedules=int(line.values.get("schedules", _SCHEDULES)),
        has_compat=line.is_compat,
        target=request.target,
    )
    return document_of(checked, request.target, sources, Path(line.file).name, command)
