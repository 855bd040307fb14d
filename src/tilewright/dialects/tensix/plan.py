"""The plan of a Tenstorrent program: the content of ``tt.plan.json``, as a value.

Everything the host has to know of one launch: the grid in blocks, which core processes which
blocks, tensors in DRAM, circular buffers, kernels with the names of their arguments, and the
predicted traffic. The emitters print it, the executors run it, `verify_tt` re-derives it.

    plan.to_json()              the text of tt.plan.json; equal plans give equal bytes
    plan.to_attr()              the same content as an attribute of ``tensix.host_plan``
    Plan.from_attr(attribute)   back

The name of a run-time argument is what its word holds: an address, a count, a coordinate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import DictionaryAttr

from tilewright.dialects.tensix.json_attr import Json, dictionary_of, json_of
from tilewright.dialects.tensix.multicast import (
    Multicast,
    MulticastGroup,
    NocWord,
    SemaphorePlan,
    multicast_data,
    multicast_of,
)
from tilewright.dialects.tensix.residency import Residency, residency_data, residency_of
from tilewright.dialects.tensix.shards import DRAM_LAYOUT, ShardPlan
from tilewright.dialects.tensix.work import CoreWork, work_data, work_from_data

VERSION = "2.0"
ADDRESS_SUFFIX = "_addr"
WORD_SUFFIX = "_word"
ACCESSOR_SUFFIX = "_accessor"
BLOCK_IDS = "block_ids"
"""The run-time argument that stands for one word per block of the core; always the last one."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Grid:
    """The launch grid, in blocks."""

    x: int
    y: int
    z: int

    @property
    def total_tiles(self) -> int:
        return self.x * self.y * self.z


@dataclass(frozen=True)
class Problem:
    """Output blocks along the rows and columns, and tiles along K (1 without a GEMM)."""

    mt: int
    nt: int
    kt: int


@dataclass(frozen=True)
class Assignment:
    """The blocks of one core: `count` blocks from `start_tile` on, or a rectangle of blocks."""

    core_id: int
    x: int
    y: int
    start_tile: int
    count: int
    rect: tuple[int, int, int, int] | None = None
    """First row, first column, rows and columns, for the policy `rect`."""
    ghosts: tuple[int, int] = (0, 0)
    """Rows and columns of steps without a block of their own, after those of the rectangle."""
    blocks: tuple[int, ...] | None = None
    """The blocks in the order of a curve: each as row * columns + column of the grid (of the
    rectangle, for the policy `rect`)."""

    @property
    def steps(self) -> int:
        """Iterations of the loop over blocks, ghost steps included."""
        if self.rect is None or not self.count:
            return self.count
        _, _, rows, cols = self.rect
        batches = self.count // (rows * cols)
        return (rows + self.ghosts[0]) * (cols + self.ghosts[1]) * batches

    @property
    def words(self) -> Mapping[str, int]:
        """The run-time arguments that determine the blocks of the core, by name."""
        words = {"start_id": self.start_tile, "count": self.steps}
        if self.rect is not None:
            row0, col0, rows, cols = self.rect
            extents = {"rows": rows + self.ghosts[0], "cols": cols + self.ghosts[1]}
            words |= {"row0": row0, "col0": col0, **extents}
        return words


@dataclass(frozen=True)
class Cores:
    """The cores of the program."""

    grid: tuple[int, int]
    """Columns and rows of the logical core grid."""
    assignments: tuple[Assignment, ...]

    @property
    def num_cores(self) -> int:
        return self.grid[0] * self.grid[1]

    @property
    def active(self) -> tuple[Assignment, ...]:
        """The cores that have at least one block."""
        return tuple(each for each in self.assignments if each.count)

    @property
    def topology(self) -> str:
        return f"{self.grid[0]}x{self.grid[1]}_grid"


@dataclass(frozen=True)
class Schedule:
    """How blocks are assigned to cores and in which order ids walk over the grid."""

    policy: str
    order: str
    rect: tuple[int, int] | None = None
    """Rows and columns of a block of the order ``block_linear``."""


@dataclass(frozen=True)
class TensorPlan:
    """One tensor: a buffer whose pages are tiles, interleaved over DRAM banks or sharded in L1.

    The host arranges the elements in four steps: `dims` puts the leading dimensions first and the
    dimensions of tile rows and columns last, `granules` splits these two into blocks that are
    padded to whole tiles, the result is padded to `padded` with `pad_value` and tilized.
    """

    name: str
    arg: int
    """Position among the arguments of the kernel."""
    role: str
    """``input``, ``output`` or ``inout``."""
    shape: tuple[int, ...]
    padded: tuple[int, ...]
    """Leading dimensions, padded rows, padded columns."""
    format: str
    tiles: tuple[int, ...]
    """Leading dimensions, tile rows, tile columns."""
    page_bytes: int
    layout: str = DRAM_LAYOUT
    pad_value: int = 0
    dims: tuple[int, ...] = ()
    """Dimensions of the tensor: leading ones, then rows, then columns; -1 where there is none."""
    granules: tuple[int, int] = (32, 32)
    """Elements of a row (column) block; blocks that are not whole tiles are padded individually."""
    starts: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """The first row (column) of each block; empty if block n begins at n granules."""
    limits: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """The valid rows (columns) of each block; empty if all are."""
    shards: ShardPlan | None = None
    """Of a tensor in L1: which core holds which tiles."""
    workspace: bool = False
    """Whether the tensor is memory of the call, which the caller does not see."""

    @property
    def pages(self) -> int:
        found = 1
        for extent in self.tiles:
            found *= extent
        return found

    @property
    def total_bytes(self) -> int:
        return self.pages * self.page_bytes

    @property
    def l1_bytes(self) -> int:
        """Bytes of a core that holds a shard; 0 for a tensor in DRAM."""
        return 0 if self.shards is None else self.shards.core_pages * self.page_bytes


@dataclass(frozen=True)
class ScalarPlan:
    """A scalar argument of the kernel that is a run-time word, the same on all cores."""

    name: str
    arg: int
    """Position among the arguments of the kernel."""
    format: str
    """``f32`` or ``i32``: what the bits of the word are."""


@dataclass(frozen=True)
class ScalarWord:
    """A run-time word that holds a scalar argument, known at launch."""

    scalar: str


RuntimeValue: TypeAlias = int | str | NocWord | ScalarWord
"""A run-time word of a core; a string is the name of the tensor whose address it is."""


@dataclass(frozen=True)
class CircularBufferPlan:
    """One circular buffer on every active core."""

    index: int
    name: str
    format: str
    pages: int
    page_bytes: int
    producer: str
    consumer: str
    tensor: str | None = None
    """The tensor whose shard the pages are."""

    @property
    def total_bytes(self) -> int:
        return self.pages * self.page_bytes


@dataclass(frozen=True)
class KernelPlan:
    """One kernel: its file, processor and the names of its arguments."""

    role: str
    file: str
    processor: str
    noc: int | None
    compile_args: tuple[str, ...]
    runtime_args: tuple[str, ...]
    cores: str | tuple[tuple[int, int, int, int], ...] = "active"
    """``active`` for all active cores, or rectangles ``[start_x, start_y, end_x, end_y]``."""

    @property
    def name(self) -> str:
        """The name of the kernel: its file without the extension."""
        return self.file.removesuffix(".cpp")

    def runs_on(self, core: Assignment) -> bool:
        """Whether an active core runs the kernel."""
        if isinstance(self.cores, str):
            return True
        return any(x0 <= core.x <= x1 and y0 <= core.y <= y1 for x0, y0, x1, y1 in self.cores)


@dataclass(frozen=True)
class ComputePlan:
    """How the compute kernel accumulates."""

    strategy: str
    """``whole``, ``resident``, ``spill``, or ``blocks`` for kernels without a K loop."""
    subblock: tuple[int, int]
    dst_tiles: int
    fp32_dest_acc: bool
    math_fidelity: str = "HiFi4"


@dataclass(frozen=True)
class Memory:
    """Bytes of L1 on a core and of DRAM."""

    l1_budget: int
    l1_used: int
    dram_bytes: int


@dataclass(frozen=True)
class Traffic:
    """Pages that all cores together read and write; the executors count exactly these."""

    dram_page_reads: int
    dram_page_writes: int
    multicast_pages: int = 0
    l1_page_reads: int = 0
    """Pages of sharded tensors that are read over the NoC; those in place do not count."""
    l1_page_writes: int = 0


@dataclass(frozen=True)
class Plan:
    """One launch."""

    arch: str
    kernel: str
    grid: Grid
    block_tiles: tuple[int, int, int]
    problem: Problem
    cores: Cores
    schedule: Schedule
    core_ranges: tuple[tuple[int, int, int, int, int, int], ...]
    """Rows ``[start_x, start_y, end_x, end_y, start, count]``."""
    tensors: tuple[TensorPlan, ...]
    cbs: tuple[CircularBufferPlan, ...]
    kernels: tuple[KernelPlan, ...]
    compute: ComputePlan
    memory: Memory
    traffic: Traffic
    multicast: Multicast | None = None
    residency: Residency | None = None
    api: str = "2026"
    target: str = "tenstorrent"
    work: tuple[CoreWork, ...] = ()
    """What the kernels of each core execute; a cost model reads it, nothing else does."""
    warnings: tuple[str, ...] = field(default=())
    scalars: tuple[ScalarPlan, ...] = ()

    def kernel_named(self, name: str) -> KernelPlan | None:
        """The kernel of a name."""
        return next((each for each in self.kernels if each.name == name), None)

    def cores_of(self, kernel: KernelPlan) -> tuple[Assignment, ...]:
        """The active cores that run a kernel."""
        return tuple(each for each in self.cores.active if kernel.runs_on(each))

    def tensor(self, name: str) -> TensorPlan:
        """The tensor of a name."""
        return next(each for each in self.tensors if each.name == name)

    def runtime_words(self, kernel: KernelPlan, core: Assignment) -> tuple[RuntimeValue, ...]:
        """The run-time words of a core."""
        known: dict[str, RuntimeValue] = {**core.words}
        known |= {f"{each.name}{WORD_SUFFIX}": ScalarWord(each.name) for each in self.scalars}
        if self.multicast is not None:
            known |= self.multicast.words((core.x, core.y), kernel.noc or 0)
        words: list[RuntimeValue] = []
        for name in kernel.runtime_args:
            if name.endswith(ADDRESS_SUFFIX):
                words.append(name.removesuffix(ADDRESS_SUFFIX))
            elif name == BLOCK_IDS:
                words += core.blocks or ()
            else:
                words.append(known[name])
        return tuple(words)

    def accessor_tensors(self, kernel: KernelPlan) -> tuple[str, ...]:
        """The tensors whose accessors are compile-time arguments of a kernel, in order."""
        return tuple(
            name.removesuffix(ACCESSOR_SUFFIX)
            for name in kernel.compile_args
            if name.endswith(ACCESSOR_SUFFIX)
        )

    def to_data(self) -> dict[str, Json]:
        """The content of the plan file, in its order."""
        return {
            "version": VERSION,
            "target": self.target,
            "arch": self.arch,
            "api": self.api,
            "kernel": self.kernel,
            "grid": {
                "x": self.grid.x,
                "y": self.grid.y,
                "z": self.grid.z,
                "total_tiles": self.grid.total_tiles,
            },
            "block": {"tiles": list(self.block_tiles)},
            "problem": {"Mt": self.problem.mt, "Nt": self.problem.nt, "Kt": self.problem.kt},
            "cores": {
                "num_cores": self.cores.num_cores,
                "active": len(self.cores.active),
                "grid": list(self.cores.grid),
                "topology": self.cores.topology,
                "assignments": [_assignment_data(each) for each in self.cores.assignments],
            },
            "schedule": {
                "policy": self.schedule.policy,
                "order": self.schedule.order,
                "rect": None if self.schedule.rect is None else list(self.schedule.rect),
            },
            "core_ranges": [list(each) for each in self.core_ranges],
            "tensors": [_tensor_data(each) for each in self.tensors],
            "scalars": [
                {"name": each.name, "arg": each.arg, "format": each.format} for each in self.scalars
            ],
            "cbs": [_cb_data(each) for each in self.cbs],
            "kernels": [_kernel_data(each) for each in self.kernels],
            "compute": {
                "strategy": self.compute.strategy,
                "subblock": list(self.compute.subblock),
                "dst_tiles": self.compute.dst_tiles,
                "fp32_dest_acc": self.compute.fp32_dest_acc,
                "math_fidelity": self.compute.math_fidelity,
            },
            "multicast": None if self.multicast is None else multicast_data(self.multicast),
            "residency": None if self.residency is None else residency_data(self.residency),
            "memory": {
                "l1_budget": self.memory.l1_budget,
                "l1_used": self.memory.l1_used,
                "dram_bytes": self.memory.dram_bytes,
            },
            "traffic": {
                "dram_page_reads": self.traffic.dram_page_reads,
                "dram_page_writes": self.traffic.dram_page_writes,
                "multicast_pages": self.traffic.multicast_pages,
                "l1_page_reads": self.traffic.l1_page_reads,
                "l1_page_writes": self.traffic.l1_page_writes,
            },
            "work": [work_data(each) for each in self.work],
            "warnings": list(self.warnings),
        }

    def to_json(self) -> str:
        """The text of ``tt.plan.json``."""
        return json.dumps(self.to_data(), indent=2, ensure_ascii=False) + "\n"

    def to_attr(self) -> DictionaryAttr:
        """The plan as an attribute."""
        return dictionary_of(self.to_data())

    @classmethod
    def from_attr(cls, attribute: DictionaryAttr) -> Plan:
        """The plan that `to_attr` stored."""
        return cls.from_data(cast("dict[str, Any]", json_of(attribute)))

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Plan:
        """The plan of a parsed plan file."""
        grid, problem, schedule = data["grid"], data["problem"], data["schedule"]
        compute, rect = data["compute"], data["schedule"]["rect"]
        multicast, residency = data.get("multicast"), data.get("residency")
        return cls(
            arch=data["arch"],
            kernel=data["kernel"],
            grid=Grid(grid["x"], grid["y"], grid["z"]),
            block_tiles=_triple(data["block"]["tiles"]),
            problem=Problem(problem["Mt"], problem["Nt"], problem["Kt"]),
            cores=Cores(
                _pair(data["cores"]["grid"]),
                tuple(_assignment(each) for each in data["cores"]["assignments"]),
            ),
            schedule=Schedule(
                schedule["policy"], schedule["order"], None if rect is None else _pair(rect)
            ),
            core_ranges=tuple(_six(each) for each in data["core_ranges"]),
            tensors=tuple(_tensor(each) for each in data["tensors"]),
            cbs=tuple(_circular_buffer(each) for each in data["cbs"]),
            kernels=tuple(_kernel(each) for each in data["kernels"]),
            compute=_replaced(ComputePlan, compute, subblock=_pair(compute["subblock"])),
            memory=Memory(**data["memory"]),
            traffic=Traffic(**data["traffic"]),
            multicast=None if multicast is None else multicast_of(multicast),
            residency=None if residency is None else residency_of(residency),
            api=data["api"],
            target=data["target"],
            work=tuple(work_from_data(each) for each in data.get("work", ())),
            warnings=tuple(data["warnings"]),
            scalars=tuple(ScalarPlan(**each) for each in data["scalars"]),
        )


# -- conversions -----------------------------------------------------------------------------------


def _assignment_data(each: Assignment) -> dict[str, Json]:
    found: dict[str, Json] = {
        "core_id": each.core_id,
        "x": each.x,
        "y": each.y,
        "start_tile": each.start_tile,
        "count": each.count,
    }
    if each.rect is not None:
        found["rect"] = list(each.rect)
    if any(each.ghosts):
        found["ghosts"] = list(each.ghosts)
    if each.blocks is not None:
        found["blocks"] = list(each.blocks)
    return found


def _assignment(data: Mapping[str, Any]) -> Assignment:
    lists = {name: tuple(data[name]) for name in ("rect", "ghosts", "blocks") if name in data}
    return _replaced(Assignment, data, **lists)


def _tensor_data(each: TensorPlan) -> dict[str, Json]:
    found: dict[str, Json] = {
        "name": each.name,
        "arg": each.arg,
        "role": each.role,
        "shape": list(each.shape),
        "padded": list(each.padded),
        "format": each.format,
        "tiles": list(each.tiles),
        "page_bytes": each.page_bytes,
        "pages": each.pages,
        "layout": each.layout,
        "pad_value": each.pad_value,
        "dims": list(each.dims),
        "granules": list(each.granules),
        **({"starts": [list(one) for one in each.starts]} if any(each.starts) else {}),
        **({"limits": [list(one) for one in each.limits]} if any(each.limits) else {}),
    }
    if each.shards is not None:
        found["shards"] = each.shards.to_data()
    if each.workspace:
        found["workspace"] = True
    return found


def _tensor(data: Mapping[str, Any]) -> TensorPlan:
    lists = {name: tuple(data[name]) for name in ("shape", "padded", "tiles", "dims", "granules")}
    for name in ("starts", "limits"):
        if name in data:
            first, second = data[name]
            lists[name] = tuple(first), tuple(second)
    shards = ShardPlan.from_data(data["shards"]) if "shards" in data else None
    rest = {name: data[name] for name in data if name != "pages"}
    return _replaced(TensorPlan, rest, **lists, shards=shards)


def _cb_data(each: CircularBufferPlan) -> dict[str, Json]:
    found: dict[str, Json] = {
        "index": each.index,
        "name": each.name,
        "format": each.format,
        "pages": each.pages,
        "page_bytes": each.page_bytes,
        "total_bytes": each.total_bytes,
        "producer": each.producer,
        "consumer": each.consumer,
    }
    return found if each.tensor is None else {**found, "tensor": each.tensor}


def _circular_buffer(data: Mapping[str, Any]) -> CircularBufferPlan:
    return CircularBufferPlan(**{name: data[name] for name in data if name != "total_bytes"})


def _kernel_data(each: KernelPlan) -> dict[str, Json]:
    return {
        "role": each.role,
        "file": each.file,
        "processor": each.processor,
        "noc": each.noc,
        "cores": each.cores if isinstance(each.cores, str) else [list(r) for r in each.cores],
        "compile_args": list(each.compile_args),
        "runtime_args": list(each.runtime_args),
    }


def _kernel(data: Mapping[str, Any]) -> KernelPlan:
    lists = {name: tuple(data[name]) for name in ("compile_args", "runtime_args")}
    cores = data["cores"]
    ranges = cores if isinstance(cores, str) else tuple(tuple(each) for each in cores)
    return _replaced(KernelPlan, data, cores=ranges, **lists)


def _replaced(make: Callable[..., _T], data: Mapping[str, Any], **changed: Any) -> _T:
    """A value from its fields, some of them converted."""
    return make(**{**data, **changed})


def _pair(values: Sequence[int]) -> tuple[int, int]:
    first, second = values
    return first, second


def _triple(values: Sequence[int]) -> tuple[int, int, int]:
    first, second, third = values
    return first, second, third


def _six(values: Sequence[int]) -> tuple[int, int, int, int, int, int]:
    a, b, c, d, e, f = values
    return a, b, c, d, e, f


__all__ = [
    "Assignment",
    "CircularBufferPlan",
    "ComputePlan",
    "Cores",
    "Grid",
    "KernelPlan",
    "Memory",
    "Multicast",
    "MulticastGroup",
    "Plan",
    "Problem",
    "Schedule",
    "SemaphorePlan",
    "TensorPlan",
    "Traffic",
]
