"""Packages whose names are loaded when they are used: the names, and what an import costs."""

import subprocess
import sys
from pathlib import Path

import pytest

import tilewright as tw
from tilewright import T, tl, tlx
from tilewright._exports import Export, exports_of

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
