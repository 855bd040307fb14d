"""Maps to draw: the worked examples of storage aliasing, and awkward ones."""

from tests.memory.support import planned, raw, smem, tmem
from tilewright.memory import (
    Memory,
    MemoryMap,
    Phase,
    StorageRegion,
    distinct,
    memory_maps,
    plain_region,
    plan_region,
    shared,
    target_named,
)

S, T = Memory.SMEM, Memory.TMEM


def gemm_ring() -> tuple[MemoryMap, ...]:
    """Example 18, and two arrays of barriers."""
    a, b = smem("A", 4, 128, 64, bits=16), smem("B", 4, 64, 128, bits=16)
    c = smem("C", 1, 128, 128, bits=32)
    ring = planned(shared(shared(distinct(a, b), group_size=4), c))
    bars = [
        plan_region(plain_region(raw(name, S, 4, 8, source=f"gemm.py:{line}"))).unwrap()
        for line, name in enumerate(["full", "empty"], 7)
    ]
    return memory_maps([ring, *bars], target_named("sm_90"))


def flash_attention() -> tuple[MemoryMap, ...]:
    """Example 8."""
    qk, p = tmem("qk", 2, 128, 128, bits=32), tmem("p", 4, 128, 64, bits=16)
    scalars = [tmem(name, 2, 128, 1, bits=32) for name in ("alpha", "l", "m")]
    plan = planned(shared(qk, distinct(shared(p, group_size=2), *scalars)))
    return memory_maps([plan], target_named("sm_100"))


def gaps() -> tuple[MemoryMap, ...]:
    """Padding, and an explicit size that leaves dead room; no target."""
    x, y, z = raw("x", S, 2, 128), raw("y", S, 2, 32), raw("z", S, 2, 64)
    region = StorageRegion("odd", S, (x, y, z), (Phase(distinct(x, y, z)),), size_bytes=896)
    return memory_maps([plan_region(region).unwrap()])


def too_much() -> tuple[MemoryMap, ...]:
    """More columns than there are, a name that is too long, and text that must be escaped."""
    long = "a_name_that_no_column_of_a_terminal_has_room_for"
    wide = raw(long, T, 5, 128, source="a/rather/deep/folder/with/many/levels/kernel.py:1234")
    angry = raw('<b>&"x"', T, 40, 8)
    return memory_maps([planned(shared(wide, angry))], target_named("sm_100"))


SAMPLES = {
    "gemm_ring": gemm_ring,
    "flash_attention": flash_attention,
    "gaps": gaps,
    "too_much": too_much,
    "nothing": lambda: (),
}
