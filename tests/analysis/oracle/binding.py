"""Puts what a run recorded into the formulas of a report.

A report speaks of symbols: arguments, program ids, lanes, loop counters, and opaque values, which
are functions of those. Each is bound here to what the interpreter saw. A formula is evaluated for
many executions at once: axis 0 of every array is the execution, the others are lanes.

An opaque value at a point that no execution reached has no value. Wherever such a point takes
part, the answer is marked as *missing*, and nothing is concluded from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from tests.analysis.oracle.recording import Array, Path, Recording, When
from tilewright.analysis.affine import Formula, FormulaKind, Poly, SymbolKind
from tilewright.analysis.affine.arrays import ArrayEvaluator
from tilewright.analysis.pid_address import AccessProperties, AddressReport
from tilewright.analysis.pid_address import analysis as analysis_module
from tilewright.analysis.pid_address.scope import Machine
from tilewright.analysis.pid_address.values import Pointer

AXES = 3


@dataclass(frozen=True)
class Subject:
    """A report, and what ties its opaque names to values of the IR."""

    report: AddressReport
    machine: Machine
    values: Mapping[str, tuple[SSAValue, Path]]
    """By the name of an opaque value."""
    paths: Mapping[tuple[str, ...], Path]
    signatures: Mapping[tuple[str, int], tuple[str, ...]]
    """By name and number of operands: the symbols an opaque value was made a function of."""


def examine(module: Operation, facts: AccessProperties | None = None) -> Subject:
    """Analyse a kernel; the analysis runs as it always does, its machine is kept."""
    with _kept_machine() as kept:
        report = analysis_module.analyze(module, facts)
    machine = kept[-1]  # The last evaluation is the one that is reported.
    paths: dict[tuple[str, ...], Path] = {(): ()}
    for path, (op, caller) in machine.calls.items():
        paths[path] = (*paths[caller], op)
    values = {name: (value, paths[path]) for (value, path), name in machine._unique.items()}
    return Subject(report, machine, values, paths, _signatures(machine))


@contextmanager
def _kept_machine() -> Iterator[list[Machine]]:
    kept: list[Machine] = []
    original = analysis_module.evaluate

    def keeping(*args: object) -> Machine:
        machine = original(*args)  # type: ignore[arg-type]
        kept.append(machine)
        return machine

    analysis_module.evaluate = keeping  # type: ignore[assignment]
    try:
        yield kept
    finally:
        analysis_module.evaluate = original


def _signatures(machine: Machine) -> dict[tuple[str, int], tuple[str, ...]]:
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    calls = [(a.name, a.args) for a in machine.space.atoms if a.kind is SymbolKind.CALL]
    calls += [(f.name, f.args) for f in machine.space.formulas if f.kind is FormulaKind.PREDICATE]
    for name, args in calls:
        symbols = [arg.atom for arg in args]
        names = tuple(one.name for one in symbols if one is not None and one.is_symbol)
        if len(names) == len(args) and len(set(names)) == len(names):
            found.setdefault((name, len(args)), names)
    return found


# Loops around an op, by the names the analysis gives their counters.


def loop_counters(names: Callable[[SSAValue], str], op: Operation, path: Path) -> list[str]:
    """Names of the counters of all loops around an op, outermost first."""
    found: list[str] = []
    for place in (*path, op):
        for loop in _loops_around(place):
            plain = "while"
            if isinstance(loop, Operation) and loop.name == "scf.for":
                block = loop.regions[0].first_block
                assert block is not None
                plain = names(block.args[0])
            text, number = f"it({plain})", 2
            while text in found:
                text = f"it({plain}#{number})"
                number += 1
            found.append(text)
    return found


def _loops_around(op: Operation) -> list[Operation | Block]:
    around: list[Operation | Block] = []
    block = op.parent_block()
    while block is not None:
        if _is_on_cycle(block):
            around.append(block)
        parent = block.parent_op()
        if parent is None:
            break
        if parent.name in ("scf.for", "scf.while"):
            around.append(parent)
        block = parent.parent_block()
    return around[::-1]


def _is_on_cycle(block: Block) -> bool:
    seen: set[Block] = set()
    work = [block]
    while work:
        last = work.pop().last_op
        for following in () if last is None else last.successors:
            if following is block:
                return True
            if following not in seen:
                seen.add(following)
                work.append(following)
    return False


def op_of(value: SSAValue) -> Operation:
    """An op at the place where a value comes to be."""
    owner = value.owner
    if isinstance(owner, Operation):
        return owner
    first = owner.first_op
    assert first is not None
    return first


# Evaluation.


class Batch:
    """Executions of one place, and the values of formulas there."""

    def __init__(
        self,
        subject: Subject,
        recording: Recording,
        whens: Sequence[When],
        counters: Sequence[str],
        shape: Sequence[int],
    ) -> None:
        self.subject = subject
        self.recording = recording
        self.whens = whens
        self.counters = list(counters)
        self.shape = tuple(shape)
        self.count = len(whens)
        self.missing = np.zeros(self.count, dtype=bool)
        self._evaluator = ArrayEvaluator(self._valuation())

    # Questions.

    def value(self, poly: Poly, *, spread: bool = True) -> Array | None:
        """[execution, lanes...]; None if a name in it stands for nothing the run has.

        Without `spread`, axes along which it is the same may have one element, or be missing.
        """
        try:
            found = self._evaluator.value(poly)
        except KeyError as error:
            _refuse_placeholders(error)
            return None
        return np.broadcast_to(found, (self.count, *self.shape)) if spread else found

    def truth(self, formula: Formula, *, spread: bool = True) -> Array | None:
        try:
            found = self._evaluator.truth(formula)
        except KeyError as error:
            _refuse_placeholders(error)
            return None
        return np.broadcast_to(found, (self.count, *self.shape)) if spread else found

    # Symbols.

    def _valuation(self) -> dict[str, object]:
        report, launch = self.subject.report, self.recording.launch
        values: dict[str, object] = {}
        for param in report.params:
            if param.symbol is not None and param.name in launch.args:
                values[param.symbol.name] = launch.args[param.name]
            if param.name in launch.addresses:
                values[f"addr(%{param.name})"] = launch.addresses[param.name]
        for axis in range(AXES):
            values[f"np{axis}"] = launch.grid[axis]
            values[f"pid{axis}"] = self._column([when.program[axis] for when in self.whens])
        for place, name in enumerate(self.counters):
            values[name] = self._column([when.counters[place] for when in self.whens])
        for dim, extent in enumerate(self.shape):
            along = [1] * (1 + len(self.shape))
            along[1 + dim] = extent
            values[f"lane{dim}"] = np.arange(extent, dtype=np.int64).reshape(along)
        for name in self.subject.values:
            values[name] = self._opaque(name)
        return values

    def _column(self, numbers: Sequence[int]) -> Array:
        return np.asarray(numbers, dtype=np.int64).reshape((-1, *([1] * len(self.shape))))

    def _opaque(self, name: str) -> Callable[..., Array]:
        value, path = self.subject.values[name]
        history = self.recording.values.get((value, path), {})
        own = loop_counters(self.subject.machine.name, op_of(value), path)
        start = self._start(name, value)

        def lookup(*args: Array) -> Array:
            symbols = self.subject.signatures.get((name, len(args)))
            if symbols is None:
                raise KeyError(name)
            return self._looked_up(history, own, dict(zip(symbols, args, strict=True))) - start

        return lookup

    def _start(self, name: str, value: SSAValue) -> int:
        """What an opaque *offset* of a pointer, named like the pointer, is counted from."""
        for environment in self.subject.machine.environments.values():
            known = environment.get(value)
            if isinstance(known, Pointer) and known.base.name.startswith("%"):
                names = {atom.name for atom in known.offset.expr.atoms_within()}
                if name in names:
                    return self.recording.launch.addresses[known.base.name[1:]]
        return 0

    def _looked_up(
        self, history: Mapping[When, Array], own: Sequence[str], given: Mapping[str, Array]
    ) -> Array:
        rank = 1 + len(self.shape)
        arrays = {name: np.asarray(array) for name, array in given.items()}
        shape = np.broadcast_shapes(
            (self.count, *([1] * (rank - 1))), *(array.shape for array in arrays.values())
        )
        result = np.zeros(shape, dtype=np.int64)
        for at, when in enumerate(self.whens):
            here = {
                name: array[at if array.ndim == rank and array.shape[0] > 1 else 0]
                if array.ndim == rank
                else array
                for name, array in arrays.items()
            }
            found = self._one(history, own, here, when)
            if found is None:
                self.missing[at] = True
            else:
                result[at] = found
        return result

    def _one(
        self,
        history: Mapping[When, Array],
        own: Sequence[str],
        given: Mapping[str, Array],
        when: When,
    ) -> Array | None:
        program = list(when.program)
        for axis in range(AXES):
            if f"pid{axis}" in given:
                if not _is_uniform(given[f"pid{axis}"]):
                    return None
                program[axis] = int(given[f"pid{axis}"].flat[0])
        counters: list[int] = []
        for name in own:
            if name in given:
                if not _is_uniform(given[name]):
                    return None
                counters.append(int(given[name].flat[0]))
            elif name in self.counters:
                counters.append(when.counters[self.counters.index(name)])
            else:
                return None
        array = history.get(When((program[0], program[1], program[2]), tuple(counters)))
        if array is None:
            return None
        places: list[Array | int] = []
        for dim in range(array.ndim):
            place = given.get(f"lane{dim}", np.asarray(0))
            if np.any(place < 0) or np.any(place >= array.shape[dim]):
                return None
            places.append(place.astype(np.int64))
        return array[tuple(places)]


def _refuse_placeholders(error: KeyError) -> None:
    """A report may speak of values that no run has, but of no value that the analysis forgot."""
    if " carry" in str(error):
        raise ValueError(f"a placeholder in a report: {error}")


def _is_uniform(array: Array) -> bool:
    return bool(np.all(array == array.flat[0]))
