"""Placement invariance: wherever a buffer lies, the kernel computes the same bits.

A midpoint step with a damped fixed-point solver inside, as two components. Every subset of the
movable buffers is put into shared memory; all results equal those with everything local.
"""

from itertools import chain, combinations

import numpy as np
import pytest

pytest.importorskip(
    "numba", reason="allocators run in the simulator of numba-cuda, which is not installed"
)

from numba import cuda

from tests.memory.registry.support import Owner
from tilewright.buffers import BufferRegistry, FirstFit

STATES, THREADS, STEPS = 3, 3, 4
MOVABLE = {"step": ("slope", "stage", "error"), "solver": ("residual",)}


def build(policy, precision, shared_names, guard_words=0):
    """A kernel ``(start, out)``, its threads' pools in bytes, and the layout of the step."""
    registry = BufferRegistry(policy=policy, guard_words=guard_words)
    step, solver = Owner(), Owner()
    step.precision = solver.precision = precision
    itemsize = np.dtype(precision).itemsize

    registry.register("residual", solver, STATES, "local", precision=precision)
    registry.register("memory", solver, 1, "local", persistent=True, precision=precision)
    registry.update(solver, {f"{name}_location": "shared" for name in shared_names})
    registry.register("slope", step, STATES, "local", precision=precision)
    registry.register("stage", step, STATES, "local", precision=precision)
    registry.register("error", step, STATES, "local", aliases="stage", precision=precision)
    registry.register("previous", step, STATES, "local", persistent=True, precision=precision)
    registry.update(step, {f"{name}_location": "shared" for name in shared_names})
    to_solver = registry.get_child_allocators(step, solver, "solver")

    unit = 1 if policy == "strict" else itemsize
    pool_bytes = -(-unit * registry.shared_buffer_size(step) // 16) * 16
    elements = -(-unit * registry.persistent_local_buffer_size(step) // itemsize)
    step.persistent_local_elements = elements
    alloc_shared, alloc_persistent = registry.get_toplevel_allocators(step)
    slope, stage, error, previous = (
        registry.get_allocator(name, step, zero=name == "error")
        for name in ("slope", "stage", "error", "previous")
    )
    residual, memory = (registry.get_allocator(name, solver) for name in ("residual", "memory"))
    solver_shared, solver_persistent = to_solver

    @cuda.jit(device=True)
    def relax(values, shared, persistent):
        rest, kept = residual(shared, persistent), memory(shared, persistent)
        for i in range(STATES):
            rest[i] = values[i] * precision(0.3) - values[(i + 1) % STATES] * precision(0.1)
        for i in range(STATES):
            values[i] = values[i] - rest[i] * precision(0.5) + kept[0]
        kept[0] = rest[0] * precision(0.01)

    @cuda.jit
    def kernel(start, out):
        thread = cuda.threadIdx.x
        pool = alloc_shared().view(np.uint8)
        mine = pool[thread * pool_bytes : (thread + 1) * pool_bytes].view(precision)
        kept = alloc_persistent()
        inner = solver_shared(mine, kept), solver_persistent(mine, kept)
        memory(inner[0], inner[1])[0] = 0
        last = previous(mine, kept)
        for i in range(STATES):
            out[thread, i] = start[thread, i]
            last[i] = 0
        for _ in range(STEPS):
            dy = slope(mine, kept)
            for i in range(STATES):
                dy[i] = out[thread, (i + 1) % STATES] - out[thread, i] + last[i] * precision(0.2)
            half = stage(mine, kept)
            for i in range(STATES):
                half[i] = out[thread, i] + dy[i] * precision(0.05)
            relax(half, inner[0], inner[1])
            for i in range(STATES):
                dy[i] = half[(i + 2) % STATES] - half[i]
            wrong = error(mine, kept)
            for i in range(STATES):
                wrong[i] += dy[i] * dy[i]
            for i in range(STATES):
                out[thread, i] += dy[i] * precision(0.1) + wrong[i] * precision(1e-3)
                last[i] = dy[i]

    return kernel, pool_bytes * THREADS, registry.layouts(step)


def launch(policy, precision, shared_names, guard_words=0):
    kernel, nbytes, _ = build(policy, precision, shared_names, guard_words)
    start = np.random.default_rng(6).normal(size=(THREADS, STATES)).astype(precision)
    out = np.full((THREADS, STATES), np.nan, precision)
    kernel[1, THREADS, 0, nbytes](start, out)
    return out


NAMES = tuple(chain.from_iterable(MOVABLE.values()))
SUBSETS = [chosen for count in range(len(NAMES) + 1) for chosen in combinations(NAMES, count)]


@pytest.fixture(scope="module")
def all_local():
    return {dtype: launch("compat", dtype, ()) for dtype in (np.float32, np.float64)}


@pytest.mark.parametrize("shared_names", SUBSETS, ids="+".join)
def test_same_bits_wherever_buffers_lie(shared_names, all_local):
    for policy in ("compat", "strict"):
        found = launch(policy, np.float32, shared_names)
        assert np.isfinite(found).all()
        assert found.tobytes() == all_local[np.float32].tobytes()


@pytest.mark.parametrize("policy", ["compat", "strict"])
@pytest.mark.parametrize("shared_names", [(), NAMES], ids=["local", "shared"])
def test_same_bits_in_double_and_with_guards(policy, shared_names, all_local):
    expected = all_local[np.float64].tobytes()
    assert launch(policy, np.float64, shared_names).tobytes() == expected
    assert launch(policy, np.float64, shared_names, guard_words=2).tobytes() == expected


def test_the_placements_really_differ():
    sizes = {build("compat", np.float32, chosen)[1] for chosen in SUBSETS}
    assert 0 in sizes
    assert len(sizes) > 3
    _, _, at = build("compat", np.float32, NAMES)
    assert at.shared["error"] == at.shared["stage"]  # an alias takes part
    assert list(at.persistent) == ["previous", "solver_persistent"]


SIZES = {"predictor": 3, "corrector": 4}


def build_parts(policy, location, calls, planner=None):
    """A kernel of a step with two parts that share a solver; where scratch lies is the question."""
    registry = BufferRegistry(policy=policy, planner=planner)
    step, solver = Owner(), Owner()
    parts = {name: Owner() for name in SIZES}
    registry.register("residual", solver, STATES, location, precision=np.float32)
    regions = {}
    for name, part in parts.items():
        registry.register("work", part, SIZES[name], location)
        registry.register_child(part, solver, "solver")
    registry.register("state", step, STATES, location)
    for name, part in parts.items():
        registry.register_child(step, part, name)
    if calls:
        registry.register_calls(step, ["predictor", "corrector"])
    state, residual = (
        registry.get_allocator("state", step),
        registry.get_allocator("residual", solver),
    )
    for name, part in parts.items():
        regions[name] = (
            registry.get_allocator(f"{name}_shared", step),
            registry.get_allocator("work", part),
            registry.get_allocator("solver_shared", part),
        )
    predictor, corrector = (regions[name] for name in SIZES)
    itemsize = 1 if policy == "strict" else 4

    @cuda.jit(device=True)
    def part(y, size, take, pool, kept):
        region, work, inner = take
        mine = region(pool, kept)
        scratch = work(mine, kept)
        for i in range(size):
            scratch[i] = y[i % STATES] * np.float32(0.75) + np.float32(i)
        rest = residual(inner(mine, kept), kept)
        for i in range(STATES):
            rest[i] = scratch[i % size] * np.float32(0.1) - y[i]
        for i in range(STATES):
            y[i] = y[i] + rest[(i + 1) % STATES] * np.float32(0.3) + scratch[size - 1]

    @cuda.jit
    def kernel(out, pool):
        kept = out
        y = state(pool, kept)
        for i in range(STATES):
            y[i] = out[i]
        for _ in range(STEPS):
            part(y, SIZES["predictor"], predictor, pool, kept)
            part(y, SIZES["corrector"], corrector, pool, kept)
        for i in range(STATES):
            out[i] = y[i]

    return kernel, registry.shared_buffer_size(step) * itemsize


def test_same_bits_whether_parts_share_bytes_or_not():
    start = np.random.default_rng(8).normal(size=STATES).astype(np.float32)
    results, sizes = {}, {}
    for case in (
        ("compat", "local", False),
        ("compat", "shared", False),
        ("strict", "local", False),
        ("strict", "shared", False),
        ("strict", "shared", True),
        ("strict", "shared", True, FirstFit()),
    ):
        kernel, nbytes = build_parts(*case)
        out, pool = start.copy(), np.full(-(-nbytes // 4), np.nan, np.float32)
        kernel[1, 1](out, pool)
        results[case], sizes[case] = out.tobytes(), nbytes
        assert np.isfinite(out).all()
    assert len(set(results.values())) == 1
    assert list(sizes.values()) == [0, 64, 0, 64, 40, 40]
