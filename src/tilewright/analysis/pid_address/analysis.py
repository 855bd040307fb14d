"""The address analysis: a kernel in, everything known about its accesses out.

    evaluate   the kernel's integer code, symbolically, on every call path
    describe   each access found: class, lane facts, domain, assumptions
    order      accesses and the values they are computed from, in source order

The result is an ``AddressReport``, a value; nothing in the IR is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from xdsl.ir import Operation

from tilewright.analysis.affine import Interval, Poly
from tilewright.analysis.axis_info import AxisFacts, has_hints, solve_axis_info
from tilewright.analysis.pid_address.classify import classify, stride_of, virtual_of
from tilewright.analysis.pid_address.control import CONTROL, UNKNOWN, run_region
from tilewright.analysis.pid_address.control.tile import THREADS
from tilewright.analysis.pid_address.domains import domain_of
from tilewright.analysis.pid_address.entry_state import Start, kernel_of, start
from tilewright.analysis.pid_address.errors import AnalysisError
from tilewright.analysis.pid_address.lanes import (
    LaneAddress,
    LaneFacts,
    alignment,
    lane_facts,
    mask_constancy,
    vector_limits,
)
from tilewright.analysis.pid_address.lines import report_lines
from tilewright.analysis.pid_address.report import (
    AccessKind,
    AccessProperties,
    AddressReport,
    Assumption,
    AssumptionKind,
    Box,
    LoopStride,
    MemoryOp,
    NotAnalysed,
    Pattern,
)
from tilewright.analysis.pid_address.scope import Machine, Premise, Scope, Site
from tilewright.analysis.pid_address.slices import backward_slice
from tilewright.analysis.pid_address.transfer import ACCESS_OPS
from tilewright.analysis.pid_address.types import BITS_PER_BYTE
from tilewright.analysis.pid_address.values import Integer
from tilewright.dialects.func import FuncOp as TileFuncOp
from tilewright.dialects.functions import FunctionOp
from tilewright.dialects.tile import KernelOp
from tilewright.ir.diagnostics import resolve
from tilewright.ir.text.names import ValueNames
from tilewright.ir.traversal import walk

_TRUNCATING = frozenset(("arith.divsi", "arith.remsi"))


def analyze(
    root: Operation, facts: AccessProperties | None = None, *, function: str | None = None
) -> AddressReport:
    """Analyse a kernel: a function, or the public one (or `function`) of a module.

    Raises ``AnalysisError`` if there is no such function or the facts cannot hold.
    """
    facts = facts or AccessProperties()
    tile = tile_kernels(root, function)
    if tile:
        if len(tile) > 1:
            raise AnalysisError(
                f"'{tile[0].function.sym_name.data}' has {len(tile)} kernels: analyse one at a time"
            )
        return analyze_tile(tile[0], facts)
    kernel = kernel_of(root, function)
    if kernel.is_declaration:
        raise AnalysisError(f"the function '{kernel.sym_name.data}' has no body to analyse")
    top = kernel.parent_op() or kernel
    names = ValueNames(top, names_from_locations=False, use_hints=True)
    begin = start(kernel, names, facts)
    machine = evaluate(kernel, top, names, begin, facts)
    changing = _written(machine) & _read(machine)
    if changing:
        begin = start(kernel, names, facts)
        machine = evaluate(kernel, top, names, begin, facts, changing)
    return _Describer(machine, begin, kernel, top, facts).report()


@dataclass(frozen=True)
class TileKernel:
    """A ``tile.kernel``, and the function that launches it."""

    function: TileFuncOp
    op: KernelOp
    index: int
    of: int

    @property
    def name(self) -> str:
        own = self.function.sym_name.data
        return own if self.of == 1 else f"{own}#{self.index}"


def tile_kernels(root: Operation, function: str | None = None) -> list[TileKernel]:
    """The kernels of the tile language in a module, in the order of their launches."""
    found: list[TileKernel] = []
    for func in walk(root):
        if not isinstance(func, TileFuncOp) or function not in (None, func.sym_name.data):
            continue
        ops = [op for op in walk(func) if isinstance(op, KernelOp)]
        found += [TileKernel(func, op, index, len(ops)) for index, op in enumerate(ops)]
    return found


def analyze_tile(kernel: TileKernel, facts: AccessProperties | None = None) -> AddressReport:
    """Analyse one kernel of the tile language. Its grid is what the function computes; one in
    `facts` is not looked at."""
    known = replace(facts or AccessProperties(), grid=(None,) * len(kernel.op.grid))
    top = kernel.function.parent_op() or kernel.function
    names = ValueNames(top, names_from_locations=False, use_hints=True)

    def run(
        known: AccessProperties, changing: frozenset[str] = frozenset()
    ) -> tuple[Start, Machine]:
        begin = start(kernel.function, names, known)
        return begin, evaluate(kernel.function, top, names, begin, known, changing, kernel.op)

    _, machine = run(known)
    grid = tuple(count.constant for count in machine.tile_grid)
    if any(count is not None and count < 1 for count in grid):
        raise AnalysisError(f"the grid of '{kernel.name}' is empty: no block runs")
    known = replace(known, grid=grid)
    begin, machine = run(known)
    changing = _written(machine) & _read(machine)
    if changing:
        begin, machine = run(known, changing)
    report = _Describer(machine, begin, kernel.function, top, known).report()
    return replace(report, kernel=kernel.name)


def evaluate(
    kernel: FunctionOp,
    top: Operation,
    names: ValueNames,
    begin: Start,
    facts: AccessProperties,
    changing: frozenset[str] = frozenset(),
    kernel_op: Operation | None = None,
    irrelevant: AbstractSet[Operation] = frozenset(),
) -> Machine:
    """Evaluate a kernel on all its paths; the findings are in the machine.

    What is loaded from `changing` buffers depends on the program that loads it: another one may
    have written there in between. Results of `irrelevant` ops are unknown.
    """
    machine = Machine(
        begin.space,
        begin.atoms,
        names,
        {op: index for index, op in enumerate(walk(top))},
        CONTROL,
        UNKNOWN,
        facts.strict_overflow,
        kernel_op,
        changing=changing,
        irrelevant=irrelevant,
    )
    env = machine.environments.setdefault((), {})
    scope = Scope(machine, (), env, begin.ctx, begin.space.true, begin.conditions)
    machine.calling.append(kernel)
    run_region(scope, kernel.body, begin.arguments)
    return machine


def _written(machine: Machine) -> frozenset[str]:
    sites = machine.sites.values()
    return frozenset(site.base.name for site in sites if site.kind is not AccessKind.LOAD)


def _read(machine: Machine) -> frozenset[str]:
    sites = machine.sites.values()
    return frozenset(site.base.name for site in sites if site.kind is AccessKind.LOAD)


def _numbered(machine: Machine) -> dict[Operation, int]:
    """The index of each op's first access; ops of the tile language may have several."""
    parts: dict[Operation, int] = {}
    for site in machine.sites.values():
        parts[site.operation] = max(parts.get(site.operation, 0), site.part + 1)
    indices: dict[Operation, int] = {}
    position = 0
    for op in machine.positions:
        if op in parts or op.name in ACCESS_OPS:
            indices[op] = position
            position += parts.get(op, 1)
    return indices


class _Describer:
    """From the findings of the evaluation to the report."""

    def __init__(
        self,
        machine: Machine,
        begin: Start,
        kernel: FunctionOp,
        top: Operation,
        facts: AccessProperties,
    ) -> None:
        self._machine = machine
        self._begin = begin
        self._kernel = kernel
        self._facts = facts
        self._indices = _numbered(machine)
        self._paths = {path: at for at, path in enumerate(machine.environments)}
        self._axis: AxisFacts | None = None
        if any(has_hints(op) for op in machine.positions):
            self._axis = solve_axis_info(top)

    def report(self) -> AddressReport:
        sites = sorted(self._machine.sites.values(), key=self._position_of_site)
        lanes = [self._lane_facts(site) for site in sites]
        signs = [
            self._assume_signs(site) if facts.assumes_signs else 0
            for site, (_, facts) in zip(sites, lanes, strict=True)
        ]
        premises = self._premises()
        premise_indices = {premise.id: index for index, premise in enumerate(premises)}
        accesses = [
            self._access(site, address, facts, bits, premise_indices)
            for site, (address, facts), bits in zip(sites, lanes, signs, strict=True)
        ]
        described = list(zip(sites, accesses, strict=True))
        values, lines = report_lines(self._machine, self._paths, described)
        return AddressReport(
            self._kernel.sym_name.data,
            self._begin.params,
            self._begin.grid,
            tuple(accesses),
            tuple(values),
            tuple(lines),
            tuple(self._assumption(premise) for premise in premises),
            self._facts,
            self._begin.notes,
            self._kernel,
            tuple(self._not_analysed()),
        )

    def _not_analysed(self) -> Iterator[NotAnalysed]:
        skipped = self._machine.skipped
        positions = {key: (self._machine.position(key[0]), self._paths[key[1]]) for key in skipped}
        for op, path in sorted(skipped, key=positions.__getitem__):
            yield NotAnalysed(op.name, path, location(op), skipped[op, path], op)

    def _position_of_site(self, site: Site) -> tuple[int, int]:
        return self._index(site), self._paths[site.path]

    def _index(self, site: Site) -> int:
        return self._indices[site.operation] + site.part

    # Assumptions.

    def _assume_signs(self, site: Site) -> int:
        """Premises for the divisions on which the runs of an access rest."""
        bits = 0
        for path, value in backward_slice(self._machine, site):
            op = value.owner
            if not isinstance(op, Operation) or op.name not in _TRUNCATING:
                continue
            known = self._machine.environments[path].get(op.operands[0])
            if not isinstance(known, Integer) or not self._is_open(site.scope, known):
                continue
            here = replace(site.scope, path=path)
            bits |= here.premise(AssumptionKind.NON_NEGATIVE, op, known.expr, Interval(0, None))
        return bits

    def _is_open(self, scope: Scope, dividend: Integer) -> bool:
        mask = dividend.expr.deps_mask
        return bool(mask & scope.atoms.any_lane) and not scope.ctx.is_nonneg(dividend.expr)

    def _premises(self) -> list[Premise]:
        return sorted(
            self._machine.premises.values(),
            key=lambda one: (
                self._machine.position(one.operation),
                self._paths[one.scope.path],
                one.kind,
            ),
        )

    def _assumption(self, premise: Premise) -> Assumption:
        scope = premise.scope
        low, high = premise.limits.lo, premise.limits.hi
        assert low is not None
        return Assumption(
            premise.kind,
            self._machine.name(premise.value),
            str(premise.value.type),
            location(premise.operation),
            premise.operation.name,
            scope.path,
            premise.expr,
            low,
            high,
            scope.guard,
            scope.facts,
            domain_of(
                scope.atoms,
                (premise.expr, scope.guard, *scope.facts, *_turning(scope)),
                scope.loops,
            ),
            premise.operation,
        )

    # Accesses.

    def _lane_facts(self, site: Site) -> tuple[LaneAddress, LaneFacts]:
        hints = None
        if self._axis is not None and site.box is None:
            hints = self._axis[site.address]
        address = LaneAddress(
            site.scope.ctx,
            site.offset.expr,
            site.elem_bytes,
            site.shape,
            site.scope.atoms.lane_atoms(site.shape),
            site.base.divisibility,
            site.base.deps,
            hints,
        )
        return address, lane_facts(address)

    def _access(
        self,
        site: Site,
        address: LaneAddress,
        lanes: LaneFacts,
        signs: int,
        premise_indices: dict[int, int],
    ) -> MemoryOp:
        scope, machine, op = site.scope, self._machine, site.operation
        atoms = machine.atoms
        offset, base = site.offset.expr, site.base
        found = classify(atoms, site.offset, base)
        virtual = None
        if found.pattern is Pattern.NONLINEAR:
            virtual = virtual_of(atoms, site.offset.virtual)
        steady = mask_constancy(address, lanes, site.mask)
        limits = None if site.is_descriptor else vector_limits(address, lanes, steady)
        aligned = None if site.is_descriptor_argument else alignment(address, lanes)
        basis = site.offset.basis | site.mask_basis | scope.basis | signs
        own = [premise_indices[bit] for bit in _bits(basis) if bit in premise_indices]
        box = site.box
        return MemoryOp(
            self._index(site),
            op.name,
            site.kind,
            machine.name(op.results[0]) if op.results else None,
            machine.name(site.address),
            site.path,
            location(op),
            base.name,
            base.divisibility,
            site.elem_bytes,
            site.shape,
            offset,
            found.pattern,
            found.reason,
            found.axes,
            atoms.axes(scope.guard.deps_mask),
            found.strides,
            lanes.strides,
            self._loop_strides(site),
            lanes.block_size,
            None if _is_by_thread(site) else lanes.coalesced,
            lanes.order,
            lanes.contiguity,
            aligned,
            None if limits is None else BITS_PER_BYTE * site.elem_bytes * limits.elements,
            limits,
            site.mask is not None,
            site.mask,
            steady,
            scope.guard,
            virtual,
            tuple(sorted(own)),
            domain_of(atoms, (offset, site.mask, scope.guard, *scope.facts), scope.loops),
            scope.facts,
            address.lanes,
            None
            if box is None
            else Box(box.offset, box.shape, box.strides, box.block, box.indices),
            op,
            site.inside,
        )

    def _loop_strides(self, site: Site) -> tuple[LoopStride, ...]:
        atoms = self._machine.atoms
        varying = atoms.any_lane | atoms.any_counter
        return tuple(
            LoopStride(
                loop,
                None
                if site.base.deps & loop.counter.deps_mask or site.base.is_top
                else stride_of(site.offset.expr, loop.counter, varying),
            )
            for loop in site.scope.loops
        )


def _turning(scope: Scope) -> list[Poly]:
    """The counters of the loops around: in a loop without iterations, nothing runs."""
    return [scope.space.of_atom(loop.counter) for loop in scope.loops if loop.trips is not None]


def _is_by_thread(site: Site) -> bool:
    """Whether the threads of a block have addresses of their own: described one thread at a time,
    they imply nothing about coalescing across threads."""
    own = [loop for loop in site.scope.loops if loop.name.startswith(THREADS)]
    return any(site.offset.expr.deps_mask & loop.counter.deps_mask for loop in own)


def _bits(mask: int) -> list[int]:
    """The numbers of the bits that are set; as text, because there may be thousands."""
    return [bit for bit, digit in enumerate(reversed(f"{mask:b}")) if digit == "1"]


def location(op: Operation) -> str | None:
    """``file:line:column`` of an op, if it has one."""
    position = resolve(op.location).primary
    return None if position is None else str(position)


__all__ = [
    "TileKernel",
    "analyze",
    "analyze_tile",
    "evaluate",
    "location",
    "tile_kernels",
]
