"""Random histories of a whole registry against a model that keeps plain dictionaries, threads that
change and read at the same time, and planners that fail in the middle.

After every step, whether it was refused or not: the entries are the model's, layouts are those of
the model (compat) or sound byte by byte and no larger (strict), and equal to those of a registry
that never had any history.
"""

import copy
import random
import threading
from itertools import combinations, pairwise

import numpy as np
import pytest

from tests.memory.registry.support import Owner, group_of
from tilewright.buffers import BufferGroup, BufferRegistry, FirstFit

BOTH = pytest.mark.parametrize("policy", ["compat", "strict"])
NAMES = ("a", "b", "c", "d", "kid_shared", "kid_persistent")
PRECISIONS = (np.float32, np.float64, np.int32, np.float16)


class Refused(Exception):
    """What the model says where the registry should raise."""


class Model:
    """Owners by number; an entry is [size, location, persistent, aliases, precision].

    An owner whose first buffer was refused is known and has none, as upstream.
    """

    def __init__(self, policy):
        self.policy = policy
        self.known = set()
        self.entries = {}
        self.children = {}

    def register(self, owner, name, size, location, persistent, aliases, precision):
        self.known.add(owner)
        mine = self.entries.get(owner, {})
        if not name or aliases == name or (aliases is not None and aliases not in mine):
            raise Refused
        if size < 0 or location not in ("shared", "local"):
            raise Refused
        proposed = {**mine, name: [size, location, persistent, aliases, precision]}
        self.check(proposed)
        self.entries[owner] = proposed

    def check(self, entries):
        for name in entries:
            seen, target = [name], entries[name][3]
            while target is not None:
                if target in seen:
                    raise Refused
                seen.append(target)
                target = entries[target][3]
        if self.policy == "strict":
            for _, location, persistent, aliases, _ in entries.values():
                is_kept = location == "local" and persistent
                if aliases is not None and is_kept and entries[aliases][1] == "shared":
                    raise Refused

    def update(self, owner, name, fields):
        mine = self.entries.get(owner, {})
        if name not in mine:
            return False
        entry = list(mine[name])
        for position, key in enumerate(("size", "location", "persistent", "aliases")):
            entry[position] = fields.get(key, entry[position])
        size, location, _, aliases, _ = entry
        if size < 0 or location not in ("shared", "local"):
            raise Refused
        if aliases == name or (aliases is not None and aliases not in mine):
            raise Refused
        self.check({**mine, name: entry})
        mine[name] = entry
        return True

    def relocate(self, owner, locations):
        if owner not in self.known:
            return set()
        if any(where not in ("shared", "local") for where in locations.values()):
            raise Refused
        proposed = {name: list(entry) for name, entry in self.entries.get(owner, {}).items()}
        known = {name for name in locations if name in proposed}
        for name in known:
            proposed[name][1] = locations[name]
        self.check(proposed)
        if proposed:
            self.entries[owner] = proposed
        return known

    def layout(self, owner):
        """Section 3.1, targets first: shared, persistent and local as (start, size) or sizes."""
        entries = self.entries[owner]
        waiting, order = list(entries), []
        while waiting:
            ready = next(n for n in waiting if entries[n][3] is None or entries[n][3] in order)
            if any(entries[n][3] is None for n in waiting):
                ready = next(n for n in waiting if entries[n][3] is None)
            order.append(ready)
            waiting.remove(ready)
        places, sizes, free, taken = {}, {}, {"shared": 0, "persistent": 0}, {}
        for name in order:
            size, location, persistent, target, _ = entries[name]
            pool = location if location == "shared" else "persistent" if persistent else "local"
            over = places.get(target)
            used = taken.get(target, 0)
            if over is not None and over[0] == "shared" and size <= entries[target][0] - used:
                places[name] = ("shared", over[1] + used)
                taken[target] = used + size
            elif pool == "local":
                sizes[name] = max(size, 1)
            else:
                places[name] = (pool, free[pool])
                free[pool] += size
        return places, sizes


def as_values(group):
    return {
        name: [e.size, e.location, e.persistent, e.aliases, e.precision]
        for name, e in group.entries.items()
    }


def is_like_new(group, policy):
    fresh = BufferGroup(group.entries, policy=policy)
    fresh.calls = dict(group.calls)
    fresh.children = dict(group.children)
    return fresh.layouts() == group.layouts()


def check_compat(group, model, owner):
    places, sizes = model.layout(owner)
    found = {n: ("shared", w.start) for n, w in group.shared_layout.items()}
    found |= {n: ("persistent", w.start) for n, w in group.persistent_layout.items()}
    assert found == places
    assert dict(group.local_sizes) == sizes
    for pool in (group.shared_layout, group.persistent_layout):
        assert all(w.stop - w.start == group.entries[n].size for n, w in pool.items())


def check_strict(group):
    at = group.layouts()
    assert sorted([*at.shared, *at.persistent, *at.local]) == sorted(group.entries)
    for windows in (at.shared, at.persistent):
        for name, window in windows.items():
            entry = group.entries[name]
            assert window.stop - window.start == entry.nbytes
            assert not entry.nbytes or window.start % entry.align == 0
        for one, other in combinations(windows, 2):
            a, b = windows[one], windows[other]
            if min(a.stop, b.stop) > max(a.start, b.start):
                assert one in targets(group, other) or other in targets(group, one)
    for name in at.persistent:
        assert group.entries[name].is_persistent_local
    kept = [n for n, e in group.entries.items() if e.is_persistent_local]
    assert sorted(kept) == sorted(at.persistent)


def targets(group, name):
    found = []
    while (name := group.entries[name].aliases) is not None:
        found.append(name)
    return found


class Game:
    """One random history."""

    def __init__(self, policy, seed):
        self.chance = random.Random(seed)
        self.policy = policy
        self.registry = BufferRegistry(policy=policy)
        self.model = Model(policy)
        self.owners = [Owner() for _ in range(3)]

    def play(self, steps):
        moves = (self.register, self.register, self.update, self.relocate, self.child, self.look)
        moves += (self.forget,)
        for _ in range(steps):
            self.chance.choice(moves)()
            self.check()

    def refused(self, real, modelled):
        """Both do it or both refuse it, with equal answers."""
        before = self.entries()
        kept = copy.deepcopy(self.model.entries)
        try:
            expected = modelled()
        except Refused:
            self.model.entries = kept
            with pytest.raises((ValueError, KeyError)):
                real()
            assert self.entries() == before
            return
        assert real() == expected

    def entries(self):
        groups = self.registry._groups.items()
        return {owner: as_values(group) for owner, group in groups if group.entries}

    def pick(self):
        number = self.chance.randrange(len(self.owners))
        return number, self.owners[number]

    def fields(self, number):
        """Mostly sensible: half of all buffers lie over one that is there."""
        chance = self.chance
        there = list(self.model.entries.get(number, ())) or [None]
        target = chance.choice(there) if chance.random() < 0.5 else None
        return (
            chance.choice((0, 1, 2, 3, 5, 8, 13, 13, 20)) if chance.random() < 0.97 else -1,
            chance.choice(("shared", "local")) if chance.random() < 0.97 else "here",
            chance.random() < 0.4,
            target if chance.random() < 0.97 else "nobody",
        )

    def register(self):
        number, owner = self.pick()
        name = self.chance.choice(NAMES) if self.chance.random() < 0.97 else ""
        fields = (*self.fields(number), self.chance.choice(PRECISIONS))
        self.refused(
            lambda: self.registry.register(name, owner, *fields),
            lambda: self.model.register(number, name, *fields),
        )

    def update(self):
        number, owner = self.pick()
        name = self.chance.choice(NAMES[:4])  # a child's region keeps its alignment
        values = dict(
            zip(("size", "location", "persistent", "aliases"), self.fields(number), strict=True)
        )
        chosen = {key: values[key] for key in values if self.chance.random() < 0.5}
        self.refused(
            lambda: self.registry.update_buffer(name, owner, **chosen)[0],
            lambda: self.model.update(number, name, chosen),
        )

    def relocate(self):
        number, owner = self.pick()
        where = {n: self.chance.choice(("shared", "local")) for n in NAMES[:3]}
        where |= {"c": "x"} if self.chance.random() < 0.05 else {}
        chosen = {name: where[name] for name in where if self.chance.random() < 0.6}
        self.refused(
            lambda: self.registry.update(owner, {f"{n}_location": w for n, w in chosen.items()}),
            lambda: {f"{n}_location" for n in self.model.relocate(number, chosen)},
        )

    def child(self):
        (number, owner), (below, child) = self.pick(), self.pick()
        pools = (self.registry.shared_buffer_size, self.registry.persistent_local_buffer_size)
        sizes = [size(child) for size in pools]
        if self.policy == "strict":
            sizes = [-(-size // 4) for size in sizes]

        def both():
            for name, size, location in zip(
                ("kid_shared", "kid_persistent"), sizes, ("shared", "local"), strict=True
            ):
                kept = location == "local"
                self.model.register(number, name, size, location, kept, None, np.float32)
            return "kid_shared", "kid_persistent"

        if number == below:
            return  # it would hold itself alive
        self.refused(lambda: self.registry.register_child(owner, child, "kid"), both)

    def look(self):
        _, owner = self.pick()
        group = self.registry._groups.get(owner)
        if group is not None:
            getattr(group, self.chance.choice(("shared_layout", "local_sizes", "notes")))

    def forget(self):
        if self.chance.random() < 0.8:
            return
        number, owner = self.pick()
        self.registry.clear_own(owner)
        self.model.entries.pop(number, None)
        self.model.known.discard(number)

    def check(self):
        for number, owner in enumerate(self.owners):
            group = self.registry._groups.get(owner)
            known = self.model.entries.get(number, {})
            assert (as_values(group) if group is not None else {}) == known
            if not known:
                continue
            assert list(group.entries) == list(known)
            if self.policy == "compat":
                check_compat(group, self.model, number)
            else:
                check_strict(group)
            assert is_like_new(group, self.policy)


@BOTH
def test_random_histories(policy):
    for seed in range(40):
        Game(policy, seed).play(40)


@BOTH
@pytest.mark.slow
def test_many_random_histories(policy):
    for seed in range(1000, 2500):
        Game(policy, seed).play(60)


@BOTH
@pytest.mark.parametrize("seed", range(20))
def test_order_of_independent_registrations_does_not_change_totals(policy, seed):
    chance = random.Random(seed)
    plain = [(f"n{i}", chance.randrange(9), chance.choice(("shared", "local"))) for i in range(6)]
    totals = set()
    for _ in range(5):
        chance.shuffle(plain)
        group = BufferGroup(policy=policy)
        for request in plain:
            group.register(*request)
        totals.add((group.shared_buffer_size(), group.local_buffer_size()))
    assert len(totals) == 1


class Failing:
    """Fails at the given calls, otherwise plans."""

    def __init__(self, *calls):
        self.calls, self.count = set(calls), 0

    def plan(self, blocks):
        self.count += 1
        if self.count in self.calls:
            raise RuntimeError("no plan today")
        return FirstFit().plan(blocks)


def test_a_planner_that_fails_leaves_nothing_half_built():
    group = group_of("S p10, S c5>p, P q3, L l2", policy="strict", planner=Failing(1, 2, 4))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no plan today"):
            group.build_layouts()
        caches = (group._shared_layout, group._persistent_layout, group._local_sizes)
        assert (*caches, group._layouts, group._alias_consumption) == (None,) * 4 + ({},)
    assert group.shared_buffer_size() == 40
    kept = group.layouts()
    group.update_buffer("c", size=6)
    with pytest.raises(RuntimeError, match="no plan today"):
        group.shared_buffer_size()
    assert group.update_buffer("c", size=5) == (True, True)
    assert group.layouts() == kept


@BOTH
@pytest.mark.parametrize(
    "bad", [{"size": -1}, {"location": "x"}, {"aliases": "y"}, {"precision": np.uint8}]
)
def test_a_refused_first_buffer_leaves_an_owner_without_buffers(policy, bad):
    registry, owner = BufferRegistry(policy=policy), Owner()
    with pytest.raises(ValueError, match=r"must be|not registered"):
        registry.register("a", owner, **{"size": 1, "location": "shared", **bad})
    assert registry._groups[owner].entries == {}
    assert registry.shared_buffer_size(owner) == registry.local_buffer_size(owner) == 0
    with pytest.raises(KeyError, match="Buffer 'a' not registered for parent"):
        registry.get_allocator("a", owner)


def test_a_copy_has_a_life_of_its_own():
    group = group_of("S p10, S c5>p", policy="strict")
    group.build_layouts()
    other = copy.deepcopy(group)
    other.register("p", 20, "shared")
    assert (group.shared_buffer_size(), other.shared_buffer_size()) == (40, 80)


class Slow:
    """Tells when it has been asked, and waits before it answers."""

    def __init__(self):
        self.asked = threading.Event()

    def plan(self, blocks):
        answer = FirstFit().plan(blocks)
        self.asked.set()
        threading.Event().wait(0.05)
        return answer


def test_a_change_during_a_build_is_not_lost():
    planner = Slow()
    group = group_of("S a4", policy="strict", planner=planner)
    reader = threading.Thread(target=group.build_layouts)
    reader.start()
    assert planner.asked.wait(5)
    group.register("late", 3, "shared")
    reader.join()
    assert set(group.shared_layout) == {"a", "late"}
    assert group.shared_buffer_size() == 28


@BOTH
def test_threads_that_register_and_read(policy):
    registry, common = BufferRegistry(policy=policy), Owner()
    unit = 4 if policy == "strict" else 1
    faults, start = [], threading.Barrier(6)

    def work(number):
        try:
            mine = Owner()
            start.wait()
            for index in range(12):
                registry.register(f"t{number}_{index}", common, 1 + index % 3, "shared")
                registry.register(f"x{index}", mine, 2, "shared")
                at = registry.layouts(common)
                windows = sorted((w.start, w.stop) for w in at.shared.values())
                assert all(a[1] <= b[0] for a, b in pairwise(windows))
                assert f"t{number}_{index}" in at.shared
                assert registry.shared_buffer_size(mine) == 2 * unit * (index + 1)
                registry.register_child(common, mine, f"kid{number}")
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    total = 6 * sum(1 + index % 3 for index in range(12)) + 6 * 24
    assert registry.shared_buffer_size(common) == total * unit
