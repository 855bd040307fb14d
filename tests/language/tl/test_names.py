"""Everything that kernels find in `triton.language` is there, with the same parameters."""

import inspect

import pytest

pytest.importorskip("triton", reason="the names are compared with Triton's, which is not installed")

import triton.language as triton_tl

from tilewright.language import tl

INTERNAL = ("_semantic", "_generator")
NOT_METHODS = ("advance",)
"""Methods of Triton's tensors that moved: block pointers are no tensors here."""

RENAMED = {
    "load": "3.9 has no block pointers, so its loads have no boundary_check",
    "store": "likewise",
    "zeros": "no difference but in the annotation",
}

EXTRA = {"dot": ["two_ctas"]}
"""Parameters of the Triton that has TLX, after those of stock Triton."""


def test_all_names() -> None:
    names = {*triton_tl.__all__, "advance", "make_block_ptr"}
    assert sorted(name for name in names if not hasattr(tl, name)) == []


@pytest.mark.parametrize("module", ["math", "target_info", "extra"])
def test_names_of_modules(module: str) -> None:
    theirs = getattr(triton_tl, module)
    names = [
        name
        for name, value in inspect.getmembers(theirs)
        if callable(value)
        and not name.startswith("_")
        and getattr(value, "__module__", "") == theirs.__name__
        and name not in ("T", "constexpr_function")
    ]
    assert [name for name in names if not hasattr(getattr(tl, module), name)] == []


def test_all_methods_of_tensors() -> None:
    names = [name for name in dir(triton_tl.tensor) if not name.startswith("_")]
    missing = [name for name in names if not hasattr(tl.tensor, name)]
    assert missing == list(NOT_METHODS)


def _parameters(function: object) -> list[str]:
    signature = inspect.signature(getattr(function, "fn", function))
    return [name for name in signature.parameters if name not in INTERNAL]


def _functions() -> list[str]:
    return sorted(
        name
        for name in triton_tl.__all__
        if name not in RENAMED
        and (
            inspect.isfunction(getattr(triton_tl, name)) or hasattr(getattr(triton_tl, name), "fn")
        )
    )


@pytest.mark.parametrize("name", _functions())
def test_same_parameters(name: str) -> None:
    theirs = _parameters(getattr(triton_tl, name))
    extra = [each for each in EXTRA.get(name, ()) if each not in theirs]
    assert _parameters(getattr(tl, name)) == [*theirs, *extra]
