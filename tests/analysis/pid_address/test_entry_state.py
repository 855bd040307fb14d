"""What the caller gives: arguments, grid, conditions; and input that makes no sense."""

from __future__ import annotations

import pytest

from tests.analysis.pid_address.support import corpus_module, only_access, parse, report_of
from tilewright.analysis.affine import evaluate
from tilewright.analysis.pid_address import AccessProperties, AnalysisError, Pattern, analyze

ROWS = """
    tt.func public @rows(%p: !tt.ptr<f32>, %n: i32 {tt.divisibility = 16 : i32}, %np0: i32,
                         %flag: i1, %scale: f32) {
      %x = tt.get_program_id x : i32
      %y = tt.get_program_id y : i32
      %count = tt.get_num_programs x : i32
      %a = arith.muli %y, %count : i32
      %b = arith.addi %a, %x : i32
      %c = arith.muli %b, %n : i32
      %d = arith.addi %c, %np0 : i32
      %q = tt.addptr %p, %d : !tt.ptr<f32>, i32
      %v = tt.load %q : !tt.ptr<f32>
      tt.return
    }"""


def test_parameters_and_symbols() -> None:
    report = report_of(ROWS)
    assert [(param.name, param.type, param.divisibility) for param in report.params] == [
        ("p", "!tt.ptr<f32>", None),
        ("n", "i32", 16),
        ("np0", "i32", None),
        ("flag", "i1", None),
        ("scale", "f32", None),
    ]
    assert [param.is_pointer for param in report.params] == [True, False, False, False, False]
    # An argument named like the grid is distinguished from it.
    assert str(report.accesses[0].offset) == "4*n*np0*pid1 + 4*n*pid0 + 4*%np0"


def test_domains_bound_every_symbol() -> None:
    [access] = report_of(ROWS).accesses
    bounds = {
        bound.symbol.name: (str(bound.lower), str(bound.upper)) for bound in access.domain.bounds
    }
    assert bounds == {
        # As in polynomials: a sixteenth of n.
        "n": ("-134217728", "134217727"),
        "%np0": ("-2147483648", "2147483647"),
        "np0": ("1", "2147483647"),
        "np1": ("1", "65535"),
        "pid0": ("0", "np0 - 1"),
        "pid1": ("0", "np1 - 1"),
    }


def test_a_given_grid_is_constant() -> None:
    report = report_of(ROWS, AccessProperties(grid=(8, 3)))
    [access] = report.accesses
    assert report.grid == (8, 3, 1)
    assert access.pid_strides.keys() == {0, 1}
    assert str(access.pid_strides[1]) == "32*n"
    pid = next(bound for bound in access.domain.bounds if bound.symbol.name == "pid1")
    assert (str(pid.lower), str(pid.upper)) == ("0", "2")


def test_an_axis_of_one_program_is_still_an_axis() -> None:
    access = only_access(ROWS, AccessProperties(grid=(1, 1)))
    assert access.pattern is Pattern.MULTI_AXIS


def test_an_unknown_axis_of_a_given_grid() -> None:
    report = report_of(ROWS, AccessProperties(grid=(None, 3)))
    assert report.grid == (None, 3, 1)
    assert str(report.accesses[0].pid_strides[1]) == "4*n*np0"


def test_given_arguments_are_constants() -> None:
    access = only_access(ROWS, AccessProperties(args={"n": 32, "np0": 7, "flag": 1}))
    assert str(access.offset) == "128*np0*pid1 + 128*pid0 + 28"


def test_a_value_wins_over_the_divisor_the_kernel_was_made_for() -> None:
    report = report_of(ROWS, AccessProperties(args={"n": 5}))
    assert report.notes == ("n = 5 is not a multiple of 16, which the kernel is specialised for",)
    values = {"np0": 2, "pid0": 1, "pid1": 1, "%np0": 0}
    assert evaluate(report.accesses[0].offset, values) == 60


def test_conditions_are_used() -> None:
    wrapped = """
    tt.func public @k(%p: !tt.ptr<f32>, %m: i32) {
      %c = arith.constant 64 : i32
      %x = tt.get_program_id x : i32
      %a = arith.muli %x, %c : i32
      %b = arith.remsi %a, %m : i32
      %q = tt.addptr %p, %b : !tt.ptr<f32>, i32
      %v = tt.load %q : !tt.ptr<f32>
      tt.return
    }"""
    assert only_access(wrapped).pattern is Pattern.NONLINEAR
    for conditions in (("m > 64 * pid0",), ("m == 64 * np0 and np0 < 1000", "pid0 < np0")):
        assert (
            only_access(wrapped, AccessProperties(assumptions=conditions)).pattern is Pattern.AFFINE
        )
    [access] = report_of(wrapped, AccessProperties(assumptions=("m % 128 == 0",))).accesses
    assert [str(fact) for fact in access.facts] == ["mod(m, 128) = 0"]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (
            AccessProperties(args={"k": 1}),
            "there is no argument 'k'; the kernel has p, n, np0, flag, scale",
        ),
        (
            AccessProperties(args={"p": 1}),
            "the argument 'p' is not an integer: it cannot be given a value",
        ),
        (
            AccessProperties(args={"scale": 1}),
            "the argument 'scale' is not an integer: it cannot be given a value",
        ),
        (AccessProperties(args={"n": 2**31}), "n = 2147483648 does not fit its type i32"),
        (
            AccessProperties(buffers={"n": 4}),
            "there is no pointer 'n' to give a size; the kernel has p",
        ),
        (AccessProperties(buffers={"p": -1}), "the buffer 'p' cannot hold -1 bytes"),
        (AccessProperties(grid=()), "a grid has 1 to 3 axes, not 0"),
        (AccessProperties(grid=(1, 1, 1, 1)), "a grid has 1 to 3 axes, not 4"),
        (
            AccessProperties(grid=(0,)),
            "the grid has 0 programs along axis 0; it needs 1 to 2147483647",
        ),
        (
            AccessProperties(grid=(1, 70000)),
            "the grid has 70000 programs along axis 1; it needs 1 to 65535",
        ),
        (AccessProperties(assumptions=("n >",)), "the condition 'n >' cannot be read"),
        (AccessProperties(assumptions=("n + 1",)), "the condition 'n + 1' is not a comparison"),
        (
            AccessProperties(assumptions=("n % 0 == 0",)),
            "the condition 'n % 0 == 0' divides by zero",
        ),
        (
            AccessProperties(assumptions=("n / 2 == 1",)),
            "the condition 'n / 2 == 1' has an operation that is not + - * // %",
        ),
        (
            AccessProperties(assumptions=("n in p",)),
            "the condition 'n in p' has a relation that is not < <= > >= == !=",
        ),
        (
            AccessProperties(assumptions=("n == 1.5",)),
            "the condition 'n == 1.5' has a part that is neither a name nor an integer",
        ),
        (
            AccessProperties(args={"n": 3}, assumptions=("n > 3",)),
            "the condition 'n > 3' contradicts",
        ),
        (AccessProperties(assumptions=("n > 3", "n < 3")), "the condition 'n < 3' contradicts"),
    ],
)
def test_facts_that_cannot_be(facts: AccessProperties, message: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        report_of(ROWS, facts)
    assert str(caught.value).startswith(message)


def test_an_unknown_name_in_a_condition() -> None:
    with pytest.raises(AnalysisError, match="names 'q', which is none of n, np0, flag"):
        report_of(ROWS, AccessProperties(assumptions=("q == 1",)))


def test_which_function() -> None:
    two = ROWS + ROWS.replace("@rows", "@more")
    with pytest.raises(AnalysisError, match=r"several public functions \(rows, more\): name one"):
        report_of(two)
    assert analyze(parse(two), function="more").kernel == "more"
    with pytest.raises(AnalysisError, match="there is no function 'none'; the module has rows"):
        analyze(parse(ROWS), function="none")
    with pytest.raises(AnalysisError, match="no public function to analyse"):
        report_of("tt.func private @f(%a: i32) { tt.return }")
    with pytest.raises(AnalysisError, match="no public function to analyse"):
        report_of("module {}")


def test_a_function_alone() -> None:
    function = next(iter(corpus_module("vector_add").body.block.ops))
    assert analyze(function).kernel == "vector_add"


def test_given_arguments_make_the_grouped_order_affine_in_tiles() -> None:
    """With whole tiles the wrap-around goes away, and coordinates appear on the loads."""
    facts = AccessProperties(
        grid=(9,),
        args={"M": 384, "N": 768, "K": 128, "stride_am": 128, "stride_bk": 768, "stride_cm": 768},
    )
    a, b, _ = analyze(corpus_module("matmul_grouped"), facts).accesses
    assert (b.block_size, b.contiguity) == (256, (1, 256))
    assert a.virtual is not None and b.virtual is not None
    assert {name: str(stride) for name, stride in a.virtual.strides.items()} == {
        "%pid_m_8": "32768"
    }
    assert {name: str(stride) for name, stride in b.virtual.strides.items()} == {"%pid_n": "512"}


def test_equal_strides_collapse_the_head_and_batch_split() -> None:
    facts = AccessProperties(args={"H": 4, "stride_qz": 24576, "stride_qh": 6144})
    q = analyze(corpus_module("flash_attn_fwd"), facts).accesses[0]
    assert str(q).endswith(
        "PATTERN(PID_MULTI_AXIS, block_size=64, strides=[0:256*stride_qm, 1:12288], coalesced=true)"
    )
