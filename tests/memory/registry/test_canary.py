"""Canary mode: guards around every slice, and the buffer that wrote over them is named."""

import numpy as np
import pytest

pytest.importorskip(
    "numba", reason="allocators run in the simulator of numba-cuda, which is not installed"
)

from numba import cuda

from tests.memory.registry.support import Owner, group_of, places
from tilewright.buffers import BufferRegistry

BOTH = pytest.mark.parametrize("policy", ["compat", "strict"])


def test_every_slice_lies_between_guards():
    group = group_of("S a3, S b2>a, S e0, S c1, P p4, L l9", guard_words=2)
    assert group.shared_layout == places("a[2,5) b[9,11) c[15,16) e[0,0)")
    assert group.persistent_layout == places("p[2,6)")
    assert [group.shared_buffer_size(), group.persistent_local_buffer_size()] == [18, 8]
    assert group.local_sizes == {"l": 9}
    # The same pools as without guards, only taken apart.
    plain = group_of("S a3, S b2>a, S e0, S c1, P p4, L l9")
    assert list(plain.shared_layout) == list(group.shared_layout)


def test_guards_in_bytes_respect_alignment():
    group = group_of("S a1", policy="strict", guard_words=1)
    group.register("wide", 2, "shared", precision=np.float64, alignment=32)
    # The strictest comes first, as without guards.
    assert group.shared_layout == {"wide": slice(32, 48), "a": slice(64, 68)}
    assert group.shared_buffer_size() == 76


def nested(policy="compat", guard_words=2, precision=np.float32):
    """step > solver, with buffers in both pools of both."""
    registry = BufferRegistry(policy=policy, guard_words=guard_words)
    step, solver = Owner(), Owner()
    step.precision = solver.precision = precision
    for name, owner, size, persistent in (
        ("k1", step, 4, False),
        ("residual", solver, 3, False),
        ("direction", solver, 3, False),
        ("history", solver, 2, True),
        ("cache", step, 2, True),
    ):
        location = "local" if persistent else "shared"
        registry.register(name, owner, size, location, persistent, precision=precision)
    registry.register_child(step, solver, "solver")
    return registry, step, solver


def run(registry, step, body, dtype=np.float32):
    """Arm, `body`, check, on one thread; the damage."""
    canary = registry.canary(step)
    arm, check = canary.device_functions()
    unit = 1 if registry.policy == "strict" else np.dtype(dtype).itemsize
    nbytes = [
        unit * size(step)
        for size in (registry.shared_buffer_size, registry.persistent_local_buffer_size)
    ]
    shared, persistent = (np.zeros(-(-n // 8) * 8, np.uint8).view(dtype) for n in nbytes)
    report = canary.new_report()

    @cuda.jit
    def kernel(shared, persistent, report):
        arm(shared, persistent)
        body(shared, persistent)
        check(shared, persistent, report)

    kernel[1, 1](shared, persistent, report)
    return canary.damage(report)


@BOTH
@pytest.mark.parametrize("precision", [np.float16, np.float32, np.float64, np.int32, np.int64])
def test_rightful_writes_leave_the_guards_alone(policy, precision):
    registry, step, solver = nested(policy, precision=precision)
    into = [registry.get_allocator(f"solver_{pool}", step) for pool in ("shared", "persistent")]
    own = [registry.get_allocator(name, step) for name in ("k1", "cache")]
    inner = [registry.get_allocator(n, solver, True) for n in ("residual", "direction", "history")]
    written = []

    def body(shared, persistent):
        for take in own:
            view = take(shared, persistent)
            for i in range(len(view)):
                view[i] = 7
                written.append(i)
        pools = into[0](shared, persistent), into[1](shared, persistent)
        for take in inner:
            view = take(*pools)
            for i in range(len(view)):
                view[i] = 9
                written.append(i)

    assert run(registry, step, body, precision) == ()
    assert len(written) == 4 + 2 + 3 + 3 + 2


def test_guards_cover_everything_that_belongs_to_nobody():
    registry, step, _ = nested()
    canary = registry.canary(step)
    assert {(span.owner, span.pool, span.start, span.stop) for span in canary.spans} == {
        ("k1", "shared", 2, 6),
        ("solver.residual", "shared", 12, 15),
        ("solver.direction", "shared", 19, 22),
        ("cache", "persistent", 2, 4),
        ("solver.history", "persistent", 10, 12),
    }
    owned = {word for s in canary.spans if s.pool == "shared" for word in range(s.start, s.stop)}
    assert owned | set(canary.shared_words) == set(range(registry.shared_buffer_size(step)))
    assert not owned & set(canary.shared_words)


@pytest.mark.parametrize(
    ("pool", "words", "culprits", "text"),
    [
        (0, [6], ("k1",), "shared[6:7]: 'k1' wrote 1 word past its end"),
        (0, [6, 7, 8], ("k1",), "shared[6:9]: 'k1' wrote 3 words past its end"),
        (
            0,
            [11],
            ("solver.residual",),
            "shared[11:12]: 'solver.residual' wrote 1 word before its start",
        ),
        (
            0,
            [15, 16, 17, 18],
            ("solver.residual", "solver.direction"),
            "shared[15:19]: 'solver.residual' wrote 4 words past its end or "
            "'solver.direction' wrote 4 words before its start",
        ),
        (0, [8], (), "shared[8:9]: a stray write of 1 word between 'k1' and 'solver.residual'"),
        (0, [0], (), "shared[0:1]: a stray write of 1 word between the start of the pool and 'k1'"),
        (1, [4], ("cache",), "persistent[4:5]: 'cache' wrote 1 word past its end"),
        (
            1,
            [12],
            ("solver.history",),
            "persistent[12:13]: 'solver.history' wrote 1 word past its end",
        ),
    ],
)
def test_who_wrote(pool, words, culprits, text):
    registry, step, _ = nested()

    def body(*pools):
        for word in words:
            pools[pool][word] = 3.5

    [damage] = run(registry, step, body)
    assert (damage.culprits, str(damage)) == (culprits, text)


def test_a_stale_allocator_is_caught():
    # An allocator keeps the slice it was built with; this one still writes 3 elements.
    registry, step, solver = nested()
    stale = registry.get_allocator("direction", solver, zero=True)
    registry.register("direction", solver, 1, "shared")
    registry.refresh(step)
    region = registry.get_allocator("solver_shared", step)
    [damage] = run(registry, step, lambda s, p: stale(region(s, p), p))
    assert damage.culprits == ("solver.direction",)
    assert str(damage) == "shared[20:22]: 'solver.direction' wrote 2 words past its end"


def test_damage_in_bytes():
    registry, step, _ = nested("strict", guard_words=1)
    end = registry._groups[step].shared_layout["k1"].stop

    def body(shared, persistent):
        shared.view(np.uint8)[end : end + 4].view(np.float32)[0] = 0.0

    [damage] = run(registry, step, body)
    assert damage.culprits == ("k1",)
    assert str(damage) == f"shared[{end}:{end + 4}]: 'k1' wrote 4 bytes past its end"


def test_every_thread_is_counted():
    registry, step, _ = nested()
    canary = registry.canary(step)
    arm, check = canary.device_functions()
    size = registry.shared_buffer_size(step)

    @cuda.jit
    def kernel(pools, persistent, report):
        thread = cuda.threadIdx.x
        arm(pools[thread], persistent[thread])
        if thread != 1:
            pools[thread][6] = 0
        check(pools[thread], persistent[thread], report)

    report = canary.new_report()
    kernel[1, 3](np.zeros((3, size), np.float32), np.zeros((3, 20), np.float32), report)
    assert report.sum() == 2
    assert report[canary.shared_words.index(6)] == 2


def test_an_outgrown_child_is_refused():
    registry, step, solver = nested()
    registry.register("late", solver, 5, "shared")
    with pytest.raises(ValueError, match="Child 'solver' has grown since it was registered"):
        registry.canary(step)
    with pytest.raises(KeyError, match="has no registered buffer group"):
        registry.canary(Owner())
