"""What is wrong with a ``tt`` op, in Triton's words; Triton is asked where it is installed."""

import pytest

from tests.dialects.text_support import messages, triton_messages
from tests.dialects.tt_support import kernel

VALUES = (
    "floating-point or ranked tensor of floating-point values or integer or ranked tensor of "
    "integer values or ptr or ranked tensor of ptr values"
)

FAULTS = [
    # program
    (
        "%0 = tt.get_program_id x : i64",
        "result #0 must be 32-bit signless integer, but got 'i64'",
    ),
    (
        "%0 = tt.make_range {end = 8 : i32} : tensor<8xi32>",
        "requires attribute 'start'",
    ),
    (
        "%0 = tt.make_range {end = 0 : i32, start = 0 : i32} : tensor<8xi32>",
        "start must be less than end",
    ),
    (
        "%0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8x1xi32>",
        "return type must be a 1D tensor",
    ),
    (
        "%0 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<8xi32>",
        "number of elements in returned tensor, 8, must match size of range [0, 4), which has 4 elements",
    ),
    (
        "%0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi64>",
        "returned tensor must have i32 elements",
    ),
    (
        "%0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xf32>",
        "result #0 must be ranked tensor of integer values, but got 'tensor<8xf32>'",
    ),
    ('tt.print "x" {hex = false} : %i : i32', "requires attribute 'isSigned'"),
    (
        'tt.assert %i, "m" : i32',
        "operand #0 must be 1-bit signless integer or tensor of 1-bit signless integer values, but got 'i32'",
    ),
    # sizes
    (
        "%0 = tt.make_range {end = 3 : i32, start = 0 : i32} : tensor<3xi32>",
        'Number of elements must be power-of-two, but %0 = "tt.make_range"() <{end = 3 : i32, start = 0 : i32}> : () -> tensor<3xi32> doesn\'t follow the rule (3) elements',
    ),
    (
        'tt.print "x" {hex = false, isSigned = array<i32: 0>} : %three : tensor<3xi32>',
        "doesn't follow the rule (3) elements",
    ),
    (
        "%0 = tt.splat %f : f32 -> tensor<2097152xf32>",
        'Maximum allowed number of elements is 1048576, but %0 = "tt.splat"(%arg8) : (f32) -> tensor<2097152xf32> has more than that',
    ),
    # pointers
    (
        "%0 = tt.int_to_ptr %i : i32 -> !tt.ptr<f32>",
        "operand #0 must be 64-bit signless integer or tensor of 64-bit signless integer values, but got 'i32'",
    ),
    (
        "%0 = tt.int_to_ptr %vl : tensor<8xi64> -> tensor<16x!tt.ptr<f32>>",
        "all non-scalar operands/results must have the same shape and base type",
    ),
    (
        "%0 = tt.int_to_ptr %vl : tensor<8xi64> -> !tt.ptr<f32>",
        "if an operand is non-scalar, then there must be at least one non-scalar result",
    ),
    (
        "%0 = tt.ptr_to_int %l : i64 -> i64",
        "operand #0 must be ptr or ranked tensor of ptr values, but got 'i64'",
    ),
    (
        "%0 = tt.addptr %p, %f : !tt.ptr<f32>, f32",
        "operand #1 must be integer or ranked tensor of integer values, but got 'f32'",
    ),
    (
        "%0 = tt.addptr %ps, %i : tensor<8x!tt.ptr<f32>>, i32",
        "requires the same shape for all operands and results",
    ),
    (
        '%0 = "tt.addptr"(%p, %i) : (!tt.ptr<f32>, i32) -> !tt.ptr<i32>',
        "failed to verify that result type matches ptr type",
    ),
    # memory
    (
        '%0 = "tt.load"(%ps, %m16) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<8x!tt.ptr<f32>>, tensor<16xi1>) -> tensor<8xf32>',
        "failed to verify that mask type matches ptr type",
    ),
    (
        '%0 = "tt.load"(%ps, %v) <{operandSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>) -> tensor<8xf32>',
        "failed to verify that mask type matches ptr type",
    ),
    (
        '%0 = "tt.load"(%ps, %m) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<8x!tt.ptr<f32>>, tensor<8xi1>) -> tensor<8xi32>',
        "failed to verify that result matches ptr type",
    ),
    (
        '%0 = "tt.load"(%ps, %m, %vi) <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<8x!tt.ptr<f32>>, tensor<8xi1>, tensor<8xi32>) -> tensor<8xf32>',
        "failed to verify that other matches ptr type",
    ),
    (
        "%0 = tt.load %i : i32",
        "'ptr' must be ptr or ranked tensor of ptr values, but got 'i32'",
    ),
    (
        "%0 = tt.load %p {cachePolicy = 3 : i32} : !tt.ptr<f32>",
        "unsupported cache policy attribute 3 : i32",
    ),
    (
        "%0 = tt.load %p {cachePolicy = #tt.cache_policy<cache_modifier = wb, eviction_policy = evict_normal>} : !tt.ptr<f32>",
        "invalid cache policy: cache modifier 'wb' is not supported for loads",
    ),
    (
        "tt.store %p, %f {cachePolicy = #tt.cache_policy<cache_modifier = ca, eviction_policy = evict_normal>} : !tt.ptr<f32>",
        "invalid cache policy: cache modifier 'ca' is not supported for stores",
    ),
    (
        "tt.store %p, %f {cachePolicy = #ttng.cache_policy<cache_modifier = ca>} : !tt.ptr<f32>",
        "invalid cache policy: cache modifier 'ca' is not supported for stores",
    ),
    (
        '"tt.store"(%ps, %vi) : (tensor<8x!tt.ptr<f32>>, tensor<8xi32>) -> ()',
        "failed to verify that value type matches ptr type",
    ),
    (
        '"tt.store"(%ps, %v, %m16) : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>, tensor<16xi1>) -> ()',
        "failed to verify that mask type matches ptr type",
    ),
    # atomics
    (
        "%0 = tt.atomic_rmw add, acq_rel, gpu, %p, %i : (!tt.ptr<f32>, i32) -> i32",
        "failed to verify that ptr type matches value type",
    ),
    (
        "%0 = tt.atomic_rmw fadd, acq_rel, gpu, %ps, %v, %b : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>, i1) -> tensor<8xf32>",
        "failed to verify that mask type matches value type",
    ),
    (
        "%0 = tt.atomic_cas acq_rel, gpu, %pi, %f, %i : (!tt.ptr<i32>, f32, i32) -> i32",
        "failed to verify that ptr type matches cmp type",
    ),
    (
        "%0 = tt.atomic_cas acq_rel, gpu, %pi, %i, %f : (!tt.ptr<i32>, i32, f32) -> i32",
        "failed to verify that ptr type matches value type",
    ),
    (
        "%0 = tt.atomic_cas acq_rel, gpu, %ps, %v, %v : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>",
        "requires the same shape for all operands and results",
    ),
    (
        "%0 = tt.atomic_load release, gpu, %p : (!tt.ptr<f32>) -> f32",
        "only supports acquire and relaxed semantics",
    ),
    (
        "%0 = tt.atomic_load acquire, gpu, %p : (!tt.ptr<f32>) -> i32",
        "failed to verify that result matches ptr type",
    ),
    (
        "%0 = tt.atomic_load acquire, gpu, %ps, %m16 : (tensor<8x!tt.ptr<f32>>, tensor<16xi1>) -> tensor<8xf32>",
        "failed to verify that mask type matches ptr type",
    ),
    (
        "tt.atomic_store acquire, gpu, %p, %f : !tt.ptr<f32>",
        "only supports release and relaxed semantics",
    ),
    (
        '"tt.atomic_store"(%p, %i) <{scope = 1 : i32, sem = 3 : i32}> : (!tt.ptr<f32>, i32) -> ()',
        "failed to verify that value type matches ptr type",
    ),
    (
        "%0 = tt.atomic_poll release, sys, %pi, %i : !tt.ptr<i32>, i32 -> i1",
        "only supports acquire and relaxed semantics",
    ),
    (
        "%0 = tt.atomic_poll relaxed, sys, %pis, %i : tensor<8x!tt.ptr<i32>>, i32 -> tensor<8xi1>",
        "failed to verify that ptr type matches expected type",
    ),
    (
        "%0 = tt.atomic_poll relaxed, sys, %pis, %vi : tensor<8x!tt.ptr<i32>>, tensor<8xi32> -> tensor<16xi1>",
        "failed to verify that result type matches expected shape",
    ),
    (
        "%0 = tt.atomic_poll relaxed, sys, %ps, %v : tensor<8x!tt.ptr<f32>>, tensor<8xf32> -> tensor<8xi1>",
        "operand #1 must be integer or ranked tensor of integer values, but got 'tensor<8xf32>'",
    ),
    # shape
    (
        "%0 = tt.splat %f : f32 -> tensor<8xi32>",
        "requires the same element type for all operands and results",
    ),
    ("%0 = tt.unsplat %v : tensor<8xf32>", "source tensor must have exactly one element"),
    (
        '%0 = "tt.unsplat"(%one) : (tensor<1xf32>) -> f16',
        "inferred type(s) 'f32' are incompatible with return type(s) of operation 'f16'",
    ),
    (
        "%0 = tt.expand_dims %v {axis = 0 : i32} : tensor<8xf32> -> tensor<8x1xf32>",
        "inferred type(s) 'tensor<1x8xf32>' are incompatible with return type(s) of operation 'tensor<8x1xf32>'",
    ),
    (
        "%0 = tt.expand_dims %v {axis = 0 : i32} : tensor<8xf32> -> tensor<1x8xi32>",
        "requires the same element type for all operands and results",
    ),
    (
        "%0 = tt.expand_dims %v {axis = 1 : i64} : tensor<8xf32> -> tensor<8x1xf32>",
        "attribute 'axis' failed to satisfy constraint: 32-bit signless integer attribute",
    ),
    (
        "%0 = tt.broadcast %col : tensor<4x1xf32> -> tensor<8x8xf32>",
        "Different dimensions at index 0 between source and result.  Broadcast requires the source dimension to be 1.",
    ),
    (
        "%0 = tt.broadcast %v : tensor<8xf32> -> tensor<8x8xf32>",
        "rank of source must be same as rank of result",
    ),
    (
        "%0 = tt.reshape %a : tensor<4x8xf32> -> tensor<16xf32>",
        "number of src and dst elements of reshape must be the same",
    ),
    (
        "%0 = tt.cat %v, %v : tensor<8xf32> -> tensor<8xf32>",
        "result element count must equal the sum of the operand element counts, expected 16 but got 8",
    ),
    (
        '%0 = "tt.cat"(%v, %v16) : (tensor<8xf32>, tensor<16xf32>) -> tensor<16xf32>',
        "requires all operands to have the same type",
    ),
    (
        "%0 = tt.join %v, %v : tensor<8xf32> -> tensor<2x8xf32>",
        "result shape must be (8, 2), but got 2, 8",
    ),
    (
        "%0 = tt.join %v, %v : tensor<8xf32> -> tensor<8x2xi32>",
        "result element type must match the input element type",
    ),
    (
        "%0:2 = tt.split %a : tensor<4x8xf32> -> tensor<4xf32>",
        "last dimension of input tensor must be 2",
    ),
    (
        "%0:2 = tt.split %pairs : tensor<4x8x2xf32> -> tensor<8x4xf32>",
        "inferred type(s) 'tensor<4x8xf32>', 'tensor<4x8xf32>' are incompatible with return type(s) of operation 'tensor<8x4xf32>', 'tensor<8x4xf32>'",
    ),
    (
        '%0:2 = "tt.split"(%pairs) : (tensor<4x8x2xf32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)',
        "failed to verify that outLHS and outRHS types match",
    ),
    (
        "%0 = tt.trans %a {order = array<i32: 1>} : tensor<4x8xf32> -> tensor<8x4xf32>",
        "order must have the same size as the rank of the operand and result",
    ),
    (
        "%0 = tt.trans %a {order = array<i32: 1, 1>} : tensor<4x8xf32> -> tensor<8x4xf32>",
        "order must be a permutation of [0, ..., rank - 1]",
    ),
    (
        "%0 = tt.trans %a {order = array<i32: 1, 0>} : tensor<4x8xf32> -> tensor<4x8xf32>",
        "result shape must match the permutation of the source shape",
    ),
    (
        "%0 = tt.gather %a[%ai] {axis = 0 : i32} : (tensor<4x8xf32>, tensor<4x8xi32>) -> tensor<8x8xf32>",
        "indices and output shapes must match",
    ),
    (
        "%0 = tt.gather %a[%ai] {axis = 0 : i32} : (tensor<4x8xf32>, tensor<4x8xi32>) -> tensor<4x8xi32>",
        "input and output element types must match",
    ),
    (
        "%0 = tt.gather %v[%ai] {axis = 0 : i32} : (tensor<8xf32>, tensor<4x8xi32>) -> tensor<4x8xf32>",
        "input and indices ranks must match",
    ),
    (
        "%0 = tt.gather %a[%ai] {axis = 2 : i32} : (tensor<4x8xf32>, tensor<4x8xi32>) -> tensor<4x8xf32>",
        "gather dimension must be less than the input rank",
    ),
    (
        "%0 = tt.gather %b2[%ai] {axis = 1 : i32} : (tensor<8x16xf32>, tensor<4x8xi32>) -> tensor<4x8xf32>",
        "indices dimension 0 must match the corresponding input dimension",
    ),
    (
        '%0 = "tt.histogram"(%vi, %m16) : (tensor<8xi32>, tensor<16xi1>) -> tensor<16xi32>',
        "failed to verify that mask type matches src type",
    ),
    # element-wise
    (
        "%0 = tt.bitcast %desc : !tt.tensordesc<8x8xf32> -> i64",
        f"operand #0 must be {VALUES}, but got '!tt.tensordesc<8x8xf32>'",
    ),
    ("%0 = tt.bitcast %p : !tt.ptr<f32> -> i64", "Cannot bitcast pointer to non-pointer type"),
    (
        '%0 = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i32, "constant">',
        "Cannot bitcast pointer between different address spaces",
    ),
    (
        "%0 = tt.bitcast %f : f32 -> i64",
        "Cannot bitcast data-type of size 32 to data-type of size 64",
    ),
    ("%0 = tt.fp_to_fp %f : f32 -> f16", "Rounding mode is required for FP downcast"),
    (
        "%0 = tt.fp_to_fp %i, rounding = rtz : i32 -> f16",
        "operand #0 must be floating-point or ranked tensor of floating-point values, but got 'i32'",
    ),
    (
        '%0 = "tt.clampf"(%f, %f, %h) <{propagateNan = 0 : i32}> : (f32, f32, f16) -> f32',
        "requires the same type for all operands and results",
    ),
    (
        '%0 = "tt.clampf"(%v, %v, %v16) <{propagateNan = 0 : i32}> : (tensor<8xf32>, tensor<8xf32>, tensor<16xf32>) -> tensor<8xf32>',
        "all non-scalar operands/results must have the same shape and base type",
    ),
    (
        "%0 = tt.approx_divf %d, %d : f64",
        "operand #0 must be 32-bit float or ranked tensor of 32-bit float values, but got 'f64'",
    ),
    (
        "%0 = tt.mulhiui %f, %f : f32",
        "operand #0 must be integer or ranked tensor of integer values, but got 'f32'",
    ),
    (
        '%0 = tt.extern_elementwise %v {libname = "", libpath = "", pure = true} : (tensor<8xf32>) -> tensor<8xf32>',
        "requires attribute 'symbol'",
    ),
    (
        '%0 = tt.elementwise_inline_asm "" {constraints = "", packed_element = 16 : i32, pure = true} %v : tensor<8xf32> -> tensor<8xf32>',
        "number of input elements 8 must be a multiple of the op's packed_element attribute, 16",
    ),
    (
        '%0 = tt.elementwise_inline_asm "" {constraints = "", packed_element = 1 : i32, pure = true} -> tensor<8xf32>',
        "if a result is non-scalar, then at least one operand must be non-scalar",
    ),
    # matrix products
    (
        "%0 = tt.dot %v, %v, %v : tensor<8xf32> * tensor<8xf32> -> tensor<8xf32>",
        "expected operands to be 2d or 3d",
    ),
    (
        "%0 = tt.dot %a3, %b2, %c3 : tensor<2x4x8xf32> * tensor<8x16xf32> -> tensor<2x4x16xf32>",
        "expected all operands to have the same rank",
    ),
    (
        "%0 = tt.dot %a3, %b4, %c3 : tensor<2x4x8xf32> * tensor<4x8x16xf32> -> tensor<2x4x16xf32>",
        "expected the first dimension of the first operand to be equal to the first dimension of the result",
    ),
    (
        "%0 = tt.dot %b2, %a, %c : tensor<8x16xf32> * tensor<4x8xf32> -> tensor<4x16xf32>",
        "expected the last dimension of the first operand to be equal to the second-to-last dimension of the second operand",
    ),
    (
        "%0 = tt.dot %a, %b2, %b2 : tensor<4x8xf32> * tensor<8x16xf32> -> tensor<8x16xf32>",
        "expected the output shape to be the concatenation of the last dimension of the first operand and the last dimension of the second",
    ),
    (
        "%0 = tt.dot %a, %b2h, %c : tensor<4x8xf32> * tensor<8x16xf16> -> tensor<4x16xf32>",
        "element types of operands A and B must have same bit width",
    ),
    (
        '%0 = "tt.dot"(%a, %b2, %c) : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi32>',
        "failed to verify that result's type matches accumulator's type",
    ),
    (
        "%0 = tt.dot_scaled %acc_i, %fp4t, %acc lhs = e2m1 rhs = e2m1 {fastMath = false} : tensor<128x128xi32> * tensor<64x128xi8> -> tensor<128x128xf32>",
        "operand #0 must be ranked tensor of floating-point or 8-bit signless integer values, but got 'tensor<128x128xi32>'",
    ),
    (
        "%0 = tt.dot_scaled %fp4 scale %s8, %fp4t scale %s4, %acc lhs = e2m1 rhs = e2m1 {fastMath = false} : tensor<128x64xi8>, tensor<128x8xi8> * tensor<64x128xi8>, tensor<128x4xi8> -> tensor<128x128xf32>",
        "Operands must have the same scale factor; (lhs: 16 vs rhs: 32)",
    ),
    (
        "%0 = tt.dot_scaled %fp4 scale %s2, %fp4t, %acc lhs = e2m1 rhs = e2m1 {fastMath = false} : tensor<128x64xi8>, tensor<128x2xi8> * tensor<64x128xi8> -> tensor<128x128xf32>",
        "scale factor must be 16 or 32. Got 64",
    ),
    (
        "%0 = tt.dot_scaled %fp4 scale %s64, %fp4t, %acc lhs = e2m1 rhs = e2m1 {fastMath = false} : tensor<128x64xi8>, tensor<64x4xi8> * tensor<64x128xi8> -> tensor<128x128xf32>",
        "scales M dimension must match the operand M dimension",
    ),
    (
        "%0 = tt.dot_scaled %fp4, %fp4t scale %s64, %acc lhs = e2m1 rhs = e2m1 {fastMath = false} : tensor<128x64xi8> * tensor<64x128xi8>, tensor<64x4xi8> -> tensor<128x128xf32>",
        "scales N dimension must match the operand N dimension",
    ),
    (
        "%0 = tt.dot_scaled %fp4, %fp4t, %acc64 lhs = e2m1 rhs = e2m1 {fastMath = false} : tensor<128x64xi8> * tensor<64x128xi8> -> tensor<128x64xf32>",
        "expected the output shape to be the concatenation of the last dimension",
    ),
    (
        "%0 = tt.dot_scaled %fp4, %e5m2, %acc lhs = e4m3 rhs = e5m2 {fastMath = false} : tensor<128x64xi8> * tensor<128x128xf8E5M2> -> tensor<128x128xf32>",
        "expected the last dimension of the first operand to be equal to the second-to-last",
    ),
    # descriptors
    (
        "%0 = tt.descriptor_load %i[%i, %i] : i32 -> tensor<8x8xf32>",
        "operand #0 must be Tensor descriptor type (`::mlir::triton::TensorDescType`) in Triton IR type system, but got 'i32'",
    ),
    (
        "%0 = tt.descriptor_load %desc[%i, %i] : !tt.tensordesc<8x8xf32> -> tensor<32xf32>",
        "descriptor block and tensor must have the same number of elements, but got descriptor block with 64 elements tensor with 32 elements",
    ),
    (
        "%0 = tt.descriptor_load %desc[%i, %i] : !tt.tensordesc<8x8xf32> -> tensor<8x8xf16>",
        "descriptor block and tensor element types must match, but got descriptor element type 'f32' and tensor element type 'f16'",
    ),
    (
        "tt.descriptor_store %desc[%i, %i], %block8 : !tt.tensordesc<8x8xf32>, tensor<8x8xi8>",
        "descriptor block and tensor element types must match, but got descriptor element type 'f32' and tensor element type 'i8'",
    ),
    (
        "tt.descriptor_reduce add, %desc_u8[%i, %i], %block : !tt.tensordesc<8x8xui8>, tensor<8x8xf32>",
        "descriptor block and tensor element types must match, but got descriptor element type 'i8' and tensor element type 'f32'",
    ),
    (
        "%0 = tt.descriptor_gather %desc1[%x, %i] : (!tt.tensordesc<64xf16>, tensor<32xi32>, i32) -> tensor<32x64xf16>",
        "descriptor block must be a 2D tensor, but got 'tensor<64xf16>'",
    ),
    (
        "%0 = tt.descriptor_gather %row2[%x, %i] : (!tt.tensordesc<2x64xf16>, tensor<32xi32>, i32) -> tensor<32x64xf16>",
        "descriptor block must have exactly 1 row, but got 'tensor<2x64xf16>'",
    ),
    (
        "%0 = tt.descriptor_gather %row[%ai, %i] : (!tt.tensordesc<1x64xf16>, tensor<4x8xi32>, i32) -> tensor<32x64xf16>",
        "x offsets must be a 1D tensor, but got 'tensor<4x8xi32>'",
    ),
    (
        "%0 = tt.descriptor_gather %row[%x, %i] : (!tt.tensordesc<1x64xf16>, tensor<32xi32>, i32) -> tensor<2048xf16>",
        "result must be a 2D tensor, but got 'tensor<2048xf16>'",
    ),
    (
        "%0 = tt.descriptor_gather %row[%x4, %i] : (!tt.tensordesc<1x64xf16>, tensor<4xi32>, i32) -> tensor<4x64xf16>",
        "must have at least 8 rows, but got 4",
    ),
    (
        "%0 = tt.descriptor_gather %row_f64[%x, %i] : (!tt.tensordesc<1x64xf64>, tensor<32xi32>, i32) -> tensor<32x64xf64>",
        "TMA dtype cannot be greater than 32 bits",
    ),
    (
        "%0 = tt.descriptor_gather %row8[%x, %i] : (!tt.tensordesc<1x8xf16>, tensor<32xi32>, i32) -> tensor<32x8xf16>",
        "must have at least 16 columns for 'f16', but got 8",
    ),
    (
        "%0 = tt.descriptor_gather %row[%x, %i] : (!tt.tensordesc<1x64xf16>, tensor<32xi32>, i32) -> tensor<16x64xf16>",
        "result tensor must have as many rows as indices (32), but got 'tensor<16x64xf16>'",
    ),
    (
        "%0 = tt.descriptor_gather %row[%x, %i] : (!tt.tensordesc<1x64xf16>, tensor<32xi32>, i32) -> tensor<32x32xf16>",
        "result tensor number of columns must match block (64), but got 'tensor<32x32xf16>'",
    ),
    (
        "tt.descriptor_scatter %row[%x, %i], %rows_f32 : !tt.tensordesc<1x64xf16>, tensor<32xi32>, i32, tensor<32x64xf32>",
        "result tensor element type must match block ('f16'), but got 'tensor<32x64xf32>'",
    ),
    (
        "%0 = tt.make_tensor_descriptor %p, [%i], [%l] {padding = 3 : i32} : <f32>, <64xf32>",
        "attribute 'padding' failed to satisfy constraint: allowed 32-bit signless integer cases: 1, 2",
    ),
]


@pytest.mark.parametrize(("body", "message"), FAULTS)
def test_message(body: str, message: str):
    found = messages(kernel(body))
    assert [each for each in found if message in each] != [], found


@pytest.mark.parametrize(("body", "message"), FAULTS)
def test_triton_says_the_same(body: str, message: str, capfd: pytest.CaptureFixture[str]):
    found = triton_messages(kernel(body), capfd)
    assert [each for each in found if message in each] != [], found


@pytest.mark.parametrize(
    ("body", "message"),
    [
        # Triton crashes on the first, and reads beyond the shape for the second.
        (
            "%0 = tt.expand_dims %v {axis = -1 : i32} : tensor<8xf32> -> tensor<8x1xf32>",
            "axis -1 is out of bounds for a source of rank 1",
        ),
        (
            "%0 = tt.expand_dims %v {axis = 2 : i32} : tensor<8xf32> -> tensor<8x1xf32>",
            "axis 2 is out of bounds for a source of rank 1",
        ),
        (
            '"tt.map_elementwise"(%v) <{pack = 1 : i32}> ({}) : (tensor<8xf32>) -> tensor<8xf32>',
            "region has wrong number of arguments",
        ),
        # Triton notices by a type that stands in the wrong place.
        (
            "%0 = tt.make_tensor_descriptor %p, [%i, %i], [%l] : <f32>, <16x16xf32>",
            "has 2 extents but 1 strides",
        ),
        (
            '%0 = tt.elementwise_inline_asm "" {constraints = "", packed_element = 0 : i32, pure = true} %v : tensor<8xf32> -> tensor<8xf32>',
            "must be a multiple of the op's packed_element attribute, 0",
        ),
        (
            '%0 = "tt.clampf"(%f, %f, %f) <{propagateNan = 7 : i32}> : (f32, f32, f32) -> f32',
            "attribute 'propagateNan' failed to satisfy constraint: allowed 32-bit signless integer cases: 0, 65535",
        ),
        (
            "%0 = tt.descriptor_reduce none, %desc[%i, %i], %block : !tt.tensordesc<8x8xf32>, tensor<8x8xf32>",
            "expected one of: add, min, max, inc, dec, and, or, xor; found 'none'",
        ),
        (
            "%0 = tt.load %p {cachePolicy = #tt.cache_policy<cache_modifier = xx, eviction_policy = evict_normal>} : !tt.ptr<f32>",
            "expected one of: none, ca, cg, wb, cs, wt, cv; found 'xx'",
        ),
        (
            "%0 = tt.load %p {cachePolicy = #tt.cache_policy<cache_modifier = ca>} : !tt.ptr<f32>",
            "struct is missing required parameter: eviction_policy",
        ),
        (
            "%0 = tt.load %p {cachePolicy = #tt.cache_policy<cache_modifier = ca, cache_modifier = ca>} : !tt.ptr<f32>",
            "duplicate or unknown struct parameter name: cache_modifier",
        ),
    ],
)
def test_message_of_our_own(body: str, message: str):
    found = messages(kernel(body))
    assert [each for each in found if message in each] != [], found
