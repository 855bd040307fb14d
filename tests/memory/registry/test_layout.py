"""Where buffers lie: worked results, the design's requirements, and
properties of random groups against a literal transcription of the algorithm."""

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.registry.support import group_of, places, sizes
from tilewright.buffers import BufferGroup, CUDABuffer

# registrations: shared, persistent, local
WORKED = {
    "S a10, S b20": ("a[0,10) b[10,30)", "", ""),
    "S p100, S c30>p": ("p[0,100) c[0,30)", "", ""),
    "S p100, L c30>p": ("p[0,100) c[0,30)", "", ""),
    "S p50, S c80>p": ("p[0,50) c[50,130)", "", ""),
    "S p100, S c40>p, S d40>p, S e40>p": ("p[0,100) c[0,40) d[40,80) e[100,140)", "", ""),
    "L p100, S c30>p": ("c[0,30)", "", "p 100"),
    "L p10, P c5>p": ("", "c[0,5)", "p 10"),
    "P p10, L c5>p": ("", "p[0,10)", "c 5"),
    "P p100, P c30>p": ("", "p[0,100) c[100,130)", ""),
    "S p100, P c30>p": ("p[0,100) c[0,30)", "", ""),
    "S C100, S B40>C, S A30>B, S D50>C": ("C[0,100) B[0,40) A[0,30) D[40,90)", "", ""),
    "S C100, S B40>C, S A50>B": ("C[0,100) B[0,40) A[100,150)", "", ""),
    "S C10, L B40>C, S A30>B": ("C[0,10) A[10,40)", "", "B 40"),
    "S C10, S B40>C, L A30>B": ("C[0,10) B[10,50) A[10,40)", "", ""),
    "L zero0": ("", "", "zero 1"),
    "S p0, S c0>p": ("p[0,0) c[0,0)", "", ""),
}

# Where the strict policy, apart from counting bytes, decides otherwise.
STRICT = {
    "P p100, P c30>p": ("", "p[0,100) c[0,30)", ""),
    "S p100, P c30>p": "Persistent buffer 'c' cannot alias scratch buffer 'p'.",
    "S C100, S B40>C, S A50>B": ("C[0,100) B[0,40) A[40,90)", "", ""),
}


def top(windows):
    return max((window.stop for window in windows.values()), default=0)


def assert_layout(group, expected, scale):
    shared, persistent = (places(text, scale) for text in expected[:2])
    local = sizes(expected[2], scale)
    assert group.shared_layout == shared
    assert group.persistent_layout == persistent
    assert group.local_sizes == local
    assert group.shared_buffer_size() == top(shared)
    assert group.persistent_local_buffer_size() == top(persistent)
    assert group.local_buffer_size() == sum(local.values())


@pytest.mark.parametrize("text", WORKED)
def test_worked_results(text):
    assert_layout(group_of(text), WORKED[text], 1)


@pytest.mark.parametrize("text", WORKED)
def test_worked_results_in_bytes(text):
    expected = STRICT.get(text, WORKED[text])
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            group_of(text, policy="strict")
    else:
        assert_layout(group_of(text, policy="strict"), expected, 4)


# The eight requirements of the design document, by name.

BOTH = pytest.mark.parametrize("policy", ["compat", "strict"])
PROPERTIES = ("shared_layout", "persistent_layout", "local_sizes")


@BOTH
def test_deterministic_order(policy):
    text = "S s20, P q5, L l3, S a8>s, L b8>s, S c8>s, L d4>l, P e2>q, S f1>l"
    seen = set()
    for order in permutations(PROPERTIES):
        group = group_of(text, policy=policy)
        found = {name: dict(getattr(group, name)) for name in order}
        seen.add(repr([list(found[name].items()) for name in PROPERTIES]))
    assert len(seen) == 1


@BOTH
def test_aliasing_within_parent(policy):
    group = group_of("S p100, S c30>p", policy=policy)
    inner, outer = group.shared_layout["c"], group.shared_layout["p"]
    assert outer.start <= inner.start < inner.stop <= outer.stop
    assert group.shared_buffer_size() == outer.stop


@BOTH
def test_aliasing_overflow(policy):
    scale = 4 if policy == "strict" else 1
    group = group_of("S p100, S c60>p, S d60>p", policy=policy)
    assert group.shared_layout == places("p[0,100) c[0,60) d[100,160)", scale)


@BOTH
@pytest.mark.parametrize(
    ("text", "home"),
    [
        ("L p100, S c30>p", "shared_layout"),
        ("L p100, P c30>p", "persistent_layout"),
        ("P p100, L c30>p", "local_sizes"),
        ("L p100, L c30>p", "local_sizes"),
        ("P p100, S c30>p", "shared_layout"),
    ],
)
def test_cross_location_fallback(policy, text, home):
    group = group_of(text, policy=policy)
    assert [name for name in PROPERTIES if "c" in getattr(group, name)] == [home]


@BOTH
def test_multiple_aliases(policy):
    scale = 4 if policy == "strict" else 1
    group = group_of("S p100, S c30>p, L d20>p, S e50>p", policy=policy)
    assert group.shared_layout == places("p[0,100) c[0,30) d[30,50) e[50,100)", scale)
    assert group._alias_consumption["p"] == 100 * scale


@BOTH
def test_empty_groups(policy):
    group = BufferGroup(policy=policy)
    assert [dict(getattr(group, name)) for name in PROPERTIES] == [{}, {}, {}]
    totals = (group.shared_buffer_size, group.persistent_local_buffer_size, group.local_buffer_size)
    assert [total() for total in totals] == [0, 0, 0]
    assert group.relocatable_names() == ()


@BOTH
def test_registration_order(policy):
    scale = 4 if policy == "strict" else 1
    for first, second in (("c", "d"), ("d", "c")):
        group = group_of(f"S p100, S {first}40>p, S {second}40>p", policy=policy)
        assert group.shared_layout[first] == slice(0, 40 * scale)
        assert group.shared_layout[second] == slice(40 * scale, 80 * scale)


@BOTH
def test_invalidation(policy):
    scale = 4 if policy == "strict" else 1
    group = group_of("S p100, S c30>p", policy=policy)
    before = group._shared_layout
    assert before is None
    group.build_layouts()
    kept = group._shared_layout
    group.build_layouts()
    assert group._shared_layout is kept
    assert group.update_buffer("c", size=30) == (True, False)
    assert group._shared_layout is kept
    assert group.update_buffer("c", size=120) == (True, True)
    caches = (group._shared_layout, group._persistent_layout, group._local_sizes)
    assert caches == (None, None, None)
    assert group._alias_consumption == {}
    assert group.shared_layout == places("p[0,100) c[100,220)", scale)
    group.register("p", 200, "shared")
    assert group.shared_layout == places("p[0,200) c[0,120)", scale)


def test_replacing_keeps_the_position():
    group = group_of("S a10, S b20, S c5")
    group.register("a", 1, "shared")
    assert list(group.entries) == ["a", "b", "c"]
    assert group.shared_layout == places("a[0,1) b[1,21) c[21,26)")


def test_layout_aliases_builds_everything():
    group = group_of("S p10, L c5>p, L l3")
    group.layout_aliases()
    assert group._shared_layout == places("p[0,10) c[0,5)")
    assert group._local_sizes == {"l": 3}


def test_str_shows_all_pools():
    assert str(group_of("S p100, S c30>p, P q5, L l3, L m4")).splitlines() == [
        "shared        100  p[0,100) c[0,30)",
        "persistent      5  q[0,5)",
        "local           7  l 3 m 4",
    ]


# Random groups

KINDS = (("shared", False), ("shared", True), ("local", False), ("local", True))


def over_shared(target, entries):
    """Whether laying a persistent buffer over `target` could break its promise to persist."""
    while target is not None:
        if entries[target].is_shared:
            return True
        target = entries[target].aliases
    return False


@st.composite
def groups(draw, persistent_over_shared=True):
    entries = {}
    for index in range(draw(st.integers(0, 9))):
        location, persistent = draw(st.sampled_from(KINDS))
        target = draw(st.none() | st.sampled_from(sorted(entries))) if entries else None
        if not persistent_over_shared and (location, persistent) == ("local", True):
            target = None if over_shared(target, entries) else target
        name = f"b{index}"
        entries[name] = CUDABuffer(name, draw(st.integers(0, 12)), location, persistent, target)
    return entries


def transcription(entries):
    """The allocation algorithm of docs/buffers.md, line by line; every target precedes its aliases."""
    shared, persistent, local, consumed = {}, {}, {}, {}
    s = p = 0
    for b in entries.values():
        if b.aliases is not None:
            continue
        if b.is_shared:
            shared[b.name], consumed[b.name], s = slice(s, s + b.size), 0, s + b.size
        elif b.is_persistent_local:
            persistent[b.name], consumed[b.name], p = slice(p, p + b.size), 0, p + b.size
        else:
            local[b.name] = max(b.size, 1)
    late_local = []
    for b in entries.values():
        if b.aliases is None:
            continue
        t = entries[b.aliases]
        if t.name in shared and b.size <= t.size - consumed.get(t.name, 0):
            start = shared[t.name].start + consumed.get(t.name, 0)
            shared[b.name] = slice(start, start + b.size)
            consumed[t.name] = consumed.get(t.name, 0) + b.size
        elif b.is_shared:
            shared[b.name], s = slice(s, s + b.size), s + b.size
        elif b.is_persistent_local:
            persistent[b.name], p = slice(p, p + b.size), p + b.size
        else:
            late_local.append(b)
    for b in late_local:
        local[b.name] = max(b.size, 1)
    return shared, persistent, local, consumed


@given(groups())
def test_compat_is_the_transcription(entries):
    group = BufferGroup(entries)
    group.build_layouts()
    private = (group._shared_layout, group._persistent_layout, group._local_sizes)
    assert (*private, group._alias_consumption) == transcription(entries)


def covered(window):
    return set(range(window.start, window.stop))


@given(groups())
def test_every_buffer_once_and_nothing_overlaps_by_accident(entries):
    group = BufferGroup(entries)
    shared, persistent = group.shared_layout, group.persistent_layout
    assert sorted([*shared, *persistent, *group.local_sizes]) == sorted(entries)
    for pool in (shared, persistent):
        own = [name for name in pool if entries[name].aliases is None]
        assert top({name: pool[name] for name in own}) == sum(entries[name].size for name in own)
        for one, other in combinations(own, 2):
            assert not covered(pool[one]) & covered(pool[other])
    for one, other in combinations([n for n in shared if entries[n].aliases], 2):
        if entries[one].aliases == entries[other].aliases:
            assert not covered(shared[one]) & covered(shared[other])
    for name, window in shared.items():
        target = shared.get(entries[name].aliases)
        if target is not None and covered(window) & covered(target):
            assert covered(window) <= covered(target)


@given(groups(), st.permutations(PROPERTIES), st.booleans())
def test_access_order_cannot_matter(entries, order, rebuild):
    expected = transcription(entries)[:3]
    group = BufferGroup(entries)
    for name in order:
        if rebuild:
            group.invalidate_layouts()
        assert getattr(group, name) == dict(zip(PROPERTIES, expected, strict=True))[name]
    assert tuple(dict(getattr(group, name)) for name in PROPERTIES) == expected


@BOTH
@given(entries=groups(persistent_over_shared=False), bad=st.sampled_from(["missing", "x", "y"]))
def test_failed_build_leaves_nothing_half_built(policy, entries, bad):
    group = BufferGroup(entries, policy=policy)
    expected = tuple(dict(getattr(group, name)) for name in PROPERTIES)
    group.invalidate_layouts()
    group.entries["x"] = CUDABuffer("x", 1, "shared", aliases=bad if bad != "x" else "y")
    group.entries["y"] = CUDABuffer("y", 1, "shared", aliases="x")
    for name in (*PROPERTIES, *PROPERTIES):
        with pytest.raises(ValueError, match=r"not registered|Alias cycle"):
            getattr(group, name)
        caches = (group._shared_layout, group._persistent_layout, group._local_sizes)
        assert (*caches, group._alias_consumption) == (None, None, None, {})
    del group.entries["x"], group.entries["y"]
    assert tuple(dict(getattr(group, name)) for name in PROPERTIES) == expected


CHANGES = st.tuples(
    st.sampled_from(["register", "update", "relocate"]),
    st.sampled_from(["b0", "b1", "b2", "b9", ""]),
    st.integers(-1, 12),
    st.sampled_from(["shared", "local", "nowhere"]),
    st.booleans(),
    st.none() | st.sampled_from(["b0", "b1", "b2", "b8"]),
)


@BOTH
@given(entries=groups(persistent_over_shared=False), changes=st.lists(CHANGES, max_size=6))
def test_a_refused_change_changes_nothing(policy, entries, changes):
    group = BufferGroup(entries, policy=policy)
    for action, name, size, location, persistent, target in changes:
        before = dict(group.entries)
        layouts = group.layouts()
        try:
            if action == "register":
                group.register(name, size, location, persistent, target)
            elif action == "update":
                group.update_buffer(name, size=size, location=location, aliases=target)
            else:
                group.relocate({"b0": location, name: "shared"})
        except ValueError:
            assert group.entries == before
            assert list(group.entries) == list(before)
            assert group.layouts() is layouts
        group.build_layouts()


@given(groups(persistent_over_shared=False))
def test_strict_is_never_larger_than_compat(entries):
    compat, strict = BufferGroup(entries), BufferGroup(entries, policy="strict")
    assert strict.shared_buffer_size() <= 4 * compat.shared_buffer_size()
    assert strict.persistent_local_buffer_size() <= 4 * compat.persistent_local_buffer_size()
    assert strict.local_buffer_size() <= 4 * compat.local_buffer_size()


@given(groups())
def test_without_aliases_both_policies_agree(entries):
    plain = {
        name: CUDABuffer(name, e.size, e.location, e.persistent) for name, e in entries.items()
    }
    compat, strict = BufferGroup(plain), BufferGroup(plain, policy="strict")
    in_bytes = {name: slice(4 * w.start, 4 * w.stop) for name, w in compat.shared_layout.items()}
    assert strict.shared_layout == in_bytes
    assert strict.local_sizes == {name: 4 * size for name, size in compat.local_sizes.items()}
