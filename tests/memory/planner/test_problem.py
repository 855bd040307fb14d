"""What a problem may say: descriptions that contradict themselves are refused with a reason."""

import pytest

from tilewright.memory.planner import (
    ALWAYS,
    Apart,
    AsyncRegion,
    Block,
    Inside,
    MayOverlap,
    Problem,
    ProblemError,
    Relation,
    SameStart,
    Space,
)

SMEM = Space("smem", 64)
A, B = Block("a", 8), Block("b", 4)


@pytest.mark.parametrize(
    ("spaces", "blocks", "relations", "message"),
    [
        ((SMEM, SMEM), (), (), "two spaces have the same name"),
        ((Space("smem", -1),), (), (), "space 'smem' has a negative capacity, -1"),
        ((Space("smem", base_align=0),), (), (), "the base of space 'smem' is aligned to 0"),
        ((SMEM,), (Block("a", 1, space="tmem"),), (), "'a' is in an unknown space, 'tmem'"),
        ((SMEM,), (Block("a", -1),), (), "'a' has a negative size, -1"),
        ((SMEM,), (Block("a", 1, 0),), (), "'a' is aligned to 0"),
        ((Space("smem", base_align=64),), (Block("a", 1, 128),), (), "'a' requires alignment 128, but the base of 'smem' is only aligned to 64"),
        ((SMEM,), (Block("a", 1, 4, fixed=2),), (), "'a' is fixed at 2, not at a multiple of 4"),
        ((SMEM,), (Block("a", 1, fixed=-1),), (), "'a' is fixed at -1, not at a multiple of 1"),
        ((SMEM,), (Block("a", 1, live=((3, 3),)),), (), "'a' is live in an empty span, 3..3"),
        ((SMEM,), (A, A), (), "1 block ids are used twice"),
        ((SMEM,), (A,), (Apart("a", "z"),), "'a' apart from 'z': there is no block 'z'"),
        ((SMEM,), (A,), (SameStart("a", "a"),), "'a' starts with 'a': a block is not related to itself"),
        ((SMEM, Space("tmem")), (A, Block("t", 1, space="tmem")), (MayOverlap("a", "t"),), "'a' may overlap 't': they are in different spaces"),
        ((SMEM,), (A, B), (Inside("a", "b"),), "'a' inside 'b': 8 units do not fit into 4"),
        ((SMEM,), (A, B), (Inside("b", "a", 5),), "'b' inside 'a' at 5: 4 units do not fit into 8"),
        ((SMEM,), (A, B), (Inside("b", "a", -1),), "'b' inside 'a' at -1: 4 units do not fit into 8"),
    ],
)  # fmt: skip
def test_contradictions_are_refused(
    spaces: tuple[Space, ...],
    blocks: tuple[Block, ...],
    relations: tuple[Relation, ...],
    message: str,
):
    with pytest.raises(ProblemError) as caught:
        Problem(spaces, blocks, relations)
    assert str(caught.value) == message


def test_a_problem_reads_as_text():
    live = ((0, 2), (5, 7))
    blocks = (
        Block("a", 8, 4, live=live, region=AsyncRegion("ws", 1)),
        Block("b", 4, live=(), fixed=8),
        Block("c", 4, live=ALWAYS),
    )
    assert str(Problem((SMEM,), blocks, (Inside("b", "a", 2),))).splitlines() == [
        "3 blocks in smem",
        "  a: 8 in smem, live 0..2 5..7, aligned to 4, partition 1 of ws",
        "  b: 4 in smem, live never, fixed at 8",
        "  c: 4 in smem, live always",
        "  'b' inside 'a' at 2",
    ]


def test_blocks_are_found_by_space_and_name():
    tmem = Space("tmem", unit="columns")
    problem = Problem((SMEM, tmem), (A, Block("t", 1, space="tmem"), B))
    assert problem.in_space("smem") == (A, B)
    assert problem.block("t").space == "tmem"
    assert problem.space("tmem") is tmem
