"""The steps before a search: the grid, who is in whose way, cliques, and the bounds they give."""

import pytest

from tilewright.memory.planner import Apart, AsyncRegion, Block, Inside, MayOverlap, SameStart
from tilewright.memory.planner.alignment_bounds import lowest_offsets
from tilewright.memory.planner.bound import Load, loads_of, lower_bound
from tilewright.memory.planner.conflicts import Conflicts, conflicts_of, members
from tilewright.memory.planner.decompose import next_free, parts_of
from tilewright.memory.planner.effort import Effort, Meter, compile_time
from tilewright.memory.planner.grid import grid_of, step_of


@pytest.mark.parametrize(
    ("sizes", "aligns", "step"),
    [
        ((32768, 8192), (128, 1024), 8192),
        ((32768, 8), (1024, 16), 8),
        ((12, 24), (3, 8), 1),
        ((12, 24), (3, 4), 12),
        ((520,), (128,), 8),
        ((0,), (16,), 1),
        ((512, 1536), (1024, 16), 512),
    ],
)
def test_steps(sizes: tuple[int, ...], aligns: tuple[int, ...], step: int):
    blocks = [Block(f"{size}.{align}", size, align) for size in sizes for align in aligns]
    assert step_of(blocks, []) == step


def test_a_grid_counts_everything_in_steps():
    blocks = [Block("a", 64, 32), Block("b", 32, 16, fixed=96)]
    grid = grid_of(blocks, [Inside("b", "a", 16), SameStart("a", "b")])
    assert grid.step == 16
    assert [(b.size, b.align, b.fixed) for b in grid.blocks] == [(4, 2, None), (2, 1, 6)]
    assert grid.relations == (Inside("b", "a", 1), SameStart("a", "b"))


def graph(conflicts: Conflicts) -> list[list[int]]:
    return [[*members(mask)] for mask in conflicts.adjacent]


def test_sections_become_cliques():
    found = conflicts_of(
        [
            Block("a", 1, live=((0, 2),)),
            Block("b", 1, live=((1, 3),)),
            Block("c", 1, live=((2, 4),)),
        ]
    )
    assert graph(found) == [[1], [0, 2], [1]]
    assert found.cliques == ((0, 1), (1, 2))


def test_holes_make_cliques_that_no_moment_has():
    blocks = [
        Block("a", 1, live=((0, 1), (4, 5))),
        Block("b", 1, live=((0, 1), (2, 3))),
        Block("c", 1, live=((2, 3), (4, 5))),
    ]
    assert conflicts_of(blocks).cliques == ((0, 1, 2),)


def test_relations_and_partitions_change_the_graph():
    blocks = [Block("a", 1), Block("b", 1), Block("c", 1, live=())]
    assert graph(conflicts_of(blocks, [MayOverlap("a", "b")])) == [[], [], []]
    assert graph(conflicts_of(blocks, [Apart("a", "c")])) == [[1, 2], [0], [0]]
    apart = [
        Block("l", 1, live=((0, 1),), region=AsyncRegion("ws", 0)),
        Block("r", 1, live=((1, 2),), region=AsyncRegion("ws", 1)),
    ]
    assert graph(conflicts_of(apart)) == [[1], [0]]
    assert graph(conflicts_of(apart, [MayOverlap("l", "r")])) == [[], []]


def test_too_many_cliques_leave_those_of_each_moment():
    # Every block may overlap one other: 2 ** 20 cliques of 20 members.
    blocks = [Block(f"b{n}", 1) for n in range(40)]
    pairs = [MayOverlap(f"b{n}", f"b{n + 1}") for n in range(0, 40, 2)]
    cliques = conflicts_of(blocks, pairs).cliques
    assert {len(clique) for clique in cliques} == {20}
    assert {n for clique in cliques for n in clique} == {*range(40)}


def test_loads_round_strict_sizes_up_and_others_down():
    blocks = [
        Block("a", 512, 1024),
        Block("b", 1536, 1024),
        Block("c", 8200, 16),
        Block("d", 24, 8),
    ]
    loads = loads_of(blocks, [(0, 1, 2, 3)])
    assert loads == (
        Load((0, 1, 2, 3), (512, 1536, 8200, 24), 0),
        Load((0, 1, 2, 3), (512, 1536, 8208, 16), 8),
        Load((0, 1, 2), (1024, 2048, 8192), 512),
    )
    assert lower_bound(blocks, loads) == 1024 + 2048 + 8192 - 512


def test_floors_lift_the_bound():
    blocks = [Block("f", 4, fixed=8), Block("a", 6)]
    loads = loads_of(blocks, [(0, 1)])
    assert lower_bound(blocks, loads) == 12
    assert lower_bound(blocks, loads, [8, 12]) == 18


def test_parts_know_nothing_of_each_other():
    blocks = [
        Block("a", 4, live=((0, 2),)),
        Block("b", 2, live=((5, 6),)),
        Block("c", 3, live=((1, 2),)),
    ]
    parts = parts_of(conflicts_of(blocks))
    assert [part.indices for part in parts] == [(0, 2), (1,)]
    assert [part.bound for part in parts] == [7, 2]


def test_fixed_blocks_are_obstacles():
    blocks = [Block("f", 4, fixed=4), Block("g", 2, fixed=10), Block("a", 3, 2)]
    (part,) = parts_of(conflicts_of(blocks))
    assert part.obstacles[2] == ((1, 12),)
    assert part.floors == (4, 10, 0)
    assert next_free(1, 2, part.obstacles[2]) == 12
    assert next_free(0, 2, part.obstacles[2]) == 0


def test_a_meter_grants_what_is_left():
    meter = Meter(Effort(nodes=10), spent=7)
    assert meter.grant(5) == 3
    assert not meter.is_empty
    meter.spent = 10
    assert meter.is_empty
    assert Meter(Effort()).grant(5) == 5
    assert Meter(Effort(seconds=0.0)).is_empty


def test_a_compiler_spends_fewer_nodes_on_larger_problems():
    assert [compile_time(work).nodes for work in (0, 100, 1000, 10**6)] == [2000, 2000, 200, 16]


def test_a_barrier_that_costs_a_step_lies_on_top():
    tiles = [Block(f"t{n}", 8192, 1024) for n in range(8)]
    (part,) = parts_of(conflicts_of([*tiles, Block("bar", 24, 16)]))
    assert lowest_offsets(part, 65568) == [0] * 8 + [65536]
    assert lowest_offsets(part, 65536 + 1024) == [0] * 9


def test_a_barrier_that_fits_into_a_padding_may_be_anywhere():
    tiles = [Block(f"t{n}", 8192 - 512 * (n == 3), 1024) for n in range(8)]
    (part,) = parts_of(conflicts_of([*tiles, Block("bar", 24, 16), Block("big", 520, 16)]))
    assert lowest_offsets(part, 65536 - 1)[8:] == [0, 65536 - 512]
    assert lowest_offsets(part, 65536 + 1024)[8:] == [0, 0]
