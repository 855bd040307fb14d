"""Control flow: values and conditions at joins, and loop-carried values."""

from __future__ import annotations

import pytest

from tests.analysis.pid_address.support import fixture_module, only_access, report_of
from tilewright.analysis.affine import Formula, FormulaKind, evaluate, holds
from tilewright.analysis.pid_address import (
    AccessProperties,
    MemoryOp,
    Pattern,
    Reason,
    analyze,
)


def kernel(body: str) -> str:
    return f"""
    tt.func public @k(%p: !tt.ptr<i8>, %q: !tt.ptr<i8>, %a: i32, %b: i32, %n: i32, %f: i1) {{
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c4 = arith.constant 4 : i32
      %c10 = arith.constant 10 : i32
      %v = arith.constant 0 : i8
      %pid = tt.get_program_id x : i32
      {body}
      tt.return
    }}"""


def store(at: str, name: str = "s", base: str = "%p") -> str:
    return f"""%{name} = tt.addptr {base}, {at} : !tt.ptr<i8>, i32
      tt.store %{name}, %v : !tt.ptr<i8>"""


def by_name(accesses: tuple[MemoryOp, ...]) -> dict[str, MemoryOp]:
    return {access.address: access for access in accesses}


# Choices.


def test_if_with_results_loses_nothing() -> None:
    access = only_access(
        kernel(f"""
        %t = arith.cmpi slt, %a, %c4 : i32
        %r:2 = scf.if %t -> (i32, i32) {{
          scf.yield %a, %c1 : i32, i32
        }} else {{
          %d = arith.addi %b, %c10 : i32
          scf.yield %d, %c1 : i32, i32
        }}
        %x = arith.addi %r#0, %r#1 : i32
        {store("%x")}""")
    )
    for a, b in ((3, 50), (4, 50), (-9, 0)):
        assert evaluate(access.offset, {"a": a, "b": b}) == (a if a < 4 else b + 10) + 1


def test_guards_of_both_sides() -> None:
    report = report_of(
        kernel(f"""
        %t = arith.cmpi slt, %pid, %n : i32
        scf.if %t {{
          {store("%pid", "then")}
        }} else {{
          {store("%a", "else")}
        }}
        {store("%b", "after")}""")
    )
    accesses = by_name(report.accesses)
    assert str(accesses["%then"].guard) == "pid0 < n"
    assert str(accesses["%else"].guard) == "n <= pid0"
    assert accesses["%after"].guard.truth is True
    assert [accesses[name].guard_axes for name in ("%then", "%else", "%after")] == [(0,), (0,), ()]
    # The guard decides when, not where.
    assert accesses["%else"].pattern is Pattern.INDEPENDENT


def test_guards_are_known_inside() -> None:
    access = only_access(
        kernel(f"""
        %t = arith.cmpi sgt, %a, %c0 : i32
        scf.if %t {{
          %x = arith.divsi %pid, %a : i32
          {store("%x")}
        }}""")
    )
    assert str(access.offset) == "fdiv(pid0, a)"


def test_pointers_chosen_between_two_bases_are_unknown() -> None:
    body = f"""
        %x = scf.if %f -> (!tt.ptr<i8>) {{
          scf.yield %p : !tt.ptr<i8>
        }} else {{
          scf.yield %q : !tt.ptr<i8>
        }}
        {store("%pid", base="%x")}"""
    access = only_access(kernel(body))
    assert (access.base, access.pattern, access.reason) == (
        "?",
        Pattern.UNKNOWN,
        Reason.UNSUPPORTED,
    )
    known = only_access(kernel(body), AccessProperties(args={"f": 0}))
    assert (known.base, known.pattern) == ("%q", Pattern.AFFINE)


def test_loads_of_one_name_in_two_regions_are_two_values() -> None:
    report = report_of(
        kernel("""
        %pp = tt.bitcast %p : !tt.ptr<i8> -> !tt.ptr<i32>
        %x = scf.if %f -> (i32) {
          %l = tt.load %pp : !tt.ptr<i32>
          scf.yield %l : i32
        } else {
          %l = tt.load %pp : !tt.ptr<i32>
          scf.yield %l : i32
        }
        %s = tt.addptr %q, %x : !tt.ptr<i8>, i32
        tt.store %s, %v : !tt.ptr<i8>""")
    )
    stored = report.accesses[-1]
    assert sum(atom.is_opaque for atom in stored.offset.atoms_within()) == 2


def test_index_switch() -> None:
    access = only_access(
        kernel(f"""
        %i = arith.index_cast %a : i32 to index
        %x = scf.index_switch %i -> i32
        case 2 {{ scf.yield %c10 : i32 }}
        case 5 {{ scf.yield %b : i32 }}
        default {{ scf.yield %c1 : i32 }}
        {store("%x")}""")
    )
    expected = {2: 10, 5: 77, 0: 1, -1: 1}
    assert {a: evaluate(access.offset, {"a": a, "b": 77}) for a in expected} == expected


# Blocks.


def test_an_early_return_guards_what_follows() -> None:
    for access in analyze(fixture_module("early_return")).accesses:
        assert str(access.guard) == "256*pid0 < n"
        assert access.guard_axes == (0,)
        assert access.pattern is Pattern.AFFINE


def test_paths_that_join_again() -> None:
    report = report_of(
        kernel(f"""
        cf.cond_br %f, ^one, ^two(%c10 : i32)
      ^one:
        %d = arith.addi %a, %c1 : i32
        {store("%d", "mid")}
        cf.br ^two(%d : i32)
      ^two(%x: i32):
        {store("%x", "end")}""")
    )
    accesses = by_name(report.accesses)
    assert str(accesses["%mid"].guard) == "f != 0"
    assert accesses["%end"].guard.truth is True
    offset = accesses["%end"].offset
    assert evaluate(offset, {"f": 1, "a": 5}) == 6
    assert evaluate(offset, {"f": 0, "a": 5}) == 10


def test_switches_between_blocks() -> None:
    report = report_of(
        kernel(f"""
        cf.switch %a : i32, [
          default: ^end(%c0 : i32),
          3: ^end(%b : i32),
          4: ^four
        ]
      ^four:
        cf.br ^end(%c4 : i32)
      ^end(%x: i32):
        {store("%x")}""")
    )
    [access] = report.accesses
    for a, expected in ((3, 50), (4, 4), (9, 0)):
        assert evaluate(access.offset, {"a": a, "b": 50}) == expected


def test_values_of_a_cycle_are_opaque() -> None:
    report = report_of(
        kernel(f"""
        cf.br ^head(%pid : i32)
      ^head(%x: i32):
        %t = arith.cmpi slt, %x, %n : i32
        cf.cond_br %t, ^body, ^end
      ^body:
        {store("%x", "in")}
        {store("%a", "same")}
        %y = arith.addi %x, %c4 : i32
        cf.br ^head(%y : i32)
      ^end:
        {store("%b", "out")}""")
    )
    accesses = by_name(report.accesses)
    assert (accesses["%in"].pattern, accesses["%in"].reason) == (
        Pattern.UNKNOWN,
        Reason.LOOP_CARRIED,
    )
    assert accesses["%in"].pid_axes == (0,)
    assert accesses["%same"].pattern is Pattern.INDEPENDENT
    assert [loop.name for loop in accesses["%in"].loops] == ["while"]
    assert accesses["%out"].loops == ()
    assert accesses["%out"].guard.truth is None and accesses["%out"].guard_axes == (0,)


# Counted loops.


def loop(body: str, *, carried: str = "", yields: str = "") -> str:
    return f"""scf.for %i = %c0 to %n step %c4 {carried} : i32 {{
          {body}
          {yields}
        }}"""


def test_induction_variable_and_trip_count() -> None:
    access = only_access(kernel(loop(store("%i"))))
    [inner] = access.loops
    assert (inner.name, str(access.offset)) == ("%i", "4*it(%i)")
    assert inner.trips is not None
    for n in (-5, 0, 1, 4, 5, 17):
        assert evaluate(inner.trips, {"n": n}) == len(range(0, n, 4))


def carried_offset(step: str, first: str = "%a") -> tuple[MemoryOp, MemoryOp]:
    """Accesses at a loop-carried value, inside and after its loop."""
    text = kernel(f"""
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = {first}) -> (i32) : i32 {{
          {store("%x", "in")}
          {step}
          scf.yield %y : i32
        }}
        {store("%r", "out")}""")
    inside, after = report_of(text).accesses
    return inside, after


@pytest.mark.parametrize(
    ("step", "following"),
    [
        ("%y = arith.addi %x, %c0 : i32", lambda x, i, v: x),
        ("%y = arith.addi %x, %b : i32", lambda x, i, v: x + v["b"]),
        ("%y = arith.subi %x, %c4 : i32", lambda x, i, v: x - 4),
        ("%y = arith.addi %x, %i : i32", lambda x, i, v: x + i),
        (
            "%m = arith.muli %i, %b : i32\n %d = arith.addi %m, %c10 : i32\n"
            " %y = arith.addi %x, %d : i32",
            lambda x, i, v: x + i * v["b"] + 10,
        ),
        ("%y = arith.muli %i, %b : i32", lambda x, i, v: i * v["b"]),
        ("%y = arith.addi %b, %c1 : i32", lambda x, i, v: v["b"] + 1),
    ],
    ids=["same", "linear", "falling", "triangular", "quadratic", "delayed", "constant"],
)
def test_closed_forms(step: str, following: object) -> None:
    inside, after = carried_offset(step)
    assert callable(following)
    for values in ({"a": 3, "b": 7}, {"a": -2, "b": 1}):
        x = values["a"]
        for iteration in range(6):
            at = {**values, "it(%i)": iteration, "n": 9}
            assert evaluate(inside.offset, at) == x, iteration
            assert evaluate(after.offset, {**values, "n": iteration}) == x, iteration
            x = following(x, iteration, values)


def test_a_carried_value_can_depend_on_another() -> None:
    text = kernel(f"""
        %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (i32, i32) : i32 {{
          {store("%x", "in")}
          %x2 = arith.addi %x, %y : i32
          %y2 = arith.addi %y, %c4 : i32
          scf.yield %x2, %y2 : i32, i32
        }}""")
    inside = only_access(text)
    x, y = 5, 7
    for iteration in range(6):
        assert evaluate(inside.offset, {"a": 5, "b": 7, "it(%i)": iteration}) == x
        x, y = x + y, y + 4


def test_a_multiplication_has_no_closed_form() -> None:
    inside, after = carried_offset("%y = arith.muli %x, %c4 : i32", "%pid")
    for access in (inside, after):
        assert (access.pattern, access.reason) == (Pattern.UNKNOWN, Reason.LOOP_CARRIED)
    assert inside.loop_strides[0].stride is None
    independent, _ = carried_offset("%y = arith.muli %x, %c4 : i32", "%a")
    assert independent.pattern is Pattern.INDEPENDENT


def test_steps_that_are_loaded_keep_the_lanes_visible() -> None:
    access = report_of(
        """
    tt.func public @k(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %s: !tt.ptr<i32>, %n: i32) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c16 = arith.constant 16 : i32
      %l = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
      %ps = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
      %p0 = tt.addptr %ps, %l : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %p0) -> (tensor<64x!tt.ptr<f32>>) : i32 {
        %v = tt.load %x : tensor<64x!tt.ptr<f32>>
        %d = tt.load %s : !tt.ptr<i32>
        %e = arith.muli %d, %c16 : i32
        %es = tt.splat %e : i32 -> tensor<64xi32>
        %y = tt.addptr %x, %es : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
        scf.yield %y : tensor<64x!tt.ptr<f32>>
      }
      tt.return
    }"""
    ).accesses[0]
    assert access.pattern is Pattern.INDEPENDENT
    assert (str(access.lane_strides[0]), access.block_size) == ("4", 64)
    # 16 elements of 4 bytes divide every step, so the alignment of the base survives.
    assert (access.align_bytes, access.vector_bits) == (16, 128)


def test_pointers_that_are_swapped_have_no_base() -> None:
    text = kernel(f"""
        %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %p, %y = %q)
            -> (!tt.ptr<i8>, !tt.ptr<i8>) : i32 {{
          {store("%pid", base="%x")}
          scf.yield %y, %x : !tt.ptr<i8>, !tt.ptr<i8>
        }}""")
    access = only_access(text)
    assert (access.base, access.pattern) == ("?", Pattern.UNKNOWN)


def test_carried_conditions() -> None:
    text = kernel(f"""
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %f) -> (i1) : i32 {{
          scf.if %x {{
            {store("%i")}
          }}
          %y = arith.cmpi slt, %i, %a : i32
          scf.yield %y : i1
        }}""")
    access = only_access(text)
    for iteration in range(4):
        for f in (0, 1):
            expected = bool(f) if iteration == 0 else iteration - 1 < 2
            assert holds(access.guard, {"it(%i)": iteration, "f": f, "a": 2, "n": 9}) == expected


def test_nested_loops_and_loops_of_one_name() -> None:
    text = kernel(f"""
        scf.for %i = %c0 to %a step %c1 : i32 {{
          %row = arith.muli %i, %c10 : i32
          %r = scf.for %j = %c0 to %b step %c1 iter_args(%x = %row) -> (i32) : i32 {{
            {store("%x")}
            %y = arith.addi %x, %c4 : i32
            scf.yield %y : i32
          }}
        }}""")
    access = only_access(text)
    assert str(access.offset) == "10*it(%i) + 4*it(%j)"
    assert [(item.loop.name, str(item.stride)) for item in access.loop_strides] == [
        ("%i", "10"),
        ("%j", "4"),
    ]


def test_deeply_nested_carries_are_opaque_at_once() -> None:
    depth = 7
    opens = "".join(
        f"%r{d} = scf.for %i{d} = %c0 to %n step %c1 iter_args(%x{d} = %x{d - 1}) -> (i32) : i32 {{\n"
        for d in range(1, depth)
    ).replace("%x0", "%a")
    body = store(f"%x{depth - 1}")
    closes = "".join(
        f"%y{d} = arith.addi %x{d}, %c1 : i32\n scf.yield %y{d} : i32\n }}\n"
        for d in reversed(range(1, depth))
    )
    access = only_access(kernel(opens + body + "\n" + closes))
    assert len(access.loops) == depth - 1
    assert (access.pattern, access.reason) == (Pattern.UNKNOWN, Reason.DATA_DEPENDENT)


def test_unsigned_loops_count_values_that_are_not_negative() -> None:
    text = kernel(f"""
        %np = tt.get_num_programs x : i32
        scf.for unsigned %i = %pid to %np step %c4 : i32 {{
          {store("%i")}
        }}""")
    access = only_access(text)
    [inner] = access.loops
    assert inner.trips is not None
    assert evaluate(inner.trips, {"pid0": 3, "np0": 12}) == len(range(3, 12, 4))
    open_sign = only_access(
        kernel("scf.for unsigned %i = %a to %b step %c4 : i32 {" + store("%i") + "}")
    )
    assert open_sign.loops[0].trips is None


def test_a_step_of_unknown_sign_has_no_trip_count() -> None:
    text = kernel("scf.for %i = %c0 to %n step %b : i32 {" + store("%i") + "}")
    assert only_access(text).loops[0].trips is None
    given = only_access(text, AccessProperties(args={"b": 4}))
    assert str(given.loops[0].trips) == "max(0, fdiv(n + 3, 4))"


# While.


def test_a_while_loop_counts_without_an_end() -> None:
    load, total, steps = analyze(fixture_module("while_loop")).accesses
    assert str(load.offset) == "4*lane0 + 1024*pid0 + 4096*it(while)"
    assert [(item.loop.name, str(item.stride)) for item in load.loop_strides] == [("while", "4096")]
    assert str(load.guard) == "256*pid0 + 1024*it(while) < n"
    assert load.pattern is Pattern.AFFINE
    assert total.loops == () and total.pattern is Pattern.AFFINE
    # The trip count is known of no program.
    assert (steps.pattern, steps.reason) == (Pattern.UNKNOWN, Reason.LOOP_CARRIED)


def test_what_a_while_loop_leaves_alone_is_known_after_it() -> None:
    access = only_access(
        kernel(f"""
        %r:2 = scf.while (%x = %a, %y = %b) : (i32, i32) -> (i32, i32) {{
          %t = arith.cmpi slt, %x, %n : i32
          scf.condition(%t) %x, %y : i32, i32
        }} do {{
        ^bb0(%x: i32, %y: i32):
          %x2 = arith.addi %x, %c1 : i32
          scf.yield %x2, %y : i32, i32
        }}
        {store("%r#1")}""")
    )
    assert str(access.offset) == "b"


# Calls.


CALLEE = """
    tt.func private @at(%p: !tt.ptr<i8>, %i: i32) -> i32 {
      %c = arith.constant 3 : i32
      %s = tt.addptr %p, %i : !tt.ptr<i8>, i32
      %v = arith.constant 0 : i8
      tt.store %s, %v : !tt.ptr<i8>
      %r = arith.muli %i, %c : i32
      tt.return %r : i32
    }"""


def test_calls_are_evaluated_per_path_and_return_values() -> None:
    report = report_of(
        kernel("""
        %u = tt.call @at(%p, %pid) : (!tt.ptr<i8>, i32) -> i32
        %w = tt.call @at(%q, %u) : (!tt.ptr<i8>, i32) -> i32""")
        + CALLEE
    )
    first, second = report.accesses
    assert (first.call, first.base, str(first.offset)) == (("%u",), "%p", "pid0")
    assert (second.call, second.base, str(second.offset)) == (("%w",), "%q", "3*pid0")
    assert (first.index, second.index) == (0, 0)


def test_paths_through_calls_of_calls() -> None:
    middle = """
    tt.func private @twice(%p: !tt.ptr<i8>, %i: i32) -> i32 {
      %x = tt.call @at(%p, %i) : (!tt.ptr<i8>, i32) -> i32
      %y = tt.call @at(%p, %x) : (!tt.ptr<i8>, i32) -> i32
      tt.return %y : i32
    }"""
    report = report_of(
        kernel("%u = tt.call @twice(%p, %a) : (!tt.ptr<i8>, i32) -> i32") + middle + CALLEE
    )
    assert [(access.call, str(access.offset)) for access in report.accesses] == [
        (("%u", "%x"), "a"),
        (("%u", "%y"), "3*a"),
    ]
    assert "%s (store) @%u/%y:" in str(report)


def test_recursion_ends() -> None:
    report = report_of(
        kernel("%u = tt.call @self(%a) : (i32) -> i32\n" + store("%u"))
        + """
    tt.func private @self(%i: i32) -> i32 {
      %x = tt.call @self(%i) : (i32) -> i32
      tt.return %x : i32
    }"""
    )
    assert report.accesses[0].offset.atoms()[0].is_opaque


def test_nested_while_loops_have_counters_of_their_own() -> None:
    inner = f"""
          %s = scf.while (%u = %c0) : (i32) -> (i32) {{
            %g = arith.cmpi slt, %u, %b : i32
            scf.condition(%g) %u : i32
          }} do {{
          ^bb0(%u: i32):
            %e = arith.addi %x, %u : i32
            {store("%e")}
            %u2 = arith.addi %u, %c4 : i32
            scf.yield %u2 : i32
          }}"""
    access = only_access(
        kernel(f"""
        %r = scf.while (%x = %a) : (i32) -> (i32) {{
          %t = arith.cmpi slt, %x, %n : i32
          scf.condition(%t) %x : i32
        }} do {{
        ^bb0(%x: i32):
          {inner}
          %x2 = arith.addi %x, %c10 : i32
          scf.yield %x2 : i32
        }}""")
    )
    assert [item.loop.name for item in access.loop_strides] == ["while", "while"]
    assert [str(item.stride) for item in access.loop_strides] == ["10", "4"]
    assert str(access.offset) == "a + 4*it(while#2) + 10*it(while)"


def test_conditions_that_grow_out_of_hand_become_opaque() -> None:
    count = 40
    tests = "\n".join(
        f"%k{i} = arith.constant {i} : i32\n %t{i} = arith.cmpi slt, %a, %k{i} : i32"
        for i in range(count)
    )
    mixed = "\n".join(f"%m{i} = arith.xori %m{i - 1}, %t{i} : i1" for i in range(1, count))
    access = only_access(
        kernel(
            f"{tests}\n %m0 = arith.xori %t0, %f : i1\n{mixed}\n scf.if %m{count - 1} {{\n"
            f"{store('%pid')}\n}}"
        )
    )

    def leaves(formula: Formula) -> list[Formula]:
        if not formula.parts:
            return [formula]
        return [leaf for part in formula.parts for leaf in leaves(part)]

    kinds = [leaf.kind for leaf in leaves(access.guard)]
    assert FormulaKind.PREDICATE in kinds and len(kinds) < 256
    assert access.guard.deps >= {"arg a", "arg f"} and access.guard_axes == ()
