"""Kernels made to show truth values, numbers of any sign, casts, and lanes on the move."""

from __future__ import annotations

BODIES: dict[str, str] = {}

# Truth values.

BODIES["one_bit_arithmetic"] = """
  %t = arith.cmpi slt, %lane, %s0 : tensor<16xi32>
  %u = arith.cmpi sgt, %place, %s1 : tensor<16xi32>
""" + "\n".join(
    f"  %m{name} = arith.{name} %t, %u : tensor<16xi1>\n  $16 %place, %m{name}"
    for name in (
        "andi", "ori", "xori", "addi", "subi", "muli", "minsi", "maxsi", "minui", "maxui",
    )
)  # fmt: skip

BODIES["comparisons_of_bits"] = """
  %t = arith.cmpi slt, %pid, %n0 : i32
  %u = arith.cmpi sgt, %pid1, %n1 : i32
""" + "\n".join(
    f"  %m{name} = arith.cmpi {name}, %t, %u : i1\n  scf.if %m{name} {{\n  $ %pid\n  }}"
    for name in ("eq", "ne", "ult", "sle")
)

BODIES["comparisons"] = "\n".join(
    f"  %a{name} = arith.cmpi {name}, %lane, %s0 : tensor<16xi32>\n"
    f"  %b{name} = arith.cmpi {name}, %s2, %place : tensor<16xi32>\n"
    f"  %d{name} = arith.cmpi {name}, %place, %s2 : tensor<16xi32>\n"
    f"  $16 %place, %a{name}\n  $16 %place, %b{name}\n  $16 %place, %d{name}"
    for name in ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
)

BODIES["unsigned_comparisons"] = """
  %a = arith.cmpi ult, %pid, %n0 : i32
  %b = arith.cmpi ule, %n0, %pid : i32
  %d = arith.cmpi ugt, %n0, %n1 : i32
  %e = arith.cmpi uge, %pid, %pid1 : i32
  $ %n0, %a
  $ %n0, %b
  $ %n0, %d
  $ %n0, %e
"""

BODIES["bits_as_numbers"] = """
  %t = arith.cmpi slt, %lane, %s0 : tensor<16xi32>
  %a = arith.extui %t : tensor<16xi1> to tensor<16xi32>
  %b = arith.extsi %t : tensor<16xi1> to tensor<16xi32>
  %d = arith.trunci %place : tensor<16xi32> to tensor<16xi1>
  %e = arith.trunci %s0 : tensor<16xi32> to tensor<16xi1>
  $16 %a
  $16 %b
  $16 %place, %d
  $16 %place, %e
  %f = arith.trunci %n0 : i32 to i1
  %g = arith.extui %f : i1 to i32
  %h = arith.extsi %yes : i1 to i32
  $ %g
  $ %h
  scf.if %f {
    $ %pid
  }
"""

BODIES["masks_in_groups"] = """
  %a = arith.muli %lane, %t2 : tensor<16xi32>
  %b = arith.cmpi slt, %a, %s2 : tensor<16xi32>
  %d = arith.cmpi sgt, %s2, %lane : tensor<16xi32>
  %e = arith.subi %s2, %place : tensor<16xi32>
  %f = arith.cmpi sge, %e, %t4 : tensor<16xi32>
  %g = arith.remsi %lane, %t8 : tensor<16xi32>
  %h = arith.cmpi slt, %g, %t4 : tensor<16xi32>
  %k = arith.divsi %lane, %t4 : tensor<16xi32>
  %m = arith.cmpi eq, %k, %t2 : tensor<16xi32>
  %o = arith.cmpi slt, %lane, %t3 : tensor<16xi32>
  %v = arith.cmpi slt, %lane, %t4 : tensor<16xi32>
  %w = arith.andi %h, %v : tensor<16xi1>
  %x = arith.cmpi sle, %place, %s2 : tensor<16xi32>
  %y = arith.cmpi slt, %g, %s2 : tensor<16xi32>
  $16 %place, %b
  $16 %place, %d
  $16 %place, %f
  $16 %place, %h
  $16 %place, %m
  $16 %place, %o
  $16 %place, %w
  $16 %place, %x
  $16 %place, %y
"""

# Numbers.

BODIES["shifts"] = """
  %a = arith.shli %n0, %pid : i32
  %b = arith.shrsi %n0, %pid : i32
  %d = arith.shrui %pid, %pid1 : i32
  %e = arith.shli %place, %t3 : tensor<16xi32>
  %f = arith.shrsi %place, %t2 : tensor<16xi32>
  %g = arith.shrui %place, %t3 : tensor<16xi32>
  %h = arith.andi %n1, %c3 : i32
  %k = arith.shli %pid, %h : i32
  %m = arith.shrsi %n2, %c2 : i32
  %o = arith.shli %pid, %c4 : i32
  $ %a
  $ %b
  $ %d
  $16 %e
  $16 %f
  $16 %g
  $ %k
  $ %m
  $ %o
"""

BODIES["casts"] = """
  %a = arith.index_cast %n0 : i32 to index
  %b = arith.index_cast %a : index to i32
  %d = arith.trunci %n0 : i32 to i8
  %e = arith.extsi %d : i8 to i32
  %f = arith.extui %d : i8 to i32
  %g = arith.extsi %place : tensor<16xi32> to tensor<16xi64>
  %h = arith.trunci %g : tensor<16xi64> to tensor<16xi32>
  %k = tt.bitcast %n0 : i32 -> f32
  %m = arith.fptosi %k : f32 to i32
  %o = arith.extui %place : tensor<16xi32> to tensor<16xi64>
  %v = arith.trunci %o : tensor<16xi64> to tensor<16xi32>
  %w = arith.extui %s0 : tensor<16xi32> to tensor<16xi64>
  %x = tt.addptr %ps, %w : tensor<16x!tt.ptr<f32>>, tensor<16xi64>
  $ %b
  $ %e
  $ %f
  $16 %h
  $16 %v
  $ %m
  tt.store %x, %zs : tensor<16x!tt.ptr<f32>>
  %bytes = tt.bitcast %p0 : !tt.ptr<f32> -> !tt.ptr<i8>
  %eight = arith.constant 8 : i8
  %y = tt.addptr %bytes, %pid : !tt.ptr<i8>, i32
  tt.store %y, %eight : !tt.ptr<i8>
"""

BODIES["addresses_as_numbers"] = """
  %a = tt.ptr_to_int %p0 : !tt.ptr<f32> -> i64
  %b = arith.extsi %n0 : i32 to i64
  %d = arith.muli %b, %w16 : i64
  %e = arith.addi %a, %d : i64
  %f = tt.int_to_ptr %e : i64 -> !tt.ptr<f32>
  tt.store %f, %z : !tt.ptr<f32>
  %at = tt.addptr %ps, %place : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %g = tt.ptr_to_int %at : tensor<16x!tt.ptr<f32>> -> tensor<16xi64>
  %h = tt.int_to_ptr %g : tensor<16xi64> -> tensor<16x!tt.ptr<f32>>
  tt.store %h, %zs : tensor<16x!tt.ptr<f32>>
  %k = tt.ptr_to_int %p1 : !tt.ptr<f32> -> i64
  %m = arith.addi %k, %a : i64
  %o = arith.subi %m, %k : i64
  %v = tt.int_to_ptr %o : i64 -> !tt.ptr<f32>
  tt.store %v, %z : !tt.ptr<f32>
  %table = tt.bitcast %ids : !tt.ptr<i32> -> !tt.ptr<i64>
  %x = tt.addptr %table, %pid : !tt.ptr<i64>, i32
  %y = tt.load %x : !tt.ptr<i64>
  %u = tt.int_to_ptr %y : i64 -> !tt.ptr<f32>
  %w = tt.addptr %u, %n0 : !tt.ptr<f32>, i32
  tt.store %w, %z : !tt.ptr<f32>
"""

BODIES["pointers_from_memory"] = """
  %table = tt.bitcast %ids : !tt.ptr<i32> -> !tt.ptr<!tt.ptr<f32>>
  %tables = tt.splat %table : !tt.ptr<!tt.ptr<f32>> -> tensor<4x!tt.ptr<!tt.ptr<f32>>>
  %x = tt.addptr %tables, %row : tensor<4x!tt.ptr<!tt.ptr<f32>>>, tensor<4xi32>
  %y = tt.load %x : tensor<4x!tt.ptr<!tt.ptr<f32>>>
  %a = tt.expand_dims %y {axis = 1 : i32} : tensor<4x!tt.ptr<f32>> -> tensor<4x1x!tt.ptr<f32>>
  %b = tt.broadcast %a : tensor<4x1x!tt.ptr<f32>> -> tensor<4x16x!tt.ptr<f32>>
  %d = tt.expand_dims %lane {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %e = tt.broadcast %d : tensor<1x16xi32> -> tensor<4x16xi32>
  %f = tt.addptr %b, %e : tensor<4x16x!tt.ptr<f32>>, tensor<4x16xi32>
  tt.store %f, %zb : tensor<4x16x!tt.ptr<f32>>
  %g = tt.trans %f {order = array<i32: 1, 0>}
      : tensor<4x16x!tt.ptr<f32>> -> tensor<16x4x!tt.ptr<f32>>
  %zt = arith.constant dense<0.0> : tensor<16x4xf32>
  tt.store %g, %zt : tensor<16x4x!tt.ptr<f32>>
"""

BODIES["signed_divisions"] = """
  %v = arith.addi %pid, %n1 : i32
  %d = arith.ori %n0, %c1 : i32
""" + "\n".join(
    f"  %{name} = arith.{name} %v, %d : i32\n  $ %{name}"
    for name in ("divsi", "remsi", "floordivsi", "ceildivsi")
)

# Shapes.

BODIES["rows_and_columns"] = (
    """
  %d = tt.expand_dims %lane {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %e = tt.broadcast %d : tensor<1x16xi32> -> tensor<4x16xi32>
  %f = tt.expand_dims %row {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
  %g = tt.broadcast %f : tensor<4x1xi32> -> tensor<4x16xi32>
  %pb = tt.splat %p0 : !tt.ptr<f32> -> tensor<4x16x!tt.ptr<f32>>
"""
    + "\n".join(
        f"  %k{stride} = arith.constant dense<{stride}> : tensor<4x16xi32>\n"
        f"  %m{stride} = arith.muli %g, %k{stride} : tensor<4x16xi32>\n"
        f"  %o{stride} = arith.addi %m{stride}, %e : tensor<4x16xi32>\n"
        f"  %v{stride} = tt.addptr %pb, %o{stride} : tensor<4x16x!tt.ptr<f32>>, tensor<4x16xi32>\n"
        f"  tt.store %v{stride}, %zb : tensor<4x16x!tt.ptr<f32>>"
        for stride in (0, 1, 8, 16, 17, 24, 32)
    )
    + """
  %w = tt.splat %n2 : i32 -> tensor<4x16xi32>
  %x = arith.muli %g, %w : tensor<4x16xi32>
  %y = arith.addi %x, %e : tensor<4x16xi32>
  %a = tt.addptr %pb, %y : tensor<4x16x!tt.ptr<f32>>, tensor<4x16xi32>
  tt.store %a, %zb : tensor<4x16x!tt.ptr<f32>>
  %b = arith.muli %e, %k8 : tensor<4x16xi32>
  %s = arith.addi %b, %g : tensor<4x16xi32>
  %t = tt.addptr %pb, %s : tensor<4x16x!tt.ptr<f32>>, tensor<4x16xi32>
  tt.store %t, %zb : tensor<4x16x!tt.ptr<f32>>
  %u = arith.xori %o16, %k8 : tensor<4x16xi32>
  %h = tt.addptr %pb, %u : tensor<4x16x!tt.ptr<f32>>, tensor<4x16xi32>
  tt.store %h, %zb : tensor<4x16x!tt.ptr<f32>>
"""
)

BODIES["joins_and_gathers"] = """
  %t = arith.cmpi slt, %lane, %s0 : tensor<16xi32>
  %u = arith.cmpi sgt, %place, %s1 : tensor<16xi32>
  %a = tt.join %t, %u : tensor<16xi1> -> tensor<16x2xi1>
  %b = tt.join %place, %s0 : tensor<16xi32> -> tensor<16x2xi32>
  %one = tt.addptr %ps, %place : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %two = tt.addptr %ps, %s1 : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %d = tt.join %one, %two : tensor<16x!tt.ptr<f32>> -> tensor<16x2x!tt.ptr<f32>>
  %zj = arith.constant dense<0.0> : tensor<16x2xf32>
  tt.store %d, %zj, %a : tensor<16x2x!tt.ptr<f32>>
  %e:2 = tt.split %b : tensor<16x2xi32> -> tensor<16xi32>
  $16 %e#0
  $16 %e#1
  %f = arith.xori %lane, %t8 : tensor<16xi32>
  %g = tt.gather %place[%f] {axis = 0 : i32} : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
  $16 %g
  %h = arith.addi %first, %f : tensor<16xi32>
  $16 %h
  %k = tt.cat %place, %lane : tensor<16xi32> -> tensor<32xi32>
  %m = tt.reshape %k allow_reorder : tensor<32xi32> -> tensor<2x16xi32>
  %p2 = tt.splat %p0 : !tt.ptr<f32> -> tensor<2x16x!tt.ptr<f32>>
  %o = tt.addptr %p2, %m : tensor<2x16x!tt.ptr<f32>>, tensor<2x16xi32>
  %z2 = arith.constant dense<0.0> : tensor<2x16xf32>
  tt.store %o, %z2 : tensor<2x16x!tt.ptr<f32>>
"""

BODIES["sums_along_an_axis"] = """
  %d = tt.expand_dims %place {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %e = tt.broadcast %d : tensor<1x16xi32> -> tensor<4x16xi32>
  %a = "tt.reduce"(%e) <{axis = 0 : i32}> ({
  ^bb0(%x: i32, %y: i32):
    %s = arith.addi %x, %y : i32
    tt.reduce.return %s : i32
  }) : (tensor<4x16xi32>) -> tensor<16xi32>
  $16 %a
  %f = "tt.reduce"(%place) <{axis = 0 : i32}> ({
  ^bb0(%x: i32, %y: i32):
    %s = arith.maxsi %x, %y : i32
    tt.reduce.return %s : i32
  }) : (tensor<16xi32>) -> i32
  $ %f
  %g = "tt.scan"(%s0) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%x: i32, %y: i32):
    %s = arith.addi %x, %y : i32
    tt.scan.return %s : i32
  }) : (tensor<16xi32>) -> tensor<16xi32>
  $16 %g
"""

BODIES["reshapes"] = (
    "\n".join(
        f"  %a{r}x{c} = tt.reshape %place : tensor<16xi32> -> tensor<{r}x{c}xi32>\n"
        f"  %b{r}x{c} = tt.trans %a{r}x{c} {{order = array<i32: 1, 0>}} : "
        f"tensor<{r}x{c}xi32> -> tensor<{c}x{r}xi32>\n"
        f"  %d{r}x{c} = tt.reshape %b{r}x{c} : tensor<{c}x{r}xi32> -> tensor<16xi32>\n"
        f"  $16 %d{r}x{c}"
        for r, c in ((2, 8), (8, 2), (4, 4), (1, 16))
    )
    + """
  %f = tt.expand_dims %row {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
  %g = tt.broadcast %f : tensor<4x1xi32> -> tensor<4x4xi32>
  %h = tt.reshape %g : tensor<4x4xi32> -> tensor<16xi32>
  %k = tt.trans %g {order = array<i32: 1, 0>} : tensor<4x4xi32> -> tensor<4x4xi32>
  %m = tt.reshape %k : tensor<4x4xi32> -> tensor<16xi32>
  %o = tt.reshape %g : tensor<4x4xi32> -> tensor<2x2x2x2xi32>
  %v = tt.trans %o {order = array<i32: 2, 0, 3, 1>} : tensor<2x2x2x2xi32> -> tensor<2x2x2x2xi32>
  %w = tt.reshape %v : tensor<2x2x2x2xi32> -> tensor<16xi32>
  %c4x4 = arith.constant dense<12> : tensor<4x4xi32>
  %x = tt.reshape %c4x4 : tensor<4x4xi32> -> tensor<16xi32>
  $16 %h
  $16 %m
  $16 %w
  $16 %x
"""
)

BODIES["runs_of_lanes"] = """
  %by2 = arith.divsi %place, %t2 : tensor<16xi32>
  %by8 = arith.remsi %place, %t8 : tensor<16xi32>
  %bys = arith.divsi %place, %s2 : tensor<16xi32>
  %left = arith.remsi %place, %s2 : tensor<16xi32>
  %far = arith.addi %s1, %lane : tensor<16xi32>
  %farther = arith.divsi %far, %t4 : tensor<16xi32>
  %low = arith.minsi %place, %s2 : tensor<16xi32>
  %high = arith.maxsi %lane, %t8 : tensor<16xi32>
  %twice = arith.addi %place, %lane : tensor<16xi32>
  %none = arith.subi %place, %lane : tensor<16xi32>
  %back = arith.subi %t16, %lane : tensor<16xi32>
  %and = arith.andi %place, %t8 : tensor<16xi32>
  %or = arith.ori %place, %t16 : tensor<16xi32>
  %even = arith.muli %place, %s2 : tensor<16xi32>
  %minus = arith.constant dense<-4> : tensor<16xi32>
  %down = arith.muli %lane, %minus : tensor<16xi32>
  %ceil = arith.ceildivsi %place, %t4 : tensor<16xi32>
  %floor = arith.floordivsi %far, %t4 : tensor<16xi32>
  %rest = arith.remui %place, %t4 : tensor<16xi32>
  %part = arith.divui %place, %t8 : tensor<16xi32>
  %ones = arith.constant dense<[0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15]>
      : tensor<16xi32>
""" + "\n".join(
    f"  $16 %{name}"
    for name in (
        "by2", "by8", "left", "farther", "low", "high", "twice", "none", "back", "and",
        "or", "even", "down", "ceil", "floor", "rest", "part", "ones",
    )
)  # fmt: skip

BODIES["bytes_in_columns"] = """
  %bytes = tt.bitcast %p0 : !tt.ptr<f32> -> !tt.ptr<i8>
  %pb = tt.splat %bytes : !tt.ptr<i8> -> tensor<4x16x!tt.ptr<i8>>
  %zi = arith.constant dense<0> : tensor<4x16xi8>
  %d = tt.expand_dims %lane {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %e = tt.broadcast %d : tensor<1x16xi32> -> tensor<4x16xi32>
  %f = tt.expand_dims %row {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
  %g = tt.broadcast %f : tensor<4x1xi32> -> tensor<4x16xi32>
  %w = tt.splat %n0 : i32 -> tensor<4x16xi32>
  %x = arith.muli %g, %w : tensor<4x16xi32>
""" + "\n".join(
    f"  %k{step} = arith.constant dense<{step}> : tensor<4x16xi32>\n"
    f"  %m{step} = arith.muli %e, %k{step} : tensor<4x16xi32>\n"
    f"  %o{step} = arith.addi %x, %m{step} : tensor<4x16xi32>\n"
    f"  %v{step} = tt.addptr %pb, %o{step} : tensor<4x16x!tt.ptr<i8>>, tensor<4x16xi32>\n"
    f"  tt.store %v{step}, %zi : tensor<4x16x!tt.ptr<i8>>"
    for step in (1, 2, 33)
)

BODIES["a_single_row"] = """
  %a = arith.muli %lane, %s0 : tensor<16xi32>
  %b = tt.expand_dims %a {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %pr = tt.splat %p0 : !tt.ptr<f32> -> tensor<1x16x!tt.ptr<f32>>
  %zr = arith.constant dense<0.0> : tensor<1x16xf32>
  %d = tt.addptr %pr, %b : tensor<1x16x!tt.ptr<f32>>, tensor<1x16xi32>
  tt.store %d, %zr : tensor<1x16x!tt.ptr<f32>>
  %e = tt.expand_dims %place {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %f = tt.addptr %pr, %e : tensor<1x16x!tt.ptr<f32>>, tensor<1x16xi32>
  tt.store %f, %zr : tensor<1x16x!tt.ptr<f32>>
"""
