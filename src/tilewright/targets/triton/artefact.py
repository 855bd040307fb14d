"""A compiled kernel as a value, and its way to disk and back.

Loads nothing of the compiler: a process that finds its kernel in the cache needs no more than this.
A launch needs the machine code and the metadata; the texts of the stages, megabytes of LLVM IR
among them, are in a file of their own, compressed, and are read on demand.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from tilewright.ir.diagnostics import Diagnostic, Severity, SourcePosition
from tilewright.targets import store
from tilewright.targets.metadata import KernelMetadata

_KIND: Final = "artefacts"
_STAGES: Final = "stages"
_CODE = "code"
BINARIES = ("cubin", "hsaco")
"""The last stage: machine code of NVIDIA, and AMD's code object."""
_METADATA = "facts"
_REMARKS = "remarks"
_NAMES = "names"
_QUICK = 1
"""How hard to compress: IR shrinks to a tenth at once, and little more with patience."""


@dataclass(frozen=True)
class Artefact:
    """A compiled kernel."""

    name: str
    asm: Mapping[str, str | bytes]
    """By stage: ``ttir`` as traced, ``ttgir`` as our passes leave it (not for plain kernels),
    ``ttgir.final`` as Triton's leave it, ``llir``, ``ptx``, and the bytes of the ``cubin``; for AMD
    ``amdgcn`` and ``hsaco`` in place of the last two."""
    metadata: KernelMetadata
    key: str = ""
    """What it is called in the disk cache."""
    remarks: tuple[Diagnostic, ...] = ()
    """Diagnostics of the compilation: remarks and warnings."""

    @property
    def binary(self) -> str:
        """The name of the last stage."""
        return next(name for name in BINARIES if name in self.asm)

    @property
    def cubin(self) -> bytes:
        """The machine code of a kernel for an NVIDIA GPU."""
        found = self.asm["cubin"]
        assert isinstance(found, bytes)
        return found

    @property
    def code(self) -> bytes:
        """The machine code: a cubin or a code object."""
        found = self.asm[self.binary]
        assert isinstance(found, bytes)
        return found

    def text(self, stage: str) -> str:
        """The text of any stage but the last."""
        found = self.asm[stage]
        assert isinstance(found, str)
        return found


class StoredStages(Mapping[str, str | bytes]):
    """The stages of an artefact from disk: the machine code immediately, texts on demand."""

    def __init__(self, key: str, names: Sequence[str], code: bytes) -> None:
        self._key = key
        self._names = tuple(names)
        self._code = code
        self._texts: dict[str, str] | None = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, name: str) -> str | bytes:
        if name not in self._names:
            raise KeyError(name)
        if name in BINARIES:
            return self._code
        if self._texts is None:
            self._texts = self._loaded()
        return self._texts[name]

    def _loaded(self) -> dict[str, str]:
        sections = store.load(_STAGES, self._key)
        try:
            if sections is not None:
                return {name: zlib.decompress(data).decode() for name, data in sections.items()}
        except (zlib.error, *store.DAMAGED):
            pass
        raise RuntimeError(
            "the stages of this kernel are no longer in the disk cache; a new process recompiles it"
        )


def write_artefact(artefact: Artefact) -> None:
    """Keep it for other processes."""
    texts = {
        stage: zlib.compress(content.encode(), _QUICK)
        for stage, content in artefact.asm.items()
        if isinstance(content, str)
    }
    # The texts first: a reader that finds the machine code then finds them too.
    if store.store(_STAGES, artefact.key, texts):
        sections = {
            _METADATA: artefact.metadata.to_json().encode(),
            _REMARKS: json.dumps([_plain(each) for each in artefact.remarks]).encode(),
            _NAMES: json.dumps(list(artefact.asm)).encode(),
            _CODE: artefact.code,
        }
        store.store(_KIND, artefact.key, sections)


def read_artefact(key: str) -> Artefact | None:
    """The artefact that was stored under `key`."""
    sections = store.load(_KIND, key)
    if sections is None or not store.refresh(_STAGES, key):
        return None
    try:
        metadata = KernelMetadata.from_json(sections[_METADATA].decode())
        remarks = tuple(_diagnostic(*each) for each in json.loads(sections[_REMARKS]))
        stages = StoredStages(key, _names(sections[_NAMES]), sections[_CODE])
    except store.DAMAGED:
        return None
    return Artefact(metadata.name, stages, metadata, key, remarks)


def _names(data: bytes) -> list[str]:
    """The stages; raises ValueError if those are not their names."""
    found = json.loads(data)
    if not isinstance(found, list) or not any(name in found for name in BINARIES):
        raise ValueError("no list of stages")
    return [str(name) for name in cast("list[object]", found)]


def detached(diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic without ties to the IR, as it comes back from disk."""
    return _diagnostic(*_plain(diagnostic))


def _plain(diagnostic: Diagnostic) -> tuple[int, str, Any, str | None, Sequence[Any]]:
    """A diagnostic as lists and numbers; of its location, the position to show."""
    location = diagnostic.trail.primary
    position = None if location is None else (location.file, location.line, location.column)
    notes = [_plain(note) for note in diagnostic.notes]
    return (int(diagnostic.severity), diagnostic.message, position, diagnostic.code, notes)


def _diagnostic(
    severity: int, message: str, location: Any, code: str | None, notes: Sequence[Any]
) -> Diagnostic:
    position = None if location is None else SourcePosition(*location)
    inner = [_diagnostic(*note) for note in notes]
    return Diagnostic(Severity(severity), message, position, code, inner)
