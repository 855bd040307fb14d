"""Layouts of accumulators of matrix instructions: NVIDIA's mma and wgmma, AMD's MFMA and WMMA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from typing_extensions import override
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.ttg.bases import identity_bases, rank_of, verify_ranks
from tilewright.dialects.ttg.cga import CgaStruct
from tilewright.dialects.ttg.interfaces import MmaEncoding
from tilewright.dialects.ttg.struct import (
    BASES,
    BOOL,
    UINT,
    UINTS,
    Bases,
    FieldKind,
    Ints,
    bases_text,
    key,
    struct_attr,
)
from tilewright.ir.text.flavour import Flavour

NVIDIA_WARP = 32
MFMA_WARP = 64
WMMA_WARP = 32


@struct_attr
class NvidiaMmaEncoding(CgaStruct, MmaEncoding):
    """The accumulator of ``mma`` (version 2, Ampere) or ``wgmma`` (version 3, Hopper)."""

    name = "ttg.nvidia_mma"
    ASM_ALIAS: ClassVar[str] = "mma"

    version_major: int = key("versionMajor", UINT)
    version_minor: int = key("versionMinor", UINT, default=0, always=True)
    warps_per_cta: Ints = key("warpsPerCTA", UINTS)
    cga_layout: Bases = key("CGALayout", BASES, default=())
    instr_shape: Ints = key("instrShape", UINTS)

    @property
    def is_hopper(self) -> bool:
        return self.version_major == 3

    @property
    @override
    def rank(self) -> int:
        return len(self.warps_per_cta)

    @property
    @override
    def threads_per_warp(self) -> int:
        return NVIDIA_WARP

    @property
    @override
    def num_warps(self) -> int:
        return prod(self.warps_per_cta)

    @override
    def verify(self) -> None:
        if self.version_major == 1:
            raise VerifyException("Volta (versionMajor = 1) is deprecated and no longer supported")
        if self.version_major not in (2, 3):
            raise VerifyException(
                f"versionMajor must be 2 (Ampere) or 3 (Hopper), got {self.version_major}"
            )
        super().verify()


@struct_attr
class AmdMfmaEncoding(CgaStruct, MmaEncoding):
    """The accumulator of an MFMA instruction. An empty `tiles_per_warp` stands for ones."""

    name = "ttg.amd_mfma"
    ASM_ALIAS: ClassVar[str] = "mma"

    version: int = key("version", UINT)
    warps_per_cta: Ints = key("warpsPerCTA", UINTS)
    instr_shape: Ints = key("instrShape", UINTS)
    is_transposed: bool = key("isTransposed", BOOL)
    cga_layout: Bases = key("CGALayout", BASES, default=())
    tiles_per_warp: Ints = key("tilesPerWarp", UINTS, default=())
    element_bit_width: int = key("elementBitWidth", UINT, default=32)

    def __post_init__(self) -> None:
        if all(tiles == 1 for tiles in self.tiles_per_warp):
            object.__setattr__(self, "tiles_per_warp", ())
        super().__post_init__()

    @property
    @override
    def rank(self) -> int:
        return len(self.warps_per_cta)

    @property
    @override
    def threads_per_warp(self) -> int:
        return MFMA_WARP

    @property
    @override
    def num_warps(self) -> int:
        return prod(self.warps_per_cta)

    @override
    def verify(self) -> None:
        if self.version > 4:
            raise VerifyException("version must be in the [0, 4] range")
        if len(self.instr_shape) not in (2, 3):
            raise VerifyException(f"instrShape must have 2 or 3 entries, got {self.instr_shape}")
        m, n = self.instr_shape[:2]
        if (m, n) not in ((32, 32), (16, 16), (64, 4), (4, 64)):
            raise VerifyException(f"invalid (mDim, nDim) combination: ({m}, {n})")
        if self.element_bit_width not in (32, 64):
            raise VerifyException("elementBitWidth must be 32 or 64")
        super().verify()


@dataclass(frozen=True)
class CtaTiles:
    """Which instruction tile each register and each warp of a CTA works on, as bases."""

    register: Bases
    warp: Bases

    @property
    def rank(self) -> int:
        return rank_of(self.register, self.warp)

    @classmethod
    def regular(cls, warps_per_cta: Ints, tiles_per_warp: Ints) -> CtaTiles:
        """Rows of tiles, the last dimension fastest; all that releases before 3.7 support."""
        order = tuple(reversed(range(len(warps_per_cta))))
        return cls(
            identity_bases(tiles_per_warp, order),
            identity_bases(warps_per_cta, order, tiles_per_warp),
        )


def _parse_tiles(parser: AttrParser, what: str) -> CtaTiles:
    found: dict[str, Bases] = {}

    def entry() -> None:
        name = parser.parse_identifier(f" in {what}")
        if name not in ("register", "warp"):
            parser.raise_error(f"unexpected key: {name}")
        parser.parse_punctuation("=")
        found[name] = BASES.parse(parser, name)

    parser.parse_comma_separated_list(parser.Delimiter.BRACES, entry)
    return CtaTiles(found.get("register", ()), found.get("warp", ()))


def _print_tiles(printer: Printer, tiles: CtaTiles) -> None:
    parts = [("register", tiles.register), ("warp", tiles.warp)]
    text = ", ".join(f"{name} = {bases_text(bases)}" for name, bases in parts if bases)
    printer.print_string(f"{{{text}}}")


TILES: FieldKind[CtaTiles] = FieldKind(_parse_tiles, _print_tiles)

_DEFAULT_WMMA_SHAPE = (16, 16, 16)
_WMMA_SHAPES = {
    1: ((16, 16, 16),),
    2: ((16, 16, 16), (16, 16, 32)),
    3: (
        (16, 16, 4),
        (16, 16, 32),
        (16, 16, 64),
        (16, 16, 128),
        (32, 16, 64),
        (32, 16, 128),
    ),
}


@struct_attr
class AmdWmmaEncoding(CgaStruct, MmaEncoding):
    """The accumulator of a WMMA instruction.

    Before 3.7 the tiles of a CTA were given as ``warpsPerCTA`` and ``tilesPerWarp``; both are
    read, and written for a release that needs them.
    """

    name = "ttg.amd_wmma"
    ASM_ALIAS: ClassVar[str] = "mma"
    LEGACY: ClassVar[Mapping[str, FieldKind[Any]]] = {
        **CgaStruct.LEGACY,
        "warpsPerCTA": UINTS,
        "tilesPerWarp": UINTS,
    }

    version: int = key("version", UINT)
    is_transposed: bool = key("isTranspose", BOOL, default=False, always=True)
    cta_layout: CtaTiles = key("ctaLayout", TILES)
    cga_layout: Bases = key("CGALayout", BASES, default=())
    instr_shape: Ints = key("instrShape", UINTS, default=_DEFAULT_WMMA_SHAPE)
    tile_rank: int = key("rank", UINT, default=2)

    @property
    @override
    def rank(self) -> int:
        return self.tile_rank

    @property
    @override
    def threads_per_warp(self) -> int:
        return WMMA_WARP

    @property
    @override
    def num_warps(self) -> int:
        return 1 << len(self.cta_layout.warp)

    @classmethod
    @override
    def upgrade(cls, values: dict[str, Any], parser: AttrParser) -> dict[str, Any]:
        values = super().upgrade(values, parser)
        warps: Ints | None = values.pop("warpsPerCTA", None)
        tiles: Ints = values.pop("tilesPerWarp", ())
        if warps is not None:
            ones = (1,) * len(warps)
            values["ctaLayout"] = CtaTiles.regular(warps, tiles[: len(warps)] or ones)
            values.setdefault("rank", len(warps))
        cta_layout: CtaTiles | None = values.get("ctaLayout")
        if cta_layout is not None and cta_layout.rank:
            values.setdefault("rank", cta_layout.rank)
        return values

    @override
    def entries(self, flavour: Flavour) -> Sequence[tuple[str, FieldKind[Any], Any]]:
        shown = {entry[0]: entry for entry in super().entries(flavour)}
        if self.cta_layout.rank:
            shown.pop("rank", None)  # implied by the bases
        if flavour.is_tlx or flavour.at_least(3, 7):
            return list(shown.values())
        warps, tiles = self._tile_counts()
        if CtaTiles.regular(warps, tiles) != self.cta_layout:
            return list(shown.values())  # nothing an older release could read
        shown["ctaLayout"] = ("warpsPerCTA", UINTS, warps)
        if any(count != 1 for count in tiles):
            instr_shape = shown.pop("instrShape", None)
            shown["tilesPerWarp"] = ("tilesPerWarp", UINTS, tiles)
            if instr_shape is not None:
                shown["instrShape"] = instr_shape
        return list(shown.values())

    def _tile_counts(self) -> tuple[Ints, Ints]:
        """Warps and tiles of a warp along each dimension, if the tiles are regular."""
        return _counts(self.cta_layout.warp, self.rank), _counts(
            self.cta_layout.register, self.rank
        )

    @override
    def verify(self) -> None:
        if self.version not in _WMMA_SHAPES:
            raise VerifyException("WMMA version must be in the [1, 3] range")
        if self.instr_shape not in _WMMA_SHAPES[self.version]:
            raise VerifyException(f"invalid WMMA v{self.version} instruction shape")
        if self.cta_layout.rank not in (0, self.rank):
            raise VerifyException("Serialized rank and rank deduced from LL need to match")
        verify_ranks(self.cta_layout.register + self.cta_layout.warp, self.rank)
        super().verify()


def _counts(bases: Bases, rank: int) -> Ints:
    moves = [sum(basis[dim] != 0 for basis in bases) for dim in range(rank)]
    return tuple(1 << count for count in moves)
