"""Run TLX's own storage-alias tests, unmodified, with `triton.language.extra.tlx` mapped to ours.

    .venv/bin/python scripts/run_foreign_tlx_tests.py FILE [PYTEST ARGUMENTS]

FILE is `python/test/unit/language/test_tlx_storage_alias.py` of facebookexperimental/triton, from a
clone or a source archive. `triton` is served by `tilewright.compat`, so neither Triton nor a GPU is
needed. Without torch an empty module takes its place, and only the classes are run whose tests
launch no kernel: 34 tests. With torch those with Hopper kernels run on the CPU as well: 5 of 6
pass, and the sixth stores four blocks to a tensor of two, which is reported as out of bounds.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

SOURCE = Path(__file__).resolve().parents[1] / "src"
HOST_ONLY = (
    "TestStorageKind",
    "TestStorageAliasSpecType",
    "TestStorageAliasSpecClass",
    "TestLocalAllocWithStorageAliasSpec",
    "TestReuseGroupType",
    "TestReuseGroup",
)


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    name, *extra = arguments
    file = Path(name).resolve()
    if not file.is_file():
        print(f"no file {file}", file=sys.stderr)
        return 2
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(SOURCE))
    tests = [str(file)]
    if find_spec("torch") is None:
        sys.modules["torch"] = ModuleType("torch")
        tests = [f"{file}::{each}" for each in HOST_ONLY]
    return run(file.parent, tests, extra)


def run(folder: Path, tests: list[str], extra: list[str]) -> int:
    import pytest

    from tilewright.compat import finder

    if not hasattr(sys.modules.get("torch"), "Tensor") and "torch" in sys.modules:
        finder._adapt_torch = lambda torch: None  # there is nothing to adapt
    finder.install()
    # The configuration of whatever project the file lies in is not ours to follow.
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder)]
    return int(pytest.main([*options, *tests, *extra]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
