"""What a studio page shows, as plain values.

    Document
      files       the user's sources; a `SourceLine` is an index into them and a line
      findings    what the checked run reported, the fault first
      timeline    of the first or the failing run of a kernel with tasks
      kernels     what was compiled, each with its stages, memory, layouts and remarks
      addresses   one for each launch that was analysed
      tuning      what autotuners tried

What is absent has a reason (`absent`): a page never has an empty tab without one.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Literal, NamedTuple, TypeAlias

from tilewright.analysis.ordering.timeline import Timeline
from tilewright.ir.diagnostics import Diagnostic
from tilewright.memory.map import MemoryMap
from tilewright.report.address_document import Document as AddressDocument
from tilewright.report.layout_document import KernelLayouts

StageKind: TypeAlias = Literal["ir", "code"]


class SourceLine(NamedTuple):
    """A line of a source file."""

    file: int
    line: int


@dataclass(frozen=True)
class SourceFile:
    """One file of the user's."""

    name: str
    text: str
    title: str = ""
    """What the user calls it, where that is not the name: a cell of a notebook."""


@dataclass
class Sources:
    """The files that locations name, each once, in the order in which they are named."""

    files: list[SourceFile] = field(default_factory=list[SourceFile])
    title_of: Callable[[str], str] = str
    """What the user calls a file."""
    _found: dict[str, int | None] = field(default_factory=dict[str, "int | None"])

    def line_of(self, file: str, line: int) -> SourceLine | None:
        """The line of a file; None if the file cannot be read."""
        index = self.index(file)
        return None if index is None or line < 1 else SourceLine(index, line)

    def index(self, file: str) -> int | None:
        """The index of a file, which is read when it is first named."""
        path = str(Path(file).absolute())
        if path not in self._found:
            found = self._read(path)
            self._found[path] = self._registered(file) if found is None else found
        return self._found[path]

    def _read(self, path: str) -> int | None:
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        self.files.append(SourceFile(path, text))
        return len(self.files) - 1

    def _registered(self, file: str) -> int | None:
        """Text that is in no file, as that of a cell."""
        lines = linecache.getlines(file)
        if not lines:
            return None
        title = self.title_of(file)
        self.files.append(SourceFile(file, "".join(lines), "" if title == file else title))
        return len(self.files) - 1

    def named(self, name: str, line: int) -> SourceLine | None:
        """The line of a file that is already known, by the last part of its name."""
        for index, each in enumerate(self.files):
            if PurePath(each.name).name == PurePath(name).name:
                return SourceLine(index, line)
        return None

    def of(self, diagnostic: Diagnostic) -> SourceLine | None:
        """Where a diagnostic points."""
        position = diagnostic.trail.primary
        return None if position is None else self.line_of(position.file, position.line)


@dataclass(frozen=True)
class Line:
    """A line of a stage, and the source line that it came from, if that is known."""

    text: str
    origin: SourceLine | None = None


@dataclass(frozen=True)
class Stage:
    """The IR after a pass, or generated code."""

    name: str
    kind: StageKind
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Message:
    """A diagnostic."""

    severity: str
    text: str
    code: str = ""
    origin: SourceLine | None = None
    notes: tuple[Message, ...] = ()

    @staticmethod
    def of(diagnostic: Diagnostic, sources: Sources) -> Message:
        return Message(
            diagnostic.severity.label,
            diagnostic.message,
            diagnostic.code or "",
            sources.of(diagnostic),
            tuple(Message.of(each, sources) for each in diagnostic.notes),
        )


@dataclass(frozen=True)
class SharedBytes:
    """The buffer of an access of a finding, as the kernel names it: ``a[1]``."""

    buffer: str
    access: str
    origin: SourceLine | None = None


@dataclass(frozen=True)
class Finding:
    """What a checked run reported."""

    message: Message
    accesses: tuple[SharedBytes, ...] = ()
    size_bytes: int = 0
    """Bytes that both accesses read or write."""


@dataclass(frozen=True)
class Kernel:
    """One kernel for one kind of arguments."""

    name: str
    target: str
    properties: tuple[tuple[str, str], ...] = ()
    """Registers, spills, shared memory, ...: title and value."""
    stages: tuple[Stage, ...] = ()
    memory: tuple[MemoryMap, ...] = ()
    written_memory: tuple[MemoryMap, ...] = ()
    """Of a kernel on pointers: the aliasing as it was written."""
    layouts: tuple[KernelLayouts, ...] = ()
    remarks: tuple[Message, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict[str, str])
    """By tab, why there is nothing."""


@dataclass(frozen=True)
class Trial:
    """A configuration that a tuner tried."""

    configuration: str
    milliseconds: float | None
    is_chosen: bool = False


@dataclass(frozen=True)
class Tuning:
    """What the tuner of a kernel tried."""

    kernel: str
    trials: tuple[Trial, ...]


@dataclass
class Document:
    """A page."""

    title: str
    command: str
    version: str
    sources: Sources
    verdict: str = ""
    has_failed: bool = False
    findings: Sequence[Finding] = ()
    timeline: Timeline | None = None
    kernels: Sequence[Kernel] = ()
    addresses: Sequence[AddressDocument] = ()
    tuning: Sequence[Tuning] = ()
    absent: dict[str, str] = field(default_factory=dict[str, str])
    """By tab, why there is nothing."""

    def messages(self) -> Iterator[Message]:
        """All diagnostics, those of the run first."""
        yield from (each.message for each in self.findings)
        for kernel in self.kernels:
            yield from kernel.remarks
