"""Run-time errors of warp-specialised kernels as diagnostics at source locations.

    gemm.py:41: error[TW6121]: deadlock: partition0 waits for the phase of parity 1 of empty[0] to
    complete (in phase 0: 0 of 1 arrivals came)
      note: partition0 waits for default: that signals empty at gemm.py:58
      note: default waits for the phase of parity 0 of full[1] to complete ...
      note: default waits for partition0: ...

The notes on the task that could end a wait follow the barrier: the ops that signal it are known
from the program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import TracebackType

from xdsl.ir import Attribute

from tilewright.analysis.concurrency import BlockedTask, Deadlock, NamedBarrier
from tilewright.ir.codes.shared import NUMPY_CODE_FAILED
from tilewright.ir.diagnostics import Diagnostic, Severity, SourceManager
from tilewright.targets.numpy.api import Grid, NumpyFault
from tilewright.targets.numpy.source import GeneratedSource, short_location
from tilewright.targets.numpy.support.batch import SourceSite
from tilewright.targets.numpy.tasks.support.barriers import Barrier
from tilewright.targets.numpy.tasks.support.cluster import Cluster, Signal, Tables
from tilewright.targets.numpy.tile.api import CODES, FaultKind
from tilewright.targets.numpy.tile.support.problems import Note, RuntimeFault

UNKNOWN_CAUSE = (
    "an arrival is missing, an arrive count is too high, or a wait uses the wrong parity"
)
"""The note of a deadlock whose cause is not determined."""
_CALLS = {
    "ttng.barrier_expect": "tlx.barrier_expect_bytes",
    "ttng.arrive_barrier": "tlx.barrier_arrive",
    "ttng.async_tma_copy_global_to_local": "tlx.async_descriptor_load",
    "ttng.tc_gen5_commit": "tlx.tcgen05_commit",
    "ttng.tc_gen5_mma": "tlx.async_dot",
    "ttng.tc_gen5_mma_scaled": "tlx.async_dot_scaled",
}
"""The calls of the language that ops come from."""


_PYTHON = re.compile(r"\.py:|<(?!stdin>)")
"""In a location of Python's: a file, a cell or a text. IR may come from standard input."""


def task_notes(diagnostic: Diagnostic, bodies: Mapping[str, str]) -> list[Diagnostic]:
    """Which code the partitions are that a diagnostic names."""
    text = "\n".join([diagnostic.message, *(each.message for each in diagnostic.notes)])
    named = [each for each in bodies if re.search(rf"\b{each}\b", text)]
    kind = "tlx.async_task" if any(_PYTHON.search(bodies[each]) for each in named) else "partition"
    if not named:
        return []
    parts = [f"{named[0]} is the {kind} whose body begins at {bodies[named[0]]}"]
    parts += [f"{each} the one at {bodies[each]}" for each in named[1:]]
    return [Diagnostic(Severity.NOTE, ", ".join(parts))]


class TaskFault(NumpyFault):
    """A kernel of tasks did something it should not."""

    def __init__(
        self,
        kind: FaultKind,
        diagnostic: Diagnostic,
        program: Grid | None,
        sources: SourceManager | None,
        seed: int | None = None,
    ) -> None:
        self.kind: FaultKind = kind
        self.seed = seed
        """Of the schedule it happened in."""
        super().__init__(diagnostic, program, sources)


class TaskFaultReporter:
    """Makes faults of what a run raises."""

    def __init__(
        self,
        name: str,
        source_sites: Sequence[SourceSite],
        generated: GeneratedSource,
        filename: str,
        tables: Tables,
    ) -> None:
        self._name = name
        self._source_sites = source_sites
        self._generated = generated
        self._filename = filename
        self._tables = tables

    def fault(
        self, error: Exception, cluster: Cluster, seed: int, sources: SourceManager | None
    ) -> TaskFault:
        """The report on an exception."""
        kind: FaultKind = "shape"
        if isinstance(error, Deadlock):
            kind, diagnostic = "deadlock", self._deadlock(error)
        elif isinstance(error, RuntimeFault):
            kind, diagnostic = error.kind, self._problem(error, cluster)
        else:
            message = f"the NumPy code of '{self._name}' failed: {type(error).__name__}: {error}"
            location = self._line(error.__traceback__)
            diagnostic = Diagnostic(Severity.ERROR, message, location, NUMPY_CODE_FAILED)
        program = self._program(error, cluster)
        where = "" if program is None else f"program {program}, "
        task = ""
        if cluster.last is not None:
            task = f"{cluster.last.task}, "
        elif cluster.machine.current is not None:
            task = f"{cluster.machine.current.name}, "
        text = f"{where}{task}schedule with seed {seed}"
        diagnostic.notes.insert(0, Diagnostic(Severity.NOTE, text))
        diagnostic.notes[1:1] = task_notes(diagnostic, cluster.tables.bodies)
        return TaskFault(kind, diagnostic, program, sources, seed)

    def _program(self, error: Exception, cluster: Cluster) -> Grid | None:
        if not cluster.ctas:
            return None
        cta = cluster.ctas[0]
        if cluster.last is not None:
            cta = cluster.ctas[cluster.last.cta]
        elif cluster.machine.current is not None:
            cta = next((c for c in cluster.ctas if c is cluster.task.context), cta)
        return cta.coordinates(0)

    def _line(self, trace: TracebackType | None) -> Attribute | None:
        """Where the innermost line of generated code comes from."""
        location = None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self._filename:
                location = self._generated.locations.get(trace.tb_lineno, location)
            trace = trace.tb_next
        return location

    def _location_of(self, source_id: object) -> Attribute | None:
        return self._source_sites[source_id].location if isinstance(source_id, int) else None

    def _note(self, note: Note) -> Diagnostic:
        return Diagnostic(Severity.NOTE, note.text, self._location_of(note.site))

    def _problem(self, problem: RuntimeFault, cluster: Cluster) -> Diagnostic:
        location = self._line(problem.__traceback__)
        if problem.site is not None:
            location = self._location_of(problem.site)
        elif cluster.last is not None:
            location = self._location_of(cluster.last.site)
        diagnostic = Diagnostic(Severity.ERROR, problem.message, location, CODES[problem.kind])
        diagnostic.notes.extend(self._note(note) for note in problem.notes)
        return diagnostic

    # -- deadlocks ---------------------------------------------------------------------------

    def _deadlock(self, error: Deadlock) -> Diagnostic:
        """Start with a cycle, if there is one; tasks that only wait for others come last."""
        edges = {each.task: self._helpers(each, error) for each in error.blocked}
        cycle = _cycle(edges)
        waiting = sorted(error.blocked, key=lambda each: _rank(each, cycle))
        first = waiting[0]
        message = f"deadlock: {first}"
        location = self._location_of(first.wait.site)
        diagnostic = Diagnostic(Severity.ERROR, message, location, CODES["deadlock"])
        for each in waiting:
            if each is not first:
                where = self._location_of(each.wait.site)
                diagnostic.notes.append(Diagnostic(Severity.NOTE, str(each), where))
            diagnostic.notes.extend(self._signallers(each, error))
        if len(cycle) > 1:
            text = " -> ".join([*cycle, cycle[0]])
            diagnostic.notes.append(Diagnostic(Severity.NOTE, f"wait cycle: {text}"))
        if error.over:
            ended = ", ".join(error.over)
            diagnostic.notes.append(Diagnostic(Severity.NOTE, f"already finished: {ended}"))
        diagnostic.notes.append(Diagnostic(Severity.NOTE, UNKNOWN_CAUSE))
        return diagnostic

    def _signals_for(self, waiting: BlockedTask) -> Sequence[Signal]:
        subject = waiting.wait.subject
        if not isinstance(subject, Barrier) or subject.root is None:
            return ()
        return self._tables.signals.get(subject.root.name, ())

    def _helpers(self, waiting: BlockedTask, error: Deadlock) -> list[str]:
        """The tasks that could end a wait, as far as they are left."""
        subject = waiting.wait.subject
        others = [each.task for each in error.blocked if each.task != waiting.task]
        if isinstance(subject, NamedBarrier):
            return [each.task for each in error.blocked if each.wait.subject is not subject]
        names = {signal.task for signal in self._signals_for(waiting)}
        if isinstance(subject, Barrier):
            names |= {name.rpartition(" ")[2] for name in subject.signallers}
        prefix = waiting.task.rpartition(" ")[0]
        own = [name for name in others if name.rpartition(" ")[0] == prefix]
        return [name for name in own or others if name.rpartition(" ")[2] in names]

    def _signallers(self, waiting: BlockedTask, error: Deadlock) -> list[Diagnostic]:
        """What could have ended a wait: the ops that signal its barrier."""
        subject = waiting.wait.subject
        if not isinstance(subject, Barrier) or subject.root is None:
            return []
        signals = self._signals_for(waiting)
        if not signals:
            text = f"no op of the kernel signals {subject.root.name}"
            return [Diagnostic(Severity.NOTE, text, self._location_of(subject.source_id))]
        found: list[Diagnostic] = []
        for signal in signals:
            location = self._location_of(signal.source_id)
            where = "" if location is None else short_location(location)
            call = _CALLS.get(signal.op, signal.op) if ".py:" in where else signal.op
            text = f"{signal.task} signals {subject.root.name} with {call}"
            found.append(Diagnostic(Severity.NOTE, f"{text} at {where}" if where else text))
        return found


def _rank(waiting: BlockedTask, cycle: Sequence[str]) -> tuple[int, int]:
    if waiting.task in cycle:
        return 0, cycle.index(waiting.task)
    return (1 if waiting.wait.site is not None else 2), 0


def _cycle(edges: Mapping[str, Sequence[str]]) -> list[str]:
    """A cycle of tasks each of which waits for the next; empty if there is none."""
    for start in edges:
        path = [start]
        seen = {start}
        while True:
            following = [name for name in edges.get(path[-1], ()) if name in edges]
            back = next((name for name in following if name in path), None)
            if back is not None:
                return path[path.index(back) :]
            step = next((name for name in following if name not in seen), None)
            if step is None:
                break
            seen.add(step)
            path.append(step)
    return []
