"""What can be wrong with a storage-alias region, as data.

Every diagnostic of storage aliasing has a row here: its id, how bad it is, which op it belongs to,
the step of the lowering that finds it, and its text. Planning returns `Finding`s made from these
rows; a pass attaches them to ops. docs/design/storage-alias.md#rules lists them: V1… are the checks
of the tree's ops, E1… errors, W1… warnings, R1… remarks.

``subject`` selects the op of the message:

=========  ==========================================================================
spec       the ``storage_alias_spec``
overlap    the ``set_buffer_overlap``, of `Finding.phase` where there are several
group      the ``reuse_group`` at `Finding.path`
leaf       the allocation named by `Finding.subject`
others     ops this package has no model of; the texts stay with their family
=========  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

Path = tuple[int, ...]
"""The way from the root of a tree to a node: which child, level by level."""


class Severity(Enum):
    """How much a finding matters."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"


@dataclass(frozen=True)
class Rule:
    """One row: `text` has named holes for the numbers. Step 0 is the verifier of an op."""

    id: str
    severity: Severity
    subject: str
    step: int
    text: str


@dataclass(frozen=True)
class Finding:
    """A violated rule, or a suggestion, at one node.

    `subject` names a buffer, a group or a region; `path` leads to the node in the tree of `phase`.
    """

    rule: str
    message: str
    subject: str = ""
    path: Path | None = None
    notes: tuple[str, ...] = ()
    phase: str = ""

    @property
    def severity(self) -> Severity:
        return RULES[self.rule].severity

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR

    @property
    def step(self) -> int:
        return RULES[self.rule].step

    def __str__(self) -> str:
        where = f" '{self.subject}'" if self.subject else ""
        lines = [f"{self.severity.value}[{self.rule}]{where}: {self.message}"]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def _error(id: str, subject: str, step: int, text: str) -> Rule:
    return Rule(id, Severity.ERROR, subject, step, text)


def _warning(id: str, subject: str, step: int, text: str) -> Rule:
    return Rule(id, Severity.WARNING, subject, step, text)


def _remark(id: str, subject: str, step: int, text: str) -> Rule:
    return Rule(id, Severity.REMARK, subject, step, text)


_ROWS = (
    _error("V1", "group", 0, "reuse_group requires at least one element"),
    _error("V2", "group", 0, "group_size must be a positive integer, got {group_size}"),
    _error(
        "V3",
        "overlap",
        0,
        "reuse_group tree contains duplicate elements; "
        "each allocation can only appear once in the tree",
    ),
    _error(
        "V4",
        "overlap",
        0,
        "all allocations in the reuse_group must reference the same storage_alias_spec, "
        "but found an allocation that uses a different spec",
    ),
    _error(
        "V5",
        "leaf",
        2,
        "a tensor-memory buffer in a reuse_group needs a leading dimension that counts buffers",
    ),
    _error(
        "V6",
        "group",
        0,
        "all elements in the reuse_group tree must be allocated via tlx.storage_alias_local_alloc, "
        "but found an element that is not",
    ),
    _warning(
        "W1",
        "spec",
        1,
        "storage_alias_spec has no referencing storage_alias_local_alloc operations",
    ),
    _warning(
        "W2",
        "spec",
        1,
        "buffer_size_bytes {size} is not a multiple of {multiple}; "
        "{rest} trailing bytes are unused",
    ),
    _warning(
        "W3",
        "leaf",
        3,
        "allocation is not part of the spec's overlap definition; "
        "it starts at offset 0 and may overlap every other buffer",
    ),
    _warning(
        "W4",
        "leaf",
        2,
        "buffer count {count} gives {logical} logical buffers, but its peers have {peers}",
    ),
    _warning(
        "W5",
        "leaf",
        0,
        "reuse of the buffer '{owner}' is deprecated; "
        "allocate both from one storage_alias_spec and name it in reuse=",
    ),
    _warning(
        "W6",
        "spec",
        2,
        "storage_alias_spec has no overlap definition; "
        "its {count} buffers all start at offset 0 and overlap each other",
    ),
    _warning("W7", "op", 4, "index arithmetic was changed since lowering; not analysed"),
    _error("E1", "leaf", 1, "TMEM allocations must be at least 2D, got rank {rank}"),
    _error(
        "E2",
        "spec",
        1,
        "storage_alias_spec buffer_size_bytes {size} is too small for computed shape, "
        "requires at least {needed} bytes",
    ),
    _error(
        "E3",
        "overlap",
        2,
        "storage_alias_spec already has a set_buffer_overlap defined; "
        "each spec can only have one overlap definition",
    ),
    _error(
        "E4",
        "group",
        2,
        "not enough space for distinct allocations: need {needed} {unit}, have {available} {unit}",
    ),
    _error(
        "E5",
        "spec",
        3,
        "storage_alias_spec has no shape set; run TLXStorageAliasSizeDefinition pass first",
    ),
    _error(
        "E6",
        "leaf",
        3,
        "units_between_buffer_groups ({stride}) must be a multiple of "
        "the original buffer size ({size})",
    ),
    _error(
        "E7",
        "leaf",
        3,
        "buffer_offset ({offset}) must be a multiple of the original buffer size ({size})",
    ),
    _error("E8", "spec", 3, "storage_alias_spec still has uses after allocation materialization"),
    _error(
        "E9",
        "view",
        3,
        "view changes the per-buffer size from {size} to {other}; take the view after indexing",
    ),
    _error("E10", "op", 3, "buffers with different storage-alias placements join here"),
    _error("E11", "call", 3, "storage-alias buffer crosses a call; inline the callee first"),
    _error("E12", "op", 3, "unsupported use of a storage-alias buffer array"),
    _error("E13", "group", 2, "group_size {group_size} is only meaningful on a shared group"),
    _error("E14", "alias", 4, "LocalAliasOp must refer to a local_alloc or local_alias op"),
    _error(
        "E15",
        "alias",
        4,
        "TLXRewriteLocalAlias cannot view a {allocation}-bit allocation as a {alias}-bit alias",
    ),
    _error(
        "E16",
        "leaf",
        2,
        "buffer count ({count}) must be a multiple of the accumulated group_size ({group_size})",
    ),
    _error("E17", "spec", 1, "storage alias region needs {needed} {unit}, {memory} has {capacity}"),
    _error(
        "E18",
        "leaf",
        3,
        "buffer {index} would start at {start}, but its layout needs a multiple of {alignment}",
    ),
    _error(
        "E19",
        "leaf",
        2,
        "an earlier overlap definition fixed the placement {placement}, "
        "which this one contradicts: {reason}",
    ),
    _error(
        "E20",
        "overlap",
        2,
        "'{first}' (phase {first_phase}) and '{second}' (phase {second_phase}) "
        "are live at the same time but share {unit} {low}..{high}",
    ),
    _error("E21", "spec", 2, "reuse groups of this spec contradict each other: {reason}"),
    _error(
        "E22", "op", 3, "index {index} is outside of '{buffer}', which has {count} buffer{plural}"
    ),
    _remark(
        "R1", "leaf", 3, "indices cannot be rewritten here ({reason}); placed by address instead"
    ),
    _remark(
        "R2",
        "spec",
        3,
        "{free} {unit} of {memory} are free; {moved} need not share with {peers} (+{extra} {unit})",
    ),
    _remark("R3", "spec", 3, "{backing}: {waste}"),
    _remark("R4", "alloc", 3, "allocation not counted: {reason}"),
    _remark(
        "R5",
        "alias",
        4,
        "tlx.placed_alias not lowered: Tilewright's code generators support it, Triton does not",
    ),
)

RULES: Mapping[str, Rule] = MappingProxyType({rule.id: rule for rule in _ROWS})
"""All rules by id."""


def finding(
    rule: str,
    subject: str = "",
    *,
    path: Path | None = None,
    notes: tuple[str, ...] = (),
    **values: object,
) -> Finding:
    """The finding of `rule` with its holes filled from `values`."""
    return Finding(rule, RULES[rule].text.format(**values), subject, path, notes)
