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
_COUNTS = """
import sys
{program}
ours = [name for name in sys.modules if name.partition(".")[0] == "tilewright"]
heavy = [name for name in ("numpy", "xdsl", "islpy", "ml_dtypes", "triton", "torch") if name in sys.modules]
print(len(ours), *heavy)
"""


def loaded_by(program: str) -> tuple[int, list[str]]:
    """How many modules of ours a fresh interpreter has after `program`, and which heavy packages."""
    run = subprocess.run(
        [sys.executable, "-c", _COUNTS.format(program=program)],
        capture_output=True,
        text=True,
        check=True,
    )
    ours, *heavy = run.stdout.split()
    return int(ours), heavy


def test_importing_the_languages_loads_nothing_but_their_lists():
    ours, heavy = loaded_by(LANGUAGES)
    assert heavy == []
    assert ours <= 10
    # What a name needs is loaded with it.
    ours, heavy = loaded_by(f"{LANGUAGES}\ntl.constexpr(1)")
    assert 10 < ours < 60
    assert "numpy" not in heavy


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
    assert loaded_by(program)[0] > 10


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
