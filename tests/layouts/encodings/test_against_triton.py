"""Our encodings against the linear layouts that the installed Triton makes of the same ones."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.layouts import triton_oracle
from tilewright.layouts.encodings import (
    Blocked,
    DotOperand,
    Linear,
    NvidiaMma,
    NvmmaShared,
    Slice,
    SwizzledShared,
    TensorMemory,
    TensorMemoryScales,
    blocked_for,
    default_nvmma_shared,
    tensor_memory_registers,
)
from tilewright.layouts.linear import LinearLayout

CASES = 60


def powers(rng: random.Random, rank: int, size: int) -> list[int]:
    """A shape of `rank` powers of two with `size` elements."""
    shape = [1] * rank
    for _ in range(size.bit_length() - 1):
        shape[rng.randrange(rank)] *= 2
    return shape


def random_shape(rng: random.Random, rank: int, low: int = 0, high: int = 7) -> list[int]:
    return [1 << rng.randint(low, high if rank < 3 else min(high, 5)) for _ in range(rank)]


def random_cga(rng: random.Random, rank: int) -> list[list[int]]:
    """CTAs counted along dimensions, some of them holding copies."""
    bases: list[list[int]] = []
    counts = [1] * rank
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        axis = rng.randrange(rank + 1)
        basis = [0] * rank
        if axis < rank:
            basis[axis] = counts[axis]
            counts[axis] *= 2
        bases.append(basis)
    return bases


def tuples(bases: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(basis) for basis in bases)


def random_blocked(rng: random.Random, rank: int) -> tuple[Blocked, Any]:
    sizes = [1 << rng.randint(0, 3) for _ in range(rank)]
    threads = powers(rng, rank, 32)
    warps = powers(rng, rank, rng.choice((1, 2, 4, 8)))
    order = rng.sample(range(rank), rank)
    cga = random_cga(rng, rank)
    kinds = triton_oracle.require()
    ours = Blocked(tuple(sizes), tuple(threads), tuple(warps), tuple(order), tuples(cga))
    return ours, kinds.BlockedLayout(sizes, threads, warps, order, cga)


def random_mma(rng: random.Random, version: int | None = None) -> tuple[NvidiaMma, Any]:
    kinds = triton_oracle.require()
    version = version or rng.choice((2, 3))
    rank = rng.choice((2, 2, 3)) if version == 2 else 2
    cga = random_cga(rng, rank) if rank == 2 else []
    if version == 2:
        warps, instr = powers(rng, rank, rng.choice((1, 2, 4, 8))), [1] * (rank - 2) + [16, 8]
    else:
        warps = [4, rng.choice((1, 2))] if rng.random() < 0.5 else [8, 1]
        instr = [16, 1 << rng.randint(3, 8), 16]
    ours = NvidiaMma((version, 0), tuple(warps), tuple(instr), tuples(cga))
    return ours, kinds.NVMMADistributedLayout([version, 0], warps, instr, cga)


def random_distributed(rng: random.Random) -> tuple[Any, Any, int]:
    kind = rng.choice(("blocked", "mma", "dot mma", "dot blocked"))
    kinds = triton_oracle.require()
    if kind == "blocked":
        rank = rng.choice((1, 2, 2, 3))
        return *random_blocked(rng, rank), rank
    if kind == "mma":
        ours, reference = random_mma(rng)
        return ours, reference, ours.rank
    if kind == "dot blocked":
        ours, reference = random_blocked(rng, 2)
        index = rng.randrange(2)
        return DotOperand(index, ours), kinds.DotOperandLayout(index, reference, 0), 2
    ours, reference = random_mma(rng)
    index = 0 if ours.is_wgmma else rng.randrange(2)
    width = rng.choice((1, 2, 4))
    both = DotOperand(index, ours, width), kinds.DotOperandLayout(index, reference, width)
    return *both, ours.rank


def check(ours: LinearLayout, reference: LinearLayout, what: object) -> None:
    names = list(reference.in_names)
    padded = {name: ours.bases_of(name) for name in names}
    assert LinearLayout.of(padded, dict(ours.out_dims)) == reference, what
    assert set(ours.in_names) <= set(names), what


@pytest.mark.parametrize("seed", range(4))
def test_distributed_layouts_equal_tritons(seed: int):
    rng = random.Random(seed)
    for _ in range(CASES):
        ours, reference, rank = random_distributed(rng)
        shape = random_shape(rng, rank)
        check(ours.to_linear(shape), triton_oracle.linear(reference, shape), (ours, shape))


def test_threads_larger_than_the_tensor_keep_one_register_or_copies():
    layout = Blocked((2, 8), (4, 8), (2, 2), (0, 1))
    assert layout.to_linear([8, 1]).bases_of("register") == ((1, 0),)
    assert layout.with_copies([8, 1]).bases_of("register") == ((1, 0), (0, 0), (0, 0), (0, 0))
    assert layout.with_copies([64, 64]) == layout.to_linear([64, 64])


@pytest.mark.parametrize("seed", range(2))
def test_slices_equal_tritons(seed: int):
    rng = random.Random(100 + seed)
    kinds = triton_oracle.require()
    compared = 0
    while compared < CASES:
        ours, reference, rank = random_distributed(rng)
        if rank == 1:
            continue
        axis = rng.randrange(rank)
        shape = random_shape(rng, rank - 1)
        sliced = Slice(axis, ours)
        check(
            sliced.to_linear(shape),
            triton_oracle.linear(kinds.SliceLayout(axis, reference), shape),
            (sliced, shape),
        )
        compared += 1


@pytest.mark.parametrize("seed", range(2))
def test_swizzled_shared_equals_tritons(seed: int):
    rng = random.Random(200 + seed)
    kinds = triton_oracle.require()
    for _ in range(CASES):
        rank = rng.choice((1, 2, 2, 3))
        order = rng.sample(range(rank), rank)
        cga = random_cga(rng, rank)
        parameters = [1 << rng.randint(0, 3) for _ in range(3)]
        shape = random_shape(rng, rank, low=2)
        ours = SwizzledShared(*parameters, tuple(order), tuples(cga))
        reference = kinds.SwizzledSharedLayout(*parameters, order, cga)
        check(ours.to_linear(shape), triton_oracle.linear(reference, shape), (ours, shape))


def test_nvmma_shared_equals_tritons():
    rng = random.Random(300)
    kinds = triton_oracle.require()
    widths: set[tuple[int, bool, int]] = set()
    while len(widths) < 12:  # four swizzles, plain or transposed, and of rank 3
        swizzle = rng.choice((0, 32, 64, 128))
        bits = rng.choice((8, 16, 32))
        rank = rng.choice((2, 2, 3))
        transposed = rank == 2 and rng.random() < 0.5
        for _ in range(12):
            shape = [1 << rng.randint(4, 9) for _ in range(rank)]
            if rank == 3:
                shape[0] = rng.choice((1, 2, 4))
            inner = 0 if transposed else rank - 1
            shape[inner] = max(shape[inner], max(128, swizzle * 8) // bits)
            ours = NvmmaShared(swizzle, bits, transposed)
            reference = kinds.NVMMASharedLayout(swizzle, bits, rank, transposed)
            check(ours.to_linear(shape), triton_oracle.linear(reference, shape), (ours, shape))
        widths.add((swizzle, transposed, rank))


def test_nvmma_shared_over_ctas_and_padded_fp4():
    kinds = triton_oracle.require()
    for cga in ([[1, 0]], [[0, 1]], [[1, 0], [0, 1]], [[0, 0]]):
        for transposed in (False, True):
            ours = NvmmaShared(64, 16, transposed, cga=tuples(cga))
            reference = kinds.NVMMASharedLayout(64, 16, 2, transposed, False, cga)
            check(ours.to_linear([128, 128]), triton_oracle.linear(reference, [128, 128]), ours)
    padded = NvmmaShared(128, 8, fp4_padded=True)
    reference = kinds.NVMMASharedLayout(128, 8, 2, False, True)
    for shape in ([8, 64], [64, 128], [512, 256]):
        check(padded.to_linear(shape), triton_oracle.linear(reference, shape), shape)


def test_the_default_swizzle_is_tritons():
    kinds = triton_oracle.require()
    tl = pytest.importorskip("triton.language")
    dtypes = {8: tl.int8, 16: tl.float16, 32: tl.float32}
    for bits, dtype in dtypes.items():
        for shape in ([64, 64], [4, 64], [8, 16], [128, 8], [256, 32], [2, 8, 128]):
            for transposed in (False, True) if len(shape) == 2 else (False,):
                chosen = kinds.NVMMASharedLayout.get_default_for(shape, dtype, transposed)
                ours = default_nvmma_shared(shape, bits, transposed)
                assert ours.swizzle_bytes == chosen.swizzle_byte_width, (shape, bits, transposed)


def tensor_memory_layout(*arguments: Any) -> Any:
    module = pytest.importorskip("triton.experimental.gluon.language.nvidia.blackwell")
    return module.TensorMemoryLayout(*arguments)


def test_tensor_memory_equals_tritons():
    triton_oracle.require()
    for height in (64, 128):
        for width in (16, 64, 256):
            for stride in (1, 2):
                for down in (1, 2, 4):
                    for across in (1, 2, 4):
                        shape = [height * down, width * across]
                        if width * stride * down * across > 512:
                            continue
                        ours = TensorMemory((height, width), stride)
                        reference = tensor_memory_layout((height, width), stride)
                        found = triton_oracle.linear(reference, shape)
                        check(ours.to_linear(shape), found, (ours, shape))


def test_tensor_memory_of_two_ctas_and_of_scales_equals_tritons():
    triton_oracle.require()
    for height, width in ((64, 64), (128, 64), (128, 128)):
        for across in (1, 2):
            shape = [2 * height, width * across]
            ours = TensorMemory((height, width), 1, ((1, 0),), two_ctas=True).to_linear(shape)
            reference = tensor_memory_layout((height, width), 1, [[1, 0]], True)
            assert ours.bases == triton_oracle.linear(reference, shape).bases, (
                height,
                width,
                across,
            )
    module = pytest.importorskip("triton.experimental.gluon.language.nvidia.blackwell")
    for shape in ([128, 4], [128, 16], [256, 16]):
        reference = triton_oracle.linear(module.TensorMemoryScalesLayout(), shape)
        check(TensorMemoryScales().to_linear(shape), reference, shape)


@pytest.mark.parametrize("atom", ["32x32b", "16x64b", "16x128b", "16x256b"])
def test_registers_of_tensor_memory_loads_equal_tritons(atom: str):
    triton_oracle.require()
    gluon_ir = pytest.importorskip("triton._C.libtriton").gluon_ir
    tl = pytest.importorskip("triton.language")
    compared = 0
    for bits, dtype in ((32, tl.float32), (16, tl.float16), (8, tl.int8)):
        for height in (64, 128):
            for width in (32, 128):
                for stride in {1, 32 // bits}:
                    for shape in ([height, width], [2 * height, width], [height, 2 * width]):
                        for warps in (4, 8):
                            reference = gluon_ir.compute_tmem_reg_layout(
                                dtype, shape, shape, tensor_memory_layout((height, width), stride), warps, atom
                            )  # fmt: skip
                            memory = TensorMemory((height, width), stride)
                            ours = tensor_memory_registers(memory, shape, bits, warps, atom)
                            if reference is None:
                                continue
                            found = triton_oracle.from_triton(reference, shape)
                            check(ours, found, (memory, shape, bits, warps))
                            compared += 1
    assert compared > 60


def test_threads_are_dealt_out_as_triton_does(tmp_path: Path):
    triton_oracle.require()
    library = pytest.importorskip("triton._C.libtriton")
    context = library.ir.context()
    library.ir.load_dialects(context)
    rng = random.Random(400)
    for _ in range(30):
        rank = rng.choice((1, 2, 3))
        shape = random_shape(rng, rank)
        warps = rng.choice((1, 2, 4, 8))
        tensor = f"tensor<{'x'.join(map(str, shape))}xf32>"
        source = tmp_path / "identity.ttir"
        source.write_text(
            f"module {{ tt.func @k(%a: {tensor}) -> {tensor} {{ tt.return %a : {tensor} }} }}",
            encoding="utf-8",
        )
        module = library.ir.parse_mlir_module(str(source), context)
        manager = library.ir.pass_manager(context)
        library.passes.ttir.add_convert_to_ttgpuir(manager, "cuda:90", warps, 32, 1)
        manager.run(module, "identity")
        lists = re.findall(r"= \[([\d, ]+)\]", str(module).splitlines()[0])
        reference = [tuple(int(n) for n in each.split(",")) for each in lists[:4]]
        ours = blocked_for(shape, [1] * rank, list(range(rank))[::-1], warps)
        assert reference == [
            ours.size_per_thread,
            ours.threads_per_warp,
            ours.warps_per_cta,
            ours.order,
        ]


def test_slices_of_layouts_given_by_bases_equal_tritons():
    kinds = triton_oracle.require()
    bases = [[0, 1], [8, 0]], [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], [[16, 0]]
    reference = kinds.DistributedLinearLayout(*bases, [], [32, 8])
    ours = Linear(LinearLayout.of(dict(zip(("register", "lane", "warp"), bases, strict=True))))
    for axis, size in ((0, 8), (1, 32), (0, 32), (0, 4), (1, 128)):
        found = triton_oracle.linear(kinds.SliceLayout(axis, reference), [size])
        check(Slice(axis, ours).to_linear([size]), found, (axis, size))


def test_ctas_of_a_layout_given_by_bases():
    whole = Blocked((1, 4), (8, 4), (2, 2), (1, 0), ((1, 0), (0, 1))).to_linear([128, 64])
    assert Linear(whole).cga == ((1, 0), (0, 1))
    assert Linear(whole).to_linear([128, 64]) == whole
