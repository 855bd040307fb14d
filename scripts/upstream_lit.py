"""Run lit files of another project, unmodified, with our tools in place of its own.

    .venv/bin/python scripts/upstream_lit.py PATH... [-- LIT ARGUMENTS]

PATH is a `.mlir` file or a folder of them, for example `test/TLX` of a checkout of a Triton fork.
`triton-opt` and `FileCheck` in RUN lines mean `tilewright-opt` and the filecheck package. Files
are copied to a temporary folder; nothing is written next to them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OUR_CONFIG = Path(__file__).resolve().parents[1] / "tests" / "lit" / "lit.cfg.py"

_CONFIG = """\
exec(compile({source!r}.replace("__file__", repr({path!r})), {path!r}, "exec"))
config.name = "upstream"
config.test_source_root = {root!r}
config.test_exec_root = {root!r}
"""


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
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path in map(Path, paths):
            for file in sorted(path.rglob("*.mlir")) if path.is_dir() else [path]:
                target = root / (file.relative_to(path.parent) if path.is_dir() else file.name)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)
        config = _CONFIG.format(source=OUR_CONFIG.read_text(), path=str(OUR_CONFIG), root=folder)
        (root / "lit.cfg.py").write_text(config)
        run_lit = "from lit.main import main; main()"
        command = [sys.executable, "-c", run_lit, "-v", *extra, folder]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
