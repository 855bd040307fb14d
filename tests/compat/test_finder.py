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
from tilewright.frontend import builder
from tilewright.ir.diagnostics import CompileError
from tilewright.runtime.tile import settings

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
    monkeypatch.setattr(settings, "_arch", [None])
    monkeypatch.setattr(builder, "_outside", [])
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


def test_scripts_wrap_kernels_in_classes_of_their_own(stand_in):
    jit = importlib.import_module("triton.runtime.jit")

    class Counted(jit.KernelInterface[int]):
        def __init__(self, fn):
            self.fn = fn
            self.launches = []

        def run(self, *args, grid, warmup, **kwargs):
            self.launches.append((args, grid, warmup, kwargs))
            return len(self.launches)

    def kernel(x):
        return x

    wrapped = Counted(stand_in.jit(kernel))
    assert isinstance(wrapped, stand_in.KernelInterface)
    assert isinstance(wrapped.fn, stand_in.KernelInterface)
    assert wrapped[(2, 3)](7, BLOCK=8) == 1
    assert wrapped.warmup(9, grid=(1,)) == 2
    assert wrapped.launches == [
        ((7,), (2, 3), False, {"BLOCK": 8}),
        ((9,), (1,), True, {}),
    ]


def test_wrappers_ask_kernels_about_their_parameters(stand_in):
    def kernel(x, n, m=3, BLOCK: tw.tl.constexpr = 8):
        return x

    made = stand_in.jit(kernel, do_not_specialize=["n"], do_not_specialize_on_alignment=["x"])
    assert [each.num for each in made.params] == [0, 1, 2, 3]
    assert [each.name for each in made.params if each.do_not_specialize] == ["n"]
    assert [each.name for each in made.params if each.do_not_specialize_on_alignment] == ["x"]
    assert [each.name for each in made.params if each.is_constexpr] == ["BLOCK"]
    assert list(made.signature.parameters) == ["x", "n", "m", "BLOCK"]


def test_scripts_derive_tuners_of_their_own(stand_in):
    tuning = importlib.import_module("triton.runtime.autotuner")

    class Tuner(tuning.Autotuner):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.chosen = self.configs[-1]

    def kernel(x, n, BLOCK):
        return x

    jitted = stand_in.jit(kernel)
    configs = [stand_in.Config({"BLOCK": size}) for size in (8, 16)]
    made = Tuner(jitted, jitted.arg_names, configs, ["n"], ["x"], None, None, None, None, 25, 100)
    assert made.fn is jitted
    assert made.chosen.kwargs == {"BLOCK": 16}
    assert (made.keys, made.reset_to_zero, made.restore_value) == (["n"], ["x"], [])
    assert not made.user_defined_pre_hook
    assert (made.early_config_prune, made.perf_model, made.configs_top_k) == (None, None, 1.0)

    prune = {"early_config_prune": len, "top_k": 2}
    made = Tuner(jitted, (), configs, [], None, None, post_hook=print, prune_configs_by=prune)
    assert (made.user_defined_pre_hook, made.user_defined_post_hook) == (False, True)
    assert (made.early_config_prune, made.configs_top_k) == (len, 2)


def test_scripts_that_ask_for_a_backend_find_one(stand_in):
    backends = importlib.import_module("triton.backends").backends
    assert [name for name, backend in backends.items() if backend.driver.is_active()] == ["nvidia"]


def test_private_names_that_kernels_import(stand_in):
    standard = importlib.import_module("triton.language.standard")
    assert standard._log2(64) == 6
    assert standard.zeros_like is tw.tl.zeros_like
    assert importlib.import_module("triton.language.core").extern is tw.tl.core.extern


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
        ("import triton.instruments", "triton.instruments"),
        ("from triton import instruments", "triton.instruments"),
        ("from triton.testing import nvsmi", "triton.testing.nvsmi"),
        ("import triton.tools.disasm as d", "triton.tools.disasm"),
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
