"""The house rules that no tool checks for us: light import, true README, clean text, docstrings."""

import ast
import io
import os
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
SOURCE_FILES = sorted((SOURCE / "tilewright").rglob("*.py"))

HEAVY_PACKAGES = {"cuda", "ml_dtypes", "numba", "numpy", "torch", "triton", "xdsl"}

# Split, so that this file passes its own check.
HOST_DIRECTORIES = ("home", "root", "tmp", "work", "Users")
REGISTRY_HOSTS = (("pypi", "org"), ("files", "pythonhosted", "org"), ("conda", "anaconda", "org"))
FORBIDDEN = re.compile(
    "|".join(
        [
            rf"(?<![\w.$}}~)-])/(?:{'|'.join(HOST_DIRECTORIES)})(?![\w-])",
            *(re.escape(".".join(host)) for host in REGISTRY_HOSTS),
        ]
    )
)


def modules_loaded_by(statement: str, parts: int = 1) -> set[str]:
    """Packages in sys.modules after a fresh interpreter has run the statement: the first parts of
    their names."""
    names = f"{{'.'.join(name.split('.')[:{parts}]) for name in sys.modules}}"
    program = f"{statement}\nimport sys\nprint(*{names})"
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(run.stdout.split())


def tracked_files() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if not listing.stdout:
        pytest.skip("not a git checkout with tracked files: there is no list to go through")
    return [ROOT / name for name in sorted(listing.stdout.split("\0")) if (ROOT / name).is_file()]


def forbidden_names(text: str) -> list[str]:
    return [match.group() for match in FORBIDDEN.finditer(text)]


def make_targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):(?!=)", makefile, re.MULTILINE))


def test_importing_tilewright_is_light():
    assert "tilewright" in modules_loaded_by("import tilewright")
    assert modules_loaded_by("import tilewright") & HEAVY_PACKAGES == set()


def test_tracing_loads_what_launches_and_other_targets_need_only_when_they_are_used():
    loaded = modules_loaded_by("import tilewright.runtime.tile.jit", parts=4)
    assert "tilewright.runtime.tile.kernel" in loaded
    for name in ("dialects.tensix.chips", "runtime.cuda.launcher", "targets.cuda.nvrtc"):
        assert f"tilewright.{name}" not in loaded


def test_import_probe_sees_what_is_loaded():
    assert "xdsl" in modules_loaded_by("import tilewright, xdsl.ir")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_make_commands_in_text_exist(name: str):
    text = (ROOT / name).read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE))
    assert "test" in named
    assert named - make_targets() == set()


def test_ci_runs_the_whole_check():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "make test" in script.read_text(encoding="utf-8").splitlines()


def test_no_machine_paths_or_registry_hosts():
    found = {
        str(path.relative_to(ROOT)): names
        for path in tracked_files()
        if (names := forbidden_names(path.read_bytes().decode("utf-8", errors="replace")))
    }
    assert found == {}


@pytest.mark.parametrize("directory", HOST_DIRECTORIES)
@pytest.mark.parametrize("shape", ['loc("{}/a.py":1:2)', "see {}.", "cd {}", "({}/x)", "{}"])
def test_a_machine_path_is_found(shape: str, directory: str):
    assert forbidden_names(shape.format(f"/{directory}")) != []


@pytest.mark.parametrize("host", REGISTRY_HOSTS)
def test_a_registry_host_is_found(host: tuple[str, ...]):
    name = ".".join(host)
    assert forbidden_names(f"https://{name}/simple") == [name]


@pytest.mark.parametrize(
    "text", ["frame/work/x", "docs/root.md", "$(BUILD)/tmp/x", "${OUT}/tmp", "../work", "a/workers"]
)
def test_an_ordinary_path_is_not_found(text: str):
    assert forbidden_names(text) == []


def docstring(text: str) -> str:
    """The docstring of a module, read no further than its first statement."""
    blank = (tokenize.COMMENT, tokenize.NL)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    first = next(token for token in tokens if token.type not in blank)
    return ast.literal_eval(first.string).strip() if first.type == tokenize.STRING else ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('# a comment\n\n"""What it is."""\nx = 1\n', "What it is."),
        ('x = 1\n"""Too late."""\n', ""),
        ('""" """\n', ""),
        ("", ""),
    ],
)
def test_docstrings_are_found(text: str, expected: str):
    assert docstring(text) == expected


def test_every_module_has_a_docstring():
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCE_FILES}
    assert [
        str(path.relative_to(SOURCE)) for path, text in texts.items() if not docstring(text)
    ] == []


def test_only_the_text_layer_uses_private_parts():
    text_layer = SOURCE / "tilewright" / "ir" / "text"
    pragma = re.compile(r"pyright:.*reportPrivateUsage")
    offenders = [
        str(path.relative_to(SOURCE))
        for path in SOURCE_FILES
        if not path.is_relative_to(text_layer) and pragma.search(path.read_text(encoding="utf-8"))
    ]
    assert offenders == []
