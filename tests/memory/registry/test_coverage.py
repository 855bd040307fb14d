"""No row is missing: every worked result, message, resolution and requirement has its test.

Each id names the test that shows it, and that test has to exist, to run in both policies where the
id demands it, and to be the only claim to its name. Tests that call themselves after an id and are
not listed here would be a row that nobody checks, so those are found too.
"""

import re
from importlib import import_module

import pytest

from tests.memory.registry.test_layout import STRICT, WORKED

# Worked registrations and their layouts.
ROWS = """
S a10, S b20
S p100, S c30>p
S p100, L c30>p
S p50, S c80>p
S p100, S c40>p, S d40>p, S e40>p
L p100, S c30>p
L p10, P c5>p
P p10, L c5>p
P p100, P c30>p
S p100, P c30>p
S C100, S B40>C, S A30>B, S D50>C
S C100, S B40>C, S A50>B
S C10, L B40>C, S A30>B
S C10, S B40>C, L A30>B
L zero0
S p0, S c0>p
""".strip().splitlines()

BOTH = {"compat", "strict"}
COMPAT, STRICT_ONLY = {"compat"}, {"strict"}

# Messages: situation, test, policies.
MESSAGES = {
    "empty name": ("test_errors", "test_empty_name", BOTH),
    "aliases == name": ("test_errors", "test_self_alias", BOTH),
    "target unknown at registration": ("test_errors", "test_unknown_target", BOTH),
    "unknown buffer": ("test_errors", "test_allocator_of_an_unknown_buffer", BOTH),
    "unknown owner": ("test_errors", "test_allocator_of_an_unknown_owner", BOTH),
    "bad location": ("test_errors", "test_update_with_a_bad_location", BOTH),
    "field validation": ("test_errors", "test_update_validates_fields", BOTH),
    "validate all keys first": (
        "test_errors",
        "test_a_bad_value_in_the_middle_moves_nothing",
        BOTH,
    ),
}

# Resolutions of contradictory requirements. A resolution whose policies differ too much for one test has two.
RESOLUTIONS = {
    "R1": [("test_r1_local_child_of_a_shared_parent_overlaps", BOTH)],
    "R2": [
        ("test_r2_persistent_child_of_a_shared_parent_compat", COMPAT),
        ("test_r2_persistent_child_of_a_shared_parent_strict", STRICT_ONLY),
        ("test_r2_never_indirectly_either", STRICT_ONLY),
    ],
    "R3": [("test_r3_persistent_parent", BOTH)],
    "R4": [("test_r4_plain_local_buffers_have_sizes", BOTH)],
    "R5": [("test_r5_cycles", BOTH)],
    "R6": [("test_r6_dangling_or_self_alias_by_update", BOTH)],
    "R7": [
        ("test_r7_target_registered_later", BOTH),
        ("test_r7_history_does_not_matter", BOTH),
    ],
    "R8": [("test_r8_no_partial_state", BOTH)],
    "R9": [("test_r9_cycles_of_children", BOTH), ("test_r9_two_paths_count_twice", BOTH)],
    "R10": [("test_r10_fallback_copies_count", BOTH)],
    "R11": [("test_r11_returned_dictionaries_are_read_only", BOTH)],
    "R12": [
        ("test_r12_aliasing_a_grandparent", BOTH),
        ("test_r12_ancestors_never_cost_a_direct_alias_its_place", STRICT_ONLY),
    ],
    "R13": [("test_r13_parent_too_small_for_all", BOTH)],
    "R14": [("test_r14_zero_size_target", BOTH)],
    "R15": [("test_r15_precision_across_an_alias", BOTH)],
}

# The design document's own list.
REQUIREMENTS = {
    "Deterministic Order": "test_deterministic_order",
    "Aliasing Within Parent": "test_aliasing_within_parent",
    "Aliasing Overflow": "test_aliasing_overflow",
    "Cross-Location Fallback": "test_cross_location_fallback",
    "Multiple Aliases": "test_multiple_aliases",
    "Empty Groups": "test_empty_groups",
    "Registration Order": "test_registration_order",
    "Invalidation": "test_invalidation",
}


def find(module, name):
    found = getattr(import_module(f"tests.memory.registry.{module}"), name, None)
    assert callable(found), f"{module} has no {name}"
    return found


def policies_of(test):
    """The policies a test is run with, or that its body asks for by name."""
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize" and mark.args[0] == "policy":
            return set(mark.args[1])
    names = set(re.findall(r"compat|strict", " ".join(map(str, test.__code__.co_consts))))
    inner = [const for const in test.__code__.co_consts if hasattr(const, "co_consts")]
    assert not inner or names, f"{test.__name__}: which policy?"
    # Without a policy, groups are compat.
    return names or {"compat"}


def test_every_worked_result_is_a_row_and_every_row_is_worked():
    assert list(WORKED) == ROWS
    assert len(ROWS) == 16
    assert set(STRICT) < set(ROWS)
    for name in ("test_worked_results", "test_worked_results_in_bytes"):
        [mark] = find("test_layout", name).pytestmark
        assert list(mark.args[1]) == ROWS


@pytest.mark.parametrize("situation", MESSAGES)
def test_every_message(situation):
    module, name, policies = MESSAGES[situation]
    assert policies_of(find(module, name)) == policies


@pytest.mark.parametrize("number", range(1, 16))
def test_every_resolution_in_both_policies(number):
    tests = RESOLUTIONS[f"R{number}"]
    for name, policies in tests:
        assert name.startswith(f"test_r{number}_")
        assert policies <= policies_of(find("test_resolutions", name)), name
    assert set.union(*(policies for _, policies in tests)) == BOTH


def test_no_resolution_is_tested_and_not_listed():
    module = import_module("tests.memory.registry.test_resolutions")
    named = [name for name in vars(module) if re.match(r"test_r\d+_", name)]
    listed = [name for tests in RESOLUTIONS.values() for name, _ in tests]
    assert sorted(named) == sorted(listed)


@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_every_requirement_of_the_design_by_name(requirement):
    name = REQUIREMENTS[requirement]
    assert name == "test_" + re.sub(r"\W", "_", requirement.lower())
    assert policies_of(find("test_layout", name)) == BOTH


def test_the_list_of_requirements_is_whole():
    assert len(REQUIREMENTS) == 8
