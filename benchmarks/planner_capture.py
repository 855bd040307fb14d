"""Capture shared-memory problems from kernels, for the planner's benchmark.

    python -m tests.dumps.generate DUMPS --targets sm80,sm90,sm100
    python benchmarks/planner_capture.py DUMPS examples/storage_alias

reads every ``.ttgir`` (as the backend left it, not ``.source``) and ``.mlir`` file in the folders,
lowers storage aliasing where there is any, and asks `merge-shared-memory`'s front for the blocks of
each function: a ``ttg.local_alloc`` with its bytes, its alignment by view, the spans in which it is
held and its warp-specialised partition. Only the order of moments matters, so they are numbered
anew. Problems with fewer than two blocks, and those met before, are left out. What is left goes to
`planner_instances.json`, a line a kernel; `planner_instances` makes the 500 instances from it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.memory.planner import ALWAYS, Block
from tilewright.passes import PASSES
from tilewright.passes.merging.blocks import plan_module

STORE = Path(__file__).with_name("planner_instances.json")

Row = tuple[int, int, "list[int] | None", "list[list[int]] | None"]


def files_in(folders: Sequence[Path]) -> Iterator[Path]:
    """The files worth reading, sorted by name."""
    for folder in folders:
        for path in sorted(folder.iterdir()):
            if path.suffix in (".ttgir", ".mlir") and ".source." not in path.name:
                yield path


def blocks_in(path: Path) -> Iterator[tuple[str, tuple[Block, ...]]]:
    """The shared-memory blocks of every function in a file."""
    engine = DiagnosticEngine()
    source = parse_source(make_context(), path.read_text(encoding="utf-8"), path.name, engine)
    engine.raise_if_errors()
    assert source is not None
    if "storage_alias_spec" in path.read_text(encoding="utf-8"):
        PASSES["tlx-storage-alias-lowering"]()().run(source.module, engine)
        engine.raise_if_errors()
    for function in plan_module(source.module, None):
        yield function.name, tuple(b for b in function.plan.problem.blocks if b.space == "smem")


def rows_of(blocks: Sequence[Block]) -> list[Row]:
    """Size, alignment, partition and spans of each block; no spans: held always."""
    points = sorted({p for b in blocks if b.live != ALWAYS for span in b.live for p in span})
    when = {point: number for number, point in enumerate(points)}
    regions: dict[str, int] = {}
    rows: list[Row] = []
    for block in blocks:
        partition = None
        if block.region is not None:
            number = regions.setdefault(block.region.name, len(regions))
            partition = [number, block.region.partition]
        spans = None
        if block.live != ALWAYS:
            spans = [[when[start], when[end]] for start, end in block.live]
        rows.append((block.size, block.align, partition, spans))
    return rows


def main(folders: Sequence[str]) -> int:
    """Write what the folders hold; the number of problems is printed."""
    if not folders:
        print(__doc__, file=sys.stderr)
        return 2
    problems: dict[str, str] = {}
    for path in files_in([Path(folder) for folder in folders]):
        for function, blocks in blocks_in(path):
            text = json.dumps(rows_of(blocks), separators=(",", ":"))
            if len(blocks) > 1:
                problems.setdefault(text, f"{path.name}:{function}")
    lines = [f'"{name}": {text}' for text, name in problems.items()]
    STORE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(lines)} problems in {STORE.name}, {STORE.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
