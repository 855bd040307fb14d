// RUN: tilewright-opt -finish-for-stock-triton %s | filecheck %s

// A descriptor with a place: f16 (6), rows of 64 bytes (swizzle 2), so boxes of 32 columns; and
// bf16 (9) of which one copy takes 128 bytes (3), 64 columns of 128. NaN beyond the bounds.

#half = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#full = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
module attributes {"ttg.num-warps" = 4 : i32} {
  // CHECK-LABEL: tt.func @placed
  tt.func @placed(%at: !tt.ptr<i8>, %x: !tt.ptr<f16>, %y: !tt.ptr<bf16>, %m: i32, %n: i32, %s: i64) -> (!tt.tensordesc<64x32xf16, #half>, !tt.tensordesc<64x128xbf16, #full>) {
    %one = arith.constant 1 : i64
    // CHECK: %[[SIZE:.*]] = arith.constant 2 : i64
    // CHECK: %[[STRIDE:.*]] = arith.muli %{{.*}}, %[[SIZE]] : i64
    // CHECK: ttng.tensormap_create %[[AT:.*]], %{{.*}}, [%c32_i32, %c64_i32], [%[[N:.*]], %[[M:.*]]], [%[[STRIDE]]], [%{{.*}}, %{{.*}}] {elem_type = 6 : i32, fill_mode = 0 : i32, interleave_layout = 0 : i32, swizzle_mode = 2 : i32}
    // CHECK: ttng.tensormap_fenceproxy_acquire %[[AT]] : !tt.ptr<i8>
    // CHECK: ttng.reinterpret_tensor_descriptor %[[AT]] : !tt.ptr<i8> to !tt.tensordesc<64x32xf16, #shared>
    %0 = tt.make_tensor_descriptor %x, [%m, %n], [%s, %one], descPtr = %at : !tt.ptr<i8> : <f16>, <64x32xf16, #half>
    // CHECK: ttng.tensormap_create {{.*}}, [%{{c64_i32.*}}, %{{c64_i32.*}}], [%[[N]], %[[M]]], {{.*}} {elem_type = 9 : i32, fill_mode = 1 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32}
    %1 = tt.make_tensor_descriptor %y, [%m, %n], [%s, %one], descPtr = %at : !tt.ptr<i8> {padding = 2 : i32} : <bf16>, <64x128xbf16, #full>
    tt.return %0, %1 : !tt.tensordesc<64x32xf16, #half>, !tt.tensordesc<64x128xbf16, #full>
  }
}
