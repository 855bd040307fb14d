"""Every sanitizer exists in both executors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.targets import tenstorrent
from tilewright.targets.tenstorrent.execution import Check

ROOT = Path(tenstorrent.__file__).parent


def text_of(*patterns: str) -> str:
    return "\n".join(path.read_text() for each in patterns for path in sorted(ROOT.glob(each)))


@pytest.mark.parametrize("check", Check)
def test_both_executors_report(check: Check) -> None:
    assert f"Check.{check.name}" in text_of("machine/*.py")
    assert f'"{check.value}"' in text_of("shim/machine/*.hpp", "shim/machine/*.cpp")
