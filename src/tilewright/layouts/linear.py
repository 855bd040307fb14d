"""Linear layouts: where bits of hardware indices go among the coordinates of a tensor.

A layout has named inputs (``register``, ``lane``, ``warp``, ``block``, or ``offset`` in a memory)
and named outputs (``dim0``, ``dim1``, …), all with sizes that are powers of two. Each bit of each
input has a *basis*, a point of the outputs; an index goes to the XOR of the bases of its ones::

    register  1 → (0, 1)   lane  1 → (0, 2)   register 3, lane 4 → (0,1) ^ (8,0) ^ (1,0) = (9, 1)
              2 → (8, 0)         2 → (0, 4)
                                 4 → (1, 0) …

Such maps compose, multiply, invert and divide exactly, and a question about all elements is one
about the bases. The idea is that of "Linear Layouts" (Zhou et al., arXiv 2505.23819); order
matters as there: the first input and the first output are the fastest-moving ones when dimensions
are joined into one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from tilewright.layouts.bits import Echelon, combine, is_power_of_two, log2

REGISTER = "register"
LANE = "lane"
WARP = "warp"
BLOCK = "block"
OFFSET = "offset"

Basis = tuple[int, ...]


def dim(axis: int) -> str:
    """The name of a tensor's dimension."""
    return f"dim{axis}"


@dataclass(frozen=True)
class LinearLayout:
    """A map from named inputs to named outputs that is linear over bits."""

    bases: tuple[tuple[str, tuple[Basis, ...]], ...]
    """For each input, the point that each of its bits goes to, lowest bit first."""
    out_dims: tuple[tuple[str, int], ...]
    """The outputs and their sizes."""

    def __post_init__(self) -> None:
        for name, size in self.out_dims:
            if not is_power_of_two(size):
                raise ValueError(f"the size of {name} must be a power of two, got {size}")
        for name, bases in self.bases:
            for basis in bases:
                self._check_basis(name, basis)
        if len(dict(self.bases)) != len(self.bases):
            raise ValueError("duplicate input name")

    def _check_basis(self, name: str, basis: Basis) -> None:
        if len(basis) != len(self.out_dims):
            raise ValueError(f"{name}: {basis} needs {len(self.out_dims)} coordinates")
        for value, (out, size) in zip(basis, self.out_dims, strict=True):
            if not 0 <= value < size:
                raise ValueError(f"{name}: {basis} is outside of {out}, which has size {size}")

    # --- making layouts ---------------------------------------------------------------------

    @classmethod
    def of(
        cls, bases: Mapping[str, Iterable[Sequence[int]]], out_dims: Mapping[str, int] | None = None
    ) -> LinearLayout:
        """A layout from its bases; outputs default to ``dim0``… just large enough."""
        listed = tuple((name, tuple(tuple(b) for b in group)) for name, group in bases.items())
        if out_dims is None:
            out_dims = _smallest_outputs([basis for _, group in listed for basis in group])
        return cls(listed, tuple(out_dims.items()))

    @classmethod
    def empty(cls) -> LinearLayout:
        """The layout without inputs and outputs, neutral for `*`."""
        return cls((), ())

    @classmethod
    def identity(cls, size: int, source: str, target: str) -> LinearLayout:
        """`source` counts along `target`."""
        bases = tuple((1 << bit,) for bit in range(log2(size)))
        return cls(((source, bases),), ((target, size),))

    @classmethod
    def strided(cls, size: int, stride: int, source: str, target: str) -> LinearLayout:
        """`source` steps along `target` by `stride`, a power of two."""
        bases = tuple((stride << bit,) for bit in range(log2(size)))
        log2(stride, "a stride")
        return cls(((source, bases),), ((target, size * stride if size > 1 else 1),))

    @classmethod
    def zeros(cls, size: int, source: str, target: str, target_size: int = 1) -> LinearLayout:
        """All of `source` holds the same element of `target`."""
        return cls(((source, ((0,),) * log2(size)),), ((target, target_size),))

    # --- looking ----------------------------------------------------------------------------

    @property
    def in_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.bases)

    @property
    def out_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.out_dims)

    @property
    def out_shape(self) -> tuple[int, ...]:
        return tuple(size for _, size in self.out_dims)

    def bases_of(self, name: str) -> tuple[Basis, ...]:
        """The bases of an input; none if there is no such input."""
        return dict(self.bases).get(name, ())

    def in_size(self, name: str) -> int:
        return 1 << len(self.bases_of(name))

    def out_size(self, name: str) -> int:
        """The size of an output; 1 if there is no such output."""
        return dict(self.out_dims).get(name, 1)

    @property
    def total_in_size(self) -> int:
        return 1 << sum(len(group) for _, group in self.bases)

    @property
    def total_out_size(self) -> int:
        return prod(self.out_shape)

    def columns(self, names: Sequence[str] | None = None) -> tuple[int, ...]:
        """The bases of some inputs, or of all, each as one integer: first output lowest."""
        chosen = self.in_names if names is None else names
        return tuple(self._joined(basis) for name in chosen for basis in self.bases_of(name))

    def _joined(self, point: Basis) -> int:
        result = shift = 0
        for value, (_, size) in zip(point, self.out_dims, strict=True):
            result |= value << shift
            shift += log2(size)
        return result

    def _split(self, joined: int) -> Basis:
        point: list[int] = []
        for _, size in self.out_dims:
            point.append(joined & (size - 1))
            joined >>= log2(size)
        return tuple(point)

    @cached_property
    def _echelon(self) -> Echelon:
        return Echelon.of(self.columns())

    # --- applying ---------------------------------------------------------------------------

    def __call__(self, **inputs: int) -> tuple[int, ...]:
        """The point that an index goes to; inputs left out are 0."""
        unknown = set(inputs) - set(self.in_names)
        if any(inputs[name] for name in unknown):
            raise ValueError(f"this layout has no input {', '.join(sorted(unknown))}")
        point = [0] * len(self.out_dims)
        for name, group in self.bases:
            value = inputs.get(name, 0)
            if not 0 <= value < 1 << len(group):
                raise ValueError(f"{name} is {value}, expected below {1 << len(group)}")
            for bit, basis in enumerate(group):
                if value >> bit & 1:
                    point = [old ^ new for old, new in zip(point, basis, strict=True)]
        return tuple(point)

    def apply(self, inputs: Mapping[str, int]) -> dict[str, int]:
        """The outputs by name, for inputs by name."""
        return dict(zip(self.out_names, self(**inputs), strict=True))

    def table(self) -> list[int]:
        """The joined output of every joined input (first input fastest)."""
        found = [0]
        for column in self.columns():
            found += [value ^ column for value in found]
        return found

    def points(self) -> Iterator[tuple[dict[str, int], Basis]]:
        """Every index with the point it goes to, the first input fastest."""
        names = self.in_names
        ranges = [range(self.in_size(name)) for name in reversed(names)]
        for values, joined in zip(product(*ranges), self.table(), strict=True):
            yield dict(zip(names, reversed(values), strict=True)), self._split(joined)

    def same_map(self, other: LinearLayout) -> bool:
        """Whether both map every index to the same point, by enumeration.

        Inputs and outputs of size 1 carry nothing and do not count.
        """
        left, right = self.without_units(), other.without_units()
        if dict(left.out_dims) != dict(right.out_dims):
            return False
        if {n: left.in_size(n) for n in left.in_names} != {
            n: right.in_size(n) for n in right.in_names
        }:
            return False
        return left.table() == right.reordered(left.in_names, left.out_names).table()

    # --- properties -------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """How many bits of the output can be chosen freely."""
        return self._echelon.rank

    def is_surjective(self) -> bool:
        """Whether every element has an index."""
        return 1 << self.rank == self.total_out_size

    def is_injective(self) -> bool:
        """Whether no two indices hold the same element."""
        return 1 << self.rank == self.total_in_size

    def is_invertible(self) -> bool:
        return self.is_surjective() and self.is_injective()

    def kernel(self) -> tuple[dict[str, int], ...]:
        """Independent index changes that leave the element as it is."""
        return tuple(self._named_inputs(vector) for vector in self._echelon.kernel)

    def free_variables(self) -> dict[str, int]:
        """For each input, the mask of bits that hold copies only, given the bits below them."""
        masks = self._named_inputs(0)
        for vector in self._echelon.kernel:
            for name, value in self._named_inputs(1 << vector.bit_length() - 1).items():
                masks[name] |= value
        return masks

    def _named_inputs(self, joined: int) -> dict[str, int]:
        result: dict[str, int] = {}
        for name, group in self.bases:
            result[name] = joined & ((1 << len(group)) - 1)
            joined >>= len(group)
        return result

    # --- new layouts from old ones ----------------------------------------------------------

    def __mul__(self, other: LinearLayout) -> LinearLayout:
        """This layout as a tile, repeated by `other`."""
        sizes = dict(self.out_dims)
        for name, size in other.out_dims:
            sizes[name] = sizes.get(name, 1) * size
        bases = {
            name: [self._placed(basis, sizes) for basis in group] for name, group in self.bases
        }
        for name, group in other.bases:
            scaled = [
                tuple(
                    value * self.out_size(out)
                    for value, out in zip(basis, other.out_names, strict=True)
                )
                for basis in group
            ]
            bases.setdefault(name, []).extend(other._placed(basis, sizes) for basis in scaled)
        return LinearLayout.of(bases, sizes)

    def _placed(self, basis: Basis, sizes: Mapping[str, int]) -> Basis:
        """A basis of this layout with a coordinate for each output in `sizes`."""
        values = dict(zip(self.out_names, basis, strict=True))
        return tuple(values.get(name, 0) for name in sizes)

    def compose(self, outer: LinearLayout) -> LinearLayout:
        """First this layout, then `outer`, whose inputs are this one's outputs."""
        if set(self.out_names) != set(outer.in_names):
            raise ValueError(f"outputs {self.out_names} do not match inputs {outer.in_names}")
        for name, size in self.out_dims:
            if size > outer.in_size(name):
                raise ValueError(
                    f"{name} has size {size}, more than the {outer.in_size(name)} taken"
                )
        bases = {
            name: [outer(**dict(zip(self.out_names, basis, strict=True))) for basis in group]
            for name, group in self.bases
        }
        return LinearLayout.of(bases, dict(outer.out_dims))

    def pseudo_inverse(self) -> LinearLayout:
        """For every element the lowest index that holds it; the layout must reach all elements."""
        if not self.is_surjective():
            raise ValueError("layout does not reach every element: it has no pseudo-inverse")
        bases: dict[str, list[Basis]] = {}
        bit = 0
        for name, size in self.out_dims:
            bases[name] = []
            for _ in range(log2(size)):
                found = self._echelon.preimage(1 << bit)
                assert found is not None
                bases[name].append(tuple(self._named_inputs(found).values()))
                bit += 1
        return LinearLayout.of(bases, {name: self.in_size(name) for name in self.in_names})

    def invert(self) -> LinearLayout:
        """The layout that leads back; this one must be one to one."""
        if not self.is_invertible():
            raise ValueError("layout is not one to one: it has no inverse")
        return self.pseudo_inverse()

    def invert_and_compose(self, outer: LinearLayout) -> LinearLayout:
        """The index of `outer` that holds the element of each index of this layout.

        Where `outer` holds an element several times the lowest index is taken, so that
        ``self.invert_and_compose(outer).compose(outer)`` equals this layout.
        """
        if set(self.out_names) != set(outer.out_names):
            raise ValueError(f"outputs {self.out_names} and {outer.out_names} differ")
        target = outer.reordered(outer.in_names, self.out_names)
        widened = LinearLayout(self.bases, target.out_dims)
        bases: dict[str, list[Basis]] = {}
        for name, group in self.bases:
            bases[name] = []
            for basis in group:
                found = target._echelon.preimage(widened._joined(basis))
                if found is None:
                    raise ValueError(f"the other layout does not reach {basis}")
                bases[name].append(tuple(target._named_inputs(found).values()))
        return LinearLayout.of(bases, {name: outer.in_size(name) for name in outer.in_names})

    def is_identity_over(self, names: Sequence[str]) -> bool:
        """Whether each of `names` is an identity and independent of the others."""
        for axis, (out, size) in enumerate(self.out_dims):
            for name, group in self.bases:
                for bit, basis in enumerate(group):
                    if out in names and basis[axis] != (1 << bit if name == out else 0):
                        return False
                    if name in names and out != name and basis[axis]:
                        return False
            if out in names and self.in_size(out) != size:
                return False
        return all((name in self.in_names) == (name in self.out_names) for name in names)

    def quotient(self, names: Sequence[str]) -> LinearLayout | None:
        """What is left without inputs that go straight through; None if one of them does not."""
        if not self.is_identity_over(names):
            return None
        return self.sublayout(
            [name for name in self.in_names if name not in names],
            [name for name in self.out_names if name not in names],
        )

    def divide_left(self, tile: LinearLayout) -> LinearLayout | None:
        """The layout `q` with ``tile * q == self``; None if this layout does not start so."""
        sizes: dict[str, int] = {}
        for name, size in self.out_dims:
            if size % tile.out_size(name):
                return None
            sizes[name] = size // tile.out_size(name)
        bases: dict[str, list[Basis]] = {}
        for name, group in self.bases:
            bases[name] = []
            for basis in group[len(tile.bases_of(name)) :]:
                scaled = [
                    (value // tile.out_size(out), value % tile.out_size(out))
                    for value, out in zip(basis, self.out_names, strict=True)
                ]
                if any(rest for _, rest in scaled):
                    return None
                bases[name].append(tuple(value for value, _ in scaled))
        quotient = LinearLayout.of(bases, sizes)
        back = tile * quotient
        return quotient if back.same_bases(self) else None

    def same_bases(self, other: LinearLayout) -> bool:
        """Whether both have the same bases, whatever the order of inputs and outputs."""
        if dict(self.out_dims) != dict(other.out_dims):
            return False
        if set(self.in_names) != set(other.in_names):
            return False
        return other.reordered(self.in_names, self.out_names) == self

    def sublayout(self, ins: Sequence[str], outs: Sequence[str]) -> LinearLayout:
        """Only some inputs and some outputs; what the others did is dropped."""
        axes = [axis for axis, name in enumerate(self.out_names) if name in outs]
        bases = {
            name: [tuple(basis[axis] for axis in axes) for basis in group]
            for name, group in self.bases
            if name in ins
        }
        return LinearLayout.of(bases, dict(self.out_dims[axis] for axis in axes))

    def reordered(
        self, ins: Sequence[str] | None = None, outs: Sequence[str] | None = None
    ) -> LinearLayout:
        """The same map with its inputs and outputs in another order."""
        ins = self.in_names if ins is None else ins
        outs = self.out_names if outs is None else outs
        if set(ins) != set(self.in_names) or set(outs) != set(self.out_names):
            raise ValueError(
                f"{tuple(ins)} -> {tuple(outs)} does not name this layout's dimensions"
            )
        axes = [self.out_names.index(name) for name in outs]
        bases = {
            name: [tuple(basis[axis] for axis in axes) for basis in self.bases_of(name)]
            for name in ins
        }
        return LinearLayout.of(bases, {name: self.out_size(name) for name in outs})

    def renamed(self, names: Mapping[str, str]) -> LinearLayout:
        """Inputs and outputs under other names."""
        bases = tuple((names.get(name, name), group) for name, group in self.bases)
        return LinearLayout(bases, tuple((names.get(name, name), s) for name, s in self.out_dims))

    def without_units(self) -> LinearLayout:
        """Without inputs and outputs of size 1."""
        return self.sublayout(
            [name for name, group in self.bases if group],
            [name for name, size in self.out_dims if size > 1],
        )

    def without_copies(self, name: str = REGISTER) -> LinearLayout:
        """Without the bits of one input that go to zero."""
        bases = {
            each: [basis for basis in group if each != name or any(basis)]
            for each, group in self.bases
        }
        return LinearLayout.of(bases, dict(self.out_dims))

    def reshaped_outs(self, outs: Mapping[str, int]) -> LinearLayout:
        """The joined outputs, first one lowest, cut into others."""
        if prod(outs.values()) != self.total_out_size:
            raise ValueError(f"{self.total_out_size} elements do not fill {dict(outs)}")
        shell = LinearLayout((), tuple(outs.items()))
        bases = {
            name: [shell._split(self._joined(basis)) for basis in group]
            for name, group in self.bases
        }
        return LinearLayout.of(bases, outs)

    def flattened(self, source: str = OFFSET, target: str = OFFSET) -> LinearLayout:
        """All inputs joined into one and all outputs into one."""
        bases = [(column,) for column in self.columns()]
        return LinearLayout.of({source: bases}, {target: self.total_out_size})

    def as_matrix(self) -> list[list[int]]:
        """The matrix of bits, a row for each output bit and a column for each input bit."""
        columns = self.columns()
        return [
            [column >> row & 1 for column in columns] for row in range(log2(self.total_out_size))
        ]

    def image(self, joined: int) -> int:
        """The joined output of a joined input."""
        return combine(self.columns(), joined)

    def __str__(self) -> str:
        outs = ", ".join(f"{name}: {size}" for name, size in self.out_dims)
        lines = [f"({outs})"]
        width = max((len(name) for name in self.in_names), default=0)
        for name, group in self.bases:
            steps = "  ".join(f"{1 << bit}→{_point(basis)}" for bit, basis in enumerate(group))
            lines.append(f"  {name:<{width}}  {steps or 'always 0'}")
        return "\n".join(lines)


def _point(basis: Basis) -> str:
    return "(" + ",".join(map(str, basis)) + ")"


def _smallest_outputs(bases: Sequence[Basis]) -> dict[str, int]:
    if not bases:
        raise ValueError("a layout without bases needs explicit outputs")
    largest = [max(axis) for axis in zip(*bases, strict=True)]
    return {dim(axis): 1 << value.bit_length() for axis, value in enumerate(largest)}
