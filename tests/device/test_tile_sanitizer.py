"""compute-sanitizer finds nothing in `T` kernels, and does find faults that are planted in them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SANITIZER = "compute-sanitizer"
TOOLS = ("memcheck", "racecheck", "synccheck")
FOUND = 66
"""The exit status that the sanitizer is told to end with where it found something."""
KERNELS = ("tests/device/test_tile_kernels.py",)

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(shutil.which(SANITIZER) is None, reason=f"needs {SANITIZER}"),
]


def sanitized(tool: str, *command: str) -> tuple[int, str]:
    """How `command` ended under a tool of the sanitizer, and what both said."""
    done = subprocess.run(
        [
            *(SANITIZER, "--tool", tool, "--error-exitcode", str(FOUND), "--print-limit", "5"),
            *(sys.executable, *command),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("tool", TOOLS)
def test_kernels_are_clean(tool: str) -> None:
    options = ("-q", "-o", "addopts=", "-p", "no:cacheprovider", "-m", "device")
    status, text = sanitized(tool, "-m", "pytest", *options, *KERNELS)
    assert status == 0, text[-4000:]
    assert " passed" in text, text[-4000:]
    summary = "RACECHECK SUMMARY: 0 hazards" if tool == "racecheck" else "ERROR SUMMARY: 0 errors"
    assert summary in text, text[-4000:]


@pytest.mark.parametrize(
    ("tool", "fault", "message"),
    [
        ("racecheck", "race", "Race reported between Write access"),
        ("memcheck", "bounds", "Invalid __global__ write"),
    ],
)
def test_a_planted_fault_is_found(tool: str, fault: str, message: str) -> None:
    status, text = sanitized(tool, str(Path(__file__).with_name("planted_faults.py")), fault)
    assert status == FOUND, text[-4000:]
    assert message in text, text[-4000:]
