"""``import triton`` served by Tilewright: what is there, and how what is not is refused."""

import ast
import importlib
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import tilewright as tw
from tilewright.compat import finder, install
from tilewright.compat.finder import AfterImport, StandIn
from tilewright.compat.modules import MODULES, VERSION
from tilewright.ir.diagnostics import CompileError

# Found before the hook is installed: the real Triton, if there is one.
INSTALLED = find_spec("triton")


def is_triton(name: str) -> bool:
    return name == "triton" or name.startswith("triton.")


@pytest.fixture
def stand_in(monkeypatch):
    """The import hook, for one test; whatever Triton other tests use comes back."""
    real = {name: sys.modules.pop(name) for name in list(sys.modules) if is_triton(name)}
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(finder, "_adapt_torch", lambda torch: None)
    install()
    yield importlib.import_module("triton")
    for name in [name for name in sys.modules if is_triton(name)]:
        del sys.modules[name]
    sys.modules.update(real)


def test_modules_are_made_of_tilewrights_functions(stand_in):
    assert isinstance(stand_in, StandIn)
    assert stand_in.cdiv is tw.cdiv
    assert stand_in.Config is tw.Config
    assert issubclass(stand_in.JITFunction, tw.JITFunction)
    assert stand_in.language.load is tw.tl.load
    assert stand_in.CompilationError is CompileError
    assert importlib.import_module("triton.language").program_id is tw.tl.program_id
    assert importlib.import_module("triton.language.math").exp is tw.tl.math.exp
    libdevice = importlib.import_module("triton.language.extra.libdevice")
    assert libdevice is stand_in.language.extra.libdevice
    assert callable(libdevice.tanh)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_everything_in_the_table_exists(stand_in, name):
    module = importlib.import_module(name)
    assert isinstance(module, StandIn)
    assert [each for each in dir(module) if not hasattr(module, each)] == []


@pytest.mark.skipif(
    INSTALLED is None or version("triton") != VERSION,
    reason=f"Triton {VERSION} is not installed: nothing to compare with",
)
def test_all_of_the_language_is_offered(stand_in):
    source = Path(INSTALLED.origin).with_name("language") / "__init__.py"
    names = next(
        ast.literal_eval(node.value)
        for node in ast.parse(source.read_text()).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
    )
    assert len(names) > 140
    assert [name for name in names if not hasattr(stand_in.language, name)] == []


def test_star_import_gives_the_public_names(stand_in):
    scope: dict = {}
    exec("from triton.language import *", scope)
    assert scope["arange"] is tw.tl.arange
    assert "_mirrored" not in scope


def test_an_unknown_attribute_is_refused_by_name(stand_in):
    with pytest.raises(AttributeError) as caught:
        _ = stand_in.language.lod
    assert str(caught.value) == (
        "Tilewright's stand-in for Triton 3.9.0 does not offer triton.language.lod; "
        "did you mean load?"
    )
    assert not hasattr(stand_in, "nonsense")
    assert not hasattr(stand_in, "__wrapped__")


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("import triton.profiler", "triton.profiler"),
        ("from triton import profiler", "triton.profiler"),
        ("from triton.testing import nvsmi", "triton.testing.nvsmi"),
        ("import triton.tools.mxfp as mx", "triton.tools.mxfp"),
    ],
)
def test_an_unknown_import_is_refused_by_name(stand_in, statement, what):
    with pytest.raises(ImportError, match=f"does not offer {what}$"):
        exec(statement, {})


def test_driver_is_reached_as_attribute_and_as_module(stand_in):
    from_attribute = stand_in.runtime.driver.active
    module = importlib.import_module("triton.runtime.driver")
    assert module.active is from_attribute
    assert module.driver.active is from_attribute
    assert from_attribute.get_current_target().backend == "cuda"
    other = object()
    module.driver.set_active(other)
    assert module.driver.active is other
    module.driver.reset_active()
    assert module.driver.active is from_attribute


def test_install_comes_before_triton(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setitem(sys.modules, "triton", ModuleType("triton"))
    with pytest.raises(RuntimeError, match="already imported"):
        install()


def test_install_twice_is_once(stand_in):
    finders = list(sys.meta_path)
    install()
    assert sys.meta_path == finders


def test_after_import_sees_the_finished_module(monkeypatch, tmp_path):
    (tmp_path / "late_guest.py").write_text("answer = 42\n")
    seen: list[int] = []
    hook = AfterImport("late_guest", lambda module: seen.append(module.answer))
    monkeypatch.setattr(sys, "meta_path", [hook, *sys.meta_path])
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("late_guest")
    monkeypatch.delitem(sys.modules, "late_guest")
    assert seen == [module.answer] == [42]
    assert find_spec("no_such_guest") is None
