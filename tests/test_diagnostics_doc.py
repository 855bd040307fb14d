"""docs/diagnostics.md has one entry for each code, and the docs name codes that exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from tilewright.ir.codes.registry import CODES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    path = ROOT / "scripts" / "diagnostics_doc.py"
    spec = importlib.util.spec_from_file_location("diagnostics_doc", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_script_writes(
    generator: ModuleType, request: pytest.FixtureRequest
) -> None:
    text = generator.page()
    if request.config.getoption("--update-golden"):
        generator.PAGE.write_text(text)
    assert generator.PAGE.read_text() == text


def test_every_code_has_a_heading(generator: ModuleType) -> None:
    assert re.findall(r"^### (TW\d{4})$", generator.PAGE.read_text(), re.MULTILINE) == list(CODES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_codes_that_pages_name_exist(page: Path) -> None:
    assert not {*re.findall(r"TW\d{4}", page.read_text())} - {*CODES}
