"""A compiled kernel as a value, and its way to disk and back.

Loads nothing of the compiler: a process that finds its kernel in the cache needs no more than this.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.ir.diagnostics import Diagnostic, Severity, SourcePosition
from tilewright.targets.triton import cache
from tilewright.targets.triton.facts import LaunchFacts

_FOLDER = "artefacts"
_BYTES_STAGES = ("cubin",)
_FACTS = "facts"
_REMARKS = "remarks"


@dataclass(frozen=True)
class Artefact:
    """A compiled kernel."""

    name: str
    capability: int
    asm: Mapping[str, str | bytes]
    """By stage: ``ttir`` as traced, ``ttgir`` as our passes leave it (not for plain kernels),
    ``ttgir.final`` as Triton's leave it, ``llir``, ``ptx``, and the bytes of the ``cubin``."""
    metadata: LaunchFacts
    key: str = ""
    """What it is called in the disk cache."""
    remarks: tuple[Diagnostic, ...] = ()
    """What was said when it was compiled: remarks and warnings."""

    @property
    def cubin(self) -> bytes:
        found = self.asm["cubin"]
        assert isinstance(found, bytes)
        return found

    def text(self, stage: str) -> str:
        """The text of any stage but the last."""
        found = self.asm[stage]
        assert isinstance(found, str)
        return found


def write_artefact(artefact: Artefact) -> None:
    """Keep it for other processes."""
    sections = {
        _FACTS: artefact.metadata.to_json().encode(),
        _REMARKS: json.dumps([_plain(each) for each in artefact.remarks]).encode(),
    }
    for stage, content in artefact.asm.items():
        sections[stage] = content.encode() if isinstance(content, str) else content
    cache.store(_FOLDER, artefact.key, sections)


def read_artefact(key: str) -> Artefact | None:
    """The artefact that was stored under `key`."""
    sections = cache.load(_FOLDER, key)
    if sections is None:
        return None
    try:
        facts = LaunchFacts.from_json(sections.pop(_FACTS).decode())
        remarks = tuple(_diagnostic(*each) for each in json.loads(sections.pop(_REMARKS)))
        asm = {
            stage: data if stage in _BYTES_STAGES else data.decode()
            for stage, data in sections.items()
        }
    except (KeyError, TypeError, ValueError):
        return None
    if "cubin" not in asm:
        return None
    return Artefact(facts.name, facts.capability, asm, facts, key, remarks)


def settled(said: Diagnostic) -> Diagnostic:
    """`said` without ties to the IR, as it comes back from disk."""
    return _diagnostic(*_plain(said))


def _plain(said: Diagnostic) -> tuple[int, str, Any, str | None, Sequence[Any]]:
    """A diagnostic as lists and numbers; of its place, the position to show."""
    place = said.trail.primary
    position = None if place is None else (place.file, place.line, place.column)
    notes = [_plain(note) for note in said.notes]
    return (int(said.severity), said.message, position, said.code, notes)


def _diagnostic(
    severity: int, message: str, place: Any, code: str | None, notes: Sequence[Any]
) -> Diagnostic:
    position = None if place is None else SourcePosition(*place)
    inner = [_diagnostic(*note) for note in notes]
    return Diagnostic(Severity(severity), message, position, code, inner)
