"""What the emitter, the memory and the callers of the NumPy target agree on.

A kernel runs in *batches*: P programs in parallel, as an extra leading axis of every array.
Terms used below:

- An *array of a batch* has rank n+1 for a tensor of rank n: axis 0 is the program axis with
  extent P, or 1 where all programs of the batch agree; any other axis may have extent 1 where the
  value does not change along it (broadcasting is never carried out before it is needed). Scalars
  of the IR are (P,) or (1,); a value without any varying axis may be a NumPy scalar (rank 0).
- An *address* is an int64 byte address, given as `Terms`: arrays whose broadcast sum it is.
  `base + rows[:, None] * stride + cols[None, :]` arrives as three small arrays, so an access can
  find whole rows without ever building the full address tensor.
- A *mask* is given as `Terms` of bool as well: their conjunction. No terms: all lanes take part.
- A program that does not take part at the moment (divergent control flow) has False in
  `Memory.active`, (P,) bool or None for all. Its lanes are neither read, written nor checked.

Programs count in launch order: `id = x + grid_x * (y + grid_y * z)`. The meaning of a launch is
that of running the programs sequentially in that order, and lanes of an access in row-major
order; a batch must have the same effect, or be rolled back and run
sequentially.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute

from tilewright._notebook import NotebookError
from tilewright.frontend.carets import underlined
from tilewright.ir.diagnostics import Diagnostic, SourceManager, pretty

if TYPE_CHECKING:
    from tilewright.targets.numpy.named_indices import NamedIndex
    from tilewright.targets.numpy.tasks.recorder import Recorder

Array: TypeAlias = npt.NDArray[Any]
Terms: TypeAlias = tuple[Array | np.generic, ...]
Grid: TypeAlias = tuple[int, int, int]

AccessKind: TypeAlias = Literal["load", "store", "atomic_rmw", "atomic_cas"]


@dataclass(frozen=True)
class Site:
    """One op that accesses memory: a row of the table that accesses refer to by index."""

    index: int
    kind: AccessKind
    location: Attribute | None
    text: str
    """The name of the op in the IR, e.g. `tt.load` or `tt.descriptor_load`."""
    dtype: np.dtype[Any]
    """Of one element."""
    shape: tuple[int, ...]
    """Of the tensor accessed by one program; () for a scalar access."""
    root: int | None
    """The kernel argument every address of this op derives from, None if that is not known."""
    in_loop: bool
    """Whether one program may execute the op more than once."""
    result_used: bool = True
    rmw: str | None = None
    """For `atomic_rmw`: add, fadd, max, umax, min, umin, and, or, xor, exch.

    The lesser and greater of floats are those of numbers."""
    semantic: str = "relaxed"
    """How an atomic orders other accesses: relaxed, acquire, release, acq_rel."""
    masked: bool = False
    """Whether the op has a user-defined mask."""
    cast: Attribute | None = None
    """Where the pointer was cast to the type of the element, None if it was not."""
    indices: tuple[NamedIndex, ...] = ()
    """The named offsets of its addresses, for reports."""


@dataclass(frozen=True)
class Buffer:
    """An array given for a pointer argument. It is read and written in place."""

    name: str
    array: Array
    initialised: bool = True
    """False for uninitialised memory: reading it before a store is a fault."""
    is_result: bool = False
    """Whether the call made the array and hands it back, so that every element must be written."""
    is_fresh: bool = False
    """Whether the caller allocated the array without values: unwritten elements are reported."""


@dataclass(frozen=True)
class Descriptor:
    """A host-made tensor descriptor given for a `!tt.tensordesc` argument.

    `strides` count elements; `padding` is "zero" or "nan".
    """

    buffer: Buffer
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    padding: str = "zero"


Argument: TypeAlias = Buffer | Descriptor | np.generic | int | float | bool | None
Progress: TypeAlias = Callable[[int, int], None]
"""Receives the number of finished programs and the number of programs."""


@dataclass(frozen=True)
class RunOptions:
    """How to run; the defaults check everything that costs little."""

    batch: int | None = None
    """Programs per batch; None lets the kernel choose, 1 runs them sequentially."""
    check_bounds: bool = True
    check_uninitialised: bool = True
    """Report a use of lanes that a masked load left undefined, and reads of unwritten buffers."""
    check_races: bool = False
    """Report two programs that write the same element without an atomic."""
    reachable: tuple[Buffer, ...] = ()
    """Arrays that are not arguments but whose addresses are stored in memory (grouped GEMM)."""
    progress: Progress | None = None
    output: Callable[[str], None] | None = None
    """Takes the lines of `tt.print`; None prints to standard output."""
    printing_threads: int | None = None
    """Print as a GPU with so many threads of a program does: one line an element, and one line a
    thread for scalars. None prints one line a program."""
    row_end: Callable[[str], None] | None = None
    """Takes the warning about a store through a descriptor that ends within 16 bytes of a row,
    whose other elements a GPU overwrites; None makes it a fault."""
    sources: SourceManager | None = None
    """Source text of the locations, for messages; None reads the files."""
    schedules: int = 1
    """Orders of events to try, where a kernel with tasks or asynchronous copies has several: one
    whose events were all determined in the first is not run again."""
    seed: int = 0
    """Of the first schedule; see `machine/schedule.py` for what seeds mean."""
    seeds: tuple[int, ...] | None = None
    """Exactly these schedules instead, compared with the first of them."""
    recorder: Callable[[], Recorder] | None = None
    """Creates the recorder of all events of a kernel with tasks, one for each schedule."""


class Seeded(Protocol):
    """Options of a run: a number of schedules, or the seeds of exactly these."""

    @property
    def schedules(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def seeds(self) -> tuple[int, ...] | None: ...


def seeds_of(options: Seeded) -> Sequence[int]:
    """The seeds of the schedules to run, in their order."""
    if options.seeds is not None:
        return options.seeds
    return range(options.seed, options.seed + max(options.schedules, 1))


@dataclass
class RunReport:
    """What happened in a launch."""

    programs: int = 0
    batches: int = 0
    batch_size: int = 0
    serial_programs: int = 0
    """Programs that were run sequentially."""
    serial_reasons: dict[str, int] = field(default_factory=dict[str, int])
    """Why, and for how many programs."""
    seconds: float = 0.0
    schedules: int = 0
    """Orders of events that were tried."""
    has_choice: bool = False
    """Whether the kernel has several; one that has not is run once."""
    warnings: list[Diagnostic] = field(default_factory=list[Diagnostic])


class NumpyFault(NotebookError, Exception):
    """The kernel did something a GPU would not report. The text shows the source line."""

    def __init__(
        self,
        diagnostic: Diagnostic,
        program: Grid | None = None,
        sources: SourceManager | None = None,
    ) -> None:
        self.diagnostic = underlined(diagnostic)
        self.program = program
        super().__init__(pretty(self.diagnostic, sources))


class Memory(Protocol):
    """The memory of one launch, as generated code and the launcher see it.

    Results have the shape that addresses, mask and the other operands broadcast to, with the
    site's dtype; all of rank 0 gives a NumPy scalar.
    """

    active: Array | None
    """(P,) bool; the generated code sets it around divergent control flow."""

    is_tracked: bool
    """Whether programs may depend on each other, so that batches are watched for it."""

    serial_reason: str | None
    """Why this kernel must run sequentially whatever the batch size, or None."""

    def address_of(self, argument: int) -> np.int64:
        """The byte address of the first element of the buffer given for a kernel argument."""
        ...

    def begin(self, programs: Array) -> None:
        """Start a batch of these linear program ids, (P,) int64; no program is masked."""
        ...

    def finish(self) -> str | None:
        """End the batch. A reason means: what it did differs from running its programs one by
        one; everything was undone."""
        ...

    def rollback(self) -> bool:
        """Undo the batch after a fault, so that it can be run sequentially to name the first
        faulting program. False if that is not possible; memory is then as it is."""
        ...

    def close(self) -> None:
        """The launch has ended: findings that need the final state go into the report."""
        ...

    def load(self, site: int, address: Terms, mask: Terms, other: Array | np.generic | None) -> Any:
        """The elements at `address`; `other` (without one, zero) where a mask is False."""
        ...

    def store(self, site: int, address: Terms, value: Array | np.generic, mask: Terms) -> None:
        """Write `value`; of several writes to one address the last lane of the last one wins."""
        ...

    def atomic_rmw(self, site: int, address: Terms, value: Array | np.generic, mask: Terms) -> Any:
        """Read-modify-write by `Site.rmw`; the old elements if `Site.result_used`, else None."""
        ...

    def atomic_cas(
        self, site: int, address: Terms, compare: Array | np.generic, value: Array | np.generic
    ) -> Any:
        """Compare bits and swap; the old elements."""
        ...


class OpenMemory(Protocol):
    """Makes the memory of a launch: `targets.numpy.memory.open_memory`."""

    def __call__(
        self,
        sites: Sequence[Site],
        arguments: Sequence[Argument],
        grid: Grid,
        options: RunOptions,
        report: RunReport,
    ) -> Memory: ...
