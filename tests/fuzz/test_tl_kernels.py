"""Random `tl` kernels compute on the host what plain NumPy says, and the checks find nothing.

A failing seed is shown by ``generate(seed).source``. Values agree in every element; the sign of a
zero is a matter of the order of a sum. On a GPU the same kernels are run by ``python -m
tests.fuzz.tl.device``.
"""

import numpy as np
import pytest

import tilewright as tw
from tests.fuzz.tl import reference
from tests.fuzz.tl.generator import FAMILIES, generate
from tests.fuzz.tl.running import check, described, differences, expected, kernel, launched
from tests.sampling import every
from tilewright.analysis.pid_address.checks import CheckResult
from tilewright.runtime.addresses import analyze

WHOLE, BATCH = 3_000, 50
SAMPLE = range(0, WHOLE, 75)


@pytest.mark.parametrize("seed", SAMPLE)
def test_sample(seed: int) -> None:
    case = generate(seed, FAMILIES[seed // 75 % 2])
    assert check(case) == [], case.source


@pytest.mark.parametrize("seed", every(60, range(600)))
def test_the_analysis_refutes_nothing(seed: int) -> None:
    """Bounds and races of a launch that is right: proved, or unknown."""
    case = generate(seed)
    given = described(case, case.arrays(), tw.TensorDescriptor)
    arguments = (*given, *case.scalars.values())
    report = analyze(kernel(case), arguments, case.grid, check=("bounds", "race"), **case.constants)
    assert [each for each in report.findings if each.verdict is CheckResult.REFUTED] == [], (
        case.source
    )


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, WHOLE, BATCH))
@pytest.mark.parametrize("family", FAMILIES)
def test_all(first: int, family: str) -> None:
    seeds = range(first, first + BATCH)
    failed = {seed: found for seed in seeds if (found := _problems(seed, family))}
    assert failed == {}


def _problems(seed: int, family: str) -> list[str]:
    try:
        return check(generate(seed, family))
    except Exception as error:  # a seed that fails must not hide the others of its batch
        return [f"{type(error).__name__}: {error}"]


def test_a_kernel_comes_from_its_seed_alone() -> None:
    assert generate(5) == generate(5)
    assert len({generate(seed).source for seed in range(20)}) == 20


def test_every_kind_of_statement_occurs() -> None:
    text = "\n".join(generate(seed).source for seed in range(400))
    words = (
        "tl.load", "mask=", "other=", "tl.store", "tl.where", "tl.sum", "tl.max(", "tl.argmin", "tl.xor_sum",
        "tl.reduce(", "tl.cumsum", "tl.cumprod", "tl.associative_scan", "tl.dot", "input_precision",
        "tl.trans", "tl.permute", "tl.reshape", "tl.join", "tl.split", "tl.interleave", "tl.expand_dims",
        "tl.broadcast_to", "tl.sort", "tl.topk", "tl.gather", "tl.histogram", "tl.flip", "tl.static_range",
        "tl.range", "while ", "if ", "else:", "tl.atomic_add", "tl.atomic_max", "tl.atomic_xor",
        "tl.atomic_cas", "tl.atomic_xchg", "tl.make_tensor_descriptor", "tl.make_block_ptr", "bitcast=True",
        "float8e4nv", "float8e5", "bfloat16", "uint64", "float64", "program_id(2)", " // ", " % ", " >> ",
        "umulhi", "tl.fma", "tl.clamp", "and ", "helper",
    )  # fmt: skip
    assert [word for word in words if word not in text] == []
    wide = "\n".join(generate(seed, "wide").source for seed in range(200))
    more = ("tl.assume", "tl.multiple_of", "tl.max_contiguous", "tl.debug_barrier", "noinline=True",
            ".atomic_add(", ".atomic_xor(", "t1", "tl.minimum(a, c)")  # fmt: skip
    assert [word for word in more if word not in wide] == []


def test_kernels_write_what_depends_on_their_input() -> None:
    """Nearly every kernel changes an array, and most results differ when inputs do."""
    changed = sum(bool(differences(generate(s).arrays(), expected(generate(s)))) for s in range(40))
    assert changed >= 38


@pytest.mark.parametrize("seed", [1, 2, 6])
def test_a_wrong_operation_is_noticed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums become differences: the comparison must tell, or it checks nothing."""
    case = generate(seed)
    monkeypatch.setitem(reference._ARITHMETIC, "+", np.subtract)
    monkeypatch.setattr(reference, "load", lambda array, place, *_: array[np.zeros_like(place)])
    assert differences(launched(case), expected(case))


def test_division_of_the_reference_truncates() -> None:
    a = np.array([-7, 7, -7, 7, -8], np.int8)
    b = np.array([2, -2, -2, 2, 2], np.int8)
    np.testing.assert_array_equal(reference.quotient(a, b), [-3, -3, 3, 3, -4])
    np.testing.assert_array_equal(reference.remainder(a, b), [-1, 1, -1, 1, 0])


def test_the_reference_refuses_results_that_depend_on_rounding() -> None:
    with pytest.raises(reference.Inexact):
        reference.arith("+", np.float16(2048), np.float16(1))
    with pytest.raises(reference.Inexact):
        reference.cast(np.float32(300), "uint8")


def test_kernels_are_found_by_their_lines() -> None:
    assert kernel(generate(0)).arg_names[0] == generate(0).arguments[0].name


@pytest.mark.parametrize(("seed", "family"), [(400304, "wide"), (401155, "wide")])
def test_kernels_that_the_generator_had_wrong(seed: int, family: str) -> None:
    """A signed tensor shifted by an unsigned one; a hint about the number of an unrolled loop."""
    assert check(generate(seed, family)) == []
