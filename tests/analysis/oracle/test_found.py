"""Faults of the analysis that random kernels brought to light, each in a small kernel."""

from __future__ import annotations

from tests.analysis.pid_address.support import lines_of, only_access, parse, report_of
from tilewright.analysis.pid_address import AccessProperties, axis_facts
from tilewright.analysis.pid_address.checks import CheckResult, run_checks


def kernel(body: str, parameters: str = "%n: i32, %m: i32") -> str:
    return f"""
    tt.func public @k(%p: !tt.ptr<f32>, {parameters}) {{
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c4 = arith.constant 4 : i32
      %z = arith.constant 0.0 : f32
      %pid = tt.get_program_id x : i32
      {body}
      tt.return
    }}"""


def assumed_values(text: str) -> set[str]:
    report = report_of(text)
    [access] = report.accesses
    return {report.assumptions[index].value for index in access.assumptions}


def test_the_mask_of_a_descriptor_rests_on_what_its_shape_rests_on() -> None:
    text = kernel("""
      %s = arith.addi %n, %n : i32
      %one = arith.constant 1 : i64
      %w = arith.extsi %m : i32 to i64
      %d = tt.make_tensor_descriptor %p, [%s, %m], [%w, %one] : <f32>, <4x16xf32>
      %v = tt.descriptor_load %d[%c0, %c0] : !tt.tensordesc<4x16xf32> -> tensor<4x16xf32>""")
    assert "%s" in assumed_values(text)


def test_a_value_chosen_by_branches_rests_on_what_the_condition_rests_on() -> None:
    text = kernel("""
      %s = arith.addi %n, %n : i32
      %t = arith.cmpi slt, %s, %m : i32
      cf.cond_br %t, ^one, ^two
    ^one:
      cf.br ^meet(%c1 : i32)
    ^two:
      cf.br ^meet(%c4 : i32)
    ^meet(%x: i32):
      %q = tt.addptr %p, %x : !tt.ptr<f32>, i32
      tt.store %q, %z : !tt.ptr<f32>""")
    assert assumed_values(text) == {"%s"}


def test_the_result_of_an_if_rests_on_what_its_condition_rests_on() -> None:
    text = kernel("""
      %s = arith.addi %n, %n : i32
      %t = arith.cmpi slt, %s, %m : i32
      %x = scf.if %t -> (i32) {
        scf.yield %c1 : i32
      } else {
        scf.yield %c4 : i32
      }
      %q = tt.addptr %p, %x : !tt.ptr<f32>, i32
      tt.store %q, %z : !tt.ptr<f32>""")
    assert assumed_values(text) == {"%s"}


LOOP = """
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %m) -> (i32) : i32 {
        %y = arith.addi %x, %c4 : i32
        scf.yield %y : i32
      }
      %q = tt.addptr %p, %r : !tt.ptr<f32>, i32
      tt.store %q, %z : !tt.ptr<f32>"""


def test_a_value_behind_a_loop_has_its_own_name() -> None:
    access = only_access(kernel(LOOP), AccessProperties(strict_overflow=True))
    assert str(access.offset) == "4*%r"


def test_the_range_of_a_value_is_not_that_under_the_guard_of_an_access() -> None:
    report = report_of(
        kernel("""
      %c8 = arith.constant 8 : i32
      scf.for %i = %pid to %c8 step %c4 : i32 {
        %t = arith.cmpi sge, %i, %c4 : i32
        scf.if %t {
          %q = tt.addptr %p, %i : !tt.ptr<f32>, i32
          tt.store %q, %z : !tt.ptr<f32>
        }
      }"""),
        AccessProperties(grid=(1,)),
    )
    assert "%i:         PID_INFO(axis=0, stride=1, offset=[0,4])" in lines_of(report)


def test_nothing_overflows_in_a_loop_that_never_turns() -> None:
    text = kernel("""
      scf.for %i = %c4 to %m step %c1 : i32 {
        %s = arith.muli %n, %c4 : i32
        %q = tt.addptr %p, %s : !tt.ptr<f32>, i32
        tt.store %q, %z : !tt.ptr<f32>
      }""")
    never = report_of(text, AccessProperties(grid=(1,), args={"n": 2**30, "m": 4}))
    assert all(
        found.verdict is not CheckResult.REFUTED for found in run_checks(never, ["overflow"])
    )
    once = report_of(text, AccessProperties(grid=(1,), args={"n": 2**30, "m": 5}))
    assert [found.verdict for found in run_checks(once, ["overflow"])] == [CheckResult.REFUTED]


def test_axis_facts_count_in_powers_of_two() -> None:
    module = parse(
        kernel("%x = arith.andi %n, %m : i32", "%n: i32 {tt.divisibility = 12 : i32}, %m: i32")
    )
    facts = axis_facts(module)
    [value] = [op.results[0] for op in module.walk() if op.name == "arith.andi"]
    assert facts[value].divisibility == (4,)


def test_a_block_behind_an_unsolved_loop_keeps_its_extents_and_its_mask() -> None:
    text = kernel("""
      %one = arith.constant 1 : i64
      %rows = arith.extsi %n : i32 to i64
      %zs = arith.constant dense<0.0> : tensor<4x16xf32>
      %b = tt.make_tensor_ptr %p, [%rows, %rows], [%rows, %one], [%c0, %c0]
        {order = array<i32: 1, 0>} : <tensor<4x16xf32>>
      %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %b, %s = %m)
          -> (!tt.ptr<tensor<4x16xf32>>, i32) : i32 {
        %a = arith.andi %s, %c4 : i32
        %t = arith.xori %a, %pid : i32
        %y = tt.advance %x, [%t, %c4] : <tensor<4x16xf32>>
        scf.yield %y, %t : !tt.ptr<tensor<4x16xf32>>, i32
      }
      tt.store %r#0, %zs {boundaryCheck = array<i32: 0>} : !tt.ptr<tensor<4x16xf32>>""")
    access = only_access(text)
    assert (access.shape, access.elem_bytes, access.base) == ((4, 16), 4, "?")
    assert access.masked and access.coalesced is None
