"""Short names for buffers and plans, as the tests of this room write them."""

from tilewright.memory import (
    Buffer,
    Memory,
    Options,
    StoragePlan,
    Swizzled,
    TmemTile,
    Tree,
    check_plan,
    plan_region,
    region_of,
    smem_buffer,
    tmem_buffer,
)

TMEM_CAPACITY = 512


def smem(name: str, *shape: int, bits: int) -> Buffer:
    """Shared memory with the trivial layout."""
    return smem_buffer(name, shape, bits, Swizzled())


def tmem(name: str, *shape: int, bits: int, **layout: int) -> Buffer:
    """Tensor memory in one block of the tile's own shape."""
    return tmem_buffer(name, shape, bits, TmemTile(shape[-2], shape[-1], **layout))


def raw(
    name: str, memory: Memory, count: int, unit: int, alignment: int = 1, source: str = ""
) -> Buffer:
    """A buffer by its numbers."""
    return Buffer(name, memory, count, unit, alignment=alignment, rows=128, source=source)


def planned(tree: Tree, *outside: Buffer, options: Options | None = None) -> StoragePlan:
    """The plan of a tree, proved by the checker."""
    plan = plan_region(region_of("r", tree, *outside), options).unwrap()
    assert check_plan(plan) == ()
    return plan


def slots(plan: StoragePlan) -> dict[str, tuple[int, ...]]:
    return {p.buffer.name: p.slots for p in plan.placements}


def dims(plan: StoragePlan) -> dict[str, int]:
    return {p.buffer.name: p.slot_count for p in plan.placements}


def offsets(plan: StoragePlan) -> dict[str, int]:
    return {p.buffer.name: p.offset for p in plan.placements}


def units(plan: StoragePlan) -> dict[str, int]:
    return {p.buffer.name: p.buffer.unit for p in plan.placements}


def levels(plan: StoragePlan, name: str) -> str:
    return "".join(str(level) for level in plan.of(name).merged)


def stride(plan: StoragePlan) -> int:
    (tree,) = plan.trees
    return tree.stride
