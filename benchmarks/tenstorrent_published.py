"""The matrix multiplications that Tenstorrent publishes, and how each of them was configured.

`tenstorrent_published.csv` holds the numbers of `tech_reports/GEMM_FLOPS/GEMM_FLOPS.md` of
tenstorrent/tt-metal: 702 rows of two boards, measured by the vendor. `extract` makes it from a
checkout. Block sizes are not in the tables:

    tuned        rules and exceptions of the benchmark that the vendor ran
                 (tests/ttnn/unit_tests/benchmarks/test_benchmark.py)
    out_of_box   not published; taken as what the library's automatic choice does with interleaved
                 operands (ttnn/.../matmul/device/config/matmul_program_config.cpp). These rows
                 are compared with the model and never used for its fit.

Measured cycles are those of the math processor: ideal cycles / device utilisation.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks.tenstorrent_gemm import GemmRun
from tilewright.analysis.tensix_cost.parameters import (
    BLACKHOLE,
    FIDELITY_PHASES,
    WORMHOLE,
    CostTable,
)
from tilewright.dialects.tensix.chips import CHIPS

DATA = Path(__file__).with_suffix(".csv")
SOURCE = "tech_reports/GEMM_FLOPS/GEMM_FLOPS.md"
COMMIT = "e4f9f0bb8de43df33c6e4607ab04b4bdd8d9110a"
TABLES: Mapping[str, CostTable] = {"n150": WORMHOLE, "p150": BLACKHOLE}
PAGE_BYTES = {"bfloat16": 2048, "bfloat8_b": 1088, "bfloat4_b": 576}
TILE = 32


@dataclass(frozen=True)
class Row:
    """One published row."""

    board: str
    configured: str
    """``tuned`` or ``out_of_box``."""
    columns: int
    rows: int
    m: int
    k: int
    n: int
    trace: int
    a_storage: str
    """Where A and C are: ``l1`` (block sharded) or ``dram`` (interleaved); B is in DRAM."""
    dtype: str
    fidelity: str
    time_ns: str
    utilisation: str
    """Percent of the ideal cycles, as measured on the device."""

    @property
    def kind(self) -> str:
        return self.a_storage if self.configured == "tuned" else self.configured

    @property
    def matmuls(self) -> Fraction:
        """Tile matmuls of a core."""
        return Fraction(self.m * self.k * self.n, TILE**3 * self.columns * self.rows)

    @property
    def measured(self) -> Fraction:
        """Cycles."""
        ideal = self.matmuls * FIDELITY_PHASES[self.fidelity] * WORMHOLE.matmul_phase.value
        return ideal * 100 / Fraction(self.utilisation)

    @property
    def run(self) -> GemmRun:
        """The launch, with the block sizes of its configuration."""
        if self.configured == "out_of_box":
            return _automatic(self)
        return _tuned(self)


def published() -> tuple[Row, ...]:
    """All rows, in the order of the vendor's tables."""
    lines = [line for line in DATA.read_text().splitlines() if not line.startswith("#")]
    integers = ("columns", "rows", "m", "k", "n", "trace")
    return tuple(
        Row(**{name: int(text) if name in integers else text for name, text in each.items()})  # pyright: ignore[reportArgumentType]
        for each in csv.DictReader(lines)
    )


# -- configurations of the vendor ------------------------------------------------------------------

_SUBBLOCKS = (
    *((4, 2), (2, 4), (8, 1), (1, 8), (7, 1), (1, 7), (3, 2), (2, 3), (6, 1), (1, 6)),
    *((5, 1), (1, 5), (2, 2), (4, 1), (1, 4), (3, 1), (1, 3), (2, 1), (1, 2), (1, 1)),
)
"""Rows and columns of sub-blocks, in the vendor's order of preference."""

_EXCEPTIONS: Mapping[tuple[str, str], Mapping[tuple[int, int, int], tuple[int, int, int]]] = {
    ("l1", "bfloat16"): {(256, 384, 384): (2, 1, 1), (384, 384, 384): (4, 1, 1)},
    ("l1", "bfloat8_b"): {(384, 384, 384): (2, 1, 1), (384, 384, 512): (2, 1, 1)},
    ("l1", "bfloat4_b"): {(384, 512, 512): (2, 1, 1), (512, 512, 512): (2, 1, 1)},
    ("dram", "bfloat16"): {
        (384, 384, 512): (2, 1, 1),
        (384, 512, 512): (2, 1, 1),
        (512, 512, 512): (1, 2, 2),
        (1024, 1024, 1024): (2, 4, 4),
        (2048, 2048, 2048): (4, 8, 8),
    },
    ("dram", "bfloat8_b"): {
        (512, 512, 512): (1, 2, 2),
        (1024, 1024, 1024): (2, 4, 4),
        (2048, 2048, 2048): (4, 8, 8),
    },
    ("dram", "bfloat4_b"): {(1024, 1024, 1024): (2, 2, 2), (2048, 2048, 2048): (4, 4, 4)},
}
"""By elements of a core along M, K and N: parts of a K step, of the rows and of the columns."""


def _subblock(rows: int, columns: int, *, is_one_row: bool) -> tuple[int, int]:
    fitting = (
        (h, w)
        for h, w in _SUBBLOCKS
        if rows % h == 0 and columns % w == 0 and (h == 1 or not is_one_row)
    )
    return next(fitting)


def _tuned(row: Row) -> GemmRun:
    per_core = (row.m // row.rows, row.k // row.columns, row.n // row.columns)
    parts = _EXCEPTIONS[row.a_storage, row.dtype].get(per_core, (1, 1, 1))
    high, deep, wide = (each // TILE for each in per_core)
    block = (high // parts[1], wide // parts[2])
    return GemmRun(
        grid=(row.columns, row.rows),
        core_tiles=(high, wide),
        block_tiles=block,
        depth=row.k // TILE,
        step_tiles=deep // parts[0],
        subblock=_subblock(*block, is_one_row=row.a_storage == "l1"),
        page_bytes=PAGE_BYTES[row.dtype],
        fidelity=row.fidelity,
        a_in_l1=row.a_storage == "l1",
    )


_PROVISIONAL_BLOCK = 16
"""Tiles of the block by which the library chooses between one and two dimensions."""


def _automatic(row: Row) -> GemmRun:
    """The largest block of C that fits L1 with the longest K step."""
    high, wide, deep = (each // TILE for each in (row.m, row.n, row.k))
    page = PAGE_BYTES[row.dtype]
    if high <= _PROVISIONAL_BLOCK < wide:  # one row of blocks: A goes to all cores, B to none
        cores = row.columns * row.rows
        block = (high, -(-wide // cores))
        return GemmRun(
            grid=(min(cores, wide), 1),
            core_tiles=block,
            block_tiles=block,
            depth=deep,
            step_tiles=2 if deep % 2 == 0 else 1,
            subblock=_subblock(*block, is_one_row=False),
            page_bytes=page,
            fidelity=row.fidelity,
            multicasts_b=False,
        )
    core = (-(-high // row.rows), -(-wide // row.columns))
    step = deep // row.columns if deep % row.columns == 0 else 1
    budget = CHIPS["wormhole" if row.board == "n150" else "blackhole"].cb_budget_bytes
    block, step = next(
        (block, part)
        for block in _blocks(*core)
        for part in range(step, 0, -1)
        if step % part == 0 and _l1_bytes(block, part, page) < budget
    )
    return GemmRun(
        grid=(row.columns, row.rows),
        core_tiles=core,
        block_tiles=block,
        depth=deep,
        step_tiles=step,
        subblock=_subblock(*block, is_one_row=False),
        page_bytes=page,
        fidelity=row.fidelity,
    )


def _blocks(rows: int, columns: int) -> Sequence[tuple[int, int]]:
    """Divisors of a core's tiles, the largest and squarest first."""
    found = [
        (h, w)
        for h in range(1, rows + 1)
        for w in range(1, columns + 1)
        if rows % h == 0 and columns % w == 0
    ]
    return sorted(found, key=lambda each: (-each[0] * each[1], Fraction(max(each), min(each))))


def _l1_bytes(block: tuple[int, int], step: int, page: int) -> int:
    """Two steps of both operands, the output and its partial sums."""
    return 2 * (block[0] + block[1]) * step * page + block[0] * block[1] * (page + 2048)


# -- from a checkout -------------------------------------------------------------------------------

_TITLE = re.compile(r"<strong>(N150|P150) (Manually Tuned|Out of Box)")
_FIELDS = tuple(Row.__dataclass_fields__)


def extract(text: str) -> Iterator[Row]:
    """The rows of the vendor's report."""
    board = configured = ""
    for line in text.splitlines():
        title = _TITLE.search(line)
        if title is not None:
            board = title.group(1).lower()
            configured = "tuned" if title.group(2).startswith("Manually") else "out_of_box"
        if not board or not re.match(r"\| \d", line):
            continue
        cells = [each.strip() for each in line.strip().strip("|").split("|")]
        m, k, n, trace, grid = cells[:5]
        columns, rows = re.findall(r"\d+", grid)
        storage, *_, dtype, fidelity, time_ns, _, _, utilisation = cells[-9:]
        if configured == "tuned":
            storage = cells[7]
        yield Row(
            board,
            configured,
            int(columns),
            int(rows),
            int(m),
            int(k),
            int(n),
            int(trace == "True"),
            storage.lower(),
            dtype.removeprefix("DataType.").lower(),
            fidelity.removeprefix("MathFidelity."),
            time_ns,
            utilisation,
        )


def data_text(rows: Sequence[Row]) -> str:
    """The contents of the data file."""
    lines = [
        "# Measured by Tenstorrent, not by Tilewright. Numbers of tenstorrent/tt-metal,",
        f"# {SOURCE}, commit {COMMIT}.",
        ",".join(_FIELDS),
    ]
    lines += [",".join(str(getattr(row, name)) for name in _FIELDS) for row in rows]
    return "\n".join(lines) + "\n"
