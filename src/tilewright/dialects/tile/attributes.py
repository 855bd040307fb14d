"""Attributes of the tile level: memory spaces, layouts, launch order, pipeline plans, targets.

    #tile.space<shared>                      where a buffer lives; part of its memref type
    #tile.layout<(i : 64, j : 64) -> (...)>  where an element of a buffer lives
    #tile.fragment<(i : 8, j : 8) -> thread (...) index (...)>
    #tile.raster<row, 10>                    in which order blocks walk over the grid
    #tile.pipeline_plan<stage = [0, 0, 2], order = [0, 1, 2]>
    #tile.target<cuda, sm_90a>

All are plain data: the classes that compute (``LayoutMap`` ...) are in ``data``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import unique
from typing import TypeVar

from typing_extensions import override
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tilewright.dialects.tile.expressions import LayoutExpr, parse_expression
from tilewright.dialects.tile.maps import FragmentMap, LayoutMap

T = TypeVar("T")


@unique
class Space(StrEnum):
    """The memory of a buffer, and with that its visibility."""

    GLOBAL = "global"
    """Kernel arguments and workspaces: the whole grid."""
    SHARED = "shared"
    """The block; merged into one dynamic allocation."""
    SHARED_STATIC = "shared_static"
    """The block; an allocation of its own."""
    FRAGMENT = "fragment"
    """The block; spread over the registers of its threads by a layout."""
    LOCAL = "local"
    """One thread: an array of its own."""
    VAR = "var"
    """One thread: a single mutable scalar."""
    BARRIER = "barrier"
    """The block: an array of mbarriers."""
    CLUSTER_BARRIER = "cluster_barrier"
    """The cluster: an array of mbarriers."""
    TMEM = "tmem"
    """Tensor memory of Blackwell."""
    DESCRIPTOR = "descriptor"
    """Instruction descriptors."""
    DRAM = "dram"
    """Tensix: device memory, in banks reached over the NoC."""
    L1 = "l1"
    """Tensix: the scratchpad of a core; its kernels exchange tiles through it."""
    DST = "dst"
    """Tensix: the registers of the compute units, a few tiles."""

    @property
    def is_shared(self) -> bool:
        """Whether buffers are in the shared memory of the block."""
        return self in (Space.SHARED, Space.SHARED_STATIC)

    @property
    def is_barrier(self) -> bool:
        return self in (Space.BARRIER, Space.CLUSTER_BARRIER)

    @property
    def is_on_chip(self) -> bool:
        """Whether the size is fixed and an access outside is an error of the program."""
        return self not in (Space.GLOBAL, Space.DRAM)

    @property
    def is_per_thread(self) -> bool:
        """Whether every thread has a buffer of its own."""
        return self in (Space.LOCAL, Space.VAR, Space.DESCRIPTOR)


@irdl_attr_definition
class SpaceAttr(EnumAttribute[Space]):
    """``#tile.space<shared>``."""

    name = "tile.space"

    @property
    def ASM_ALIAS(self) -> str:
        """Types are short with aliases: ``memref<64xf16, #shared>``."""
        return self.data.value

    @classmethod
    @override
    def parse_parameter(cls, parser: AttrParser) -> Space:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(Space)

    @override
    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.value}>")


SPACES: Mapping[Space, SpaceAttr] = {space: SpaceAttr(space) for space in Space}
"""One attribute object a space, to be shared by all types."""


def space_attr(space: Space | str) -> SpaceAttr:
    """The attribute of a space or of its name."""
    return SPACES[Space(space)]


# -- layouts -----------------------------------------------------------------------------------


def _parse_coordinates(parser: AttrParser) -> tuple[list[str], list[int]]:
    """``(i : 64, j : 64)``."""
    names: list[str] = []
    extents: list[int] = []

    def parse_one() -> None:
        name = parser.parse_identifier(" for a coordinate")
        if name in names:
            parser.raise_error(f"duplicate coordinate '{name}'")
        names.append(name)
        parser.parse_punctuation(":")
        extents.append(parser.parse_integer(allow_boolean=False, allow_negative=False))

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_one)
    return names, extents


def _parse_results(parser: AttrParser, names: Sequence[str]) -> tuple[LayoutExpr, ...]:
    found = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parse_expression(parser, names)
    )
    return tuple(found)


def _verify_map(problem: str | None) -> None:
    if problem is not None:
        raise VerifyException(problem)


@irdl_attr_definition
class LayoutAttr(Data[LayoutMap]):
    """``#tile.layout<(i : 64, j : 64) -> (i, j xor i)>``: logical to physical coordinates."""

    name = "tile.layout"

    @classmethod
    @override
    def parse_parameter(cls, parser: AttrParser) -> LayoutMap:
        with parser.in_angle_brackets():
            names, extents = _parse_coordinates(parser)
            parser.parse_punctuation("->")
            return LayoutMap(tuple(extents), _parse_results(parser, names))

    @override
    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @override
    def verify(self) -> None:
        _verify_map(self.data.problem())

    @classmethod
    def from_function(cls, extents: Sequence[int], function: Callable[..., object]) -> LayoutAttr:
        """The layout that a Python function of the coordinates computes."""
        return cls(LayoutMap.from_function(extents, function))


@irdl_attr_definition
class FragmentAttr(Data[FragmentMap]):
    """``#tile.fragment<(i : 8, j : 8) replicate (r : 2) -> thread (...) index (...)>``."""

    name = "tile.fragment"

    @classmethod
    @override
    def parse_parameter(cls, parser: AttrParser) -> FragmentMap:
        with parser.in_angle_brackets():
            names, extents = _parse_coordinates(parser)
            replicas, counts = ([], [1])
            if parser.parse_optional_keyword("replicate") is not None:
                replicas, counts = _parse_coordinates(parser)
                if len(counts) != 1 or replicas[0] in names:
                    parser.raise_error("replicate requires one coordinate with a unique name")
            parser.parse_punctuation("->")
            parser.parse_keyword("thread")
            thread = _parse_results(parser, [*names, *replicas])
            if len(thread) != 1:
                parser.raise_error("expected one expression for the thread")
            parser.parse_keyword("index")
            index = _parse_results(parser, names)
        return FragmentMap(tuple(extents), thread[0], index, counts[0])

    @override
    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @override
    def verify(self) -> None:
        _verify_map(self.data.problem())


# -- the launch --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Raster:
    """Blocks walk over the grid in panels of `panel` rows (or columns), back and forth."""

    order: str
    panel: int

    def block_at(self, x: int, y: int, extent_x: int, extent_y: int) -> tuple[int, int]:
        """The block coordinates that launch position ``(x, y)`` works on."""
        if self.order == "column":
            row, column = self._walk(y + x * extent_y, extent_y, extent_x)
            return row, column
        row, column = self._walk(x + y * extent_x, extent_x, extent_y)
        return column, row

    def _walk(self, linear: int, width: int, height: int) -> tuple[int, int]:
        """Row and column of step `linear` in a grid with `height` rows."""
        panel, step = divmod(linear, self.panel * width)
        rows = min(self.panel, height - panel * self.panel)
        column, row = divmod(step, rows)
        if panel % 2:
            column = width - 1 - column
        return row + panel * self.panel, column


@irdl_attr_definition
class RasterAttr(Data[Raster]):
    """``#tile.raster<row, 10>``."""

    name = "tile.raster"

    ORDERS = ("row", "column")

    @classmethod
    def of(cls, order: str, panel: int) -> RasterAttr:
        return cls(Raster(order, panel))

    @classmethod
    @override
    def parse_parameter(cls, parser: AttrParser) -> Raster:
        with parser.in_angle_brackets():
            order = parser.parse_identifier(" for the order")
            parser.parse_punctuation(",")
            return Raster(order, parser.parse_integer(allow_boolean=False))

    @override
    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.order}, {self.data.panel}>")

    @override
    def verify(self) -> None:
        if self.data.order not in self.ORDERS:
            raise VerifyException(f"raster order must be row or column, got '{self.data.order}'")
        if self.data.panel < 1:
            raise VerifyException(f"raster panel must have at least one row, got {self.data.panel}")


@dataclass(frozen=True)
class Target:
    """A kind of device and which of its kind."""

    kind: str
    arch: str | None = None

    def __str__(self) -> str:
        return self.kind if self.arch is None else f"{self.kind}, {self.arch}"


@irdl_attr_definition
class TargetAttr(Data[Target]):
    """``#tile.target<cuda, sm_90a>``."""

    name = "tile.target"

    KINDS = ("cuda", "hip", "tenstorrent", "numpy")

    @classmethod
    def of(cls, kind: str, arch: str | None = None) -> TargetAttr:
        return cls(Target(kind, arch))

    @classmethod
    @override
    def parse_parameter(cls, parser: AttrParser) -> Target:
        with parser.in_angle_brackets():
            kind = parser.parse_identifier(" for the kind of device")
            more = parser.parse_optional_punctuation(",") is not None
            return Target(kind, parser.parse_identifier(" for the arch") if more else None)

    @override
    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @override
    def verify(self) -> None:
        if self.data.kind not in self.KINDS:
            raise VerifyException(
                f"unknown target '{self.data.kind}', expected one of {', '.join(self.KINDS)}"
            )


# -- pipelines ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlannedPipeline:
    """Where each scheduled op of a pipelined loop goes, in the order of the loop body."""

    stage: tuple[int, ...]
    order: tuple[int, ...]
    async_group: tuple[int, ...] = ()
    """The asynchronous group of each op, -1 for synchronous ones; empty if there is none."""
    versions: tuple[int, ...] = ()
    """How many copies each buffer written in the body needs, by first write."""

    def __str__(self) -> str:
        fields = (
            ("stage", self.stage, True),
            ("order", self.order, True),
            ("async", self.async_group, bool(self.async_group)),
            ("versions", self.versions, bool(self.versions)),
        )
        shown = (f"{name} = {list(values)}" for name, values, is_shown in fields if is_shown)
        return ", ".join(shown)


@irdl_attr_definition
class PipelinePlanAttr(Data[PlannedPipeline]):
    """``#tile.pipeline_plan<stage = [0, 0, 2], order = [0, 1, 2], async = [0, 0, -1]>``."""

    name = "tile.pipeline_plan"

    @classmethod
    @override
    def parse_parameter(cls, parser: AttrParser) -> PlannedPipeline:
        fields: dict[str, tuple[int, ...]] = {"stage": (), "order": (), "async": (), "versions": ()}

        def parse_one() -> None:
            name = parser.parse_identifier(" in a pipeline plan")
            if name not in fields:
                parser.raise_error(f"expected one of {', '.join(fields)}, found '{name}'")
            parser.parse_punctuation("=")
            fields[name] = tuple(
                parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            )

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_one)
        return PlannedPipeline(*fields.values())

    @override
    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @override
    def verify(self) -> None:
        plan = self.data
        problem = schedule_problem(plan.stage, plan.order)
        if problem is None and plan.async_group and len(plan.async_group) != len(plan.stage):
            problem = f"{len(plan.stage)} stages but {len(plan.async_group)} asynchronous groups"
        if problem is None and any(count < 1 for count in plan.versions):
            problem = f"number of buffer versions must be at least 1, got {min(plan.versions)}"
        _verify_map(problem)


def schedule_problem(stage: Sequence[int], order: Sequence[int]) -> str | None:
    """Why `stage` and `order` are no schedule, or None.

    -1 in both stands for an op that warp specialisation takes care of.
    """
    if len(stage) != len(order):
        return f"stage has {len(stage)} entries but order has {len(order)}"
    if any(each < -1 for each in stage):
        return (
            f"stage must be at least 0, or -1 for a statement scheduled elsewhere, got {min(stage)}"
        )
    placed = sorted(each for each in order if each != -1)
    if placed != list(range(len(placed))):
        return (
            "Two statements in the software pipeline cannot have the same order: "
            f"order must be a permutation of 0 to {len(placed) - 1}, got {list(order)}"
        )
    return None
