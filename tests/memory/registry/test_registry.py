"""Owners and children: sizes that roll up, snapshots, and what goes when an owner goes."""

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

from tests.memory.registry.support import Owner, requests
from tilewright.buffers import BufferRegistry, buffer_registry

BOTH = pytest.mark.parametrize("policy", ["compat", "strict"])
SCALE = {"compat": 1, "strict": 4}


def registry_with(policy="compat", **owners):
    registry = BufferRegistry(policy=policy)
    made = {}
    for name, text in owners.items():
        made[name] = Owner()
        for buffer, size, location, persistent, target in requests(text):
            registry.register(buffer, made[name], size, location, persistent, target)
    return registry, *made.values()


def test_importing_loads_no_numba():
    code = (
        "import sys, tilewright.buffers as b; r = b.BufferRegistry(); o = type('O', (), {})();"
        "r.register('a', o, 3, 'shared'); r.shared_buffer_size(o);"
        "print('numba' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_the_singleton_is_a_compat_registry():
    assert isinstance(buffer_registry, BufferRegistry)
    assert buffer_registry.policy == "compat"


def test_owners_are_kept_apart():
    registry, one, other = registry_with(one="S a10", other="S a3, L b2")
    assert registry.shared_buffer_size(one) == 10
    assert [registry.shared_buffer_size(other), registry.local_buffer_size(other)] == [3, 2]
    registry.clear_parent(one)
    assert one not in registry._groups
    assert registry.shared_buffer_size(other) == 3


def test_unknown_owners():
    registry, owner = BufferRegistry(), Owner()
    assert registry.shared_buffer_size(owner) == 0
    assert registry.local_buffer_size(owner) == 0
    assert registry.persistent_local_buffer_size(owner) == 0
    assert registry.declared_local_elements(owner) == 0
    assert registry.relocatable_buffer_names(owner) == ()
    assert registry.nonaliased_elements(owner, ("a",)) == 0
    assert registry.update_buffer("a", owner, size=3) == (False, False)
    assert registry.update(owner, a_location="nowhere") == set()
    for forget in (registry.clear_layout, registry.clear_own, registry.clear_parent):
        forget(owner)
    assert len(registry._groups) == 0


@pytest.mark.parametrize("owner", [(1, 2), [1], 3, "x"])
def test_owners_that_cannot_be_referenced_weakly(owner):
    registry = BufferRegistry()
    with pytest.raises(TypeError):
        registry.register("a", owner, 1, "shared")
    assert registry.shared_buffer_size(owner) == 0


def test_update_moves_buffers():
    registry, owner = registry_with(owner="L a10, L b5, L c1")
    settings = {"a_location": "local", "solver": 3, "unknown_location": "shared"}
    found = registry.update(owner, settings, a_location="shared", b_location="shared", silent=True)
    assert found == {"a_location", "b_location"}
    assert settings == {"a_location": "local", "solver": 3, "unknown_location": "shared"}
    assert [registry.shared_buffer_size(owner), registry.local_buffer_size(owner)] == [15, 1]
    assert registry.update(owner) == registry.update(owner, {}) == set()
    assert registry.update(owner, speed=3) == set()


def test_update_to_the_same_place_keeps_the_layout():
    registry, owner = registry_with(owner="L a10")
    group = registry._groups[owner]
    group.build_layouts()
    kept = group._local_sizes
    assert registry.update(owner, a_location="local") == {"a_location"}
    assert group._local_sizes is kept
    registry.clear_layout(owner)
    assert group._local_sizes is None


def test_nonaliased_elements():
    registry, owner = registry_with(owner="S a10, S b5>a, L c3, P d2")
    assert registry.nonaliased_elements(owner, ("a", "b", "c", "unknown", "d")) == 15


# Children


@BOTH
def test_child_pools_roll_up(policy):
    registry, child, parent = registry_with(policy, child="S a10, P b3, L c9", parent="S x2, P y1")
    assert registry.register_child(parent, child, "kid") == ("kid_shared", "kid_persistent")
    scale = SCALE[policy]
    assert registry.shared_buffer_size(parent) == 12 * scale
    assert registry.persistent_local_buffer_size(parent) == 4 * scale
    assert registry.local_buffer_size(parent) == 0
    assert registry.relocatable_buffer_names(parent) == ("x", "y")
    assert registry._groups[parent].children == {"kid": child}
    assert registry.declared_local_elements(parent) == (4 + 9) * scale
    entry = registry._groups[parent].entries["kid_persistent"]
    assert (entry.location, entry.persistent, entry.precision) == ("local", True, np.float32)


def test_default_name_of_a_child():
    registry, child, parent = registry_with(child="S a10", parent="S x2")
    names = registry.register_child(parent, child)
    assert names == (f"child_{id(child)}_shared", f"child_{id(child)}_persistent")


def test_a_child_without_buffers_has_size_zero():
    registry, parent = registry_with(parent="S x2")
    registry.register_child(parent, Owner(), "kid")
    entries = registry._groups[parent].entries
    assert [entries["kid_shared"].size, entries["kid_persistent"].size] == [0, 0]


def test_sizes_are_snapshots():
    pytest.importorskip("numba", reason="allocators are made by numba-cuda, which is not installed")
    registry, child, parent = registry_with(child="S a10", parent="S x2")
    registry.register_child(parent, child, "kid")
    registry.register("late", child, 6, "shared")
    assert registry.shared_buffer_size(parent) == 12
    assert callable(registry.get_allocator("x", parent))
    registry.register_child(parent, child, "kid")
    assert registry.shared_buffer_size(parent) == 18


def test_registering_a_name_again_replaces_the_child():
    registry, one, other, parent = registry_with(one="S a10", other="S b4", parent="S x2")
    registry.register_child(parent, one, "kid")
    registry.register_child(parent, other, "kid")
    assert registry.shared_buffer_size(parent) == 6
    registry.clear_parent(parent)
    assert one in registry._groups
    assert other not in registry._groups


@BOTH
def test_refresh_goes_bottom_up(policy):
    registry, linear, newton, step = registry_with(
        policy, linear="S a1", newton="S b2", step="S c3"
    )
    registry.register_child(step, newton, "newton")
    registry.register_child(newton, linear, "linear")
    registry.register("late", linear, 8, "shared")
    registry.refresh(step)
    assert registry.shared_buffer_size(newton) == 11 * SCALE[policy]
    assert registry.shared_buffer_size(step) == 14 * SCALE[policy]


def test_strict_refuses_outgrown_snapshots():
    pytest.importorskip("numba", reason="allocators are made by numba-cuda, which is not installed")
    registry, linear, newton, step = registry_with(
        "strict", linear="S a1", newton="S b2", step="S c3"
    )
    registry.register_child(newton, linear, "linear")
    registry.register_child(step, newton, "newton")
    assert callable(registry.get_allocator("c", step))
    registry.register("late", linear, 8, "shared")
    message = (
        r"^Child 'linear' has grown since it was registered: 'linear_shared' has 1 elements by 4 "
        r"bytes and needs 9 by 4\. Call refresh\(parent\) first\.$"
    )
    for owner, name in ((step, "c"), (newton, "b")):
        with pytest.raises(ValueError, match=message):
            registry.get_allocator(name, owner)
    registry.refresh(step)
    assert callable(registry.get_allocator("newton_shared", step))
    # As large as before, but it has to start at a multiple of 64 now.
    registry.register("late", linear, 8, "shared", alignment=64)
    with pytest.raises(ValueError, match="'linear' has grown"):
        registry.get_allocator("c", step)


def test_a_buffer_may_alias_a_childs_region():
    registry, child, parent = registry_with(child="S a10", parent="S x2")
    registry.register_child(parent, child, "kid")
    registry.register("scratch", parent, 7, "local", aliases="kid_shared")
    assert registry._groups[parent].shared_layout["scratch"] == slice(2, 9)
    assert registry.shared_buffer_size(parent) == 12


@BOTH
def test_clear_own_and_clear_parent(policy):
    registry, low, mid, top = registry_with(policy, low="S a1", mid="S b2", top="S c3")
    registry.register_child(mid, low, "low")
    registry.register_child(top, mid, "mid")
    registry.clear_own(top)
    assert [owner in registry._groups for owner in (top, mid, low)] == [False, True, True]
    registry.register_child(top, mid, "mid")
    registry.clear_parent(top)
    assert len(registry._groups) == 0


def test_clear_parent_ends_on_a_cycle():
    registry, one, other = registry_with(one="S a1", other="S b2")
    registry.register_child(one, other, "down")
    registry.register_child(other, one, "up")
    registry.clear_parent(one)
    assert len(registry._groups) == 0


def test_reset():
    registry, one, other = registry_with(one="S a1", other="S b2")
    registry.reset()
    assert len(registry._groups) == 0
    assert registry.shared_buffer_size(one) == registry.shared_buffer_size(other) == 0


def test_a_group_goes_with_its_owner():
    registry, owner = registry_with(owner="S a1")
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None
    assert len(registry._groups) == 0


def test_a_child_lives_as_long_as_its_parent():
    registry, child, parent = registry_with(child="S a1", parent="S b1")
    registry.register_child(parent, child, "kid")
    kept = weakref.ref(child)
    del child
    gc.collect()
    assert kept() is not None
    del parent
    gc.collect()
    assert kept() is None
