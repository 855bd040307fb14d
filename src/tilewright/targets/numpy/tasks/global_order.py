"""The order of accesses to global memory by the tasks and asynchronous units of one cluster.

Two accesses to the same bytes, one of them a write, must be ordered by barriers, waits or the
order of one task, as in shared memory. Two rules are of its own:

* What a TMA store writes may be read by threads only after a wait for the store *and* a fence of
  global memory: the store goes through another proxy, and the wait only guarantees that its source
  was read.
* Atomic updates do not disturb each other. They are taken to order everything around them, as the
  usual locks and counters do, so a race that an unrelated atomic hides is not found.

Arrays that the kernel never writes are not followed. Clusters are not compared with each other:
that is what the check for races between programs is for.

It receives the events of a run beside the recorder; shared memory is the concern of that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.ir import Attribute

from tilewright.analysis.ordering import (
    TITLES,
    Access,
    Agent,
    ByteRegion,
    Cause,
    Checker,
    CheckerEvents,
    Finding,
    PossibleSignal,
    Remark,
)
from tilewright.analysis.ordering.clocks import ClockPair, covers
from tilewright.ir.diagnostics import Diagnostic, Severity, SourceManager
from tilewright.targets.numpy.api import Argument, Array, Descriptor, Grid, Site, Terms
from tilewright.targets.numpy.api import Buffer as Given
from tilewright.targets.numpy.support.batch import SourceSite
from tilewright.targets.numpy.tasks.ordering import ORDERING_CODES, OrderingFault
from tilewright.targets.numpy.tasks.support.operations import AsyncOperation
from tilewright.targets.numpy.tile.support.problems import count_text

if TYPE_CHECKING:
    from tilewright.analysis.concurrency import (
        AccessKind,
    )
    from tilewright.targets.numpy.tasks.support.arena import View
    from tilewright.targets.numpy.tasks.support.cluster import Signal, Tables
    from tilewright.targets.numpy.tasks.support.runtime import CtaRuntime

_WRITES = frozenset(("store", "atomic_rmw", "atomic_cas"))
_STORES = "tma stores"
_FENCES = ("gpu", "sys")
"""The others are about shared memory."""


@dataclass(frozen=True)
class _Span:
    """The bytes of one array, or of several that overlap."""

    name: str
    low: int
    high: int


class _Cells:
    """Some entries of a table, by their numbers: to look at, or to fill."""

    def __init__(self, table: Array, indices: Array) -> None:
        self._table = table
        self._indices = indices
        self._found = table[indices]
        self.size = self._found.size
        self.flat = self._found

    def __setitem__(self, key: object, value: Any) -> None:
        self._table[self._indices] = value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self._found

    def min(self) -> Any:
        return self._found.min()

    def max(self) -> Any:
        return self._found.max()


def spans_of(arguments: Sequence[Argument]) -> list[_Span]:
    """The arrays of a launch; arrays that share bytes are one."""
    found: list[_Span] = []
    for argument in arguments:
        given = argument.buffer if isinstance(argument, Descriptor) else argument
        if not isinstance(given, Given) or not given.array.size:
            continue
        low, high = np.lib.array_utils.byte_bounds(given.array)
        for other in [each for each in found if each.low < high and low < each.high]:
            found.remove(other)
            low, high = min(low, other.low), max(high, other.high)
        found.append(_Span(given.name, low, high))
    return found


class GlobalOrder:
    """Follows the runs of a launch, one cluster after the other."""

    def __init__(
        self,
        sites: Sequence[Site],
        source_sites: Sequence[SourceSite],
        tables: Tables,
        arguments: Sequence[Argument],
    ) -> None:
        self._sites = sites
        self._source_sites = source_sites
        self._tables = tables
        self._arguments = arguments
        spans = spans_of(arguments)
        roots = {site.root for site in sites if site.kind in _WRITES}
        written = (
            spans if None in roots else [s for s in spans if s in _of(roots, arguments, spans)]
        )
        self._spans = written
        self._seed = 0
        self._program: Grid | None = None

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to follow."""
        return bool(self._spans)

    def begin(self, ctas: Sequence[CtaRuntime], seed: int) -> CheckerEvents[View]:
        """The CTAs of a cluster start; the receiver of their events."""
        checker = Checker(self._signals)
        self._order: CheckerEvents[View] = CheckerEvents(checker, _FENCES)
        self._ctas, self._seed, self._program = ctas, seed, ctas[0].coordinates(0)
        self._atomics = ClockPair()
        self._writes: dict[int, Access] = {}
        self._fences: dict[tuple[int, int], Finding] = {}
        self._stored: dict[_Span, Array] = {}
        for span in self._spans:
            size = span.high - span.low
            checker.memory(span, "global memory", size)
            self._stored[span] = np.zeros(size, np.int32)
        return self._order

    def _signals(self, name: str) -> Sequence[PossibleSignal]:
        found: Sequence[Signal] = self._tables.signals.get(name, ())
        return [PossibleSignal(each.task, each.source_id, each.op) for each in found]

    # -- accesses ----------------------------------------------------------------------------

    def record_access(self, kind: AccessKind, index: int, address: Terms, mask: Terms) -> None:
        """The current actor reads or writes elements."""
        site = self._sites[index]
        found = self._elements(site, address, mask)
        if found is None:
            return
        span, cells = found
        actor = self._ctas[0].cluster.actor
        agent = self._order.agent(actor)
        source_id = len(self._source_sites) + index

        def entries(table: Array) -> _Cells:
            return _Cells(table, cells)

        region = ByteRegion(span, self._name(site, span), span.name, entries)
        access = self._order.checker.access(agent, kind, region, "generic", source_id)
        stored = self._stored[span]
        if kind == "write":
            is_store = isinstance(actor, AsyncOperation) and actor.engine.startswith(_STORES)
            stored[cells] = access.index if is_store else 0
            self._writes[access.index] = access
        elif not isinstance(actor, AsyncOperation) or actor.engine.startswith("cp.async"):
            self._check_fence(stored[cells], agent, access)

    def atomic(self) -> None:
        """An atomic update orders what is around it."""
        agent = self._order.agent(self._ctas[0].cluster.actor)
        agent.clocks.observe(self._atomics)
        self._atomics.observe(agent.clocks)
        agent.tick()

    def _elements(self, site: Site, address: Terms, mask: Terms) -> tuple[_Span, Array] | None:
        at: Any = np.int64(0)
        for term in address:
            at = at + np.asarray(term)
        keep: Any = True
        for term in mask:
            keep = keep & np.asarray(term)
        shape = np.broadcast_shapes(np.shape(at), np.shape(keep))
        flat = np.broadcast_to(at, shape)[np.broadcast_to(keep, shape)]
        if not flat.size:
            return None
        first = int(flat[0])
        span = next((each for each in self._spans if each.low <= first < each.high), None)
        if span is None:
            return None
        # Lanes outside are the memory's to report, lanes of another array are not followed.
        offsets = flat[(span.low <= flat) & (flat < span.high)].astype(np.int64) - span.low
        indices = offsets[:, None] + np.arange(site.dtype.itemsize)
        return span, np.unique(indices[indices < span.high - span.low])

    def _name(self, site: Site, span: _Span) -> str:
        """The argument that an access goes through."""
        given = None if site.root is None else self._arguments[site.root]
        given = given.buffer if isinstance(given, Descriptor) else given
        return given.name if isinstance(given, Given) else span.name

    def _check_fence(self, stored: Array, agent: Agent, access: Access) -> None:
        """Threads read what TMA stores wrote: in order, and after a fence."""
        for index in np.unique(stored[stored > 0]).tolist():
            prior = self._writes[index]
            knowledge = agent.clocks
            if not covers(knowledge.seen, prior.component, prior.time):
                continue  # a race, and reported as one
            if covers(knowledge.fenced, prior.component, prior.time):
                continue
            size = int((stored == index).sum())
            cause = Cause(
                "fence",
                f"{prior.operation} writes through the async proxy: waiting for it does not make "
                "its writes visible to threads",
                Remark('tlx.fence("gpu") between the wait and this read', access.site),
            )
            message = (
                f"{TITLES['fence']}: {access} covers {count_text(size, 'byte')} of global memory "
                f"written by {prior}, with no fence between them"
            )
            made = Finding(message, access.site, cause, prior, access, size)
            self._fences.setdefault((prior.site, access.site), made)

    # -- what is raised ----------------------------------------------------------------------

    def disorder(self, sources: SourceManager | None) -> OrderingFault | None:
        """What is wrong with the run that has ended."""
        clashes = [each for each in self._order.checker.findings() if each.first is not None]
        found = [*clashes, *self._fences.values()]
        if not found:
            return None
        diagnostics = [self._diagnostic(each) for each in found]
        return OrderingFault(found, diagnostics, "race", self._program, sources, self._seed)

    def _diagnostic(self, finding: Finding) -> Diagnostic:
        location, code = self._location(finding.site), ORDERING_CODES[finding.kind]
        made = Diagnostic(Severity.ERROR, finding.message, location, code)
        assert finding.first is not None
        remarks = [
            Remark(f"the other access: {finding.first}", finding.first.site),
            Remark(f"missing: {finding.cause.missing}"),
            *finding.cause.details,
            Remark(f"smallest fix: {finding.cause.fix.text}", finding.cause.fix.site),
            Remark(f"witness: program {self._program}, schedule with seed {self._seed}"),
        ]
        for each in remarks:
            note = Diagnostic(Severity.NOTE, each.text, self._location(each.site))
            made.notes.append(note)
        return made

    def _location(self, source_id: int | None) -> Attribute | None:
        if source_id is None:
            return None
        count = len(self._source_sites)
        rows: Sequence[SourceSite | Site] = self._source_sites if source_id < count else self._sites
        return rows[source_id if source_id < count else source_id - count].location


def _of(roots: set[int | None], arguments: Sequence[Argument], spans: list[_Span]) -> list[_Span]:
    """The spans of the arguments with these numbers."""
    given = [arguments[root] for root in sorted(each for each in roots if each is not None)]
    lows = [span.low for span in spans_of(given)]
    return [span for span in spans if any(span.low <= low < span.high for low in lows)]
