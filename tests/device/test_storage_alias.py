"""On a GPU: bytes that are planned to share do share, all others do not, and a real kernel is right.

* The GEMM of ``examples/storage_alias`` stages its result in the ring it has drained. Were a place
  wrong, tiles would be overwritten while they are needed.
* Random trees of reuse groups, each as a kernel that writes one buffer after the other and reads
  all of them every time (`views_kernel`), compared byte by byte with the formulas of docs/design/storage-alias.md.
* The same with one number of the index arithmetic changed, which has to be noticed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import count, islice
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from tests.device.views_kernel import (
    Rounds,
    constants_of,
    finished,
    lowered,
    read_starts,
    reads,
    rounds_of,
)
from tests.device.views_model import Model, differences
from tests.passes.pass_support import parse
from tests.passes.tlx.storage_alias_support import Leaf, Tree, expected_addresses, random_case
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.shared import PaddedSharedEncoding
from tilewright.dialects.ttg.views import MemDescIndexOp
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pipeline, parse_pipeline
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.passes import PASSES

# Without them every test below is skipped, for the reason that conftest.py gives.
if find_spec("torch") and find_spec("triton"):
    import torch

    from tests.device.launch import VERSION, Kernel, build, pointer, tensor_map, text_of

pytestmark = pytest.mark.device

# -- the GEMM ring -------------------------------------------------------------------------------

RING = Path(__file__).parents[2] / "examples" / "storage_alias" / "hopper_gemm_ring.mlir"
LOWER = "tlx-storage-alias-lowering,tlx-verify-storage-alias,tlx-rewrite-local-alias"
TILE_M, TILE_N, TILE_K = 128, 128, 64
RING_BYTES, STAGED_BYTES = 4 * (TILE_M + TILE_N) * TILE_K * 2, TILE_M * TILE_N * 4

# One element; less than a tile; one tile; the ring filled, and gone around by one; primes that
# are just past tiles and go around the ring more than twice; many programs at once.
SIZES = [
    (1, 1, 1),
    (61, 67, 59),
    (128, 128, 64),
    (128, 128, 256),
    (128, 128, 320),
    (131, 257, 577),
    (127, 521, 1009),
    (1024, 2048, 4096),
]

COPIED_BYTES = 16
"""The copy engine's rows start at multiples of this, and it writes no less at a time."""

ULPS = 32
"""Allowed error of an element, in units of 2^-24 of the sum of its products' magnitudes."""


def ring() -> ModuleOp:
    module, engine = parse(RING.read_text()), DiagnosticEngine()
    assert Pipeline.build(parse_pipeline(LOWER), PASSES).run(module, engine)
    assert verify(module, engine)
    engine.raise_if_errors()
    return module


@pytest.fixture(scope="module")
def ring_kernel(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    return build(text_of(ring()), tmp_path_factory.mktemp("ring"))


def padded(data: torch.Tensor) -> torch.Tensor:
    """`data` in the corner of a larger matrix of NaNs with rows that the copy engine can address."""
    rows, columns = data.shape
    step = COPIED_BYTES // data.element_size()
    room = torch.full(
        (rows + 3, (columns // step + 2) * step), float("nan"), dtype=data.dtype, device="cuda"
    )
    room[:rows, :columns] = data
    return room


def multiply(kernel: Kernel, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``a @ b``. What is around the operands must not be read, nor that around the result written."""
    (m, k), n = a.shape, b.shape[1]
    nothing = torch.full((m, n), float("nan"), device="cuda")
    room_a, room_b, room_c = padded(a), padded(b), padded(nothing)
    kernel.launch(
        (-(-m // TILE_M), -(-n // TILE_N)),
        tensor_map(room_a, (m, k), (TILE_M, TILE_K)),
        tensor_map(room_b, (k, n), (TILE_K, TILE_N)),
        tensor_map(room_c, (m, n), (TILE_M, TILE_N)),
        ctypes.c_int32(-(-k // TILE_K)),
    )
    result = room_c[:m, :n].clone()
    room_c[:m, :n] = float("nan")
    # A group of bytes that the result ends in is written whole, with the zeros of the tile.
    step = COPIED_BYTES // room_c.element_size()
    rest = room_c[:m, n : -(-n // step) * step]
    assert (rest.isnan() | (rest == 0)).all()
    rest.fill_(float("nan"))
    assert room_c.isnan().all(), "written outside of the result"
    return result


def generator(*numbers: int) -> torch.Generator:
    """Other numbers, other data."""
    return torch.Generator(device="cuda").manual_seed(hash(numbers) & 0xFFFFFFFF)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_gemm_ring_is_exact_on_small_integers(ring_kernel: Kernel, size: tuple[int, int, int]):
    """Sums of small integers are exact in float32, so nothing hides in rounding."""
    m, n, k = size
    draw = generator(1, *size)
    a, b = (
        torch.randint(-5, 6, shape, generator=draw, device="cuda").half()
        for shape in ((m, k), (k, n))
    )
    found = multiply(ring_kernel, a, b)
    assert torch.equal(found.double(), a.double() @ b.double())


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_gemm_ring_against_float64(ring_kernel: Kernel, size: tuple[int, int, int]):
    m, n, k = size
    draw = generator(2, *size)
    a, b = (torch.randn(shape, generator=draw, device="cuda").half() for shape in ((m, k), (k, n)))
    found = multiply(ring_kernel, a, b).double()
    expected, magnitude = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    worst = ((found - expected).abs() / magnitude).max().item() * 2**24
    relative = ((found - expected).norm() / expected.norm()).item()
    print(f"{m}x{n}x{k}: relative error {relative:.2e}, worst element {worst:.2f} of {ULPS}")
    # Written so that NaN fails.
    assert worst <= ULPS
    assert relative < 1e-5


def test_gemm_ring_keeps_its_result_in_the_ring(ring_kernel: Kernel):
    assert RING_BYTES <= ring_kernel.shared_bytes < RING_BYTES + 1024 < RING_BYTES + STAGED_BYTES


def test_gemm_ring_with_a_changed_offset_is_wrong(tmp_path: Path):
    """B read from where A is: the comparison above is not blind."""
    module = ring()
    consumer = next(
        op
        for op in walk(module)
        if isinstance(op, MemDescIndexOp) and memdesc(op.src.type).shape == (8, TILE_K, TILE_N)
    )
    (offset,) = (op for op in constants_of(consumer.index) if number_of(op) == 1)
    set_number(offset, 0)
    kernel = build(text_of(module), tmp_path)
    draw = generator(3)
    a, b = (
        torch.randint(-5, 6, (128, 128), generator=draw, device="cuda").half() for _ in range(2)
    )
    assert not torch.equal(multiply(kernel, a, b).double(), a.double() @ b.double())


# -- random trees --------------------------------------------------------------------------------

TREES = 48
CHANGED = 8
CAPACITY = 232448  # shared memory of a block on sm_90
LARGEST_OUTPUT = 64 << 20


@cache
def trees(number: int) -> list[Rounds]:
    """The first trees in shared memory that have something to share and can be put into indices."""
    return list(islice(_drawn(), number))


def _drawn() -> Iterator[Rounds]:
    for seed in count():
        case = random_case(seed)
        if case.memory != "smem" or len(case.leaves) < 2:
            continue
        # Releases from 3.8 on refuse views with gaps of memory without, and the other way round.
        if VERSION >= (3, 8) and any(has_gaps(leaf) for leaf in (*case.leaves, *case.outside)):
            continue
        rounds = rounds_of(case)
        if rounds is None or rounds.size_bytes > CAPACITY:
            continue
        if rounds.row_bytes * len(rounds.buffers) <= LARGEST_OUTPUT:
            yield rounds


def has_gaps(leaf: Leaf) -> bool:
    return isinstance(leaf.type.encoding, PaddedSharedEncoding)


def depth(tree: Tree) -> int:
    return 0 if isinstance(tree, Leaf) else 1 + max(map(depth, tree.children))


def largest_group(tree: Tree) -> int:
    return 1 if isinstance(tree, Leaf) else max(tree.size, *map(largest_group, tree.children))


def number_of(op: ConstantOp) -> int:
    value = op.properties["value"]
    assert isinstance(value, IntegerAttr)
    return value.value.data


def set_number(op: ConstantOp, number: int) -> None:
    value = op.properties["value"]
    assert isinstance(value, IntegerAttr)
    op.properties["value"] = IntegerAttr(number, value.type)


def play(rounds: Rounds, module: ModuleOp, model: Model, folder: Path) -> list[str]:
    """Run all rounds of a lowered kernel on random bytes; what differs from the model."""
    random = np.random.default_rng(len(rounds.buffers))
    background = random.integers(256, size=rounds.size_bytes, dtype=np.uint8)
    shape = (len(rounds.buffers), rounds.pattern_bytes)
    patterns = random.integers(256, size=shape, dtype=np.uint8)
    kernel = build(text_of(finished(module)), folder)
    assert kernel.shared_bytes == rounds.size_bytes
    out = torch.full((shape[0], rounds.row_bytes), 0xA5, dtype=torch.uint8, device="cuda")
    given = [torch.from_numpy(array).cuda() for array in (background, patterns)]
    kernel.launch((shape[0], 1), *map(pointer, (*given, out)))
    return differences(rounds, out.cpu().numpy(), model.output(background, patterns))


def test_trees_are_of_every_kind():
    drawn = trees(TREES)
    assert max(depth(rounds.case.tree) for rounds in drawn) >= 3
    assert max(len(rounds.leaves) for rounds in drawn) >= 8
    assert sum(largest_group(rounds.case.tree) > 1 for rounds in drawn) >= TREES // 3
    assert {rounds.case.tree.kind for rounds in drawn} == {"shared", "distinct"}
    types = [leaf.type for rounds in drawn for leaf in rounds.leaves]
    assert {bit_width(each.element_type) for each in types} == {8, 16, 32, 64}
    layouts = {type(each.encoding).__name__ for each in types}
    assert {"SwizzledSharedEncoding", "NvmmaSharedEncoding"} <= layouts


@pytest.mark.parametrize("number", range(TREES))
def test_buffers_have_the_planned_bytes(number: int, tmp_path: Path):
    rounds = trees(TREES)[number]
    module = lowered(rounds)
    starts = read_starts(module, rounds)
    expected = expected_addresses(rounds.case.tree)
    assert {name: starts[name] for name in expected} == expected
    assert play(rounds, module, Model(rounds, starts, starts), tmp_path) == []


@cache
def changeable(number: int) -> list[Rounds]:
    """Trees with an address that can be another one without leaving the allocation."""
    return list(islice((each for each in _drawn() if change(lowered(each), each)), number))


def change(module: ModuleOp, rounds: Rounds) -> bool:
    """Move one leaf where step 3 reads it, by one number in its index; whether there was one."""
    before = read_starts(module, rounds)
    for leaf, op in reads(module, rounds):
        for constant in constants_of(op.index):
            number = number_of(constant)
            for other in (number - 1, number + 1):
                set_number(constant, other)
                after = read_starts(module, rounds)[leaf.name]
                if (
                    min(after) >= 0
                    and max(after) + leaf.unit <= rounds.size_bytes
                    and (after != before[leaf.name])
                ):
                    return True
            set_number(constant, number)
    return False


@pytest.mark.parametrize("number", range(CHANGED))
def test_a_changed_offset_is_noticed(number: int, tmp_path: Path):
    rounds = changeable(CHANGED)[number]
    module = lowered(rounds)
    planned = read_starts(module, rounds)
    assert change(module, rounds)
    actual = read_starts(module, rounds)
    (moved,) = (name for name in planned if planned[name] != actual[name])

    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    found = play(rounds, module.clone(), Model(rounds, planned, planned), before)
    assert found != []
    assert all(f", {moved}[" in line for line in found)
    # And it is noticed for what it is: where the number says, there the bytes are.
    assert play(rounds, module, Model(rounds, planned, actual), after) == []
