"""Where requirements of the registry contradict each other: one test per resolution."""

from types import MappingProxyType

import numpy as np
import pytest

from tests.memory.registry.support import Owner, group_of, places, sizes
from tilewright.buffers import BufferGroup, BufferRegistry, CUDABuffer

BOTH = pytest.mark.parametrize("policy", ["compat", "strict"])
SCALE = {"compat": 1, "strict": 4}


@BOTH
def test_r1_local_child_of_a_shared_parent_overlaps(policy):
    group = group_of("S p100, L c30>p", policy=policy)
    assert group.shared_layout == places("p[0,100) c[0,30)", SCALE[policy])
    assert group.local_sizes == {}
    noted = (
        "Local buffer 'c' is in shared memory over 'p': threads that see the same slice share it."
    )
    assert group.notes == ((noted,) if policy == "strict" else ())


def test_r2_persistent_child_of_a_shared_parent_compat():
    group = group_of("S p100, P c30>p")
    assert group.shared_layout == places("p[0,100) c[0,30)")
    assert group.persistent_layout == {}


@pytest.mark.parametrize(
    "close",
    [
        lambda g: g.register("c", 30, "local", persistent=True, aliases="p"),
        lambda g: g.update_buffer("d", persistent=True),
        lambda g: g.update_buffer("e", aliases="p"),
        lambda g: g.update_buffer("q", location="shared"),
    ],
)
def test_r2_persistent_child_of_a_shared_parent_strict(close):
    group = group_of("S p100, L q10, L d5>p, P e5, P f5>q", policy="strict")
    before = dict(group.entries)
    message = r"^Persistent buffer '(c|d|e|f)' cannot alias scratch buffer '(p|q)'\.$"
    with pytest.raises(ValueError, match=message):
        close(group)
    assert group.entries == before


def test_r2_never_indirectly_either():
    group = group_of("S p100, L q10>p, P c5>q", policy="strict")
    assert group.shared_layout == places("p[0,100) q[0,10)", 4)
    assert group.persistent_layout == places("c[0,5)", 4)
    assert "Buffer 'c' is not laid over 'q': one is persistent, the other scratch." in group.notes


@BOTH
def test_r3_persistent_parent(policy):
    group = group_of("P p100, P c30>p, P d50>p, P e80>p", policy=policy)
    expected = {
        "compat": "p[0,100) c[100,130) d[130,180) e[180,260)",
        "strict": "p[0,100) c[0,30) d[30,80) e[100,180)",
    }
    assert group.persistent_layout == places(expected[policy], SCALE[policy])


@BOTH
def test_r4_plain_local_buffers_have_sizes(policy):
    group = group_of("L a7, L b0, L c3>a", policy=policy)
    assert group.local_sizes == sizes("a 7, b 1, c 3", SCALE[policy])


@BOTH
def test_r5_cycles(policy):
    group = group_of("S a10, S b5>a, S c2>b", policy=policy)
    before = dict(group.entries)
    with pytest.raises(ValueError, match=r"^Alias cycle: a -> b -> a\.$"):
        group.register("a", 10, "shared", aliases="b")
    with pytest.raises(ValueError, match=r"^Alias cycle: a -> c -> b -> a\.$"):
        group.update_buffer("a", aliases="c")
    assert group.entries == before


@BOTH
def test_r6_dangling_or_self_alias_by_update(policy):
    group = group_of("S x10", policy=policy)
    message = r"^Alias target 'missing' not registered\. Register 'missing' before 'x'\.$"
    with pytest.raises(ValueError, match=message):
        group.update_buffer("x", aliases="missing")
    with pytest.raises(ValueError, match=r"^Buffer 'x' cannot alias itself\.$"):
        group.update_buffer("x", aliases="x")
    assert group.entries["x"].aliases is None


@BOTH
def test_r7_target_registered_later(policy):
    scale = SCALE[policy]
    group = group_of("S a5, S b5, S t20, S u8>t", policy=policy)
    group.update_buffer("a", aliases="u")
    assert group.shared_layout == places("b[0,5) t[5,25) u[5,13) a[5,10)", scale)
    group.update_buffer("b", aliases="t")
    # b comes before u now: both targets are placed, and b was registered first.
    assert group.shared_layout == places("t[0,20) b[0,5) u[5,13) a[5,10)", scale)


@BOTH
@pytest.mark.parametrize("order", [("x", "t"), ("t", "x")])
def test_r7_history_does_not_matter(policy, order):
    registered = {
        "x": CUDABuffer("x", 5, "shared", aliases="t"),
        "t": CUDABuffer("t", 20, "shared"),
    }
    group = BufferGroup({name: registered[name] for name in order}, policy=policy)
    assert group.shared_layout == places("t[0,20) x[0,5)", SCALE[policy])


@BOTH
def test_r8_no_partial_state(policy):
    group = group_of("S a10, P b5, L c3", policy=policy)
    group.entries["d"] = CUDABuffer("d", 2, "shared", aliases="gone")
    for _ in range(2):
        with pytest.raises(ValueError, match="Alias target 'gone' not registered"):
            group.build_layouts()
        caches = (group._shared_layout, group._persistent_layout, group._local_sizes)
        assert caches == (None, None, None)


@BOTH
def test_r9_cycles_of_children(policy):
    registry = BufferRegistry(policy=policy)
    one, other = Owner(), Owner()
    registry.register("a", one, 5, "local")
    registry.register("b", other, 7, "local")
    registry.register_child(one, other, "down")
    registry.register_child(other, one, "up")
    assert registry.declared_local_elements(one) == 12 * SCALE[policy]
    registry.refresh(one)
    registry.clear_parent(one)
    assert len(registry._groups) == 0


@BOTH
def test_r9_two_paths_count_twice(policy):
    registry = BufferRegistry(policy=policy)
    top, left, right, shared = (Owner() for _ in range(4))
    registry.register("s", shared, 3, "local")
    registry.register("q", shared, 2, "local", persistent=True)
    for side, name in ((left, "left"), (right, "right")):
        registry.register_child(side, shared, "kid")
        registry.register_child(top, side, name)
    assert registry.declared_local_elements(top) == (3 + 3 + 2 + 2) * SCALE[policy]


@BOTH
def test_r10_fallback_copies_count(policy):
    group = group_of("S p50, S c80>p, S d10>p", policy=policy)
    assert group.shared_buffer_size() == 130 * SCALE[policy]


@BOTH
@pytest.mark.parametrize("name", ["shared_layout", "persistent_layout", "local_sizes"])
def test_r11_returned_dictionaries_are_read_only(policy, name):
    group = group_of("S a10, P b5, L c3", policy=policy)
    found = getattr(group, name)
    assert isinstance(found, MappingProxyType)
    with pytest.raises(TypeError):
        found["a"] = slice(0, 1)
    assert type(getattr(group, f"_{name}")) is dict
    assert getattr(group, f"_{name}") == found


@BOTH
def test_r12_aliasing_a_grandparent(policy):
    group = group_of("S C100, S B40>C, S A50>B", policy=policy)
    expected = {"compat": "C[0,100) B[0,40) A[100,150)", "strict": "C[0,100) B[0,40) A[40,90)"}
    assert group.shared_layout == places(expected[policy], SCALE[policy])


def test_r12_ancestors_never_cost_a_direct_alias_its_place():
    # A fits over C only if D, which asked for C itself, does not.
    text = "S C100, S B40>C, S A41>B, S D60>C"
    group = group_of(text, policy="strict")
    assert group.shared_layout == places("C[0,100) B[0,40) A[100,141) D[40,100)", 4)
    assert group.shared_buffer_size() == 4 * group_of(text).shared_buffer_size()


@BOTH
def test_r13_parent_too_small_for_all(policy):
    first = group_of("S p100, S c60>p, S d50>p", policy=policy)
    assert first.shared_layout == places("p[0,100) c[0,60) d[100,150)", SCALE[policy])
    group = group_of("S p100, S c50>p, S d60>p, S e40>p", policy=policy)
    expected = {
        "compat": "p[0,100) c[0,50) d[100,160) e[50,90)",
        "strict": "p[0,100) c[100,150) d[0,60) e[60,100)",
    }
    assert group.shared_layout == places(expected[policy], SCALE[policy])


@BOTH
def test_r14_zero_size_target(policy):
    pytest.importorskip("numba", reason="allocators are made by numba-cuda, which is not installed")
    group = group_of("S a3, S p0, S c0>p, L d0>p", policy=policy)
    assert {name: w.stop - w.start for name, w in group.shared_layout.items()} == {
        "a": 3 * SCALE[policy],
        "p": 0,
        "c": 0,
        "d": 0,
    }
    pool = np.zeros(3, np.float32)
    for name in "pcd":
        view = group.get_allocator(name)(pool, pool)
        assert view.size == 0
        assert view.__array_interface__["data"][0] == pool.__array_interface__["data"][0]


def test_r15_precision_across_an_alias():
    def mixed(policy):
        group = BufferGroup(policy=policy)
        group.register("p", 10, "shared", precision=np.int32)
        group.register("c", 8, "shared", aliases="p", precision=np.float64)
        group.register("d", 4, "shared", aliases="p", precision=np.float64)
        return group

    assert mixed("compat").shared_layout == places("p[0,10) c[0,8) d[10,14)")
    # 64 bytes do not fit over 40, 32 do; p starts where d can.
    strict = mixed("strict")
    assert strict.shared_layout == places("p[0,40) c[40,104) d[0,32)")
    assert strict.shared_alignment() == 8
