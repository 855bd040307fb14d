"""The symbols of one analysis: program ids, grid, arguments, lanes, loop counters, coordinates.

Names in polynomials, and what each may depend on::

    pid0 np0          program id and number of programs along axis 0
    stride_am         an argument, without the percent sign
    lane1             index along dimension 1 of the tensor at hand
    it(%k)            iterations of the loop over %k, from 0
    addr(%x_ptr)      the address an argument points to
    %lda              an opaque value: a function of the symbols it depends on, and of memory
    %pid_m            a coordinate (in ``Integer.virtual`` only)

Dependencies are names, stored as bit sets: that of a symbol is its own name; ``mem``, ``carried``
and ``unsupported`` are reasons why a value is opaque.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tilewright.analysis.affine import Atom, Formula, Interval, Poly, Space

AXES = 3
MAX_PROGRAMS = (2**31 - 1, 65535, 65535)
"""Grid limits of CUDA along each axis."""

MEMORY = "mem"
CARRIED = "carried"
UNSUPPORTED = "unsupported"

_ADDRESS = Interval(0, 2**63 - 1)
_COUNTER = Interval(0, None)


class Role(NamedTuple):
    """What a symbol is, to be found again: ``("lane", 0)``, ``("arg", "M")``."""

    kind: str
    """``pid np arg addr lane it opaque carry coordinate``"""
    key: str | int


def kind_of(atom: Atom) -> str:
    """The kind of a symbol's role; nothing for atoms that have none."""
    return atom.role.kind if isinstance(atom.role, Role) else ""


class Atoms:
    """Makes symbols, and finds them again by what depends on them."""

    def __init__(self, space: Space, grid: Sequence[int | None]) -> None:
        self.space = space
        self.grid = tuple(grid)
        self._symbols: dict[str, Poly] = {}
        """Program ids and counters by dependency name."""
        self.programs = [self._make_programs(axis) for axis in range(AXES)]
        self.pids = [self._make_pid(axis) for axis in range(AXES)]
        self.memory = space.dep_bit(MEMORY)
        self.carried = space.dep_bit(CARRIED)
        self.unsupported = space.dep_bit(UNSUPPORTED)
        self.pid_bits = [space.dep_bit(f"pid{axis}") for axis in range(AXES)]
        self.any_pid = sum(self.pid_bits)
        self.any_lane = 0
        self.any_counter = 0
        self.any_coordinate = 0
        self.any_placeholder = 0
        self._lanes: dict[tuple[int, int], Poly] = {}
        self._lane_bits: list[int] = []
        self.coordinates: dict[Atom, Poly] = {}
        """What each coordinate stands for."""
        self._counter_names: set[str] = set()
        self._placeholders = 0

    # The grid.

    def _make_programs(self, axis: int) -> Poly:
        given = self.grid[axis]
        if given is not None:
            return self.space.const(given)
        limits = Interval(1, MAX_PROGRAMS[axis])
        return self.space.symbol(f"np{axis}", limits, role=Role("np", axis))

    def _make_pid(self, axis: int) -> Poly:
        last = (self.grid[axis] or MAX_PROGRAMS[axis]) - 1
        name = f"pid{axis}"
        pid = self.space.symbol(name, Interval(0, last), role=Role("pid", axis))
        self._symbols[name] = pid
        return pid

    def pid_atom(self, axis: int) -> Atom:
        atom = self.pids[axis].atom
        assert atom is not None
        return atom

    def axes(self, mask: int) -> tuple[int, ...]:
        """The axes among dependencies."""
        return tuple(axis for axis in range(AXES) if mask & self.pid_bits[axis])

    # Lanes.

    def lane(self, dim: int, extent: int) -> Poly:
        """The index along a dimension; one lane needs no symbol."""
        if extent == 1:
            return self.space.zero
        known = self._lanes.get((dim, extent))
        if known is None:
            name = f"lane{dim}"
            known = self.space.symbol(name, Interval(0, extent - 1), role=Role("lane", dim))
            self._lanes[dim, extent] = known
            self.any_lane |= self.lane_bit(dim)
        return known

    def lane_bit(self, dim: int) -> int:
        while len(self._lane_bits) <= dim:
            self._lane_bits.append(self.space.dep_bit(f"lane{len(self._lane_bits)}"))
        return self._lane_bits[dim]

    def lane_atoms(self, shape: Sequence[int]) -> tuple[Atom | None, ...]:
        return tuple(self.lane(dim, extent).atom for dim, extent in enumerate(shape))

    def moved(self, mask: int, targets: Sequence[Sequence[int]]) -> int:
        """Dependencies after lanes moved: source dimension d goes to `targets[d]`."""
        if not mask & self.any_lane:
            return mask
        result = mask & ~self.any_lane
        for dim, positions in enumerate(targets):
            if mask & self.lane_bit(dim):
                for position in positions:
                    bit = self.lane_bit(position)
                    self.any_lane |= bit
                    result |= bit
        return result

    # Loops.

    def counter(self, name: str, last: int | None, enclosing: Iterable[str]) -> Poly:
        """A fresh iteration counter, with a name that no enclosing counter has."""
        text, suffix = f"it({name})", 2
        while text in enclosing:
            text = f"it({name}#{suffix})"
            suffix += 1
        limits = _COUNTER if last is None else Interval(0, max(last, 0))
        counter = self.space.symbol(text, limits, role=Role("it", text))
        self._symbols[text] = counter
        self.any_counter |= self.space.dep_bit(text)
        return counter

    # What a loop carries, until it is known.

    def placeholder(self, lanes: Sequence[Poly], limits: Interval) -> Poly:
        """A value still to be found, a function of its lanes."""
        name = f"carry{self._placeholders}"
        self._placeholders += 1
        self.any_placeholder |= self.space.dep_bit(name)
        return self.space.call(name, lanes, limits, deps=(name,), role=Role("carry", name))

    def placeholder_mask(self) -> int:
        """The dependency of a value of which nothing but its dependencies is sought."""
        name = f"carry{self._placeholders}"
        self._placeholders += 1
        bit = self.space.dep_bit(name)
        self.any_placeholder |= bit
        return bit

    def placeholder_predicate(self, lanes: Sequence[Poly]) -> Formula:
        name = f"carry{self._placeholders}"
        self._placeholders += 1
        self.any_placeholder |= self.space.dep_bit(name)
        return self.space.predicate(name, lanes, deps=(name,))

    # Addresses, coordinates and opaque values.

    def address(self, name: str, divisibility: int | None) -> Poly:
        role = Role("addr", name)
        return self.space.symbol(f"addr({name})", _ADDRESS, divisibility or 1, role=role)

    def coordinate(self, name: str, key: str, value: Poly) -> Poly:
        """A symbol for a scalar that depends on program ids in an involved way.

        `name` is printed; values that share it in different regions have different keys.
        """
        deps = (f"coordinate {key}",)
        self.any_coordinate |= self.space.dep_bit(deps[0])
        symbol = self.space.symbol(name, deps=deps, role=Role("coordinate", key))
        atom = symbol.atom
        assert atom is not None
        self.coordinates[atom] = value
        return symbol

    def arguments(self, mask: int, shape: Sequence[int]) -> tuple[list[Poly], int, list[str]]:
        """(symbols, how many of them are no lanes, other names): what a value with these
        dependencies is a function of. Lanes come first: they are worth printing."""
        lanes: list[Poly] = []
        others: list[Poly] = []
        names: list[str] = []
        dims = {f"lane{dim}": dim for dim in range(len(shape))}
        for name in sorted(self.space.dep_names(mask)):
            if name in self._symbols:
                others.append(self._symbols[name])
            elif name in dims:
                lanes.append(self.lane(dims[name], shape[dims[name]]))
            elif not name.startswith("lane"):
                names.append(name)
        lanes = [lane for lane in lanes if lane.constant is None]
        return [*lanes, *others], len(others), names

    def opaque(
        self, name: str, mask: int, shape: Sequence[int], limits: Interval, divisor: int = 1
    ) -> Poly:
        """A value of which only its dependencies, its range and a divisor are known."""
        symbols, hidden, names = self.arguments(mask, shape)
        role = Role("opaque", name)
        return self.space.call(name, symbols, limits, divisor, names, role, hidden)

    def predicate(self, name: str, mask: int, shape: Sequence[int]) -> Formula:
        symbols, _, names = self.arguments(mask, shape)
        return self.space.predicate(name, symbols, deps=names)
