"""Which Triton is used, where several are on the path."""

import sys
from pathlib import Path

import pytest

from tilewright.targets.triton import installation


def _package(root: Path, *, built: bool) -> Path:
    package = root / "triton"
    (package / "_C").mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = '3.9.0'\n")
    if built:
        (package / "_C" / "libtriton.so").touch()
    (package / "_C" / "libtriton").mkdir()  # stubs
    return package


def test_sources_before_an_installation_are_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _package(tmp_path / "sources", built=False)
    installed = _package(tmp_path / "installed", built=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "sources"), str(tmp_path / "installed")])
    assert installation.directory.__wrapped__() == installed


def test_sources_alone_are_no_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _package(tmp_path, built=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(installation.TritonMissing, match="pip install"):
        installation.directory.__wrapped__()
