"""Every message of the registry, and that what raises changes nothing."""

import re

import pytest

from tests.memory.registry.support import Owner, group_of
from tilewright.buffers import BufferGroup, BufferRegistry

BOTH = pytest.mark.parametrize("policy", ["compat", "strict"])


def exactly(message):
    return f"^{re.escape(message)}$"


@pytest.fixture
def owner():
    return Owner()


@BOTH
def test_empty_name(policy, owner):
    registry = BufferRegistry(policy=policy)
    with pytest.raises(ValueError, match=exactly("Buffer name cannot be empty.")):
        registry.register("", owner, 4, "shared")
    with pytest.raises(ValueError, match=exactly("Buffer name cannot be empty.")):
        BufferGroup(policy=policy).register("", 4, "shared")


@BOTH
def test_self_alias(policy):
    group = BufferGroup(policy=policy)
    with pytest.raises(ValueError, match=exactly("Buffer 'x' cannot alias itself.")):
        group.register("x", 4, "shared", aliases="x")
    assert group.entries == {}


@BOTH
def test_unknown_target(policy):
    group = BufferGroup(policy=policy)
    message = "Alias target 't' not registered. Register 't' before 'x'."
    with pytest.raises(ValueError, match=exactly(message)):
        group.register("x", 4, "shared", aliases="t")
    assert group.entries == {}


@BOTH
def test_allocator_of_an_unknown_buffer(policy, owner):
    registry = BufferRegistry(policy=policy)
    registry.register("a", owner, 4, "shared")
    for ask in (registry.get_allocator, registry.get_allocator_ir):
        with pytest.raises(KeyError) as caught:
            ask("x", owner)
        assert caught.value.args == ("Buffer 'x' not registered for parent.",)


@BOTH
def test_allocator_of_an_unknown_owner(policy, owner):
    registry = BufferRegistry(policy=policy)
    for ask in (registry.get_allocator, registry.get_allocator_ir):
        with pytest.raises(KeyError) as caught:
            ask("x", owner)
        assert caught.value.args == (f"Parent {owner} has no registered buffer group.",)


@BOTH
@pytest.mark.parametrize("name", ["a", "unknown"])
def test_update_with_a_bad_location(policy, name, owner):
    registry = BufferRegistry(policy=policy)
    registry.register("a", owner, 4, "local")
    message = f"Invalid location 'v' for buffer '{name}'. Must be 'shared' or 'local'."
    with pytest.raises(ValueError, match=exactly(message)):
        registry.update(owner, {f"{name}_location": "v"})


@BOTH
def test_a_bad_value_in_the_middle_moves_nothing(policy, owner):
    registry = BufferRegistry(policy=policy)
    for name in "abc":
        registry.register(name, owner, 4, "local")
    with pytest.raises(ValueError, match="Invalid location 'v'"):
        registry.update(owner, a_location="shared", b_location="v", c_location="shared")
    assert [registry.shared_buffer_size(owner), registry.local_buffer_size(owner)] == [
        0,
        12 * (4 if policy == "strict" else 1),
    ]


def test_update_is_checked_as_a_whole(owner):
    registry = BufferRegistry(policy="strict")
    registry.register("p", owner, 4, "local")
    registry.register("q", owner, 4, "local")
    registry.register("c", owner, 4, "local", persistent=True, aliases="p")
    message = "Persistent buffer 'c' cannot alias scratch buffer 'p'."
    with pytest.raises(ValueError, match=exactly(message)):
        registry.update(owner, q_location="shared", p_location="shared")
    assert registry.shared_buffer_size(owner) == 0
    assert registry.update(owner, p_location="shared", c_location="shared") == {
        "p_location",
        "c_location",
    }


@BOTH
def test_unknown_field(policy):
    group = group_of("S a4", policy=policy)
    with pytest.raises(TypeError, match="colour"):
        group.update_buffer("a", colour="red")
    assert group.update_buffer("unknown", colour="red") == (False, False)


@BOTH
@pytest.mark.parametrize(
    ("field", "value", "error"),
    [("size", -1, ValueError), ("size", 1.5, TypeError), ("location", "x", ValueError)],
)
def test_update_validates_fields(policy, field, value, error):
    group = group_of("S a4", policy=policy)
    before = dict(group.entries)
    with pytest.raises(error, match=f"'{field}' must be"):
        group.update_buffer("a", **{field: value})
    assert group.entries == before


def test_unknown_policy():
    message = exactly("Unknown policy 'loose'. Must be 'compat' or 'strict'.")
    for kind in (BufferGroup, BufferRegistry):
        with pytest.raises(ValueError, match=message):
            kind(policy="loose")
        with pytest.raises(ValueError, match=exactly("'guard_words' must be >= 0: -1")):
            kind(guard_words=-1)


def test_what_only_strict_can_do(owner):
    registry = BufferRegistry()
    with pytest.raises(ValueError, match=exactly("Buffer 'a': alignment needs policy 'strict'.")):
        registry.register("a", owner, 4, "shared", alignment=16)
    with pytest.raises(
        ValueError, match=exactly("Child 'k': call intervals need policy 'strict'.")
    ):
        registry.register_child(owner, Owner(), "k", calls=[(0, 1)])
    registry.register("a", owner, 4, "shared")
    with pytest.raises(ValueError, match="which need policy 'strict'"):
        registry.get_allocator_ir("a", owner)
    with pytest.raises(ValueError, match="Canary mode is off"):
        registry.canary(owner)
