"""Cost of storage-alias lowering: the flash-attention example, and a tree of 200 buffers.

    make bench
    python benchmarks/storage_alias.py [--rounds N] [--check]

The first row is what `tlx-storage-alias-lowering` adds to parsing the example, the checker's proof
included. The second lowers one region of 200 buffers that share two by two. `--check` makes the
exit code 1 above 50 ms and 1 s.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.passes import PASSES

EXAMPLE = (
    Path(__file__).parents[1] / "examples" / "storage_alias" / "fa_forward_4slices_bf16_d128.mlir"
)
LIMITS_S = (0.050, 1.0)


def wide_tree(buffers: int) -> str:
    """A module with one spec and `buffers` allocations in one tree."""
    memdesc = "!ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>"
    lines = [
        "#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>",
        "#smem = #ttg.shared_memory",
        'module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32} {',
        "tt.func @wide() {",
        "%s = tlx.storage_alias_spec storage = smem : !tlx.storage_alias_spec<smem>",
    ]
    for n in range(buffers):
        lines.append(
            f"%b{n} = tlx.storage_alias_local_alloc %s : !tlx.storage_alias_spec<smem> -> {memdesc}"
        )
    pairs = range(0, buffers, 2)
    for n in pairs:
        lines.append(
            f"%g{n} = tlx.reuse_group(%b{n}, %b{n + 1}) group_kind = shared : "
            f"({memdesc}, {memdesc}) -> !tlx.reuse_group<shared>"
        )
    names = ", ".join(f"%g{n}" for n in pairs)
    types = ", ".join("!tlx.reuse_group<shared>" for _ in pairs)
    lines += [
        f"%root = tlx.reuse_group({names}) group_kind = distinct : "
        f"({types}) -> !tlx.reuse_group<distinct>",
        "tlx.set_buffer_overlap(%s, %root) : "
        "(!tlx.storage_alias_spec<smem>, !tlx.reuse_group<distinct>) -> ()",
        "tt.return",
        "}",
        "}",
    ]
    return "\n".join(lines) + "\n"


def lowering_seconds(text: str, name: str, rounds: int) -> tuple[float, float]:
    """The best times of parsing `text` and of lowering it."""
    lowering = PASSES["tlx-storage-alias-lowering"]()
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        engine = DiagnosticEngine()
        start = time.perf_counter()
        source = parse_source(make_context(), text, name, engine)
        parsed = time.perf_counter()
        engine.raise_if_errors()
        assert source is not None
        lowering().run(source.module, engine)
        done = time.perf_counter()
        engine.raise_if_errors()
        best = [min(best[0], parsed - start), min(best[1], done - parsed)]
    return best[0], best[1]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    rows = [(EXAMPLE.stem, EXAMPLE.read_text()), ("200 buffers in one tree", wide_tree(200))]
    print(f"storage-alias lowering, best of {options.rounds} rounds\n")
    print(f"{'module':32}{'parse':>12}{'lowering':>12}{'limit':>10}")
    within = True
    for (name, text), limit in zip(rows, LIMITS_S, strict=True):
        parse, lowering = lowering_seconds(text, name, options.rounds)
        within &= lowering < limit
        print(f"{name:32}{parse * 1e3:9.1f} ms{lowering * 1e3:9.1f} ms{limit * 1e3:7.0f} ms")
    return 0 if within or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
