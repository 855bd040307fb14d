"""Kernels of the plain family in the sizes that tensor cores and TMA have: any statements, nested.

Where the plain family has tiles of 8 x 16, these have 64 x 32: its GEMMs become wgmma, its copies
boxes of TMA, its fragments several registers for each thread.
"""

from __future__ import annotations

import random
from dataclasses import replace

from tests.fuzz.tile.generator import FORMS, SMALL, Case, Generator
from tests.fuzz.tile.scope import Memory
from tests.fuzz.tile.text import Text

DTYPES = ("float16", "float16", "bfloat16", "float32", "int32", "int8")


class Large(Generator):
    """The kernel of one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = random.Random(f"large {seed}")
        rng = self.rng
        self.text = Text()
        self.form = rng.choice(FORMS)
        self.is_aligned = True
        self.extents = [rng.choice((64, 64, 128)), rng.choice((16, 32, 64)),
                        rng.choice((16, 32, 64))]  # fmt: skip
        self.grid = [rng.randint(1, 2) for _ in range(rng.choice((1, 2, 2, 2)))]
        self.blocks = ["bx", "by", "bz"][: len(self.grid)]
        self.sizes: dict[str, int] = {}

    def _tensors(self) -> list[Memory]:
        """As in the plain family, with inputs that several tiles fit in."""
        found = [each for each in super()._tensors() if each.name[0] != "A"]
        rng = self.rng
        for number in range(rng.randint(1, 3)):
            rank = rng.choice((1, 2, 2, 2, 3))
            shape = [rng.randint(20, 150) for _ in range(rank)]
            shape[-1] = rng.choice((32, 64, 96, 128))
            if rank == 3:
                shape[0] = rng.randint(1, 3)
            dtype = rng.choice(DTYPES)
            bound = SMALL if dtype != "int8" else 128
            memory = Memory(f"A{number}", "global", tuple(shape), dtype, bound, writable=False)
            found.insert(1 + number, memory)
        return found


def generate_large(seed: int) -> Case:
    return replace(Large(seed).case(), family="wide")
