"""What `docs/tenstorrent-sources.md` shows is what happens."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.test_docs import blocks
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable

PAGE = "docs/tenstorrent-sources.md"


def test_the_example_prints_what_the_page_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (source,) = blocks(PAGE, "python")
    (expected,) = blocks(PAGE, "")
    file = tmp_path / source.splitlines()[0].removeprefix("# ")
    file.write_text(source)
    try:
        runpy.run_path(str(file))
    except SourceExecutorUnavailable as reason:
        pytest.skip(f"the example was NOT run: {reason}")
    assert capsys.readouterr().out == expected
