"""What operations of a Tensix core cost, in cycles of its clock: one table, with sources.

    published   a figure of the vendor's repository (tenstorrent/tt-metal, commit e4f9f0bb8d), or a
                straight line through its published latency tables
    fitted      chosen so that the closed form of a GEMM agrees with the vendor's measured times
                (`scripts/fit_tt_cost.py` repeats the fit)
    assumed     no figure is published; an estimate from instruction counts

`tilewright compile --explain` prints the table's assumptions beside a bill that depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction
from types import MappingProxyType


class Source(Enum):
    """How far a number can be relied on."""

    PUBLISHED = "published"
    FITTED = "fitted"
    ASSUMED = "assumed"


@dataclass(frozen=True)
class Parameter:
    """One number of the table."""

    value: Fraction
    source: Source
    origin: str
    """The file that publishes it, the rows it was fitted to, or why it was assumed."""


def _published(value: float | str, origin: str) -> Parameter:
    return Parameter(Fraction(str(value)), Source.PUBLISHED, origin)


def _fitted(value: float | str, origin: str) -> Parameter:
    return Parameter(Fraction(str(value)), Source.FITTED, origin)


def _assumed(value: float | str, origin: str) -> Parameter:
    return Parameter(Fraction(str(value)), Source.ASSUMED, origin)


FIDELITY_PHASES: Mapping[str, int] = MappingProxyType(
    {"LoFi": 1, "HiFi2": 2, "HiFi3": 3, "HiFi4": 4}
)
"""Passes of the FPU over its operands (tech_reports/matrix_engine/matrix_engine.md)."""

_LATENCIES = "tt_metal/impl/experimental/noc_estimator/latencies/noc_latencies.yaml"
_BOUNDS = "tests/tt_metal/tt_metal/data_movement/python/test_mappings/test_bounds.yaml"
_ENGINE = "tech_reports/matrix_engine/matrix_engine.md"
_SHARDED = "GEMM_FLOPS.md, rows with A and C in L1"
_INTERLEAVED = "GEMM_FLOPS.md, rows with A, B and C in DRAM"
_SFPU = "32 lanes per instruction, 32 steps a tile; no figure published"


@dataclass(frozen=True)
class CostTable:
    """Cycles and bytes per cycle of one architecture."""

    arch: str

    read_latency: Parameter
    """From the first read of DRAM pages to the barrier, without the bytes."""
    read_rate: Parameter
    """Bytes per cycle that one core reads from interleaved DRAM pages."""
    write_latency: Parameter
    write_rate: Parameter
    multicast_latency: Parameter
    """One multicast to a row or column of cores."""
    multicast_rate: Parameter
    dram_rate: Parameter
    """Bytes per cycle of all cores together."""

    matmul_phase: Parameter
    """FPU cycles of one 32 x 32 x 32 tile matmul, for each fidelity phase."""
    matmul_overhead: Parameter
    """Cycles of a tile matmul beyond the FPU's."""
    unpack_rate: Parameter
    """Bytes per cycle of the unpackers where the sub-block is at least as wide as high."""
    unpack_rate_high: Parameter
    """The same where it is higher than wide: operand 1 is the one that is reused."""
    pack_rate: Parameter
    startup: Parameter
    """Cycles of a launch outside of the steady state."""

    fpu_add: Parameter
    """Cycles of one tile: add and sub."""
    fpu_mul_phase: Parameter
    fpu_reduce_phase: Parameter
    fpu_copy: Parameter
    """Unpacked tile to DST."""
    fpu_transpose: Parameter
    sfpu_step: Parameter
    """Cycles of one SFPU instruction over a tile."""
    init_call: Parameter
    """One init or reconfiguration call."""
    cb_call: Parameter
    """One call on a circular buffer."""
    semaphore_call: Parameter
    """One remote increment or flag multicast, until it is visible."""
    fill_page: Parameter
    """A tile of known contents that the reader stores 4 B at a time."""

    def rows(self) -> Iterator[tuple[str, Parameter]]:
        """Names and numbers, in order."""
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Parameter):
                yield each.name, value


SFPU_INSTRUCTIONS: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("relu", "abs", "negative", "square", "sign", "fill", "typecast"), 3),
        **dict.fromkeys(("add", "sub", "mul", "rsub", "max", "min", "where"), 4),
        **dict.fromkeys(("eq", "ne", "lt", "gt", "le", "ge"), 5),
        **dict.fromkeys(("recip", "sqrt", "rsqrt", "softsign"), 16),
        **dict.fromkeys(("exp", "exp2", "log", "sigmoid", "tanh", "div"), 20),
        **dict.fromkeys(("gelu", "power"), 32),
    }
)
"""SFPU instructions of a function with its loads and stores: assumed, none is published."""

OTHER_SFPU_INSTRUCTIONS = 20
"""Those of a function that is not listed: assumed."""

WORMHOLE = CostTable(
    arch="wormhole",
    read_latency=_published(460, _LATENCIES),
    read_rate=_published("31.3", _LATENCIES),
    write_latency=_published(470, _LATENCIES),
    write_rate=_published(29, _LATENCIES),
    multicast_latency=_published(620, _LATENCIES),
    multicast_rate=_published("29.4", _LATENCIES),
    dram_rate=_published(120, _BOUNDS),
    matmul_phase=_published(16, _ENGINE),
    matmul_overhead=_fitted(5, _SHARDED),
    unpack_rate=_fitted(48, _SHARDED),
    unpack_rate_high=_fitted(56, _INTERLEAVED),
    pack_rate=_assumed(48, "no figure published; as the unpackers"),
    startup=_fitted(6000, _SHARDED),
    fpu_add=_published(8, _ENGINE),
    fpu_mul_phase=_published(8, _ENGINE),
    fpu_reduce_phase=_published(4, _ENGINE),
    fpu_copy=_assumed(8, "as an addition"),
    fpu_transpose=_assumed(16, "twice a copy"),
    sfpu_step=_assumed(32, _SFPU),
    init_call=_assumed(40, "about 20 register writes; no figure published"),
    cb_call=_assumed(10, "one poll and one store; no figure published"),
    semaphore_call=_assumed(300, "a packet without payload; no figure published"),
    fill_page=_assumed(512, "one store for every 4 B of a 2 KiB page; no figure published"),
)

BLACKHOLE = CostTable(
    arch="blackhole",
    read_latency=_published(505, _LATENCIES),
    read_rate=_published("60.4", _LATENCIES),
    write_latency=_published(390, _LATENCIES),
    write_rate=_published(60, _LATENCIES),
    multicast_latency=_published(770, _LATENCIES),
    multicast_rate=_published(48, _LATENCIES),
    dram_rate=_published(180, _BOUNDS + " (165 to 195)"),
    matmul_phase=_published(16, _ENGINE),
    matmul_overhead=_fitted("2.5", _SHARDED),
    unpack_rate=_fitted(72, _SHARDED),
    unpack_rate_high=_fitted(72, _INTERLEAVED),
    pack_rate=_assumed(72, "no figure published; as the unpackers"),
    startup=_fitted(8000, _SHARDED),
    fpu_add=_published(8, _ENGINE),
    fpu_mul_phase=_published(8, _ENGINE),
    fpu_reduce_phase=_published(4, _ENGINE),
    fpu_copy=_assumed(8, "as an addition"),
    fpu_transpose=_assumed(16, "twice a copy"),
    sfpu_step=_assumed(32, _SFPU),
    init_call=_assumed(40, "about 20 register writes; no figure published"),
    cb_call=_assumed(10, "one poll and one store; no figure published"),
    semaphore_call=_assumed(300, "a packet without payload; no figure published"),
    fill_page=_assumed(512, "one store for every 4 B of a 2 KiB page; no figure published"),
)

_BY_ARCH: Mapping[str, CostTable] = MappingProxyType(
    {"wormhole_b0": WORMHOLE, "blackhole": BLACKHOLE, "sim": WORMHOLE}
)


def cost_table(arch: str) -> CostTable:
    """The table of an architecture, as the plan file names it; `sim` has Wormhole's.

    Raises:
        ValueError: if there is none.
    """
    if arch not in _BY_ARCH:
        raise ValueError(f"no cost table for '{arch}': expected one of {', '.join(_BY_ARCH)}")
    return _BY_ARCH[arch]
