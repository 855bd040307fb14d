"""Packages whose names are loaded when they are used: the names, and what an import costs."""

import importlib
import re
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tilewright as tw
from tilewright import T, tl, tlx
from tilewright._exports import Export, exports_of
from tilewright.targets import numpy as numpy_target
from tilewright.targets.numpy import tile as tile_target

PACKAGES = (tw, tl, tlx, T)
LANGUAGES = "from tilewright import tl, tlx, T"
_LOADED = "import sys; before = set(sys.modules)\n{program}\nprint(*set(sys.modules) - before)"
_TL_KERNEL = """
import tilewright as tw
from tilewright import tl
@tw.jit
def kernel(x, SIZE: tl.constexpr):
    tl.store(x + tl.arange(0, SIZE), 1)
"""
_TILE_KERNEL = """
import tilewright as tw
from tilewright import T
@tw.jit
def kernel(x):
    x: T.Tensor((64,), "float32")
    with T.Kernel(1):
        T.clear(x)
"""


def loaded_by(program: str, directory: Path | None = None) -> set[str]:
    """The modules that `program` loads in a fresh interpreter."""
    file = ["-c", _LOADED.format(program=program)]
    if directory is not None:  # kernels need a file
        (directory / "program.py").write_text(_LOADED.format(program=program))
        file = [str(directory / "program.py")]
    run = subprocess.run([sys.executable, *file], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_importing_the_languages_loads_nothing_but_their_lists():
    loaded = loaded_by(LANGUAGES)
    assert not packages(loaded) & {"numpy", "xdsl", "islpy", "ml_dtypes", "triton", "torch"}
    ours = {name for name in loaded if name.partition(".")[0] == "tilewright"}
    assert len(ours) <= 10
    # What it takes is a part of what the two libraries take on which all is built.
    libraries = loaded_by("import numpy, xdsl.irdl")
    assert len(loaded) < 0.2 * len(libraries)


def test_a_name_loads_what_it_needs():
    loaded = loaded_by(f"{LANGUAGES}\ntl.constexpr(1)")
    assert "tilewright.language.tl.constexpr" in loaded
    assert not {"tilewright.language.tl.memory", "tilewright.dialects.tt", "numpy"} & loaded


@pytest.mark.parametrize("program", [_TL_KERNEL, _TILE_KERNEL], ids=["tl", "T"])
def test_a_kernel_that_is_only_defined_loads_no_pass_and_no_target(program, tmp_path):
    loaded = loaded_by(program, tmp_path)
    assert not [name for name in loaded if name.startswith("tilewright.passes.")]
    assert not {"tilewright.targets.numpy.kernel", "tilewright.targets.numpy.tile.kernel"} & loaded
    dialects = {name.split(".")[2] for name in loaded if name.startswith("tilewright.dialects.")}
    assert not dialects & {"amd", "amdg", "rocdl", "tensix", "tlx", "ttng"}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda each: each.__name__)
def test_every_name_is_found(package):
    assert [name for name in package.__all__ if not hasattr(package, name)] == []
    assert dir(package) == package.__all__ == sorted(package.__all__)


def test_a_name_is_what_its_file_defines():
    from tilewright.language.T.annotations import Tensor
    from tilewright.language.tl.memory import load
    from tilewright.runtime.tile.jit import compile_tile

    assert tl.load is load
    assert T.Tensor is T.Buffer is Tensor
    assert tw.compile is compile_tile
    assert tl.tuple is tuple
    assert tw.tl is tl


def test_functions_with_the_name_of_their_file_are_functions():
    program = (
        "import tilewright.language.tl.dot, tilewright.language.T.prim_func\n"
        "from tilewright import tl, T\n"
        "import tilewright.language.tl.math\n"
        "assert tl.dot.__name__ == 'dot' and callable(T.prim_func)\n"
        "assert tl.math.__name__ == 'tilewright.language.tl.math'\n"
        "assert sorted(vars(tl)) != []"
    )
    assert "tilewright.language.tl.dot" in loaded_by(program)


def test_tensors_have_their_methods_without_a_trace():
    loaded_by(
        "from tilewright import tl\nassert tl.tensor.sum and tl.tensor.to and tl.tensor.store"
    )


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match=r"tl' has no attribute 'laod'"):
        _ = tl.laod
    with pytest.raises(ImportError, match="cannot import name 'laod'"):
        exec("from tilewright.language.tl import laod")


def test_other_names_of_tile_kernels():
    assert T.bf16 == "bfloat16"
    assert T.float16x4 == "float16x4"
    assert vars(T).get("bf16") is None
    assert getattr(T, "__exp").__name__ == "__exp"
    with pytest.raises(AttributeError, match="the compiler assigns warps"):
        _ = T.WSRole


def test_star_import_has_all_names():
    names: dict[str, object] = {}
    exec("from tilewright.language.tlx import *", names)
    assert set(tlx.__all__) <= names.keys()


def test_lists_are_read_as_type_checkers_read_them():
    text = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n"
        "    from a.b import one as one\n"
        "    from a.c import (\n        two as two,\n        three,\n    )\n"
        "    four = three\n"
        "else:\n    pass\n"
    )
    assert exports_of(text) == {
        "one": Export("a.b", "one"),
        "two": Export("a.c", "two"),
        "four": Export("a.c", "three"),
    }


def test_a_list_has_nothing_else():
    with pytest.raises(TypeError, match="neither an import nor a second name: five = 5"):
        exports_of("if TYPE_CHECKING:\n    five = 5\n")


_FIRST_USES = """
import random, sys, threading
sys.setswitchinterval(1e-5)
from tilewright import T, tl, tlx
failed, start = [], threading.Barrier(8)
def use(seed):
    names = [(package, name) for package in (tl, tlx, T) for name in package.__all__]
    random.Random(seed).shuffle(names)
    start.wait()
    for package, name in names:
        try:
            getattr(package, name)
        except BaseException as error:
            failed.append((name, error))
threads = [threading.Thread(target=use, args=(seed,)) for seed in range({first}, {first} + 8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(failed)
"""


def test_one_thread_loads_at_a_time(tmp_path, monkeypatch):
    """Python leaves modules incomplete that two threads import in different orders."""
    package = tmp_path / "listed_names"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "from tilewright._exports import load_on_use\n"
        "if TYPE_CHECKING:\n"
        "    from listed_names.slow import slow as slow\n"
        "    from listed_names.quick import quick as quick\n"
        "else:\n"
        "    load_on_use(__name__)\n"
    )
    (package / "log.py").write_text("import threading\nevents, begun = [], threading.Event()\n")
    (package / "slow.py").write_text(
        "import time\nfrom listed_names.log import begun, events\n"
        "begun.set()\ntime.sleep(0.2)\nevents.append('slow')\nslow = 1\n"
    )
    (package / "quick.py").write_text(
        "from listed_names.log import events\nevents.append('quick')\nquick = 2\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    listed: Any = importlib.import_module("listed_names")
    log: Any = importlib.import_module("listed_names.log")
    thread = threading.Thread(target=lambda: listed.slow)
    thread.start()
    log.begun.wait()
    assert listed.quick == 2
    thread.join()
    assert log.events == ["slow", "quick"]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(8, 64, 8))
def test_threads_use_names_first_at_the_same_time(first):
    run = subprocess.run(
        [sys.executable, "-c", _FIRST_USES.format(first=first)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert run.stdout.strip() == "[]"


def test_no_module_of_ours_uses_such_a_name_while_it_is_imported():
    """It would wait for the thread that loads a name, with what that thread imports."""
    root = Path(tw.__file__).parent
    packages = {each.__name__: each for each in (*PACKAGES, numpy_target, tile_target)}
    found = [
        (str(path.relative_to(root)), package, name)
        for path in sorted(root.rglob("*.py"))
        for package, names in _MODULE_LEVEL.findall(path.read_text(encoding="utf-8"))
        if package in packages
        for name in re.findall(r"\w+", names)
        if name in packages[package].__all__
        and not isinstance(getattr(packages[package], name), ModuleType)
    ]
    assert found == []


_MODULE_LEVEL = re.compile(r"^from (tilewright[\w.]*) import (\([^)]*\)|[^\n]*)$", re.MULTILINE)

_EACH = """
import os, sys, traceback
import numpy, xdsl.irdl, xdsl.dialects.builtin
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        try:
            __import__(name)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print(name)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs os.fork")
def test_every_file_of_the_languages_can_be_imported_first():
    """Names are loaded in any order: no file relies on another one that was imported before."""
    root = Path(tw.__file__).parent
    files = sorted((root / "language").rglob("*.py"))
    names = [
        ".".join(("tilewright", *path.relative_to(root).with_suffix("").parts)) for path in files
    ]
    assert len(names) > 100
    run = subprocess.run(
        [sys.executable, "-c", _EACH, *names], capture_output=True, text=True, check=True
    )
    assert (run.stdout, run.stderr) == ("", "")
