"""What merging makes of Triton's own kernels, beside Triton's own allocator.

    python benchmarks/merge.py [--all] [--no-build] [--check] [NAME.TARGET ...]

A row is a kernel that the installed Triton compiles for a target, at the end of its `ttgir` stage.

    buffers   ``ttg.local_alloc`` ops
    apart     bytes they take one after the other
    Triton    bytes from the first to the last that Triton's allocation pass gives the same ops
    ours      bytes that the plan of ``merge-shared-memory`` needs for them, ``*`` if proved optimal
    total     Triton's `ttg.shared` for the module, scratch memory included, before and after
    checked   touches that the trace followed without a fault
    cubin     bytes of machine code that Triton makes of the merged module; ``-`` where nothing
              was merged, as every group was left to Triton or there was none

Needs Triton, no GPU. `--all` takes every dump of `tests/dumps` for NVIDIA chips with at least two
allocations. `--check` makes the exit code 1 if a row is worse than Triton's, has a fault, or does
not build.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> int:
    sys.path.insert(0, str(ROOT))
    from tests.passes.merging.dumps import CHOSEN, HEAD, all_names, rows

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="kernels as NAME.TARGET")
    parser.add_argument("--all", action="store_true", help="every dump with two allocations")
    parser.add_argument("--no-build", action="store_true", help="make no machine code")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a row is worse")
    arguments = parser.parse_args()
    names = arguments.names or (all_names() if arguments.all else CHOSEN)
    print(HEAD)
    done = []
    for row in rows(names, every=arguments.all, with_build=not arguments.no_build):
        print(row, flush=True)
        done.append(row)
    worse = sum(not row.is_good for row in done)
    lower = sum(row.ours < row.triton for row in done)
    merged = sum(row.merged for row in done)
    print(f"{len(done)} kernels, {lower} lower than Triton's, {worse} worse; {merged} merged")
    return 1 if arguments.check and worse else 0


if __name__ == "__main__":
    sys.exit(main())
