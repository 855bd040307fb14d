"""Buffers and copies that no task reads, in any of the runs of a launch or of a script.

Whether something is read is known only after all runs, some of which may have been on other
machines: `state` is the contents of a log as JSON, and `merge` adds those of another log of the
same kernels. Kernels are numbered in the order in which they first ran to an end, which is the same
in every run of one script; source sites and buffers have the same numbers and names in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tilewright.analysis.ordering import TITLES, Access, Checker
from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.targets.numpy.support.batch import SourceSite

UNREAD = "TW6139"


@dataclass(frozen=True)
class Unread:
    """A write, or a copy, whose data no task has read."""

    owner: str
    """The buffer."""
    site: int
    task: str
    operation: str = ""
    iteration: int = 0

    @staticmethod
    def of(access: Access) -> Unread:
        owner = access.region.owner
        return Unread(owner, access.site, access.task, access.operation, access.iteration)


@dataclass
class UnreadLog:
    """What was written and what was read over all runs."""

    clusters: int = 0
    determined: int = 0
    """Those whose events have one order, so that they ran under one schedule only."""
    kernels: list[Sequence[SourceSite]] = field(default_factory=list[Sequence[SourceSite]])
    """The source sites of each kernel."""
    read: set[tuple[int, str]] = field(default_factory=set[tuple[int, str]])
    """Kernel and buffer."""
    written: dict[tuple[int, str], Unread] = field(default_factory=dict[tuple[int, str], Unread])
    copies: dict[tuple[int, int], Unread] = field(default_factory=dict[tuple[int, int], Unread])
    """The first unread copy of each line, by kernel and site."""

    def ended(self, checker: Checker, source_sites: Sequence[SourceSite]) -> None:
        """A cluster ran to its end."""
        self.clusters += 1
        kernel = self._index(source_sites)
        self.read |= {(kernel, owner) for owner in checker.read_owners()}
        for owner, access in checker.unread().items():
            self.written.setdefault((kernel, owner), Unread.of(access))
        for access in checker.unread_copies():
            self.copies.setdefault((kernel, access.site), Unread.of(access))

    def _index(self, source_sites: Sequence[SourceSite]) -> int:
        for index, known in enumerate(self.kernels):
            if known is source_sites:
                return index
        self.kernels.append(source_sites)
        return len(self.kernels) - 1

    def repeat(self, schedules: int) -> None:
        """Count the runs of others: every cluster ran under so many schedules in all."""
        self.clusters = self.determined + (self.clusters - self.determined) * schedules

    # -- runs elsewhere ------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What is known here, as JSON."""
        return {
            "clusters": self.clusters,
            "kernels": len(self.kernels),
            "read": sorted(self.read),
            "written": [[kernel, asdict(each)] for (kernel, _), each in self.written.items()],
            "copies": [[kernel, asdict(each)] for (kernel, _), each in self.copies.items()],
        }

    def merge(self, state: Mapping[str, Any]) -> None:
        """Add the state of a log of later runs of the same kernels."""
        if state["kernels"] != len(self.kernels):
            raise ValueError(
                f"another run had {state['kernels']} kernels with tasks, this one has "
                f"{len(self.kernels)}"
            )
        self.read |= {(kernel, owner) for kernel, owner in state["read"]}
        for kernel, each in state["written"]:
            self.written.setdefault((kernel, each["owner"]), Unread(**each))
        for kernel, each in state["copies"]:
            self.copies.setdefault((kernel, each["site"]), Unread(**each))

    # -- reports -------------------------------------------------------------------------------

    def reports(self, severity: Severity) -> Iterator[Diagnostic]:
        """Buffers that were written and read in no run; copies that no task read."""
        silent = {key for key in self.written if key not in self.read}
        for key, write in self.written.items():
            if key in silent:
                yield self._buffer(key[0], write, severity)
        for (kernel, _), copy in self.copies.items():
            if (kernel, copy.owner) not in silent:
                yield self._copy(kernel, copy, severity)

    def _made(self, kernel: int, each: Unread, text: str, severity: Severity) -> Diagnostic:
        location = self.kernels[kernel][each.site].location
        return Diagnostic(severity, f"{TITLES['unread']}: {text}", location, UNREAD)

    def _buffer(self, kernel: int, write: Unread, severity: Severity) -> Diagnostic:
        text = f"no task reads {write.owner}, which {write.task} writes here"
        made = self._made(kernel, write, text, severity)
        text = f"not read in any of {self.clusters} runs; remove the buffer to free its memory"
        made.notes.append(Diagnostic(Severity.NOTE, text))
        return made

    def _copy(self, kernel: int, copy: Unread, severity: Severity) -> Diagnostic:
        text = (
            f"no task reads the data of {copy.operation} (issued by {copy.task}, iteration "
            f"{copy.iteration})"
        )
        made = self._made(kernel, copy, text, severity)
        text = f"{copy.owner} is read elsewhere: check that its consumer reads the right buffer"
        made.notes.append(Diagnostic(Severity.NOTE, text))
        text = "if the copy is a prefetch without a consumer, remove it, or pass --allow-unread"
        made.notes.append(Diagnostic(Severity.NOTE, text))
        return made
