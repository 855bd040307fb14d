"""What annotations and do_not_specialize say about a parameter."""

from __future__ import annotations

import pytest

from tilewright.runtime.parameters import parameters_of


def _only(function, *args):
    (parameter,) = parameters_of(function, *args)
    return parameter


@pytest.mark.parametrize(
    ("annotation", "declared", "const", "constexpr"),
    [
        ("tl.constexpr", "", False, True),
        ("tl.int64", "i64", False, False),
        ("int", "i32", False, False),
        ("fp16", "fp16", False, False),
        ("bool", "u1", False, False),
        ("*fp32", "*fp32", False, False),
        ("float32*", "*fp32", False, False),
        ("*kfp32", "*kfp32", True, False),
        ("const float16*", "*kfp16", True, False),
        ("tl.const", "", True, False),
        ("Whatever", "", False, False),
    ],
)
def test_an_annotation_fixes_type_constness_or_value(annotation, declared, const, constexpr):
    def kernel(x): ...

    kernel.__annotations__["x"] = annotation
    parameter = _only(kernel)
    assert parameter.declared_type == declared
    assert parameter.is_const == const
    assert parameter.is_constexpr == constexpr


def test_no_annotation_says_nothing():
    def kernel(x=3): ...

    parameter = _only(kernel)
    assert (parameter.declared_type, parameter.is_const, parameter.is_constexpr) == (
        "",
        False,
        False,
    )
    assert parameter.default == 3
    assert parameter.has_default


@pytest.mark.parametrize("named", ["b", 1])
def test_parameters_are_left_unspecialised_by_name_or_number(named):
    def kernel(a, b): ...

    first, second = parameters_of(kernel, [named])
    assert first.specialise
    assert not second.specialise
    assert second.align


def test_a_constexpr_cannot_be_left_unspecialised():
    def kernel(x: tl.constexpr): ...  # noqa: F821

    with pytest.raises(ValueError, match="a constexpr is always specialised"):
        parameters_of(kernel, ["x"])


def test_keyword_collections_are_refused():
    def kernel(**rest): ...

    with pytest.raises(TypeError, match=r"cannot take \*\*rest"):
        parameters_of(kernel)
