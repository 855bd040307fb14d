"""The commands of `docs/triton-kernels.md` do what the page states."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.test_docs import blocks
from tilewright.cli import main
from tilewright.targets.hip.clang import installed

PAGE = "docs/triton-kernels.md"
COMMANDS = [
    line.removeprefix("$ tilewright ")
    for block in blocks(PAGE, "")
    for line in block.splitlines()
    if line.startswith("$ tilewright ")
]


SHOWN = {
    "compile": ("out", "add"),
    "check": ("err", "1 launch of 1 kernel"),
    "memory": ("out", "shared memory on sm_90: 0 of 232448 bytes"),
    "layout": ("out", "add for hip:gfx942"),
    "analyze": ("out", "race: proved"),
}
"""What each command prints, and where."""


def test_the_page_has_four_targets() -> None:
    assert [each.split()[-1] for each in COMMANDS if each.startswith("compile")] == [
        "triton:sm_90",
        "cuda:sm_90a",
        "hip:gfx942",
        "tenstorrent:wormhole",
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if "triton:" in command and find_spec("triton") is None:
        pytest.skip("triton is not installed")
    if command.startswith("compile") and "hip:" in command and not installed():
        pytest.skip("no clang for HIP is installed: run scripts/install_clang.sh")
    (source,) = [each for each in blocks(PAGE, "python") if each.startswith("# add.py")]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("add.py").write_text(source + "assert (out == 2 * x).all()\n" * ("check" in command))
    assert main.run(command.split()) == 0
    shown = capsys.readouterr()
    stream, text = SHOWN[command.split()[0]]
    assert text in getattr(shown, stream)
