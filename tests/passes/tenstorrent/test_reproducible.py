"""Equal input gives equal bytes: five files from processes with different hash seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
EXAMPLES = ["gemm", "online_softmax"]
FILES = ["compute.cpp", "main.cpp", "reader.cpp", "tt.plan.json", "writer.cpp"]
PROGRAM = """\
import sys
from tilewright.cli import compile as command
examples, out, *names = sys.argv[1:]
for name in names:
    arguments = [f"{examples}/{name}.py", "--target", "tenstorrent:wormhole", "-o", f"{out}/{name}"]
    assert command.run(arguments, "compile") == 0
"""


def _started(directory: Path, hash_seed: str) -> subprocess.Popen[str]:
    examples = str(ROOT / "examples" / "tile")
    command = [sys.executable, "-c", PROGRAM, examples, str(directory), *EXAMPLES]
    path = os.pathsep.join(map(str, (ROOT / "src", ROOT)))
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def test_files_do_not_depend_on_the_process(tmp_path: Path) -> None:
    seeds = ("1", "4242")
    processes = [_started(tmp_path / seed, seed) for seed in seeds]
    for process in processes:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    for name in EXAMPLES:
        first, second = (
            {file.name: file.read_bytes() for file in sorted((tmp_path / seed / name).iterdir())}
            for seed in seeds
        )
        assert sorted(first) == FILES
        assert first == second
