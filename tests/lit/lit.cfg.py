"""How lit runs the text tests: IR files that carry their own RUN and CHECK lines.

The programs named in RUN lines are those of the Python that runs lit, whatever PATH says. They
are forks of one process that has loaded them (programs/loaded.py); those of folder opt are not.
`triton-opt` and `FileCheck` mean our tools too, so that files of Triton and TLX run unmodified.
"""

# ruff: noqa: F821
# lit defines `config` before it runs this file.

import atexit
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import lit.formats

ROOT = Path(__file__).resolve().parents[2]


def program(pattern: str) -> str:
    """A regex for a program's name as a word of its own, not as part of a path or a flag."""
    return rf"(?<![\w./-]){pattern}(?![\w./-])"


def loaded_programs(environment: dict[str, str]) -> str:
    """The socket of a process that has loaded the programs; it ends when lit does."""
    path = Path(tempfile.mkdtemp(prefix="tilewright-lit-")) / "programs"
    process = subprocess.Popen(
        [sys.executable, PROGRAMS / "loaded.py", path],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    atexit.register(process.communicate)
    if process.stdout.readline() != b"ready\n":
        raise SystemExit("tests/lit/programs/loaded.py does not start")
    return str(path)


PROGRAMS = Path(__file__).resolve().parent / "programs"
START = f'"{sys.executable}" -IS "{PROGRAMS / "start.py"}"'
OPT = f"{START} tilewright.cli.opt"
FILECHECK = f"{START} filecheck"

config.name = "tilewright"
config.test_format = lit.formats.ShTest(False)
config.suffixes = [".mlir", ".ttir", ".ttgir"]
config.excludes = ["Inputs", "programs"]
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = str(ROOT / "build" / "lit")

# One pattern for both spellings: the replacement holds the name and must not be replaced again.
config.substitutions += [
    (program("[Ff]ile[Cc]heck"), FILECHECK),
    (program("(?:tilewright|triton)-opt"), OPT),
    ("%python", f'"{sys.executable}"'),
    # Changes what a failure looks like, never the verdict; the filecheck package refuses it.
    (r"\s--?dump-input-context[= ]\d+", ""),
]

# The checkout wins over an installed copy, and packages put on the path by hand stay visible.
search_path = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
config.environment["PYTHONPATH"] = os.pathsep.join(filter(None, search_path))
config.environment["TILEWRIGHT_LOADED_PROGRAMS"] = loaded_programs(os.environ | config.environment)
