// RUN: tilewright-opt %s -split-input-file -verify-diagnostics

!cb = !tensix.cb<2 x 2048, bf16>

tensix.kernel @role role(reader) {
  // expected-error @+1 {{'tensix.dst_acquire' op is executed by compute kernels, but '@role' is a reader kernel}}
  tensix.dst_acquire
}

// -----

!cb = !tensix.cb<2 x 2048, bf16>

tensix.kernel @pointer role(compute) {
  %a = tensix.cb 0 : !cb
  tensix.hw_startup %a, %a, %a : !cb, !cb, !cb
  // expected-error @+1 {{'tensix.cb_read_ptr' op is executed by reader and writer kernels, but '@pointer' is a compute kernel}}
  %p = tensix.cb_read_ptr %a : !cb
}

// -----

!cb = !tensix.cb<2 x 2048, bf16>

tensix.kernel @capacity role(reader) {
  %a = tensix.cb 0 : !cb
  %n = arith.constant 3 : index
  // expected-error @+1 {{'tensix.cb_reserve' op page count must be 1 to 2, the capacity of the circular buffer, got 3}}
  tensix.cb_reserve %a, %n : !cb
}

// -----

tensix.kernel @arguments role(reader) attributes {runtime_args = ["count"]} {
  // expected-error @+1 {{'tensix.arg' op position 1 is out of range: '@arguments' has 1 such arguments}}
  %n = tensix.arg 1
}

// -----

tensix.kernel @semaphores role(reader) {
  // expected-error @+1 {{'tensix.sem' op semaphore id must be 0 to 15, got 16}}
  %s = tensix.sem 16
}

// -----

tensix.kernel @list role(reader) attributes {runtime_args = ["block_ids", "count"]} {
  %n = tensix.arg 1
  // expected-error @+1 {{'tensix.arg_at' op the list at position 0 is not the last of the 2 run-time arguments of '@list'}}
  %id = tensix.arg_at 0 "block_ids"[%n]
}

// -----

tensix.kernel @raster role(reader) {
  %n = arith.constant 3 : index
  // expected-error @+1 {{'tensix.raster' op block_linear, and no other policy, takes [rows, columns]}}
  %y, %x = tensix.raster row_major [2, 2] %n, %n, %n
}

// -----

!cb = !tensix.cb<2 x 2048, bf16>

// expected-error @+1 {{'tensix.kernel' op 'tensix.dst_acquire' is reached before 'tensix.hw_startup'}}
tensix.kernel @no_startup role(compute) {
  tensix.dst_acquire
  tensix.dst_commit
  tensix.dst_wait
  tensix.dst_release
}

// -----

!cb = !tensix.cb<2 x 2048, bf16>

// expected-error @+1 {{'tensix.kernel' op 'tensix.matmul_tile' needs 'tensix.init matmul' with no other init after it, got 'copy'}}
tensix.kernel @wrong_init role(compute) {
  %a = tensix.cb 0 : !cb
  %z = arith.constant 0 : index
  tensix.hw_startup %a, %a, %a {matmul} : !cb, !cb, !cb
  tensix.init matmul (%a, %a) : !cb, !cb
  tensix.dst_acquire
  tensix.init copy (%a) : !cb
  tensix.copy_tile %a[%z] -> %z : !cb
  tensix.matmul_tile %a[%z], %a[%z] -> %z : !cb, !cb
  tensix.dst_commit
  tensix.dst_wait
  tensix.dst_release
}

// -----

!cb = !tensix.cb<2 x 2048, bf16>

// An init at the end of an iteration replaces the one before the loop.
// expected-error @+1 {{'tensix.kernel' op 'tensix.unary' needs 'tensix.init unary exp' with no other init after it, got none on every path}}
tensix.kernel @init_of_the_next_iteration role(compute) {
  %a = tensix.cb 0 : !cb
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  tensix.hw_startup %a, %a, %a : !cb, !cb, !cb
  tensix.init unary exp
  tensix.init copy (%a) : !cb
  scf.for %i = %z to %one step %one {
    tensix.dst_acquire
    tensix.copy_tile %a[%z] -> %z : !cb
    tensix.unary exp %z
    tensix.init unary sqrt
    tensix.unary sqrt %z
    tensix.dst_commit
    tensix.dst_wait
    tensix.dst_release
  }
}

// -----

!cb = !tensix.cb<2 x 2048, bf16>

// expected-error @+1 {{'tensix.kernel' op 'tensix.dst_wait' needs DST in section 'committed', got 'math': 'tensix.dst_commit' is missing before it}}
tensix.kernel @commit_missing role(compute) {
  %a = tensix.cb 0 : !cb
  tensix.hw_startup %a, %a, %a : !cb, !cb, !cb
  tensix.dst_acquire
  tensix.dst_wait
  tensix.dst_release
}

// -----

!cb = !tensix.cb<2 x 2048, bf16>

// expected-error @+1 {{'tensix.kernel' op 'scf.for' leaves DST in section 'math' but is entered in section 'idle': every path must be balanced}}
tensix.kernel @unbalanced role(compute) {
  %a = tensix.cb 0 : !cb
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  tensix.hw_startup %a, %a, %a : !cb, !cb, !cb
  scf.for %i = %z to %one step %one {
    tensix.dst_acquire
  }
}

// -----

!cb = !tensix.cb<2 x 2048, bf16>

// expected-error @+1 {{'tensix.kernel' op 'tensix.copy_tile' uses DST slot 4, but a section has 4 tiles}}
tensix.kernel @slots role(compute) attributes {fp32_dest_acc} {
  %a = tensix.cb 0 : !cb
  %z = arith.constant 0 : index
  %d = arith.constant 4 : index
  tensix.hw_startup %a, %a, %a : !cb, !cb, !cb
  tensix.init copy (%a) : !cb
  tensix.dst_acquire
  tensix.copy_tile %a[%z] -> %d : !cb
  tensix.dst_commit
  tensix.dst_wait
  tensix.dst_release
}

// -----

!cb = !tensix.cb<2 x 2048, bf16>
!wide = !tensix.cb<2 x 4096, f32>

// expected-error @+1 {{'tensix.kernel' op 'tensix.copy_tile' unpacks f32 to SrcA, which is set to bf16: 'tensix.reconfig' is missing}}
tensix.kernel @format role(compute) {
  %a = tensix.cb 0 : !cb
  %b = tensix.cb 24 : !wide
  %z = arith.constant 0 : index
  tensix.hw_startup %a, %a, %a : !cb, !cb, !cb
  tensix.init copy (%b) : !wide
  tensix.dst_acquire
  tensix.copy_tile %b[%z] -> %z : !wide
  tensix.dst_commit
  tensix.dst_wait
  tensix.dst_release
}
