"""One report under examination: regions, enumerations and settings, made once and shared."""

from __future__ import annotations

from functools import cached_property

from xdsl.ir import Operation

from tilewright.analysis.affine import Formula, Space, Substitution
from tilewright.analysis.pid_address.atoms import kind_of
from tilewright.analysis.pid_address.checks.contents import Contents
from tilewright.analysis.pid_address.checks.enumeration import Enumeration, NotEnumerable
from tilewright.analysis.pid_address.checks.findings import Finding
from tilewright.analysis.pid_address.checks.questions import Question
from tilewright.analysis.pid_address.checks.regions import (
    VARYING,
    AddressRegion,
    domain_of,
    region_of,
)
from tilewright.analysis.pid_address.checks.settings import Effort, Settings
from tilewright.analysis.pid_address.report import AddressReport, MemoryOp
from tilewright.dialects.tile import KernelOp
from tilewright.dialects.tt import GetNumProgramsOp, GetProgramIdOp


class Launch:
    """What all checks of one report share."""

    def __init__(self, report: AddressReport, settings: Settings) -> None:
        self.report = report
        self.settings = settings
        self.effort = Effort(settings)
        self.overflows: dict[int, Finding] = {}
        """What was found about assumptions so far, by their number."""
        self._regions: dict[int, AddressRegion] = {}
        self._primings: dict[int, Substitution] = {}
        self._primed: dict[int, AddressRegion] = {}
        self._enumerations: dict[tuple[int, bool], Enumeration | NotEnumerable] = {}

    @cached_property
    def grid(self) -> tuple[int | None, ...]:
        """The grid of the report; axes that the kernel never queries have one program."""
        queried = _axes(self.report.function)
        pairs = enumerate(self.report.grid)
        return tuple(1 if count is None and axis not in queried else count for axis, count in pairs)

    @cached_property
    def contents(self) -> Contents:
        return Contents(self.report, self.settings.memory)

    def space(self) -> Space:
        return self.report.accesses[0].offset.space

    def at(self, access: MemoryOp) -> int:
        """The position of an access in the report: its index alone may repeat on call paths."""
        return next(i for i, other in enumerate(self.report.accesses) if other is access)

    def region(self, access: MemoryOp) -> AddressRegion:
        key = self.at(access)
        if key not in self._regions:
            self._regions[key] = region_of(access, self.grid)
        return self._regions[key]

    def priming(self, access: MemoryOp) -> Substitution:
        key = self.at(access)
        if key not in self._primings:
            self._primings[key] = self.region(access).priming()
        return self._primings[key]

    def primed(self, access: MemoryOp) -> AddressRegion:
        key = self.at(access)
        if key not in self._primed:
            self._primed[key] = self.region(access).primed(self.priming(access))
        return self._primed[key]

    def domain(self, access: MemoryOp) -> Formula:
        return domain_of(self.region(access), self.grid)

    def enumeration(self, access: MemoryOp, every_program: bool = False) -> Enumeration:
        """Raises NotEnumerable, the same each time."""
        key = (self.at(access), every_program)
        if key not in self._enumerations:
            try:
                self._enumerations[key] = Enumeration(
                    self.region(access).executions(),
                    self.grid,
                    self.settings,
                    self.contents,
                    every_program,
                    effort=self.effort,
                )
            except NotEnumerable as error:
                self._enumerations[key] = error
        found = self._enumerations[key]
        if isinstance(found, NotEnumerable):
            raise found
        return found

    def sample(self, access: MemoryOp) -> Enumeration:
        """Some of the points, evenly spread: good for witnesses only."""
        region, settings = self.region(access).executions(), self.settings
        return Enumeration(
            region, self.grid, settings, self.contents, may_sample=True, effort=self.effort
        )

    def not_given(self, access: MemoryOp) -> list[str]:
        """The flags that would fix the arguments and the grid that an access depends on."""
        region = self.region(access)
        atoms = region.space.atoms_within((region.where, region.offset))
        names = {atom.name for atom in atoms if kind_of(atom) == "arg"}
        flags = [f"--arg {p.name}=..." for p in self.report.params if p.name in names]
        is_open = any(
            (kind_of(atom) == "np") or (kind_of(atom) == "pid" and None in self.grid)
            for atom in atoms
        )
        return ["--grid ...", *flags] if is_open else flags

    def given(self, question: Question, values: dict[str, int]) -> dict[str, int]:
        """The arguments and the grid that a witness had to choose."""
        free = {atom.name for atom in question.symbols() if kind_of(atom) not in VARYING}
        return {name: value for name, value in values.items() if name in free}


def _axes(function: Operation) -> set[int]:
    """The axes whose program id is read anywhere near a function: its callees may do it too."""
    root = function
    while root.parent_op() is not None:
        root = root.parent_op() or root
    asking = (op for op in root.walk() if isinstance(op, GetProgramIdOp | GetNumProgramsOp))
    axes = {op.dimension for op in asking}
    for op in root.walk():
        if isinstance(op, KernelOp):
            axes.update(range(len(op.grid)))
    return axes
