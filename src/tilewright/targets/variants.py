"""Other forms of the same kernels, for those whose registers spill.

Machine code shows whether registers spill, so what is tried next is decided after a compilation:
what the target's own `revisions` propose; pipelined loops that predicate their epilogue, which is
less code; then twice as many threads, each of which holds half of the same tiles. The first form
without spills is taken, or the better one.

The last two forms are the same for every GPU. What lowers a module and what compiles it are the
caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import CompileError, Diagnostic, DiagnosticEngine, one_line
from tilewright.passes.tile.double_threads import DoubleThreads

PREDICATED = "TW5013"
WIDER = "TW5017"


class Pipeline(Protocol):
    """The passes of a target."""

    @property
    def predicate_epilogue(self) -> bool: ...


class Metadata(Protocol):
    @property
    def spill_bytes(self) -> int: ...
    @property
    def threads(self) -> int: ...


class Kernel(Protocol):
    """A compiled kernel."""

    @property
    def metadata(self) -> Metadata: ...


class Lowered(Protocol):
    """A module after the passes."""

    @property
    def texts(self) -> Sequence[str]: ...
    @property
    def functions(self) -> Sequence[FuncOp]: ...
    @property
    def diagnostics(self) -> Sequence[Diagnostic]: ...


P = TypeVar("P", bound=Pipeline)
L = TypeVar("L", bound=Lowered)
K = TypeVar("K", bound=Kernel)


@dataclass(frozen=True)
class Chosen(Generic[L, K]):
    """The form that is used."""

    lowered: L
    kernels: Mapping[str, K]
    reasons: tuple[tuple[str, str], ...] = ()
    """Why it is not the form that was requested, and the code of each of these remarks."""

    def report(self, engine: DiagnosticEngine) -> None:
        """What the passes reported, and these reasons."""
        # Once of each: the copies of an unrolled loop body all have one source line.
        for each in {one_line(each): each for each in self.lowered.diagnostics}.values():
            engine.emit(each)
        for reason in self.reasons:
            engine.remark(self.lowered.functions[0], *reason)


@dataclass(frozen=True)
class Revision(Generic[P]):
    """Another pipeline that may make better machine code, and the remark if it does."""

    pipeline: P
    reason: str
    code: str


def _none(_pipeline: P, _lowered: Lowered, _kernels: Mapping[str, Kernel]) -> Iterator[Revision[P]]:
    return iter(())


def _spills(kernels: Mapping[str, Kernel]) -> tuple[int, ...]:
    return (spilled(kernels),)


@dataclass(frozen=True)
class Variants(Generic[P, L, K]):
    """The forms of a module."""

    module: ModuleOp
    pipeline: P
    lower: Callable[[ModuleOp, P, DiagnosticEngine], L]
    compile: Callable[[L], Mapping[str, K]]
    code_bytes: Callable[[K], int]
    large_code: int
    """Bytes of machine code from which spills are accepted: other forms would take as long to
    compile again, each."""
    revisions: Callable[[P, L, Mapping[str, K]], Iterator[Revision[P]]] = _none
    """Other pipelines for what these kernels show; the first that loses nothing is taken."""
    losses: Callable[[Mapping[str, K]], tuple[int, ...]] = _spills
    """What is wrong with machine code, the worst first; all 0 if nothing is."""

    def chosen(self, engine: DiagnosticEngine) -> Chosen[L, K]:
        """The requested form, or one that spills less; reports to `engine` what is wrong."""
        lowered = self.lower(self.module, self.pipeline, engine)
        kernels = self.compile(lowered)
        found = Chosen(lowered, kernels)
        if sum(map(self.code_bytes, kernels.values())) > self.large_code:
            return found
        pipeline = self.pipeline
        if any(self.losses(kernels)):
            found, pipeline = self._revised(found)
        if spilled(found.kernels) and not pipeline.predicate_epilogue:
            found = self._predicated(found, pipeline)
        if spilled(found.kernels):
            found = self._wider(found)
        return found

    def _revised(self, found: Chosen[L, K]) -> tuple[Chosen[L, K], P]:
        pipeline, tried = self.pipeline, {tuple(found.lowered.texts)}
        for revision in self.revisions(pipeline, found.lowered, found.kernels):
            lowered = self._lowered(self.module, revision.pipeline)
            if lowered is None or tuple(lowered.texts) in tried:
                continue
            tried.add(tuple(lowered.texts))
            kernels = self.compile(lowered)
            if self.losses(kernels) < self.losses(found.kernels):
                found = Chosen(lowered, kernels, ((revision.reason, revision.code),))
                pipeline = revision.pipeline
            if not any(self.losses(found.kernels)):
                break
        return found, pipeline

    def _predicated(self, found: Chosen[L, K], pipeline: P) -> Chosen[L, K]:
        smaller = self._lowered(self.module, _predicating(pipeline))
        if smaller is None or smaller.texts == found.lowered.texts:
            return found
        kernels = self.compile(smaller)
        before, after = spilled(found.kernels), spilled(kernels)
        if after >= before:
            return found
        reason = (
            f"pipeline epilogue predicated instead of peeled: {after} B per thread spill, "
            f"{before} B with a peeled epilogue"
        )
        return Chosen(smaller, kernels, (*found.reasons, (reason, PREDICATED)))

    def _wider(self, found: Chosen[L, K]) -> Chosen[L, K]:
        for lowered in self._with_more_threads():
            kernels = self.compile(lowered)
            if spilled(kernels):
                continue
            before, threads = next(
                (each.metadata.threads, kernels[name].metadata.threads)
                for name, each in found.kernels.items()
                if each.metadata.spill_bytes
            )
            # Of a block with roles, those that compute are doubled.
            included = "" if threads == 2 * before else ", producer warps included"
            reason = (
                f"thread count doubled to {threads} per block{included}: "
                f"{spilled(found.kernels)} B per thread spill with the requested count"
            )
            return Chosen(lowered, kernels, ((reason, WIDER),))
        return found

    def _with_more_threads(self) -> Iterator[L]:
        """The same kernels with twice as many threads, where that makes no difference to them.

        There are none if tiles cannot be shared among so many.
        """
        wider = self.module.clone()
        DoubleThreads().run(wider, DiagnosticEngine())
        if wider.is_structurally_equivalent(self.module):
            return
        for pipeline in dict.fromkeys((self.pipeline, _predicating(self.pipeline))):
            lowered = self._lowered(wider, pipeline)
            if lowered is not None:
                yield lowered

    def _lowered(self, module: ModuleOp, pipeline: P) -> L | None:
        """Another way to lower a module that was lowered before; None if there is no such way."""
        try:
            return self.lower(module, pipeline, DiagnosticEngine())
        except CompileError:
            return None


def _predicating(pipeline: P) -> P:
    return replace(pipeline, predicate_epilogue=True)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]


def spilled(kernels: Mapping[str, Kernel]) -> int:
    """Bytes of registers per thread that are in memory, of all kernels."""
    return sum(each.metadata.spill_bytes for each in kernels.values())
