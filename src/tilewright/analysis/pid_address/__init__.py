"""Addresses as functions of the program id: every load and store explained.

``analyze`` evaluates the integer code of a kernel symbolically and reports, for each memory access
and call path, the exact offset, how it depends on the program id, and what follows for coalescing
and vector width. See ``report`` for its results, ``docs/addresses.md`` for how to read them.

    values  atoms       abstract values and the symbols in them
    scope               the program point of an evaluation, and its findings
    transfer/           what ops do to values
    control/            what control flow does: choices, graphs, loops, calls
    reader              text of kernels, sketches included
    entry_state         arguments, grid and facts to start from
    conditions          facts given as text
    classify            how an offset depends on program ids
    lanes  runs         how it depends on lanes
    axis                contiguity, divisibility and constancy of every value
    analysis            all of it together
"""

from tilewright.analysis.pid_address.analysis import (
    TileKernel,
    analyze,
    analyze_tile,
    tile_kernels,
)
from tilewright.analysis.pid_address.axis import axis_facts
from tilewright.analysis.pid_address.errors import AnalysisError
from tilewright.analysis.pid_address.reader import read_kernels
from tilewright.analysis.pid_address.report import (
    AccessKind,
    AccessProperties,
    AddressReport,
    Assumption,
    AssumptionKind,
    Bound,
    Box,
    Domain,
    Loop,
    LoopStride,
    MemoryOp,
    NotAnalysed,
    Param,
    Pattern,
    Reason,
    ValueInfo,
    VectorLimits,
    Virtual,
)

__all__ = [
    "AccessKind",
    "AccessProperties",
    "AddressReport",
    "AnalysisError",
    "Assumption",
    "AssumptionKind",
    "Bound",
    "Box",
    "Domain",
    "Loop",
    "LoopStride",
    "MemoryOp",
    "NotAnalysed",
    "Param",
    "Pattern",
    "Reason",
    "TileKernel",
    "ValueInfo",
    "VectorLimits",
    "Virtual",
    "analyze",
    "analyze_tile",
    "axis_facts",
    "read_kernels",
    "tile_kernels",
]
