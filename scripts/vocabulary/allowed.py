"""Places where a word of the table is the right one, each with the reason. At most 40 entries."""

from __future__ import annotations

from dataclasses import dataclass

MOST = 40


@dataclass(frozen=True)
class Allowed:
    """A rule's word in files that match a glob."""

    key: str
    files: str
    reason: str


ALLOWED: tuple[Allowed, ...] = (
    Allowed(
        "turn",
        "src/tilewright/targets/numpy/*",
        "`rt.turn`, `rt.turns`: generated NumPy code calls it",
    ),
    Allowed(
        "settle", "src/tilewright/targets/numpy/tile/*", "`settle`: generated NumPy code calls it"
    ),
    Allowed(
        "place",
        "src/tilewright/targets/numpy/tile/support/block.py",
        "`rt.place`: generated NumPy code calls it",
    ),
    Allowed(
        "product",
        "src/tilewright/targets/numpy/tile/support/concurrent.py",
        "`rt.wait_products`: generated NumPy code calls it",
    ),
    Allowed("word", "src/tilewright/cli/completion.py", "`words`: what zsh calls the arguments"),
    Allowed("facts", "*/analysis/*", "dataflow facts: what an analysis has proved about a value"),
    Allowed("meet", "*/analysis/affine/*", "the meet of a lattice, of intervals and congruences"),
    Allowed("product", "*/analysis/affine/*", "products of polynomials and intervals"),
    Allowed(
        "word",
        "src/tilewright/targets/cuda/header/*",
        "generated CUDA, whose text is part of cache keys",
    ),
    Allowed(
        "mine",
        "src/tilewright/targets/cuda/header/*",
        "generated CUDA, whose text is part of cache keys",
    ),
    Allowed(
        "settle",
        "src/tilewright/targets/cuda/header/*",
        "generated CUDA, whose text is part of cache keys",
    ),
    Allowed("ask", "src/tilewright/language/tl/promotion.py", "Triton's error on mixed signedness"),
    Allowed("chip", "*", "AMD and Tenstorrent targets are rows of tables: `Chip`, `ChipSpec`"),
    Allowed("word", "src/tilewright/targets/hip/header/*", "lanes exchange 32-bit words"),
    Allowed("word", "*/tenstorrent/*", "kernel arguments and accessors are 32-bit words"),
    Allowed("word", "*/tensix/*", "the words that the network on chip transfers"),
    Allowed("number", "src/tilewright/ir/structure.py", "MLIR's error on an operand of a call"),
    Allowed("touch", "src/tilewright/dialects/ttg/views.py", "Triton's error on a subslice"),
    Allowed(
        "holder",
        "src/tilewright/dialects/ttg/warps.py",
        "`partition_op_holder` is Triton's name of a region",
    ),
    Allowed("word", "src/tilewright/memory/registry/*", "guard words are 32-bit words"),
    Allowed("number", "src/tilewright/memory/registry/ir_ttg.py", "a value of generated IR"),
    Allowed("neighbour", "src/tilewright/report/address_json.py", "a key of the JSON report"),
    Allowed("folder", "src/tilewright/runtime/tile/kernel.py", "the deprecated keyword `folder`"),
)
