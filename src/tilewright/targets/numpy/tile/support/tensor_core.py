"""Blackwell's tensor core: GEMMs and copies of scales that one task issues, done later, in order.

What an operation accesses is pending until a commit that follows it completes: the commit arrives
at its barrier, and a wait for that phase orders everything before it. A pair of blocks computes on
the buffers of both: each has its rows of A and of the accumulator, and half of the columns of B.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from typing_extensions import override

from tilewright.analysis.concurrency import MBarrier, Operation
from tilewright.targets.numpy.support.dot import dot
from tilewright.targets.numpy.tile.support.buffers import TileBuffer
from tilewright.targets.numpy.tile.support.compute import accumulator, operand
from tilewright.targets.numpy.tile.support.concurrent import (
    COPIES,
    Barriers,
    ConcurrentRuntime,
    Issue,
)
from tilewright.targets.numpy.tile.support.movement import TileLike
from tilewright.targets.numpy.tile.support.problems import Note, RuntimeFault
from tilewright.targets.numpy.tile.support.regions import TileSlice, as_region, matrix

_K_STEP = 32
"""Elements along K that one instruction of a scaled GEMM multiplies."""
_E8M0_BIAS, _E8M0_NAN = 127, 255
_E2M1 = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)

Block = tuple[int, ...]


@dataclass(frozen=True)
class Scales:
    """The cells of the scales of A and B, and where along K their operands begin."""

    a: TileLike
    b: TileLike
    k_start: int
    granularity: tuple[int, int]


class TensorCoreRuntime(ConcurrentRuntime):
    """Blocks that use tensor memory, or reach into the blocks of their cluster."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._memory: dict[tuple[Block, str, int | None], TileBuffer] = {}
        self._rows: dict[tuple[Block, str, int | None], Barriers] = {}
        self._early: dict[tuple[Block, str, int | None], list[Callable[[Barriers], object]]] = {}
        """What happens to barriers of blocks that have not set them up yet."""
        self._uncommitted: dict[object, list[Operation]] = {}
        self.take_cluster: Callable[[], Block | None] = lambda: None
        """Removes the next cluster of the launch, and gives the index of its first block."""

    # -- the blocks of a cluster -------------------------------------------------------------

    @override
    def alloc(self, name: str, *arguments: Any, **options: Any) -> TileBuffer:
        made = super().alloc(name, *arguments, **options)
        self._memory[self.block, name, made.site] = made
        return made

    @override
    def barriers(
        self, name: str, counts: Sequence[int], site: int | None, *, is_explicit: bool
    ) -> Barriers:
        made = super().barriers(name, counts, site, is_explicit=is_explicit)
        key = self.block, name, site
        self._rows[key] = made
        for each in self._early.pop(key, ()):
            each(made)
        return made

    def arrive_at(
        self, barriers: Barriers, index: Any, rank: Any, site: int, count: Any = None
    ) -> None:
        """Threads of this role arrive at the barrier of another block of the cluster."""
        threads = self._threads if count is None else int(count)
        self._arrive_in(self._block_of(int(rank), site), barriers, int(index), threads)

    def _arrive_in(self, block: Block, barriers: Barriers, index: int, count: int) -> None:
        past = None if self.log is None else self.log.released()

        def arrive(there: Barriers) -> None:
            if self.log is not None and past is not None:
                self.log.arrives_at(there.at(index), past)
            self._arrive(there, index, count)

        self._at(block, barriers, arrive)

    def _at(self, block: Block, barriers: Barriers, do: Callable[[Barriers], object]) -> None:
        """Do something to the same barriers of a block of the cluster, as soon as it has them."""
        key = block, barriers.name, barriers.site
        there = self._rows.get(key)
        if there is None:
            self._early.setdefault(key, []).append(do)
        else:
            do(there)

    def pair_copy(
        self,
        source: TileLike,
        target: TileLike,
        site: int,
        barriers: Barriers,
        index: Any,
        **options: Any,
    ) -> None:
        """Issue a copy whose bytes the first block of the pair counts, for both of them."""
        position, rank = int(index), int(self.cluster_rank())
        first = self._block_of(rank - rank % 2, site)
        size = as_region(source if options.get("expand") else target).bytes
        if rank % 2 == 0 and not barriers.is_explicit:
            self.expect_tx(barriers, position, 2 * size)

        def complete_tx(size_bytes: int) -> None:
            self._at(first, barriers, lambda there: there.at(position).complete_tx(size_bytes))

        self.async_copy(
            source, target, site, barriers, position, complete_tx=complete_tx, **options
        )

    def _block_of(self, rank: int, site: int | None) -> Block:
        """The index of the block with a rank in the cluster of this one."""
        if not 0 <= rank < int(np.prod(self.cluster)):
            raise RuntimeFault(
                "out of bounds",
                f"block {rank} of a cluster of {int(np.prod(self.cluster))} blocks",
                ["launch it with T.ClusterKernel(..., cluster_dims=...)"],
                site=site,
            )
        found: list[int] = []
        for index, extent in zip(self.block, self.cluster, strict=True):
            found.append(index // extent * extent + rank % extent)
            rank //= extent
        return tuple(found)

    def _pair(self, two_cta: bool, site: int) -> list[Block]:
        """The blocks that a tensor core works for."""
        if not two_cta:
            return [self.block]
        rank = int(self.cluster_rank())
        if rank % 2:
            raise RuntimeFault(
                "shape",
                f"block {rank} of its cluster issues for a pair: the first of the two has to",
                ["issue it in a branch for T.block_rank_in_cluster() == 0"],
                site=site,
            )
        return [self._block_of(rank, site), self._block_of(rank + 1, site)]

    def _in(self, block: Block, what: TileLike, site: int) -> TileSlice:
        """The same region of the same buffer, in another block."""
        region = as_region(what)
        if block == self.block:
            return region
        buffer = region.buffer
        there = self._memory.get((block, buffer.name, buffer.site))
        if there is None or there.data.shape != buffer.data.shape:
            raise RuntimeFault(
                "shape",
                f"{buffer.name} of block {block} is not set up when it is used for a pair",
                [Note("wait for a barrier that the other block arrives on first", buffer.site)],
                site=site,
            )
        return TileSlice(there, region.offsets, region.extents)

    # -- operations --------------------------------------------------------------------------

    def tcgen05_gemm(
        self,
        a: TileLike,
        b: TileLike,
        c: TileLike,
        site: int,
        barriers: Barriers | None = None,
        index: Any = 0,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        clear: Any = False,
        scales: Scales | None = None,
        two_cta: bool = False,
    ) -> None:
        """Issue a GEMM; with a barrier, and a commit."""
        clears, engine = bool(clear), self._engine()
        blocks = self._pair(two_cta, site)
        operands = [tuple(self._in(block, each, site) for each in (a, b, c)) for block in blocks]
        factors = [
            None
            if scales is None
            else tuple(self._in(block, each, site) for each in (scales.a, scales.b))
            for block in blocks
        ]

        def finish() -> None:
            with issue:
                sides = [operand(right, transpose_b, engine) for _, right, _ in operands]
                columns = np.concatenate(sides, axis=1)
                for (left, _, result), cells in zip(operands, factors, strict=True):
                    rows, whole = operand(left, transpose_a, engine), columns
                    if cells is not None and scales is not None:
                        rows, whole = _scaled(rows, whole, cells, scales, engine)
                    shape = (rows.shape[0], whole.shape[1])
                    if clears:
                        before = np.zeros(shape, result.buffer.data.dtype)
                    else:
                        held = accumulator(result, engine).reshape(shape)
                        before = np.ascontiguousarray(held)
                    values = dot(rows, whole, before).reshape(result.extents)
                    result.write(values, engine=engine)

        issue = Issue(site, self.log)
        regions: list[tuple[TileSlice, bool]] = []
        for left, right, result in operands:
            regions += [(left, False), (right, False), (result, True)]
        for cells in factors:
            regions += [] if cells is None else [(each, False) for each in cells]
        left, right, result = operands[0]
        what = f"the GEMM {left.text()} @ {right.text()} -> {result.text()}"
        self._issue(what, finish, regions, site, engine)
        if barriers is not None:
            self.tcgen05_commit(barriers, index, site, two_cta=two_cta)

    def tcgen05_copy_scales(
        self, source: TileLike, target: TileLike, site: int, *, two_cta: bool = False
    ) -> None:
        """Issue a copy of scales to tensor memory."""
        engine = self._engine()
        blocks = self._pair(two_cta, site)
        sides = [(self._in(block, source, site), self._in(block, target, site)) for block in blocks]

        def finish() -> None:
            with issue:
                for one, other in sides:
                    values = one.read(engine=engine)[0].reshape(-1, 32, 4)
                    cells = np.concatenate(list(values), axis=1)  # 32 lanes, 4 columns a chunk
                    part = TileSlice(
                        other.buffer,
                        other.offsets,
                        (*other.extents[:-1], cells.shape[1]),
                    )
                    part.write(np.tile(cells, (4, 1)).reshape(part.extents), engine=engine)

        issue = Issue(site, self.log)
        regions = [each for one, other in sides for each in ((one, False), (other, True))]
        what = f"the copy {sides[0][0].text()} -> {sides[0][1].text()}"
        self._issue(what, finish, regions, site, engine)

    def tcgen05_commit(
        self, barriers: Barriers, index: Any, site: int, *, two_cta: bool = False
    ) -> None:
        """Arrive when everything that this task has issued is complete."""
        barrier = barriers.at(index)
        position = int(index)
        blocks = self._pair(two_cta, site)
        task = self.machine.current
        before = self._uncommitted.pop(task, [])
        for operation in before:
            fix = operation.fix
            assert isinstance(fix, _Fix)
            fix.wait_for(barrier)

        def finish() -> None:
            for operation in before:
                self._release(operation)
            for block in blocks:
                self._arrive_in(block, barriers, position, 1)

        arrival = Operation(f"the arrival on {barrier.name}", finish, site)
        self.machine.issue(self._engine(), arrival, in_order=True)

    def transpose_scales(self, packed: TileLike) -> None:
        """Exchange the elements of every 128 from the order of rows to that of the copy."""
        region = as_region(packed)
        values = region.read()[0].reshape(-1, 4, 32)
        region.write(np.swapaxes(values, 1, 2).reshape(region.extents))

    # -- launch control ----------------------------------------------------------------------

    def clc_try_cancel(
        self,
        response: TileBuffer,
        index: Any,
        barriers: Barriers,
        position: Any,
        site: int,
        *,
        multicast: bool = False,
    ) -> None:
        """Take the next cluster of the launch, if one is left; 16 bytes identify it."""
        here, corner = self.block, self.take_cluster()
        first = (0, 0, 0) if corner is None else corner
        values = np.array([*first, corner is not None], np.int64)
        start, at = int(index), int(position)
        count = int(np.prod(self.cluster)) if multicast else 1
        blocks = [self._block_of(rank, site) for rank in range(count)] if multicast else [here]
        parts = [self._in(block, response, site).buffer for block in blocks]
        box = (slice(start, start + len(values)),)
        issue = Issue(site, self.log)

        def finish() -> None:
            self._release(operation)
            with issue:
                for part in parts:
                    whole = TileSlice(part, (start,), (len(values),))
                    whole.write(values.astype(part.data.dtype))
            for block in blocks:
                self._at(block, barriers, lambda there: there.at(at).complete_tx(16))

        operation = Operation(f"the response in {response.name}", finish, site)
        self._hold_parts(operation, [(each, box, True) for each in parts], site)
        self.machine.issue(COPIES, operation)

    def clc_query(self, response: TileBuffer, index: Any) -> tuple[Any, ...]:
        """Whether there is a cluster, and the index of its first block."""
        values = TileSlice(response, (int(index),), (4,)).read()[0]
        x, y, z, taken = (np.int32(each) for each in values)
        return np.bool_(taken), x, y, z

    def _engine(self) -> str:
        """The tensor core works through what one task issued in order."""
        task = self.machine.current
        return f"tensor core of {'' if task is None else task.index}"

    def _issue(
        self,
        what: str,
        finish: Any,
        regions: Sequence[tuple[TileSlice, bool]],
        site: int,
        engine: str,
    ) -> None:
        operation = Operation(what, finish, site, fix=_Fix())
        self._hold(operation, regions, site, engine)
        self._uncommitted.setdefault(self.machine.current, []).append(operation)
        self.machine.issue(engine, operation, in_order=True)


class _Fix:
    """What to do about an access that does not wait: known once the operation is committed."""

    def __init__(self) -> None:
        self._barrier: MBarrier | None = None
        self._phase = 0

    def wait_for(self, barrier: MBarrier) -> None:
        self._barrier, self._phase = barrier, barrier.phase

    def __call__(self) -> str:
        if self._barrier is None:
            return (
                "nothing signals its completion: pass mbar=..., or call T.tcgen05_mma_arrive, and "
                "wait for that barrier"
            )
        return f"call T.mbarrier_wait_parity({self._barrier.name}, {self._phase & 1}) before this"


def _scaled(
    rows: Any, columns: Any, cells: Sequence[TileSlice], scales: Scales, engine: str
) -> tuple[Any, Any]:
    """Both operands times their scales, exact in single precision."""
    rows, columns = _decoded(rows), _decoded(columns)
    columns_of_a: int = rows.shape[1]
    steps = scales.k_start + np.arange(columns_of_a, dtype=np.int64) // _K_STEP * _K_STEP
    a, b = (
        _factors(each, steps // granularity % 4, count, engine)
        for each, granularity, count in zip(
            cells, scales.granularity, (rows.shape[0], columns.shape[1]), strict=True
        )
    )
    return rows.astype(np.float32) * a, columns.astype(np.float32) * b.T


def _decoded(values: Any) -> Any:
    """Bytes with an element of 4 bits each, as numbers."""
    is_byte = values.dtype in (np.dtype(np.int8), np.dtype(np.uint8))
    return _E2M1[values.astype(np.uint8) & 15] if is_byte else values


def _factors(cells: TileSlice, ids: Any, count: int, engine: str) -> Any:
    """The scale of every row, for every element along K."""
    values = matrix(cells.read(engine=engine)[0]).astype(np.int64)
    row = np.arange(count)
    held = values[row % 32, row // 32]
    exponents = held[:, None] >> (8 * ids[None, :]) & 0xFF
    found = np.exp2((exponents - _E8M0_BIAS).astype(np.float32)).astype(np.float32)
    return np.where(exponents == _E8M0_NAN, np.float32(np.nan), found)
