"""Which bytes may share: reuse trees, placements, their proof, and suggestions.

This package works on bytes, not ops. A pass describes each allocation as a `Buffer`, each spec as a
`StorageRegion` with its trees, and calls:

    result = plan_region(region, Options(capacity=target.capacity(region.memory)))
    result.findings          diagnostics, by rule and buffer or path
    result.plan              addresses: offset, levels, index map, backing storage
    check_plan(result.plan)  counterexamples, found without the planner's code

Everything is a frozen value with a readable ``str()``; nothing here raises for what a user can
write, and the same input gives the same output.
"""

from tilewright.memory.advisor import Unsharing, unsharings
from tilewright.memory.backing import Backing
from tilewright.memory.evidence import case_of, check_plan
from tilewright.memory.fitting import Change, Step, fitting_changes
from tilewright.memory.infer import (
    Inference,
    deprecation,
    infer_overlap,
    join_legacy,
    legacy_region,
)
from tilewright.memory.map import MemoryMap, RegionMap, memory_maps, region_map
from tilewright.memory.phases import Phase
from tilewright.memory.placement import IndexMap, Level, Mode, Placement
from tilewright.memory.plan import (
    Options,
    PlanResult,
    StoragePlan,
    plan_region,
    plan_with_fallback,
)
from tilewright.memory.region import LiveRanges, StorageRegion, plain_region, region_of
from tilewright.memory.rules import RULES, Finding, Path, Rule, Severity, finding
from tilewright.memory.targets import TARGETS, Memory, Target, target_named
from tilewright.memory.tree import Group, Leaf, ReuseKind, Tree, distinct, shared, validate
from tilewright.memory.tree_layout import Rounding, TreePlacement, place_tree
from tilewright.memory.units import (
    POINTER_BITS,
    Buffer,
    Nvmma,
    Padded,
    SharedLinear,
    Swizzled,
    TmemPlaceholder,
    TmemScales,
    TmemTile,
    UnitError,
    smem_buffer,
    tmem_buffer,
)

__all__ = [
    "POINTER_BITS",
    "RULES",
    "TARGETS",
    "Backing",
    "Buffer",
    "Change",
    "Finding",
    "Group",
    "IndexMap",
    "Inference",
    "Leaf",
    "Level",
    "LiveRanges",
    "Memory",
    "MemoryMap",
    "Mode",
    "Nvmma",
    "Options",
    "Padded",
    "Path",
    "Phase",
    "Placement",
    "PlanResult",
    "RegionMap",
    "ReuseKind",
    "Rounding",
    "Rule",
    "Severity",
    "SharedLinear",
    "Step",
    "StoragePlan",
    "StorageRegion",
    "Swizzled",
    "Target",
    "TmemPlaceholder",
    "TmemScales",
    "TmemTile",
    "Tree",
    "TreePlacement",
    "UnitError",
    "Unsharing",
    "case_of",
    "check_plan",
    "deprecation",
    "distinct",
    "finding",
    "fitting_changes",
    "infer_overlap",
    "join_legacy",
    "legacy_region",
    "memory_maps",
    "place_tree",
    "plain_region",
    "plan_region",
    "plan_with_fallback",
    "region_map",
    "region_of",
    "shared",
    "smem_buffer",
    "target_named",
    "tmem_buffer",
    "unsharings",
    "validate",
]
