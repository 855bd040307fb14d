"""AMD's GPUs: waves, memories, registers, matrix instructions, all in this table.

No pass compares names of architectures: it reads the chip's entry. Sources: ROCm's GPU hardware
specifications (compute units, LDS, caches), LLVM's AMDGPU target description (LDS, fp8), Triton's
AMD target information (banks), AMD's matrix instruction calculator (cycles); registers, waves and
matrix instructions were checked against what clang 19 compiles. Counts of compute units and sizes
of caches are those of one model each. Lanes that LDS serves together: measurements in
nod-ai/amd-shark-ai (docs/empirical-lds) for gfx942, gfx950, gfx1100 and gfx1201, gfx90a being taken
to be like gfx942; that stores of gfx950 use 32 banks: the HipKittens paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tilewright.layouts.hardware.banks import BankModel

_KIB = 1024
_MIB = 1024 * _KIB


@dataclass(frozen=True)
class MatrixInstruction:
    """One MFMA or WMMA instruction of a chip."""

    kind: str
    """``mfma`` or ``wmma``."""
    m: int
    n: int
    k: int
    a: str
    """Element type of the first operand, as IR prints it (``xf32``: float32, read as tf32)."""
    b: str
    c: str
    """Of the accumulator: ``f32`` or ``i32``."""
    width: int
    """Elements of an operand that a lane holds."""
    cycles: int
    """Of one wave on one SIMD."""
    builtin: str
    """clang's, without ``__builtin_amdgcn_``; or LLVM's intrinsic, which has dots."""

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.m, self.n, self.k

    @property
    def name(self) -> str:
        """``mfma_f32_32x32x8_f16_f16``."""
        return f"{self.kind}_{self.c}_{self.m}x{self.n}x{self.k}_{self.a}_{self.b}".lower()

    def accumulators(self, wave: int) -> int:
        """Elements of the result that a lane holds."""
        return self.m * self.n // wave


@dataclass(frozen=True)
class Chip:
    """One architecture."""

    name: str
    wave: int
    """Lanes of a wave."""
    compute_units: int
    xcds: int
    """Dies with an L2 of their own that blocks are spread over; 1 if there is only one."""
    lds_bytes: int
    """The most that a block can have."""
    lds_banks: int
    registers: int
    """The most that a lane can have, AGPRs included."""
    register_file: int
    """Registers a lane of all waves of a SIMD together."""
    register_granule: int
    waves_per_simd: int
    simds_per_cu: int
    l2_bytes: int
    direct_copy_bytes: tuple[int, ...]
    """Sizes of copies from global memory to LDS that use no registers; none if there are none."""
    fp8: str | None
    """``fnuz``, ``ocp``, or None."""
    instructions: tuple[MatrixInstruction, ...]
    barrier_waits: bool = False
    """Whether the compiler waits for all memory accesses before its barrier builtin."""
    max_threads: int = 1024
    block_simds: int = 4
    """SIMDs that waves of a block are spread over: a compute unit's; where a compute unit has two,
    those of two of them, a work-group processor."""
    copy_bytes: int = 16
    """The widest access of one lane."""
    line_bytes: int = 128
    packed_atomics: tuple[str, ...] = ()
    """Element types of which two consecutive ones are added to memory by one instruction."""
    lds_read_quads: tuple[tuple[int, ...], ...] = ()
    """Lanes that a 16-byte LDS read serves together, in quads of each 32 lanes; none if
    they are consecutive."""
    lds_write_banks: int = 32

    @property
    def generation(self) -> int:
        """Of the instruction set: 9, 11, 12; ``gfx90a`` is version 9.0.a."""
        return int(self.name.removeprefix("gfx")[:-2])

    def __str__(self) -> str:
        return self.name

    @property
    def banks(self) -> BankModel:
        """The banks of LDS."""
        return BankModel(self.lds_banks, self.wave, self.lds_write_banks, self.lds_read_quads)

    def instructions_for(self, a: str, b: str) -> tuple[MatrixInstruction, ...]:
        """The matrix instructions for two element types."""
        return tuple(each for each in self.instructions if (each.a, each.b) == (a, b))

    def registers_with(self, threads: int) -> int:
        """The most registers that a lane can have in a block of so many threads."""
        waves = -(-threads // self.wave)
        per_simd = -(-waves // self.simds_per_cu)
        return min(self.registers, self.register_file // per_simd)

    def waves_with(self, registers: int) -> int:
        """How many waves of so many registers a lane fit on a SIMD."""
        if registers <= 0:
            return self.waves_per_simd
        allocated = -(-registers // self.register_granule) * self.register_granule
        return min(self.waves_per_simd, self.register_file // allocated)


def _mfma(
    types: str,
    shapes: tuple[tuple[int, int, int], ...],
    width: int,
    cycles: tuple[int, ...],
    builtin: str,
    c: str = "f32",
) -> tuple[MatrixInstruction, ...]:
    """The shapes of one pair of types; `builtin` has ``{shape}``."""
    a, _, b = types.partition("*")
    return tuple(
        MatrixInstruction(
            "mfma",
            m,
            n,
            k,
            a,
            b or a,
            c,
            width,
            each,
            builtin.format(shape=f"{m}x{n}x{k}"),
        )
        for (m, n, k), each in zip(shapes, cycles, strict=True)
    )


_HALF = ((32, 32, 8), (16, 16, 16))
_EIGHT = ((32, 32, 16), (16, 16, 32))
_FLOAT = _mfma("f32", ((32, 32, 2), (16, 16, 4)), 1, (64, 32), "mfma_f32_{shape}f32")


def _eighths(names: Mapping[str, str]) -> tuple[MatrixInstruction, ...]:
    """gfx942's fp8, both formats in both operands."""
    return tuple(
        each
        for a, first in names.items()
        for b, second in names.items()
        for each in _mfma(f"{a}*{b}", _EIGHT, 8, (32, 16), f"mfma_f32_{{shape}}_{first}_{second}")
    )


_GFX90A = (
    *_mfma("f16", _HALF, 4, (64, 32), "mfma_f32_{shape}f16"),
    *_mfma("bf16", _HALF, 4, (64, 32), "mfma_f32_{shape}bf16_1k"),
    *_mfma("i8", _HALF, 4, (64, 32), "mfma_i32_{shape}i8", "i32"),
    *_FLOAT,
)
_GFX942 = (
    *_mfma("f16", _HALF, 4, (32, 16), "mfma_f32_{shape}f16"),
    *_mfma("bf16", _HALF, 4, (32, 16), "mfma_f32_{shape}bf16_1k"),
    *_eighths({"f8E4M3FNUZ": "fp8", "f8E5M2FNUZ": "bf8"}),
    *_mfma("i8", _EIGHT, 8, (32, 16), "mfma_i32_{shape}_i8", "i32"),
    *_mfma("xf32", ((32, 32, 4), (16, 16, 8)), 2, (32, 16), "mfma_f32_{shape}_xf32"),
    *_FLOAT,
)
_SCALED = ((32, 32, 64), (16, 16, 128))
_GFX950 = (
    *_mfma("f16", _EIGHT, 8, (32, 16), "llvm.amdgcn.mfma.f32.{shape}.f16"),
    *_mfma("bf16", _EIGHT, 8, (32, 16), "llvm.amdgcn.mfma.f32.{shape}.bf16"),
    *_mfma(
        "i8", ((32, 32, 32), (16, 16, 64)), 16, (32, 16), "llvm.amdgcn.mfma.i32.{shape}.i8", "i32"
    ),
    *(
        each
        for a in ("f8E4M3FN", "f8E5M2")
        for b in ("f8E4M3FN", "f8E5M2")
        for each in _mfma(
            f"{a}*{b}", _SCALED, 32, (64, 32), "llvm.amdgcn.mfma.scale.f32.{shape}.f8f6f4"
        )
    ),
    # gfx942's shapes for less depth (LLVM selects them), at half the rate.
    *_mfma("f16", _HALF, 4, (32, 16), "mfma_f32_{shape}f16"),
    *_mfma("bf16", _HALF, 4, (32, 16), "mfma_f32_{shape}bf16_1k"),
    *_mfma("i8", _EIGHT, 8, (32, 16), "mfma_i32_{shape}_i8", "i32"),
    *_eighths({"f8E4M3FN": "fp8", "f8E5M2": "bf8"}),
    *_FLOAT,
)


def _wmma(types: str, width: int, cycles: int, builtin: str, c: str = "f32") -> MatrixInstruction:
    a, _, b = types.partition("*")
    return MatrixInstruction("wmma", 16, 16, 16, a, b or a, c, width, cycles, builtin)


_GFX1100 = (
    _wmma("f16", 16, 32, "wmma_f32_16x16x16_f16_w32"),
    _wmma("bf16", 16, 32, "wmma_f32_16x16x16_bf16_w32"),
    _wmma("i8", 16, 32, "wmma_i32_16x16x16_iu8_w32", "i32"),
)
_GFX1201 = (
    _wmma("f16", 8, 16, "wmma_f32_16x16x16_f16_w32_gfx12"),
    _wmma("bf16", 8, 16, "wmma_f32_16x16x16_bf16_w32_gfx12"),
    *(
        _wmma(f"{a}*{b}", 8, 8, f"wmma_f32_16x16x16_{first}_{second}_w32_gfx12")
        for a, first in (("f8E4M3FN", "fp8"), ("f8E5M2", "bf8"))
        for b, second in (("f8E4M3FN", "fp8"), ("f8E5M2", "bf8"))
    ),
    _wmma("i8", 8, 8, "wmma_i32_16x16x16_iu8_w32_gfx12", "i32"),
)


_EIGHT_LANES = ((0, 5), (1, 4), (2, 7), (3, 6))
_SIXTEEN_LANES = ((0, 3, 5, 6), (1, 2, 4, 7))


def _cdna(
    name: str,
    units: int,
    xcds: int,
    lds: int,
    banks: int,
    l2: int,
    direct: tuple[int, ...],
    fp8: str | None,
    instructions: tuple[MatrixInstruction, ...],
) -> Chip:
    return Chip(
        name,
        64,
        units,
        xcds,
        lds,
        banks,
        512,
        512,
        8,
        8,
        4,
        l2,
        direct,
        fp8,
        instructions,
        packed_atomics=("f16",) if fp8 is None else ("f16", "bf16"),
        lds_read_quads=_SIXTEEN_LANES if banks == 64 else _EIGHT_LANES,
    )


def _rdna(
    name: str,
    units: int,
    l2: int,
    fp8: str | None,
    instructions: tuple[MatrixInstruction, ...],
    quads: tuple[tuple[int, ...], ...] = (),
) -> Chip:
    return Chip(
        name,
        32,
        units,
        1,
        64 * _KIB,
        32,
        256,
        1536,
        24,
        16,
        2,
        l2,
        (),
        fp8,
        instructions,
        barrier_waits=True,
        packed_atomics=() if fp8 is None else ("f16", "bf16"),
        lds_read_quads=quads,
    )


CHIPS: Mapping[str, Chip] = MappingProxyType(
    {
        chip.name: chip
        for chip in (
            _cdna("gfx90a", 104, 1, 64 * _KIB, 32, 8 * _MIB, (4,), None, _GFX90A),
            _cdna("gfx942", 304, 8, 64 * _KIB, 32, 4 * _MIB, (4,), "fnuz", _GFX942),
            _cdna("gfx950", 256, 8, 160 * _KIB, 64, 4 * _MIB, (4, 12, 16), "ocp", _GFX950),
            _rdna("gfx1100", 96, 6 * _MIB, None, _GFX1100, _EIGHT_LANES),
            _rdna("gfx1201", 64, 8 * _MIB, "ocp", _GFX1201),
        )
    }
)
DEFAULT_CHIP = "gfx942"


def chip_named(name: str) -> Chip:
    """The chip of an architecture, ``gfx942``; raises `LookupError` with the known ones."""
    try:
        return CHIPS[name]
    except KeyError:
        raise LookupError(
            f"unknown AMD architecture {name!r}: expected one of {', '.join(CHIPS)}"
        ) from None
