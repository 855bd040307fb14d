"""Text, subject and severity of every rule (docs/design/storage-alias.md#rules)."""

import pytest

from tilewright.memory import RULES, Severity, finding

TEXTS = [
    ("W1", {}, "storage_alias_spec has no referencing storage_alias_local_alloc operations"),
    (
        "W2",
        {"size": 1000, "multiple": 512, "rest": 488},
        "buffer_size_bytes 1000 is not a multiple of 512; 488 trailing bytes are unused",
    ),
    (
        "W3",
        {},
        "allocation is not part of the spec's overlap definition; it starts at offset 0 and may overlap every other buffer",
    ),
    (
        "W4",
        {"count": 4, "logical": 2, "peers": 3},
        "buffer count 4 gives 2 logical buffers, but its peers have 3",
    ),
    ("E1", {"rank": 1}, "TMEM allocations must be at least 2D, got rank 1"),
    (
        "E2",
        {"size": 1, "needed": 2},
        "storage_alias_spec buffer_size_bytes 1 is too small for computed shape, requires at least 2 bytes",
    ),
    (
        "E3",
        {},
        "storage_alias_spec already has a set_buffer_overlap defined; each spec can only have one overlap definition",
    ),
    (
        "E4",
        {"needed": 5, "available": 4, "unit": "bytes"},
        "not enough space for distinct allocations: need 5 bytes, have 4 bytes",
    ),
    ("E5", {}, "storage_alias_spec has no shape set; run TLXStorageAliasSizeDefinition pass first"),
    (
        "E6",
        {"stride": 24576, "size": 16384},
        "units_between_buffer_groups (24576) must be a multiple of the original buffer size (16384)",
    ),
    (
        "E7",
        {"offset": 1, "size": 2},
        "buffer_offset (1) must be a multiple of the original buffer size (2)",
    ),
    ("E8", {}, "storage_alias_spec still has uses after allocation materialization"),
    (
        "E9",
        {"size": 1, "other": 2},
        "view changes the per-buffer size from 1 to 2; take the view after indexing",
    ),
    ("E10", {}, "buffers with different storage-alias placements join here"),
    ("E11", {}, "storage-alias buffer crosses a call; inline the callee first"),
    ("E12", {}, "unsupported use of a storage-alias buffer array"),
    ("E13", {"group_size": 2}, "group_size 2 is only meaningful on a shared group"),
    ("E14", {}, "LocalAliasOp must refer to a local_alloc or local_alias op"),
    (
        "E15",
        {"allocation": 8, "alias": 16},
        "TLXRewriteLocalAlias cannot view a 8-bit allocation as a 16-bit alias",
    ),
    (
        "E16",
        {"count": 6, "group_size": 4},
        "buffer count (6) must be a multiple of the accumulated group_size (4)",
    ),
    (
        "E17",
        {"needed": 576, "unit": "columns", "memory": "tensor memory", "capacity": 512},
        "storage alias region needs 576 columns, tensor memory has 512",
    ),
    (
        "E17",
        {"needed": 9, "unit": "bytes", "memory": "shared memory", "capacity": 8},
        "storage alias region needs 9 bytes, shared memory has 8",
    ),
    ("V1", {}, "reuse_group requires at least one element"),
    ("V2", {"group_size": 0}, "group_size must be a positive integer, got 0"),
    (
        "V3",
        {},
        "reuse_group tree contains duplicate elements; each allocation can only appear once in the tree",
    ),
    (
        "V4",
        {},
        "all allocations in the reuse_group must reference the same storage_alias_spec, but found an allocation that uses a different spec",
    ),
    (
        "R2",
        {
            "free": 128,
            "unit": "columns",
            "memory": "tensor memory",
            "moved": "'p'",
            "peers": "'qk'",
            "extra": 128,
        },
        "128 columns of tensor memory are free; 'p' need not share with 'qk' (+128 columns)",
    ),
    (
        "E20",
        {
            "first": "x",
            "first_phase": "a",
            "second": "y",
            "second_phase": "b",
            "unit": "bytes",
            "low": 0,
            "high": 8,
        },
        "'x' (phase a) and 'y' (phase b) are live at the same time but share bytes 0..8",
    ),
    ("E21", {"reason": "why"}, "reuse groups of this spec contradict each other: why"),
]

SPECIFIED = {f"W{n}" for n in range(1, 5)} | {f"E{n}" for n in range(1, 18)}


@pytest.mark.parametrize(("rule", "values", "text"), TEXTS)
def test_texts(rule: str, values: dict[str, object], text: str):
    assert finding(rule, **values).message == text


def test_every_rule_has_its_text_tested():
    assert RULES.keys() >= SPECIFIED
    assert {rule for rule, _, _ in TEXTS} >= SPECIFIED


def test_letters_tell_how_bad_it_is():
    weight = {"E": Severity.ERROR, "V": Severity.ERROR, "W": Severity.WARNING, "R": Severity.REMARK}
    assert {id: rule.severity for id, rule in RULES.items()} == {id: weight[id[0]] for id in RULES}


@pytest.mark.parametrize(
    ("subject", "ids"),
    [
        ("spec", {"W1", "W2", "W6", "E2", "E5", "E8", "E17", "E21", "R2", "R3"}),
        ("overlap", {"E3", "E20", "V3", "V4"}),
        ("group", {"E4", "E13", "V1", "V2", "V6"}),
        ("leaf", {"W3", "W4", "W5", "E1", "E6", "E7", "E16", "E18", "E19", "R1", "V5"}),
        ("view", {"E9"}),
        ("op", {"W7", "E10", "E12", "E22"}),
        ("call", {"E11"}),
        ("alias", {"E14", "E15", "R5"}),
        ("alloc", {"R4"}),
    ],
)
def test_where_a_rule_is_reported(subject: str, ids: set[str]):
    assert {id for id, rule in RULES.items() if rule.subject == subject} == ids


def test_text_of_a_finding():
    found = finding("E7", "c", path=(1,), notes=("try this",), offset=1, size=2)
    assert str(found) == (
        "error[E7] 'c': buffer_offset (1) must be a multiple of the original buffer size (2)\n"
        "  note: try this"
    )
    assert (found.is_error, found.step) == (True, 3)
    assert str(finding("W1")).startswith("warning[W1]: storage_alias_spec")
