"""Without an optional package, tests skip with the reason and commands end in one line.

A package is hidden from a process by `hidden_packages`: a folder with a ``sitecustomize`` on the path of
modules, so that processes which that one starts do not find it either.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
OPTIONAL = ("numba", "torch", "triton")
HIDING = """\
from importlib.machinery import PathFinder

_find = PathFinder.find_spec


def _find_others(name, path=None, target=None):
    return None if name.partition(".")[0] in {names!r} else _find(name, path, target)


PathFinder.find_spec = _find_others
"""


def without(folder: Path, *names: str) -> dict[str, str]:
    """An environment in which packages of these names are not installed."""
    (folder / "sitecustomize.py").write_text(HIDING.format(names=names))
    path = os.pathsep.join(map(str, (folder, ROOT / "src", ROOT)))
    return {**os.environ, "PYTHONPATH": path}


# -- tests ---------------------------------------------------------------------------------------


def imported(statement: ast.stmt, file: Path) -> list[str]:
    """The modules that a statement at the top of `file` imports."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    if not isinstance(statement, ast.ImportFrom):
        return []
    package = statement.module or ""
    if statement.level:
        folder = file.parents[statement.level - 1].relative_to(ROOT)
        package = ".".join([*folder.parts, *filter(None, [statement.module])])
    return [package, *(f"{package}.{alias.name}" for alias in statement.names)]


def guards(statement: ast.stmt) -> Iterator[str]:
    """The packages without which a statement skips what follows."""
    for node in ast.walk(statement):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "importorskip"
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value).partition(".")[0]


@cache
def needed(file: Path) -> frozenset[str]:
    """The optional packages without which the import of `file` fails rather than skips."""
    found: set[str] = set()
    guarded: set[str] = set()
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            continue
        for name in imported(statement, file):
            if name.partition(".")[0] in OPTIONAL:
                found |= {name.partition(".")[0]} - guarded
            path = ROOT / f"{name.replace('.', '/')}.py"
            if name.startswith("tests.") and path.is_file():
                found |= needed(path) - guarded
        guarded |= set(guards(statement))
    return frozenset(found)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import triton.language as tl", {"triton"}),
        ("from numba import cuda", {"numba"}),
        ("import pytest\npytest.importorskip('triton')\nimport triton", set()),
        ("import triton\npytest.importorskip('triton')", {"triton"}),
        ("torch = pytest.importorskip('torch')\nimport torch.nn, numba", {"numba"}),
        ("def test():\n    import triton", set()),
        ("from tests.dumps.case import Case", {"triton"}),
        ("from tests.language.tl.against_triton import check", set()),
    ],
)
def test_an_import_that_does_not_skip_is_found(tmp_path, source, expected):
    file = tmp_path / "module.py"
    file.write_text(source)
    assert needed(file) == expected


def test_no_module_of_tests_fails_at_its_import_for_want_of_a_package():
    files = sorted(TESTS.rglob("test_*.py"))
    assert len(files) > 400
    found = {str(file.relative_to(ROOT)): sorted(needed(file)) for file in files}
    assert {name: packages for name, packages in found.items() if packages} == {}


@pytest.mark.slow
def test_all_tests_are_collected_without_optional_packages(tmp_path):
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "tests"],
        cwd=ROOT,
        env=without(tmp_path, "numba_cuda", *OPTIONAL),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ERROR" not in done.stdout
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "compares with Triton's front end, which is not installed" in done.stdout
