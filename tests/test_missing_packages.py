"""Without an optional package, tests skip with the reason and commands end in one line.

A package is hidden from a process by a ``sitecustomize`` on the path of modules, so that processes
which that one starts do not find it either.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
OPTIONAL = ("distributed", "jax", "numba", "torch", "triton")
HIDING = """\
from importlib.machinery import PathFinder

_find = PathFinder.find_spec


@classmethod
def _find_others(cls, name, path=None, target=None):
    return None if name.partition(".")[0] in {names!r} else _find(name, path, target)


PathFinder.find_spec = _find_others
"""


def without(folder: Path, *names: str) -> dict[str, str]:
    """An environment in which packages of these names are not installed."""
    (folder / "sitecustomize.py").write_text(HIDING.format(names=names))
    given = filter(None, [os.environ.get("PYTHONPATH")])
    path = os.pathsep.join([str(folder), str(ROOT / "src"), str(ROOT), *given])
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


# -- commands ------------------------------------------------------------------------------------

INSTALL = "pip install 'tilewright[triton]' (Linux, Triton 3.6 or later)"
NEEDS_TRITON = f"target 'triton' needs Triton, which is not installed: {INSTALL}"
IMPORTS = "import os\nimport {}\n"
LAUNCHES = """\
import numpy as np
import tilewright as tw
from tilewright import tl

@tw.jit
def copy(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at))

x = np.zeros(16, np.float32)
copy.warmup(x, x, BLOCK=16, target="triton:sm_90")
"""


SCRIPTS = {
    "launches.py": LAUNCHES,
    "imports_triton.py": IMPORTS.format("triton.language"),
    "imports_tilelang.py": IMPORTS.format("tilelang"),
    "helper.py": "import triton\n",
    "imports_helper.py": "import helper\n",
}
MANY = """\
import contextlib, io, json, sys
from tilewright.cli.main import run

done = []
for arguments in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = run(arguments)
        except SystemExit as stop:
            code = stop.code
        except BaseException as error:
            code = repr(error)
    done.append((code, out.getvalue(), err.getvalue()))
json.dump(done, sys.stdout)
"""
TL = str(ROOT / "examples" / "tl" / "vector_add.py")
RING = str(ROOT / "examples" / "storage_alias" / "hopper_gemm_ring.mlir")
TTIR = str(ROOT / "tests" / "corpus" / "ttir" / "vector_add.ttir")
TILE = str(ROOT / "examples" / "tile" / "gemm.py")
COMPILES = (
    ("compile", TL, "--target", "triton:sm_90"),
    ("compile", str(ROOT / "examples" / "tlx" / "hopper_gemm_ws.py"), "--target", "triton:sm_90"),
    ("compile", TL, "--target", "triton:sm_90", "--stage", "sass"),
    ("compile", RING),
    ("compile", TTIR, "--target", "triton:sm_90"),
)
RUNS = (("run", 2), ("check", 2), ("analyze", 2))
FOR_KERNELS = (
    ("compile", "--target", "triton:sm_90"),
    ("compile", "--target", "cuda"),
    ("layout",),
)
SASS = ("compile", TILE, "--target", "cuda:sm_90a", "--stage", "sass")
FINE = (("check", TL), ("analyze", TL), ("memory", RING), ("cache", "show"))


def all_commands() -> Iterator[tuple[str, ...]]:
    yield from (*COMPILES, SASS, *FINE)
    for command, _ in RUNS:
        for script in ("launches.py", "imports_triton.py", "imports_tilelang.py"):
            yield command, script
    for arguments in FOR_KERNELS:
        yield *arguments, "imports_helper.py"
    yield "run", "--traceback", "imports_triton.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("scripts")
    for name, text in SCRIPTS.items():
        (made / name).write_text(text)
    return made


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> dict[tuple[str, ...], tuple[int | str, str, str]]:
    """Exit code, output and errors of all commands, without Triton and TileLang.

    One process runs them all: most of the time goes into starting it.
    """
    commands = list(all_commands())
    done = subprocess.run(
        [sys.executable, "-c", MANY],
        env=without(folder, "tilelang", "triton"),
        cwd=folder,
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return {
        command: (code, out, err)
        for command, (code, out, err) in zip(commands, json.loads(done.stdout), strict=True)
    }


@pytest.mark.parametrize("command", COMPILES, ids=["tl", "tlx", "stage", "ttgir", "ttir"])
def test_compile_without_triton_shows_no_traceback(outcomes, command):
    assert outcomes[command] == (2, "", f"tilewright compile: {NEEDS_TRITON}\n")


@pytest.mark.parametrize(("command", "code"), RUNS)
def test_a_launch_for_triton_without_it_shows_no_traceback(outcomes, folder, command, code):
    line = LAUNCHES.splitlines().index('copy.warmup(x, x, BLOCK=16, target="triton:sm_90")') + 1
    where = f"{folder / 'launches.py'}:{line}"
    expected = (code, "", f"tilewright {command}: {where}: {NEEDS_TRITON}\n")
    assert outcomes[command, "launches.py"] == expected


@pytest.mark.parametrize(("command", "code"), RUNS)
@pytest.mark.parametrize(
    ("package", "install"), [("triton", INSTALL), ("tilelang", "pip install tilelang")]
)
def test_an_import_of_triton_without_it_shows_no_traceback(
    outcomes, folder, command, code, package, install
):
    script = f"imports_{package}.py"
    assert outcomes[command, script] == (
        code,
        "",
        f"tilewright {command}: {folder / script}:2: this script imports {package}: --compat "
        f"runs its kernels on Tilewright; {package} itself is not installed: {install}\n",
    )


@pytest.mark.parametrize("arguments", FOR_KERNELS)
def test_an_import_of_triton_in_a_script_for_its_kernels_shows_no_traceback(
    outcomes, folder, arguments
):
    assert outcomes[*arguments, "imports_helper.py"] == (
        2,
        "",
        f"tilewright {arguments[0]}: {folder / 'helper.py'}:1: this script imports triton: --compat "
        f"runs its kernels on Tilewright; triton itself is not installed: {INSTALL}\n",
    )


def test_a_traceback_is_shown_if_asked_for(outcomes):
    code, _, err = outcomes["run", "--traceback", "imports_triton.py"]
    assert code == 1
    assert err.startswith("Traceback (most recent call last):")
    assert "--compat runs its kernels on Tilewright" in err


def test_instructions_of_a_tile_kernel_without_triton(outcomes):
    assert outcomes[SASS] == (
        2,
        "",
        "tilewright compile: --stage sass: the disassembler comes with Triton, which is not "
        f"installed: {INSTALL}\n",
    )


@pytest.mark.parametrize("command", FINE, ids=lambda each: each[0])
def test_commands_that_need_no_triton_do_without(outcomes, command):
    code, out, err = outcomes[command]
    assert code == 0, err
    assert out
