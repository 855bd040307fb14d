"""Run lit files of another project, unmodified, with our tools in place of its own.

    .venv/bin/python scripts/upstream_lit.py PATH... [-- LIT ARGUMENTS]

PATH is a `.mlir` file or a folder of them, for example `test/TLX` of a checkout of a Triton fork,
or the checkout itself. `triton-opt` and `FileCheck` in RUN lines mean `tilewright-opt --one-line`
and the filecheck package. Files are copied to a temporary folder; nothing is written next to them.
`NEEDS` names what the files of TLX that fail would need.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

OUR_CONFIG = Path(__file__).resolve().parents[1] / "tests" / "lit" / "lit.cfg.py"
TLX = Path("test", "TLX")

_CONFIG = """\
exec(compile({source!r}.replace("__file__", repr({path!r})), {path!r}, "exec"))
config.name = "upstream"
config.test_source_root = {root!r}
config.test_exec_root = {root!r}
config.substitutions.insert(0, (program("triton-opt"), OPT + " --one-line --flavour=tlx"))
"""

NEEDS: Mapping[str, str] = {
    "insert_cluster_sync_ops.mlir": "convert-triton-gpu-to-llvm: cluster barriers in LLVM IR",
    "pinned-helper-offset-layout.mlir": "triton-tlx-fixup: pins through private helpers",
    "propagate-layout.mlir": "tlx-propagate-layout: buffers that are not valid before it",
    "remove-layout-autows-budget.mlir": "tritongpu-remove-layout-conversions: smem-budget",
    "remove-layout-budget-convert.mlir": "tritongpu-remove-layout-conversions: smem-budget",
    "remove-layout-local-memory.mlir": "tritongpu-remove-layout-conversions: recomputation",
    "tcgen5_global_alloc_lowering.mlir": "convert-nv-gpu-to-llvm: tensor memory in LLVM IR",
}
"""Files of `test/TLX` that do not pass, and the pass of Triton, TLX or LLVM that each needs."""


def outcomes(path: str | Path, arguments: Sequence[str] = ("-j1", "-q")) -> dict[str, str]:
    """How each file at `path` ended: ``PASS``, ``FAIL``, ``UNRESOLVED``; `path` as for `main`."""
    with tempfile.TemporaryDirectory() as results:
        file = Path(results) / "results.json"
        _run([Path(path)], [*arguments, "-o", str(file)], quiet=True)
        tests = json.loads(file.read_text())["tests"]
    return {each["name"].rpartition(" :: ")[2]: each["code"] for each in tests}


def endings(path: str | Path) -> dict[str, int]:
    """How many files of the checkout at `path` ended in which way."""
    return dict(Counter(outcomes(path).values()))


def _folder(path: Path) -> Path:
    """The lit files of a checkout, if `path` is one."""
    return path / TLX if (path / TLX).is_dir() else path


def _for_our_filecheck(text: str) -> str:
    """The filecheck package reads ``[^]]`` as the set ``[^\\n]`` and a bracket after it."""
    return text.replace("[^]", "[^\\]")


def _run(paths: Iterable[Path], extra: Sequence[str], quiet: bool = False) -> int:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path in map(_folder, paths):
            for file in sorted(path.rglob("*.mlir")) if path.is_dir() else [path]:
                target = root / (file.relative_to(path.parent) if path.is_dir() else file.name)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(_for_our_filecheck(file.read_text()))
        config = _CONFIG.format(source=OUR_CONFIG.read_text(), path=str(OUR_CONFIG), root=folder)
        (root / "lit.cfg.py").write_text(config)
        run_lit = "from lit.main import main; main()"
        command = [sys.executable, "-c", run_lit, *extra, folder]
        output = subprocess.DEVNULL if quiet else None
        return subprocess.run(command, check=False, stdout=output, stderr=output).returncode


def main(arguments: list[str]) -> int:
    paths, extra = arguments, []
    if "--" in arguments:
        split = arguments.index("--")
        paths, extra = arguments[:split], arguments[split + 1 :]
    if not paths or paths[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if paths else 2
    missing = [path for path in paths if not Path(path).exists()]
    if missing:
        print(f"no such file or folder: {', '.join(missing)}", file=sys.stderr)
        return 2
    return _run(map(Path, paths), ["-v", *extra])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
