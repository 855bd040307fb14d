// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt %s | tilewright-opt | filecheck %s
// RUN: tilewright-opt -mlir-print-op-generic %s | tilewright-opt | filecheck %s

// What xDSL's own dialect knows for scalars only.

// CHECK-LABEL: tt.func @compare_and_select
// CHECK-SAME: (%[[A:.*]]: tensor<128xi32>, %[[X:.*]]: tensor<128xf32>)
tt.func @compare_and_select(%a: tensor<128xi32>, %x: tensor<128xf32>) {
  // CHECK: %[[MASK:.*]] = arith.cmpi slt, %[[A]], %[[A]] : tensor<128xi32>
  %mask = arith.cmpi "slt", %a, %a : tensor<128xi32>
  // CHECK: arith.cmpf une, %[[X]], %[[X]] fastmath<nnan,ninf> : tensor<128xf32>
  %nan = arith.cmpf une, %x, %x fastmath<ninf, nnan> : tensor<128xf32>
  // CHECK: %[[LOW:.*]] = arith.constant dense<0xFF800000> : tensor<128xf32>
  %low = arith.constant dense<0xFF800000> : tensor<128xf32>
  // CHECK: arith.select %[[MASK]], %[[X]], %[[LOW]] : tensor<128xi1>, tensor<128xf32>
  %0 = arith.select %mask, %x, %low : tensor<128xi1>, tensor<128xf32>
  tt.return
}

// CHECK-LABEL: tt.func @casts
tt.func @casts(%a: tensor<128xi32>, %x: tensor<128xf32>) {
  // CHECK: arith.extsi %{{.*}} : tensor<128xi32> to tensor<128xi64>
  %0 = arith.extsi %a : tensor<128xi32> to tensor<128xi64>
  // CHECK: arith.extui %{{.*}} nneg : tensor<128xi32> to tensor<128xi64>
  %1 = arith.extui %a nneg : tensor<128xi32> to tensor<128xi64>
  // CHECK: arith.trunci %{{.*}} overflow<nsw> : tensor<128xi32> to tensor<128xi8>
  %2 = arith.trunci %a overflow<nsw> : tensor<128xi32> to tensor<128xi8>
  // CHECK: arith.sitofp %{{.*}} : tensor<128xi32> to tensor<128xf32>
  %3 = arith.sitofp %a : tensor<128xi32> to tensor<128xf32>
  // CHECK: arith.truncf %{{.*}} to_nearest_even : tensor<128xf32> to tensor<128xf16>
  %4 = arith.truncf %x to_nearest_even : tensor<128xf32> to tensor<128xf16>
  // CHECK: arith.bitcast %{{.*}} : tensor<128xf32> to tensor<128xi32>
  %5 = arith.bitcast %x : tensor<128xf32> to tensor<128xi32>
  tt.return
}

// CHECK-LABEL: tt.func @constants
tt.func @constants() {
  // CHECK: %c4_i32 = arith.constant 4 : i32
  %0 = arith.constant 4 : i32
  // CHECK: %c-1_i8 = arith.constant -1 : i8
  %1 = arith.constant 255 : i8
  // CHECK: %true = arith.constant true
  %2 = arith.constant true
  // CHECK: %c4 = arith.constant 4 : index
  %3 = arith.constant 4 : index
  // CHECK: %cst = arith.constant 1.500000e+00 : f32
  %4 = arith.constant 1.5 : f32
  tt.return
}
