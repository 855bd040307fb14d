"""Contiguity, divisibility and constancy: every rule, and never less than Triton concludes.

A case is a kernel whose lines end in ``; contiguity divisibility constancy``, the numbers that
Triton's own analysis gives for the value on that line. Ours must be multiples of them, with the
rules alone and together with the polynomials.
"""

from __future__ import annotations

import re

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tests.analysis.pid_address.support import parse
from tilewright.analysis.axis_info import AxisInfo, solve_axis_info
from tilewright.analysis.pid_address import axis_facts
from tilewright.ir.traversal import walk

V = "tensor<128xi32>"
B = "tensor<128xi1>"
Z = 1 << 62  # what divides zero
R = 1 << 30  # Triton's limit for ranges from zero
RANGE = "tt.make_range {{end = {1} : i32, start = {0} : i32}} : tensor<{2}xi32>"


def span(start: int, end: int) -> str:
    return RANGE.format(start, end, end - start)


def dense(value: int, type: str = V) -> str:
    return f"arith.constant dense<{value}> : {type}"


KNOWN = f"""%u: {V} {{tt.contiguity = 1 : i32, tt.divisibility = 4 : i32, tt.constancy = 2 : i32}},
    %w: {V} {{tt.contiguity = 4 : i32, tt.divisibility = 4 : i32, tt.constancy = 1 : i32}}"""

CASES: dict[str, tuple[str, str]] = {
    "constants and casts": (
        "",
        f"""
        %0 = arith.constant 1 : i32                         ; 1 1 1
        %1 = arith.extsi %0 : i32 to i64                    ; 1 1 1
        %2 = {dense(1)}                                     ; 1 1 128
        %3 = tt.bitcast %2 : {V} -> tensor<128xf32>         ; 1 1 128
        %4 = arith.constant 0 : i32                         ; 1 {Z} 1
        %5 = arith.constant -9223372036854775808 : i64      ; 1 {Z} 1
        %6 = arith.constant dense<0.0> : tensor<128xf32>    ; 1 1 1""",
    ),
    "sums": (
        KNOWN,
        f"""
        %0 = {span(0, 128)}                                 ; 128 {R} 1
        %1 = {dense(1)}                                     ; 1 1 128
        %2 = arith.addi %0, %1 : {V}                        ; 128 1 1
        %3 = {dense(127)}                                   ; 1 1 128
        %4 = arith.addi %1, %3 : {V}                        ; 1 128 128
        %5 = arith.addi %0, %0 : {V}                        ; 1 2 1
        %6 = {span(1, 129)}                                 ; 128 1 1
        %7 = arith.addi %0, %6 : {V}                        ; 1 1 1
        %8 = arith.addi %0, %u : {V}                        ; 2 2 1
        %9 = arith.addi %w, %w : {V}                        ; 1 2 1
        %10 = arith.addi %u, %u : {V}                       ; 1 4 2""",
    ),
    "differences": (
        KNOWN,
        f"""
        %0 = {span(0, 128)}                                 ; 128 {R} 1
        %1 = {dense(1)}                                     ; 1 1 128
        %2 = arith.subi %0, %1 : {V}                        ; 128 1 1
        %3 = arith.subi %1, %0 : {V}                        ; 1 1 1
        %4 = {dense(129)}                                   ; 1 1 128
        %5 = arith.subi %4, %1 : {V}                        ; 1 128 128
        %6 = {span(16, 144)}                                ; 128 16 1
        %7 = arith.subi %0, %6 : {V}                        ; 1 16 1
        %8 = arith.subi %0, %w : {V}                        ; 1 2 1
        %9 = arith.addi %w, %1 : {V}                        ; 4 1 1
        %10 = arith.subi %0, %0 : {V}                       ; 1 {R} 1
        %11 = arith.subi %0, %u : {V}                       ; 2 2 1
        %12 = arith.subi %w, %w : {V}                       ; 1 4 1
        %13 = arith.subi %u, %u : {V}                       ; 1 4 2""",
    ),
    "products": (
        "%a: i64 {tt.divisibility = 16 : i32}",
        f"""
        %0 = {span(0, 128)}                                 ; 128 {R} 1
        %1 = {dense(1)}                                     ; 1 1 128
        %2 = arith.muli %0, %1 : {V}                        ; 128 {R} 1
        %3 = {dense(128)}                                   ; 1 128 128
        %4 = arith.muli %3, %1 : {V}                        ; 1 128 128
        %5 = {dense(2)}                                     ; 1 2 128
        %6 = arith.muli %4, %5 : {V}                        ; 1 256 128
        %7 = arith.muli %0, %5 : {V}                        ; 1 2 1
        %8 = {dense(0)}                                     ; 1 {Z} 128
        %9 = arith.muli %8, %0 : {V}                        ; 1 {Z} 128
        %10 = arith.constant {Z} : i64                      ; 1 {Z} 1
        %11 = arith.muli %a, %10 : i64                      ; 1 {Z} 1""",
    ),
    "quotients": (
        "%a: i32 {tt.divisibility = 16 : i32}",
        f"""
        %0 = {span(0, 128)}                                 ; 128 {R} 1
        %1 = {dense(1)}                                     ; 1 1 128
        %2 = arith.divsi %0, %1 : {V}                       ; 128 {R} 1
        %3 = arith.divui %1, %0 : {V}                       ; 1 1 1
        %4 = {dense(64)}                                    ; 1 64 128
        %5 = arith.divsi %0, %4 : {V}                       ; 1 1 64
        %6 = arith.divsi %4, %0 : {V}                       ; 1 1 1
        %7 = arith.divsi %4, %1 : {V}                       ; 1 64 128
        %8 = {dense(66)}                                    ; 1 2 128
        %9 = arith.divui %0, %8 : {V}                       ; 1 1 2
        %10 = {span(8192, 8320)}                            ; 128 8192 1
        %11 = arith.divsi %10, %4 : {V}                     ; 1 1 64
        %12 = arith.constant 2 : i32                        ; 1 2 1
        %13 = arith.divsi %a, %12 : i32                     ; 1 8 1
        %14 = arith.constant 32 : i32                       ; 1 32 1
        %15 = arith.divsi %a, %14 : i32                     ; 1 1 1
        %16 = arith.constant 6 : i32                        ; 1 2 1
        %17 = arith.divsi %a, %16 : i32                     ; 1 1 1
        %18 = {dense(2)}                                    ; 1 2 128
        %19 = arith.divsi %0, %18 : {V}                     ; 1 1 2""",
    ),
    "remainders": (
        "",
        f"""
        %0 = {span(0, 128)}                                 ; 128 {R} 1
        %1 = {dense(1)}                                     ; 1 1 128
        %2 = arith.remsi %0, %1 : {V}                       ; 1 {Z} 128
        %3 = arith.remui %1, %0 : {V}                       ; 1 1 1
        %4 = {dense(64)}                                    ; 1 64 128
        %5 = arith.remsi %0, %4 : {V}                       ; 64 64 1
        %6 = arith.remsi %4, %0 : {V}                       ; 1 1 1
        %7 = {dense(66)}                                    ; 1 2 128
        %8 = arith.remui %0, %7 : {V}                       ; 2 2 1
        %9 = {dense(192)}                                   ; 1 64 128
        %10 = arith.remsi %0, %9 : {V}                      ; 64 64 1
        %11 = {span(32, 160)}                               ; 128 32 1
        %12 = arith.remsi %0, %11 : {V}                     ; 1 1 1
        %13 = arith.remsi %11, %4 : {V}                     ; 32 32 1""",
    ),
    "bits": (
        "%a: i32 {tt.divisibility = 4 : i32}",
        f"""
        %s = tt.splat %a : i32 -> {V}                       ; 1 4 128
        %0 = {span(0, 128)}                                 ; 128 {R} 1
        %1 = {dense(64)}                                    ; 1 64 128
        %2 = arith.divsi %0, %1 : {V}                       ; 1 1 64
        %3 = {dense(8)}                                     ; 1 8 128
        %4 = arith.divsi %0, %3 : {V}                       ; 1 1 8
        %5 = arith.andi %0, %1 : {V}                        ; 1 1 1
        %6 = arith.ori %0, %1 : {V}                         ; 1 1 1
        %7 = arith.xori %0, %1 : {V}                        ; 64 64 1
        %8 = arith.andi %2, %4 : {V}                        ; 1 1 8
        %9 = arith.ori %2, %4 : {V}                         ; 1 1 8
        %10 = arith.xori %2, %4 : {V}                       ; 1 1 8
        %11 = {dense(4)}                                    ; 1 4 128
        %12 = arith.shli %0, %3 : {V}                       ; 1 256 1
        %13 = arith.shrsi %0, %11 : {V}                     ; 1 1 1
        %14 = arith.shli %3, %11 : {V}                      ; 1 128 128
        %15 = arith.shli %3, %s : {V}                       ; 1 8 128
        %16 = arith.shrsi %0, %s : {V}                      ; 1 1 1""",
    ),
    "extremes": (
        """%c: tensor<8xi32> {tt.contiguity = 8 : i32, tt.divisibility = 4 : i32},
        %d: tensor<8xi32> {tt.contiguity = 2 : i32, tt.divisibility = 8 : i32}""",
        f"""
        %0 = {span(0, 128)}                                 ; 128 {R} 1
        %1 = {span(64, 192)}                                ; 128 64 1
        %2 = arith.maxsi %0, %1 : {V}                       ; 128 64 1
        %3 = arith.minsi %0, %1 : {V}                       ; 128 64 1
        %4 = {dense(8)}                                     ; 1 8 128
        %5 = {dense(4)}                                     ; 1 4 128
        %6 = arith.maxsi %4, %5 : {V}                       ; 1 8 128
        %7 = arith.maxsi %c, %d : tensor<8xi32>             ; 2 2 1
        %8 = arith.minsi %c, %d : tensor<8xi32>             ; 2 2 1
        %9 = arith.constant false                           ; 1 {Z} 1
        %10 = arith.select %9, %7, %8 : tensor<8xi32>       ; 2 2 1""",
    ),
    "choices": (
        "%b: i1, %m: tensor<4xi1>, %n: tensor<8xi1>",
        f"""
        %0 = {span(0, 128)}                                 ; 128 {R} 1
        %1 = {dense(0)}                                     ; 1 {Z} 128
        %2 = arith.cmpi eq, %0, %1 : {V}                    ; 1 1 1
        %3 = arith.cmpi slt, %0, %1 : {V}                   ; 1 1 128
        %4 = arith.constant false                           ; 1 {Z} 1
        %5 = tt.splat %4 : i1 -> {B}                        ; 1 {Z} 128
        %6 = arith.select %4, %3, %5 : {B}                  ; 1 {Z} 128
        %7 = arith.select %5, %3, %2 : {B}, {B}             ; 1 1 1
        %8 = {dense(4, "tensor<4xi32>")}                    ; 1 4 4
        %9 = {span(0, 4)}                                   ; 4 {R} 1
        %10 = arith.muli %9, %8 : tensor<4xi32>             ; 1 4 1
        %11 = arith.select %m, %9, %10 : tensor<4xi1>, tensor<4xi32>      ; 1 1 1
        %12 = {span(8, 16)}                                 ; 8 8 1
        %13 = {span(16, 24)}                                ; 8 16 1
        %14 = arith.select %n, %12, %13 : tensor<8xi1>, tensor<8xi32>     ; 1 1 1
        %15 = arith.select %m, %8, %8 : tensor<4xi1>, tensor<4xi32>       ; 1 4 4""",
    ),
    "comparisons of whole ranges": (
        "",
        f"""
        %0 = {span(0, 128)}                                 ; 128 {R} 1
        %1 = {dense(0)}                                     ; 1 {Z} 128
        %2 = arith.cmpi ne, %0, %1 : {V}                    ; 1 1 1
        %3 = arith.cmpi slt, %0, %1 : {V}                   ; 1 1 128
        %4 = arith.cmpi sle, %0, %1 : {V}                   ; 1 1 1
        %5 = arith.cmpi sge, %0, %1 : {V}                   ; 1 1 128
        %6 = arith.cmpi sgt, %0, %1 : {V}                   ; 1 1 1
        %7 = arith.cmpi slt, %1, %0 : {V}                   ; 1 1 1
        %8 = arith.cmpi sle, %1, %0 : {V}                   ; 1 1 128
        %9 = arith.cmpi sgt, %1, %0 : {V}                   ; 1 1 128
        %10 = {dense(8)}                                    ; 1 8 128
        %11 = arith.cmpi sgt, %10, %0 : {V}                 ; 1 1 8
        %12 = arith.cmpi sgt, %10, %1 : {V}                 ; 1 1 128""",
    ),
    "comparisons of short runs": (
        "",
        f"""
        %0 = {span(0, 128)}                                 ; 128 {R} 1
        %1 = {dense(8)}                                     ; 1 8 128
        %2 = {dense(32)}                                    ; 1 32 128
        %3 = arith.remsi %0, %2 : {V}                       ; 32 32 1
        %4 = arith.cmpi eq, %3, %1 : {V}                    ; 1 1 1
        %5 = arith.cmpi slt, %3, %1 : {V}                   ; 1 1 8
        %6 = arith.cmpi sle, %3, %1 : {V}                   ; 1 1 1
        %7 = arith.cmpi sge, %3, %1 : {V}                   ; 1 1 8
        %8 = arith.cmpi sgt, %1, %3 : {V}                   ; 1 1 8
        %9 = arith.cmpi sle, %1, %3 : {V}                   ; 1 1 8
        %10 = {dense(48)}                                   ; 1 16 128
        %11 = arith.remsi %0, %10 : {V}                     ; 16 16 1
        %12 = arith.cmpi slt, %11, %2 : {V}                 ; 1 1 16
        %13 = arith.cmpi sgt, %2, %11 : {V}                 ; 1 1 16""",
    ),
    "pointers": (
        """%p1: !tt.ptr<i1> {tt.divisibility = 16 : i32}, %p2: !tt.ptr<i16> {tt.divisibility = 16 : i32},
        %p8: !tt.ptr<i64> {tt.divisibility = 16 : i32}""",
        f"""
        %0 = arith.constant 1 : i32                         ; 1 1 1
        %1 = tt.addptr %p1, %0 : !tt.ptr<i1>, i32           ; 1 1 1
        %2 = tt.addptr %p2, %0 : !tt.ptr<i16>, i32          ; 1 2 1
        %3 = tt.addptr %p8, %0 : !tt.ptr<i64>, i32          ; 1 8 1
        %4 = arith.constant 4 : i32                         ; 1 4 1
        %5 = tt.addptr %p2, %4 : !tt.ptr<i16>, i32          ; 1 8 1
        %6 = tt.addptr %p8, %4 : !tt.ptr<i64>, i32          ; 1 16 1
        %7 = {span(0, 128)}                                 ; 128 {R} 1
        %8 = tt.expand_dims %7 {{axis = 0 : i32}} : {V} -> tensor<1x128xi32>        ; 1,128 1,{R} 1,1
        %9 = tt.broadcast %8 : tensor<1x128xi32> -> tensor<64x128xi32>              ; 1,128 1,{R} 64,1
        %10 = tt.splat %p2 : !tt.ptr<i16> -> tensor<64x128x!tt.ptr<i16>>            ; 1,1 16,16 64,128
        %11 = tt.addptr %10, %9 : tensor<64x128x!tt.ptr<i16>>, tensor<64x128xi32>   ; 1,128 2,16 64,1
        %12 = tt.splat %p8 : !tt.ptr<i64> -> tensor<64x128x!tt.ptr<i64>>            ; 1,1 16,16 64,128
        %13 = tt.addptr %12, %9 : tensor<64x128x!tt.ptr<i64>>, tensor<64x128xi32>   ; 1,128 8,16 64,1""",
    ),
    "shapes": (
        """%e: tensor<8xi32> {tt.contiguity = 1 : i32, tt.divisibility = 8 : i32, tt.constancy = 4 : i32},
        %f: tensor<2x2xi32> {tt.contiguity = dense<[1, 1]> : tensor<2xi32>,
            tt.divisibility = dense<[8, 2]> : tensor<2xi32>, tt.constancy = dense<[1, 1]> : tensor<2xi32>},
        %g: tensor<4x4xi32> {tt.contiguity = dense<[1, 1]> : tensor<2xi32>,
            tt.divisibility = dense<[8, 2]> : tensor<2xi32>, tt.constancy = dense<[2, 4]> : tensor<2xi32>},
        %h: tensor<2x2x!tt.ptr<i32>> {tt.contiguity = dense<[1, 2]> : tensor<2xi32>,
            tt.divisibility = dense<[4, 8]> : tensor<2xi32>, tt.constancy = dense<[1, 1]> : tensor<2xi32>},
        %i: tensor<2x2x2xi32> {tt.contiguity = dense<[1, 1, 2]> : tensor<3xi32>,
            tt.divisibility = dense<[1, 1, 1]> : tensor<3xi32>,
            tt.constancy = dense<[2, 2, 1]> : tensor<3xi32>}""",
        f"""
        %0 = {span(4, 8)}                                                     ; 4 4 1
        %1 = tt.reshape %0 : tensor<4xi32> -> tensor<1x1x4xi32>               ; 1,1,4 1,1,4 1,1,1
        %2 = {span(4, 20)}                                                    ; 16 4 1
        %3 = tt.reshape %2 : tensor<16xi32> -> tensor<4x4xi32>                ; 1,4 1,4 1,1
        %4 = tt.reshape %3 : tensor<4x4xi32> -> tensor<16xi32>                ; 4 4 1
        %5 = tt.trans %3 {{order = array<i32: 1, 0>}} : tensor<4x4xi32> -> tensor<4x4xi32>  ; 4,1 4,1 1,1
        %6 = tt.reshape %5 : tensor<4x4xi32> -> tensor<2x2x4xi32>             ; 1,2,1 1,2,1 1,1,1
        %7 = tt.reshape %e : tensor<8xi32> -> tensor<4x2xi32>                 ; 1,1 8,8 2,2
        %8 = {span(16, 24)}                                                   ; 8 16 1
        %9 = tt.reshape %8 : tensor<8xi32> -> tensor<1x8xi32>                 ; 1,8 1,16 1,1
        %10 = tt.reshape %f : tensor<2x2xi32> -> tensor<1x2x2xi32>            ; 1,1,1 8,8,8 1,1,1
        %11 = tt.reshape %g : tensor<4x4xi32> -> tensor<16xi32>               ; 1 8 8
        %12 = tt.reshape %h : tensor<2x2x!tt.ptr<i32>> -> tensor<4x1x!tt.ptr<i32>>   ; 2,1 8,4 1,1
        %13 = tt.reshape %i : tensor<2x2x2xi32> -> tensor<4x2xi32>            ; 1,2 1,1 4,1
        %14 = tt.expand_dims %f {{axis = 0 : i32}} : tensor<2x2xi32> -> tensor<1x2x2xi32>   ; 1,1,1 8,8,8 1,1,1
        %15 = tt.trans %f {{order = array<i32: 1, 0>}} : tensor<2x2xi32> -> tensor<2x2xi32> ; 1,1 8,8 1,1
        %16 = tt.broadcast %14 : tensor<1x2x2xi32> -> tensor<4x2x2xi32>       ; 1,1,1 8,8,8 4,1,1
        %17 = {dense(64)}                                                     ; 1 64 128
        %18 = tt.expand_dims %17 {{axis = 1 : i32}} : {V} -> tensor<128x1xi32>              ; 1,1 64,64 128,1
        %19 = tt.broadcast %18 : tensor<128x1xi32> -> tensor<128x128xi32>     ; 1,1 64,64 128,128""",
    ),
    "addresses of a transposition": (
        """%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %s: i32 {tt.divisibility = 16 : i32}""",
        f"""
        %0 = {span(0, 128)}                                                   ; 128 {R} 1
        %1 = tt.expand_dims %0 {{axis = 1 : i32}} : {V} -> tensor<128x1xi32>                ; 128,1 {R},1 1,1
        %2 = tt.splat %s : i32 -> tensor<128x1xi32>                           ; 1,1 16,16 128,1
        %3 = arith.muli %1, %2 : tensor<128x1xi32>                            ; 1,1 16,16 1,1
        %4 = tt.splat %p : !tt.ptr<f32> -> tensor<128x1x!tt.ptr<f32>>         ; 1,1 16,16 128,1
        %5 = tt.addptr %4, %3 : tensor<128x1x!tt.ptr<f32>>, tensor<128x1xi32> ; 1,1 16,16 1,1
        %6 = tt.expand_dims %0 {{axis = 0 : i32}} : {V} -> tensor<1x128xi32>                ; 1,128 1,{R} 1,1
        %7 = tt.broadcast %5 : tensor<128x1x!tt.ptr<f32>> -> tensor<128x128x!tt.ptr<f32>>   ; 1,1 16,16 1,128
        %8 = tt.broadcast %6 : tensor<1x128xi32> -> tensor<128x128xi32>       ; 1,128 1,{R} 128,1
        %9 = tt.addptr %7, %8 : tensor<128x128x!tt.ptr<f32>>, tensor<128x128xi32>           ; 1,128 4,16 1,1
        %10 = tt.addptr %4, %1 : tensor<128x1x!tt.ptr<f32>>, tensor<128x1xi32>              ; 128,1 16,4 1,1
        %11 = tt.load %9 : tensor<128x128x!tt.ptr<f32>>                       ; 1,1 1,1 1,1""",
    ),
    "loads": (
        "%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32",
        f"""
        %0 = {span(0, 128)}                                                   ; 128 {R} 1
        %1 = {dense(16)}                                                      ; 1 16 128
        %2 = arith.divsi %0, %1 : {V}                                         ; 1 1 16
        %3 = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>           ; 1 16 128
        %4 = tt.addptr %3, %2 : tensor<128x!tt.ptr<f32>>, {V}                 ; 1 1 16
        %5 = tt.load %4 : tensor<128x!tt.ptr<f32>>                            ; 1 1 16
        %6 = {dense(8)}                                                       ; 1 8 128
        %7 = arith.divsi %0, %6 : {V}                                         ; 1 1 8
        %8 = tt.splat %n : i32 -> {V}                                         ; 1 1 128
        %9 = arith.cmpi slt, %7, %8 : {V}                                     ; 1 1 8
        %10 = tt.load %4, %9 : tensor<128x!tt.ptr<f32>>                       ; 1 1 8""",
    ),
    "the mask of a vector": (
        "%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}",
        f"""
        %pid = tt.get_program_id x : i32                                      ; 1 1 1
        %c = arith.constant 128 : i32                                         ; 1 128 1
        %0 = arith.muli %pid, %c : i32                                        ; 1 128 1
        %1 = {span(0, 128)}                                                   ; 128 {R} 1
        %2 = tt.splat %0 : i32 -> {V}                                         ; 1 128 128
        %3 = arith.addi %2, %1 : {V}                                          ; 128 128 1
        %4 = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>           ; 1 16 128
        %5 = tt.addptr %4, %3 : tensor<128x!tt.ptr<f32>>, {V}                 ; 128 16 1
        %6 = tt.splat %n : i32 -> {V}                                         ; 1 16 128
        %7 = arith.cmpi slt, %3, %6 : {V}                                     ; 1 1 16""",
    ),
    "choices and loops": (
        "%b: i1, %lb: i32 {tt.divisibility = 16 : i32}, %st: i32 {tt.divisibility = 8 : i32}, %ub: i32",
        """
        %c0 = arith.constant 0 : i32                                          ; 1 4611686018427387904 1
        %c64 = arith.constant 64 : i32                                        ; 1 64 1
        %c128 = arith.constant 128 : i32                                      ; 1 128 1
        %k = arith.constant dense<64> : tensor<128x32xi32>                    ; 1,1 64,64 128,32
        %o = arith.constant dense<1> : tensor<128x32xi32>                     ; 1,1 1,1 128,32
        %r = scf.if %b -> (tensor<128x32xi32>) {                              ; 1,1 1,1 128,32
          scf.yield %k : tensor<128x32xi32>
        } else {
          scf.yield %o : tensor<128x32xi32>
        }
        %s = scf.if %b -> (i32) {                                             ; 1 64 1
          scf.yield %c64 : i32
        } else {
          scf.yield %c128 : i32
        }
        scf.for %i = %s to %c128 step %c64 : i32 {
          %t = arith.addi %i, %c0 : i32                                       ; 1 64 1
        }
        scf.for %j = %lb to %ub step %st : i32 {
          %t = arith.addi %j, %c0 : i32                                       ; 1 8 1
        }
        %w = arith.constant 64 : i64                                          ; 1 64 1
        %z = arith.constant 0 : i64                                           ; 1 4611686018427387904 1
        %x = scf.for %l = %c0 to %ub step %c64 iter_args(%y = %z) -> (i64) : i32 {   ; 1 64 1
          %n = arith.addi %y, %w : i64                                        ; 1 64 1
          scf.yield %n : i64
        }""",
    ),
    "carried pointers": (
        """%p: tensor<128x64x!tt.ptr<bf16>> {tt.divisibility = dense<[16, 16]> : tensor<2xi32>},
        %n: i32""",
        """
        %c0 = arith.constant 0 : i32                                          ; 1 4611686018427387904 1
        %c1 = arith.constant 1 : i32                                          ; 1 1 1
        %k = arith.constant dense<64> : tensor<128x64xi32>                    ; 1,1 64,64 128,64
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%q = %p) -> (tensor<128x64x!tt.ptr<bf16>>) : i32 {  ; 1,1 16,16 1,1
          %s = tt.addptr %q, %k : tensor<128x64x!tt.ptr<bf16>>, tensor<128x64xi32>   ; 1,1 16,16 1,1
          scf.yield %s : tensor<128x64x!tt.ptr<bf16>>
        }""",
    ),
    "promises": (
        "%a: i32",
        """
        %c0 = arith.constant 0 : i32                                          ; 1 4611686018427387904 1
        %0 = arith.addi %c0, %a {tt.divisibility = 4096 : i32} : i32          ; 1 4096 1
        %1 = tt.splat %0 {tt.divisibility = dense<[1024, 1024]> : tensor<2xi32>} : i32 -> tensor<128x64xi32>   ; 1,1 1024,1024 128,64""",
    ),
}

TRIPLE = re.compile(r"\s*;\s*([\d,]+) ([\d,]+) ([\d,]+)\s*$", re.MULTILINE)
NAME = re.compile(r"\s*(%\w+)(?::\d+)? =")

Triple = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def integers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def module_of(name: str) -> tuple[ModuleOp, list[Triple]]:
    """The kernel of a case, and Triton's numbers in the order of its results."""
    arguments, body = CASES[name]
    expected = [
        (integers(match[1]), integers(match[2]), integers(match[3]))
        for match in TRIPLE.finditer(body)
    ]
    code = TRIPLE.sub("", body)
    return parse(f"tt.func public @k({arguments}) {{\n{code}\n tt.return\n}}"), expected


def results(module: ModuleOp) -> list[SSAValue]:
    return [value for op in walk(module) for value in op.results]


def is_as_strong(info: AxisInfo, reference: Triple) -> bool:
    found = (info.contiguity, info.divisibility, info.constancy)
    return all(
        len(ours) == len(other) and all(a % b == 0 for a, b in zip(ours, other, strict=True))
        for ours, other in zip(found, reference, strict=True)
    )


@pytest.mark.parametrize("combined", [False, True], ids=["rules", "with polynomials"])
@pytest.mark.parametrize("name", CASES)
def test_never_weaker_than_triton(name: str, combined: bool) -> None:
    module, expected = module_of(name)
    facts = axis_facts(module) if combined else solve_axis_info(module)
    values = results(module)
    assert len(values) == len(expected)
    for value, reference in zip(values, expected, strict=True):
        owner = value.owner
        assert isinstance(owner, Operation)
        assert is_as_strong(facts[value], reference), f"{owner}: {facts[value]}"


def info_of(text: str, *, combined: bool = False) -> AxisInfo:
    """What is known of the last result."""
    module = parse(text)
    facts = axis_facts(module) if combined else solve_axis_info(module)
    return facts[results(module)[-1]]


def kernel(body: str, arguments: str = "") -> str:
    return f"tt.func public @k({arguments}) {{\n{body}\n tt.return\n}}"


def test_the_text_is_tritons() -> None:
    info = info_of(kernel(f"%0 = {dense(6)}"))
    assert str(info) == (
        "contiguity = [1], divisibility = [2], constancy = [128], constant_value = 6"
    )
    assert str(info_of(kernel(f"%0 = {span(0, 4)}"))).endswith("constant_value = <none>")


def test_callees_know_what_their_callers_have_in_common() -> None:
    module = parse(
        """
        tt.func @add(%p: !tt.ptr<i32>) {
          %c = arith.constant 4 : i32
          %q = tt.addptr %p, %c : !tt.ptr<i32>, i32
          tt.return
        }
        tt.func @one(%p: !tt.ptr<i32> {tt.divisibility = 16 : i32}) {
          tt.call @add(%p) : (!tt.ptr<i32>) -> ()
          tt.return
        }
        tt.func @two(%p: !tt.ptr<i32> {tt.divisibility = 8 : i32}) {
          tt.call @add(%p) : (!tt.ptr<i32>) -> ()
          tt.return
        }"""
    )
    facts = solve_axis_info(module)
    assert facts[results(module)[1]].divisibility == (8,)


def test_rules_record_which_signs_they_assume() -> None:
    text = kernel(
        f"""%0 = {span(0, 128)}
        %1 = tt.splat %a : i32 -> {V}
        %2 = arith.addi %0, %1 : {V}
        %3 = {dense(16)}
        %4 = arith.remsi %2, %3 : {V}
        %5 = arith.addi %4, %3 : {V}""",
        "%a: i32 {tt.divisibility = 16 : i32}",
    )
    info = info_of(text)
    assert info.contiguity == (16,)
    assert [op.name for op in info.assumes] == ["arith.remsi"]
    # A range is known not to be negative, once polynomials are used.
    plain = kernel(f"%0 = {span(0, 128)}\n %1 = {dense(16)}\n %2 = arith.remsi %0, %1 : {V}")
    assert len(info_of(plain).assumes) == 1
    assert not info_of(plain, combined=True).assumes


STAND_INS = """%x: tensor<128x128xi32> {tt.contiguity = dense<[16, 32]> : tensor<2xi32>}"""
STRUCT = "!llvm.struct<(i32, i32)>"


def cast(name: str, source: str, type: str, target: str) -> str:
    return f"%{name} = builtin.unrealized_conversion_cast %{source} : {type} to {target}\n"


@pytest.mark.parametrize("combined", [False, True], ids=["rules", "with polynomials"])
def test_facts_travel_through_stand_ins(combined: bool) -> None:
    tile = "tensor<128x128xi32>"
    there = cast("s", "x", tile, STRUCT)
    back = there + cast("y", "s", STRUCT, tile)
    assert info_of(kernel(there, STAND_INS), combined=combined).contiguity == (16, 32)
    assert info_of(kernel(back, STAND_INS), combined=combined).contiguity == (16, 32)
    other = there + cast("y", "s", STRUCT, "tensor<128xi32>")
    assert info_of(kernel(other, STAND_INS), combined=combined).contiguity == (1,)
    undefined = f"%u = llvm.mlir.undef : {STRUCT}\n" + cast("y", "u", STRUCT, tile)
    assert info_of(kernel(undefined), combined=combined).constancy == (1, 1)


@pytest.mark.parametrize("combined", [False, True], ids=["rules", "with polynomials"])
def test_nothing_is_known_of_a_tensor_from_nowhere(combined: bool) -> None:
    text = kernel('%0 = "builtin.unrealized_conversion_cast"() : () -> tensor<4x8xi32>')
    info = info_of(text, combined=combined)
    assert (info.contiguity, info.divisibility, info.constancy) == ((1, 1), (1, 1), (1, 1))


GAINS = {
    "interleaved": (
        f"""%0 = {span(0, 128)}
        %1 = {dense(2)}
        %2 = arith.muli %0, %1 : {V}
        %3 = {dense(1)}
        %4 = arith.addi %2, %3 : {V}
        %5 = tt.join %2, %4 : {V} -> tensor<128x2xi32>
        %6 = tt.reshape %5 : tensor<128x2xi32> -> tensor<256xi32>""",
        (256,),
    ),
    "swizzled": (
        f"""%0 = {span(0, 128)}
        %1 = {dense(12)}
        %2 = arith.xori %0, %1 : {V}""",
        (4,),
    ),
    "merged rows": (
        f"""%0 = {span(0, 16)}
        %1 = tt.reshape %0 : tensor<16xi32> -> tensor<4x4xi32>
        %2 = tt.reshape %1 : tensor<4x4xi32> -> tensor<16xi32>""",
        (16,),
    ),
    "odd remainder": (
        f"""%0 = {span(0, 8)}
        %1 = {dense(100, "tensor<8xi32>")}
        %2 = arith.remsi %0, %1 : tensor<8xi32>""",
        (8,),
    ),
}


@pytest.mark.parametrize("name", GAINS)
def test_polynomials_see_what_rules_do_not(name: str) -> None:
    body, contiguity = GAINS[name]
    assert info_of(kernel(body), combined=True).contiguity == contiguity


def test_equal_values_of_the_polynomial_are_constant() -> None:
    body = f"""%0 = {span(0, 128)}
        %1 = {dense(3)}
        %2 = arith.muli %0, %1 : {V}
        %3 = arith.subi %2, %2 : {V}"""
    info = info_of(kernel(body), combined=True)
    assert (info.constancy, info.constant) == ((128,), 0)
