"""Compare our contiguity, divisibility and constancy with the numbers in an alignment test.

    .venv/bin/python scripts/axis_info_parity.py FILE [--rules] [--all]

FILE is `test-alignment.mlir` of Triton's sources or of a fork: functions whose lines are preceded
by comments such as `contiguity = [1], divisibility = [8], constancy = [128]`, what Triton's
analysis concludes about the value below. Every such value gets a line unless all is equal:

    equal     our numbers are theirs
    stronger  each of ours is a multiple of theirs, one is more
    weaker    one of ours is not a multiple of theirs, or a constant is missing

Exit status 1 if a value is weaker or could not be read. `--rules` leaves the polynomials out and
asks the rules alone; `--all` lists equal values too.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.axis_info import AxisInfo, solve_axis_info
from tilewright.analysis.pid_address import axis_facts
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine, resolve
from tilewright.ir.text import parse_source
from tilewright.ir.traversal import walk

NUMBERS = re.compile(r"(contiguity|divisibility|constancy) = \[([\d, ]+)\]")
CONSTANT = re.compile(r"constant_value = (-?\d+)")
SEPARATOR = re.compile(r"^// -----", re.MULTILINE)


@dataclass(frozen=True)
class Remark:
    """What Triton says about one value on a line of the file; numbers left out are not compared."""

    line: int
    numbers: dict[str, tuple[int, ...]]
    constant: int | None

    def compare(self, ours: AxisInfo) -> str:
        verdicts = {_compare(wanted, getattr(ours, name)) for name, wanted in self.numbers.items()}
        if self.constant is not None and ours.constant is None:
            verdicts.add("weaker")
        if self.constant is not None and ours.constant is not None:
            # Triton prints a true `i1` as 1 or -1, depending on where it comes from.
            is_same = ours.constant == self.constant or {ours.constant, self.constant} == {1, -1}
            verdicts.add("equal" if is_same else "weaker")
        for verdict in ("weaker", "stronger"):
            if verdict in verdicts:
                return verdict
        return "equal"

    def __str__(self) -> str:
        parts = [f"{name} {list(numbers)}" for name, numbers in self.numbers.items()]
        return ", ".join(parts + ([] if self.constant is None else [f"constant {self.constant}"]))


def _compare(wanted: tuple[int, ...], ours: tuple[int, ...]) -> str:
    if len(wanted) != len(ours) or any(a % b for a, b in zip(ours, wanted, strict=True)):
        return "weaker"
    return "equal" if ours == wanted else "stronger"


def remarks_in(text: str, first_line: int) -> Iterator[Remark]:
    """The comments with numbers, each with the line of code below it."""
    waiting: list[str] = []
    for line, content in enumerate(text.splitlines(), first_line):
        stripped = content.strip()
        if stripped.startswith("//"):
            waiting.extend([stripped] if NUMBERS.search(stripped) else [])
            continue
        if not stripped:
            continue
        for comment in waiting:
            numbers = {
                name: tuple(map(int, listed.split(",")))
                for name, listed in NUMBERS.findall(comment)
            }
            constant = CONSTANT.search(comment)
            yield Remark(line, numbers, None if constant is None else int(constant[1]))
        waiting.clear()


def ops_by_line(module: ModuleOp) -> dict[int, Operation]:
    """The op that begins on each line."""
    found: dict[int, Operation] = {}
    for op in walk(module):
        position = resolve(op.location).primary
        if position is not None:
            found.setdefault(position.line, op)
    return found


def verdicts_in(text: str, name: str, first_line: int, rules: bool) -> Iterator[tuple[str, str]]:
    """A verdict and its line of output for every value of one part of the file."""
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, name, engine, line_offset=first_line - 1)
    remarks = list(remarks_in(text, first_line))
    if source is None:
        reason = engine.diagnostics[0].message
        yield from (("unread", f"{name}:{each.line}: unread: {reason}") for each in remarks)
        return
    facts = solve_axis_info(source.module) if rules else axis_facts(source.module)
    ops = ops_by_line(source.module)
    by_line: dict[int, list[Remark]] = {}
    for remark in remarks:
        by_line.setdefault(remark.line, []).append(remark)
    for line, said in by_line.items():
        op = ops.get(line)
        infos = [] if op is None else [facts[result] for result in _results_meant(op)]
        for position, remark in enumerate(said):
            place = f"{name}:{line}"
            if op is None or not infos:
                yield "no value", f"{place}: no value: {remark}"
                continue
            # A line with fewer remarks than results does not say which results are meant.
            candidates = [infos[position]] if len(said) == len(infos) else infos
            info = min(candidates, key=lambda info: _RANK[remark.compare(info)])
            verdict = remark.compare(info)
            yield verdict, f"{place}: {verdict}: {op.name}: {info}; Triton: {remark}"


def _results_meant(op: Operation) -> Sequence[SSAValue]:
    """Remarks at the end of a loop body are about the results of the loop."""
    parent = op.parent_op()
    is_yield = op.name == "scf.yield" and parent is not None
    return parent.results if is_yield else op.results


_RANK = {"equal": 0, "stronger": 1, "weaker": 2}


def main(arguments: list[str]) -> int:
    files = [argument for argument in arguments if not argument.startswith("-")]
    flags = set(arguments) - set(files)
    if len(files) != 1 or not flags <= {"--rules", "--all"}:
        print(__doc__)
        return 2
    path = Path(files[0])
    if not path.is_file():
        print(f"no such file: {path}", file=sys.stderr)
        return 2
    counts: Counter[str] = Counter()
    line = 1
    for part in SEPARATOR.split(path.read_text()):
        for verdict, said in verdicts_in(part, path.name, line, "--rules" in flags):
            counts[verdict] += 1
            if verdict != "equal" or "--all" in flags:
                print(said)
        line += part.count("\n")
    order = ("equal", "stronger", "weaker", "no value", "unread")
    print(f"{sum(counts.values())} values: " + ", ".join(f"{counts[k]} {k}" for k in order))
    return 1 if counts["weaker"] or counts["unread"] or not counts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
