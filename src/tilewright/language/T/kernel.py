"""``with T.Kernel(...)``: the code that every block of a grid runs, and hints about it.

with T.Kernel(T.ceildiv(N, 128), T.ceildiv(M, 128), threads=128) as (bx, by): ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from xdsl.ir import Block, Region, SSAValue

from tilewright.dialects.gpu import BlockIdOp, ThreadIdOp
from tilewright.dialects.nv import ClusterRankOp, ElectOp
from tilewright.dialects.tile import KernelOp, RasterAttr, Role, SourceOp, WsOp, YieldOp
from tilewright.dialects.tile.lanes import WARP
from tilewright.frontend.builder import current
from tilewright.frontend.errors import FrontendError
from tilewright.language.T.dtypes import boolean, int32
from tilewright.language.T.expressions import (
    INDEX,
    Expr,
    as_index,
    describe,
    emit,
    is_python_scalar,
)
from tilewright.language.T.loop_forms import BAD_ARGUMENT, as_sequence, check_integer
from tilewright.language.T.session import OUTSIDE, OpenKernel, effect, kernel, trace

DEFAULT_THREADS = 128
_WARP_GROUP = 128
_AXES = "xyz"


class KernelFrame:
    """A kernel while its body is traced."""

    is_region = True
    ends_memory = True
    """Whether what is allocated inside is gone after it."""

    def __init__(
        self,
        blocks: Sequence[Any],
        threads: Any,
        prelude: str | None,
        cluster: Sequence[int] | None,
    ) -> None:
        if len(blocks) > 3:
            raise FrontendError(
                f"T.Kernel takes 1 to 3 grid extents, got {len(blocks)}", code=BAD_ARGUMENT
            )
        blocks = blocks or (1,)
        self._blocks = [check_integer("Kernel", "a grid extent", extent) for extent in blocks]
        self._threads = _threads(threads)
        self._options: dict[str, Any] = {"prelude": prelude, "cluster": cluster}
        self._outer: Block | None = None
        self._open: OpenKernel | None = None

    def is_skipped(self) -> bool:
        return trace().is_survey

    def __enter__(self) -> Any:
        if trace().kernel is not None:
            raise FrontendError("a kernel cannot be launched inside a kernel", code=OUTSIDE)
        builder = current()
        self._grid = [as_index(extent) for extent in self._blocks]
        self._location = builder.location()
        body = Block(arg_types=[INDEX] * len(self._grid))
        for argument in body.args:
            argument.location = self._location
        self._outer, builder.block = builder.block, body
        self._open = trace().kernel = OpenKernel(body, self._threads, tuple(self._blocks))
        indices = tuple(Expr(argument, int32, is_natural=True) for argument in body.args)
        trace().naturals.update(body.args)
        return indices[0] if len(indices) == 1 else indices

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._open is not None and self._outer is not None
        trace().kernel = None
        from tilewright.language.T.reducer_epochs import check_epochs

        check_epochs(self._open.body)
        builder = current()
        end = YieldOp()
        end.location = self._location
        self._open.body.add_op(end)
        builder.block = self._outer
        options = {**self._options, **self._open.options}
        op = KernelOp(self._grid, self._threads, Region(self._open.body), **options)
        op.location = self._location
        effect(op)


def _threads(threads: Any) -> tuple[int, ...] | None:
    if threads is None:
        return (DEFAULT_THREADS,)
    sizes = list(as_sequence(threads))
    is_whole = all(is_python_scalar(count) and int(count) == count for count in sizes)
    if not is_whole or not 1 <= len(sizes) <= 3:
        raise FrontendError(
            f"T.Kernel: threads must be one to three integers, got {describe(threads)}",
            code=BAD_ARGUMENT,
        )
    counts = tuple(int(count) for count in sizes)
    if counts == (-1,):
        return None
    if min(counts) < 1:
        raise FrontendError(
            f"T.Kernel: thread counts must be positive, got {min(counts)}: "
            "threads=-1 alone means no thread binding",
            code=BAD_ARGUMENT,
        )
    return counts


def Kernel(
    *blocks: Any, threads: Any = None, prelude: str | None = None, cluster_dims: Any = None
) -> KernelFrame:
    """Code that runs once for every block of a grid of 1 to 3 extents, x first.

    With `cluster_dims`, blocks run in clusters of that many along each axis.
    """
    clusters = None
    if cluster_dims is not None:
        clusters = [int(each) for each in as_sequence(cluster_dims)]
    return KernelFrame(blocks, threads, prelude, clusters)


def ClusterKernel(
    *blocks: Any, threads: Any = None, cluster_dims: Any = (1, 1, 1), prelude: str | None = None
) -> KernelFrame:
    """A kernel whose blocks run in clusters."""
    return Kernel(*blocks, threads=threads, prelude=prelude, cluster_dims=cluster_dims)


def use_swizzle(panel_size: int, order: str = "row", enable: bool = True) -> None:
    """Walk over the grid in panels, back and forth, so that blocks share cached data."""
    found = kernel("T.use_swizzle")
    if not enable:
        return
    if order not in RasterAttr.ORDERS:
        raise FrontendError(
            f"T.use_swizzle: order is 'row' or 'column', got {order!r}", code=BAD_ARGUMENT
        )
    if not is_python_scalar(panel_size) or int(panel_size) < 1:
        raise FrontendError(
            f"T.use_swizzle: panel_size must be a positive integer, got {describe(panel_size)}",
            code=BAD_ARGUMENT,
        )
    found.options["raster"] = RasterAttr.of(order, int(panel_size))


def _axis(op_name: str, dim: Any) -> str:
    if not is_python_scalar(dim) or not 0 <= int(dim) < 3:
        raise FrontendError(
            f"T.{op_name}: dim is 0, 1 or 2, got {describe(dim)}", code=BAD_ARGUMENT
        )
    return _AXES[int(dim)]


class ThreadIndex(Expr):
    """The index of a thread along an axis of the block."""

    def __init__(self, handle: SSAValue, axis: int) -> None:
        super().__init__(handle, int32, is_natural=True)
        self.axis = axis


def get_thread_binding(dim: int = 0) -> Expr:
    """The index of the thread along an axis of the block."""
    kernel("T.get_thread_binding")
    axis = _axis("get_thread_binding", dim)
    return ThreadIndex(emit(ThreadIdOp(axis)), int(dim))


def get_thread_bindings() -> list[Expr]:
    found = kernel("T.get_thread_bindings")
    return [get_thread_binding(axis) for axis in range(len(found.threads or (1,)))]


def get_block_binding(dim: int = 0) -> Expr:
    """The index of the block along an axis of the grid."""
    found = kernel("T.get_block_binding")
    axis = _axis("get_block_binding", dim)
    if int(dim) < len(found.body.args):
        return Expr(found.body.args[int(dim)], int32, is_natural=True)
    return Expr(emit(BlockIdOp(axis)), int32, is_natural=True)


def get_block_bindings() -> list[Expr]:
    found = kernel("T.get_block_bindings")
    return [get_block_binding(axis) for axis in range(len(found.body.args))]


def get_thread_extent(dim: int = 0) -> int:
    """The number of threads along an axis of the block."""
    threads = kernel("T.get_thread_extent").threads or ()
    return threads[dim] if dim < len(threads) else 1


def get_block_extent(dim: int = 0) -> Any:
    """The number of blocks along an axis of the grid."""
    grid = kernel("T.get_block_extent").grid
    return grid[dim] if dim < len(grid) else 1


def _thread_index() -> Expr:
    """The number of the thread in its block."""
    index = get_thread_binding(0)
    scale = get_thread_extent(0)
    for axis in range(1, len(kernel("a thread index").threads or ())):
        index = index + get_thread_binding(axis) * scale
        scale *= get_thread_extent(axis)
    return index


def get_lane_idx(warp_size: int | None = None) -> Expr:
    """The number of the thread in its warp."""
    return _thread_index() % (warp_size or WARP)


def get_warp_idx(warp_size: int | None = None) -> Expr:
    """The number of the warp in its block."""
    return _thread_index() // (warp_size or WARP)


def get_warp_group_idx(warp_size: int | None = None, warps_per_group: int | None = None) -> Expr:
    """The number of the warp group in its block."""
    return _thread_index() // ((warp_size or WARP) * (warps_per_group or 4))


def shuffle_elect(thread_extent: int = 0) -> Expr:
    """Whether this thread is the one that is chosen of so many; 0 chooses one of the block."""
    kernel("T.shuffle_elect")
    elected = Expr(emit(ElectOp()), boolean)
    warps = max(1, thread_extent // WARP)
    if thread_extent:
        return elected & (get_warp_idx() % warps == 0)
    return elected & (get_warp_idx() == 0)


def block_rank_in_cluster() -> Expr:
    """The rank of the block in its cluster."""
    kernel("T.block_rank_in_cluster")
    return Expr(emit(ClusterRankOp()), int32, is_natural=True)


# -- hints -------------------------------------------------------------------------------------


def no_set_max_nreg() -> None:
    """Registers are not moved between warp groups."""
    kernel("T.no_set_max_nreg").options["keep_registers"] = True


def disable_warp_group_reg_alloc() -> None:
    """Registers are not moved between warp groups."""
    kernel("T.disable_warp_group_reg_alloc").options["keep_registers"] = True


def annotate_producer_reg_dealloc(reg_count: int = 24) -> None:
    """How many registers a thread that loads keeps."""
    kernel("T.annotate_producer_reg_dealloc").options["producer_registers"] = reg_count


def annotate_consumer_reg_alloc(reg_count: int = 240) -> None:
    """How many registers a thread that computes gets."""
    kernel("T.annotate_consumer_reg_alloc").options["consumer_registers"] = reg_count


def annotate_min_blocks_per_sm(blocks: int) -> None:
    """How many blocks should fit on one multiprocessor."""
    kernel("T.annotate_min_blocks_per_sm").options["min_blocks_per_sm"] = blocks


def annotate_pass_configs(configs: Mapping[Any, Any]) -> None:
    """Settings of the compiler for this function."""
    trace().attributes.setdefault("tilelang_pass_configs", {}).update(configs)


def annotate_compile_flags(flags: Sequence[str] | str) -> None:
    """Flags for the compiler of the device."""
    given = [flags] if isinstance(flags, str) else list(flags)
    trace().attributes.setdefault("tilelang_compile_flags", []).extend(given)


def import_source(source: str) -> None:
    """Source text for the translation unit of the kernel."""
    if source not in trace().sources:
        trace().sources.append(source)
        current().insert(SourceOp(source))


# -- warp groups -------------------------------------------------------------------------------


class WarpGroups:
    """``with T.ws(...)``: a body for some of the warp groups."""

    is_region = True

    def __init__(self, groups: Sequence[int]) -> None:
        if not groups or not all(is_python_scalar(group) and int(group) >= 0 for group in groups):
            raise FrontendError(
                f"T.ws takes warp-group indices, got {list(groups)!r}", code=BAD_ARGUMENT
            )
        self._groups = sorted(int(group) for group in groups)

    def __enter__(self) -> None:
        found = kernel("T.ws")
        total = 1
        for extent in found.threads or (0,):
            total *= extent
        last = (self._groups[-1] + 1) * _WARP_GROUP
        if last > total:
            raise FrontendError(
                f"T.ws({self._groups[-1]}): warp group {self._groups[-1]} has threads "
                f"{last - _WARP_GROUP} to {last - 1}, but the block has {total}: launch it with "
                f"threads={last}",
                code=BAD_ARGUMENT,
            )
        builder = current()
        self._location = builder.location()
        self._outer, self._body = builder.block, Block()
        builder.block = self._body

    def __exit__(self, *_: object) -> None:
        builder = current()
        end = YieldOp()
        end.location = self._location
        self._body.add_op(end)
        builder.block = self._outer
        ranges = tuple((each * _WARP_GROUP, (each + 1) * _WARP_GROUP) for each in self._groups)
        name = "group" + "_".join(map(str, self._groups))
        op = WsOp([Role(name, ranges)], [Region(self._body)], custom=True)
        op.location = self._location
        effect(op)


def ws(*warp_group_idx: int) -> WarpGroups:
    """A body that only the threads of these warp groups (128 each) run."""
    return WarpGroups(warp_group_idx)
