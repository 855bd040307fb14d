// RUN: tilewright-opt -insert-thread-syncs -split-input-file %s | filecheck %s

#s = #tile.space<shared>
#l = #tile.space<local>

// One thread reads what another wrote.

// CHECK-LABEL: func.func @exchange
// CHECK:         memref.store
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    memref.load
func.func @exchange(%x: f32) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<129xf32, #s>
  %c1 = arith.constant 1 : index
  %tid = gpu.thread_id x
  %next = arith.addi %tid, %c1 : index
  memref.store %x, %S[%tid] : memref<129xf32, #s>
  %y = memref.load %S[%next] : memref<129xf32, #s>
  func.return
}

// -----

// The end of a turn meets the beginning of the next; what was done before the loop is met before it.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @turns
// CHECK:         memref.store
// CHECK:         gpu.barrier
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      memref.load
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      memref.store
// CHECK-NEXT:    }
func.func @turns(%x: f32, %n: index) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<128xf32, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  memref.store %x, %S[%c0] : memref<128xf32, #s>
  scf.for %k = %c0 to %n step %c1 {
    %y = memref.load %S[%k] : memref<128xf32, #s>
    memref.store %y, %S[%c1] : memref<128xf32, #s>
  }
  func.return
}

// -----

// Two buffers in the same bytes; and two that are apart.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @shared_bytes
// CHECK:         memref.load %A
// CHECK-NEXT:    memref.store %{{.*}}, %C
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    memref.store %{{.*}}, %B
func.func @shared_bytes(%i: index) attributes {simt.kernel, simt.threads = 128 : i64} {
  %A = tile.alloc "A" offset 0 : memref<64xf32, #s>
  %B = tile.alloc "B" offset 128 : memref<64xf32, #s>
  %C = tile.alloc "C" offset 512 : memref<64xf32, #s>
  %v = memref.load %A[%i] : memref<64xf32, #s>
  memref.store %v, %C[%i] : memref<64xf32, #s>
  memref.store %v, %B[%i] : memref<64xf32, #s>
  func.return
}

// -----

// What threads wrote and a tensor core reads is fenced by each writer before they meet.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @fenced
// CHECK:         memref.store
// CHECK:         nv.fence_proxy_async
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    nv.wgmma %
func.func @fenced(%v: f16, %acc: memref<64xf32, #l>, %i: index) attributes {simt.kernel, simt.threads = 128 : i64} {
  %A = tile.alloc "A" offset 0 : memref<8192xf16, #s>
  %c0 = arith.constant 0 : index
  memref.store %v, %A[%i] : memref<8192xf16, #s>
  %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  func.return
}

// -----

// A wait is about the moves of one thread; those of others are met behind it.

#g = #tile.space<global>
#s = #tile.space<shared>

// CHECK-LABEL: func.func @landed
// CHECK:         nv.cp_async.wait 0
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    memref.load
func.func @landed(%A: memref<?xf16, #g>, %i: index) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<1024xf16, #s>
  nv.async_move %A[%i] -> %S[%i] lanes(8) : memref<?xf16, #g>, memref<1024xf16, #s>
  nv.cp_async.commit
  gpu.barrier
  nv.cp_async.wait 0
  %v = memref.load %S[%i] : memref<1024xf16, #s>
  func.return
}

// -----

// In a role only its threads meet, at a barrier of their own; under a condition that differs
// between threads there is no barrier, it comes before.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @role
// CHECK:         memref.store
// CHECK:         nv.bar sync 4, 128
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      memref.load
func.func @role(%x: f32) attributes {simt.kernel, simt.threads = 256 : i64} {
  %S = tile.alloc "S" offset 0 : memref<128xf32, #s>
  %c0 = arith.constant 0 : index
  %tid = gpu.thread_id x
  %first = arith.cmpi eq, %tid, %c0 : index
  tile.ws
  role "producer" threads(0 to 128) {
  }
  role "consumer" threads(128 to 256) {
    memref.store %x, %S[%c0] : memref<128xf32, #s>
    scf.if %first {
      %y = memref.load %S[%c0] : memref<128xf32, #s>
    }
  }
  func.return
}

// -----

// What roles wrote is met by all threads before one of them reads it.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @after_roles
// CHECK:         memref.store
// CHECK:         gpu.barrier
// CHECK-NEXT:    memref.load
func.func @after_roles(%x: f32) attributes {simt.kernel, simt.threads = 256 : i64} {
  %S = tile.alloc "S" offset 0 : memref<128xf32, #s>
  %c0 = arith.constant 0 : index
  tile.ws
  role "group1" threads(128 to 256) {
    memref.store %x, %S[%c0] : memref<128xf32, #s>
  }
  %y = memref.load %S[%c0] : memref<128xf32, #s>
  func.return
}

// -----

// Another role reads with tensor cores what this one wrote: a fence before it is told. Roles that
// wait for each other never meet at a barrier of the block.

#s = #tile.space<shared>
#b = #tile.space<barrier>
#l = #tile.space<local>

// CHECK-LABEL: func.func @told
// CHECK:         memref.store
// CHECK-NEXT:    nv.fence_proxy_async
// CHECK-NEXT:    nv.mbarrier.arrive
// CHECK-NOT:     gpu.barrier
// CHECK:         nv.wgmma %
func.func @told(%v: f16, %acc: memref<64xf32, #l>, %i: index) attributes {simt.kernel, simt.threads = 256 : i64} {
  %full = tile.alloc "full" init [128] offset 16384 : memref<1x!nv.mbarrier, #b>
  %A = tile.alloc "A" offset 0 : memref<8192xf16, #s>
  %c0 = arith.constant 0 : index
  tile.ws
  role "group1" threads(128 to 256) {
    memref.store %v, %A[%i] : memref<8192xf16, #s>
    nv.mbarrier.arrive %full[%c0] : memref<1x!nv.mbarrier, #b>
  }
  tile.ws
  role "group0" threads(0 to 128) {
    nv.mbarrier.wait %full[%c0], %c0 : memref<1x!nv.mbarrier, #b>, index
    %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  }
  func.return
}

// -----

// Every thread accesses elements of its own: in all iterations, and after the loop.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @own_elements
// CHECK-NOT:     gpu.barrier
// CHECK:         func.return
func.func @own_elements(%x: f32, %n: index) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<1024xf32, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c128 = arith.constant 128 : index
  %tid = gpu.thread_id x
  scf.for %i = %c0 to %c8 step %c1 {
    %row = arith.muli %i, %c128 : index
    %at = arith.addi %row, %tid : index
    memref.store %x, %S[%at] : memref<1024xf32, #s>
  }
  %y = memref.load %S[%tid] : memref<1024xf32, #s>
  func.return
}

// -----

// Thread `t` writes what thread `t - 1` wrote in the iteration before.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @elements_of_a_neighbour
// CHECK:         scf.for
// CHECK:           gpu.barrier
// CHECK-NEXT:      memref.store
func.func @elements_of_a_neighbour(%x: f32) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<135xf32, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %tid = gpu.thread_id x
  scf.for %i = %c0 to %c8 step %c1 {
    %at = arith.addi %i, %tid : index
    memref.store %x, %S[%at] : memref<135xf32, #s>
  }
  func.return
}

// -----

// The start of the elements is a symbol: the same in one iteration, another one in the next.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @elements_of_an_iteration
// CHECK:         scf.for
// CHECK:           gpu.barrier
// CHECK-NEXT:      memref.store
// CHECK-NEXT:      memref.load
func.func @elements_of_an_iteration(%x: f32, %n: index)
    attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<4096xf32, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tid = gpu.thread_id x
  scf.for %k = %c0 to %n step %c1 {
    %at = arith.addi %k, %tid : index
    memref.store %x, %S[%at] : memref<4096xf32, #s>
    %y = memref.load %S[%at] : memref<4096xf32, #s>
  }
  func.return
}

// -----

// All threads write the element of the iteration: no other iteration accesses it, but the next
// iteration of the loop around does.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @element_of_the_iteration
// CHECK:         scf.for
// CHECK:           gpu.barrier
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        memref.store
// CHECK-NEXT:      }
// CHECK-NEXT:    }
func.func @element_of_the_iteration(%x: f32, %n: index)
    attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<8xf32, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %k = %c0 to %n step %c1 {
    scf.for %i = %c0 to %c8 step %c1 {
      memref.store %x, %S[%i] : memref<8xf32, #s>
    }
  }
  func.return
}

// -----

// Iteration `i` reads what thread 0 wrote in the iteration before.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @element_of_the_iteration_before
// CHECK:         scf.for
// CHECK:           gpu.barrier
// CHECK-NEXT:      memref.load
func.func @element_of_the_iteration_before(%x: f32)
    attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<9xf32, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %tid = gpu.thread_id x
  %first = arith.cmpi eq, %tid, %c0 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %next = arith.addi %i, %c1 : index
    %y = memref.load %S[%i] : memref<9xf32, #s>
    scf.if %first {
      memref.store %x, %S[%next] : memref<9xf32, #s>
    }
  }
  func.return
}

// -----

// Once an MMA has been waited for, one barrier ends its reads in all threads: the iterations of a
// loop that writes its operand anew, each thread elements of its own, need none between them.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @operand_of_the_iteration_before
// CHECK:         scf.for
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      scf.for
// CHECK-NOT:         gpu.barrier
// CHECK:             memref.store
// CHECK:           }
// CHECK:           nv.fence_proxy_async
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      nv.wgmma %
// CHECK-NEXT:      nv.wgmma.commit
// CHECK-NEXT:      nv.wgmma.wait 0
// CHECK-NEXT:    }
func.func @operand_of_the_iteration_before(%v: f16, %acc: memref<64xf32, #l>) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<1024xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c128 = arith.constant 128 : index
  %tid = gpu.thread_id x
  scf.for %k = %c0 to %c8 step %c1 {
    scf.for %i = %c0 to %c8 step %c1 {
      %row = arith.muli %i, %c128 : index
      %e = arith.addi %row, %tid : index
      memref.store %v, %S[%e] : memref<1024xf16, #s>
    }
    %d = nv.matrix %S[%c0] swizzle(128) leading(16) stride(1024) : memref<1024xf16, #s>
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
  }
  func.return
}

// -----

// A wait that leaves a group in flight covers the operands of the earlier groups only.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @operand_of_the_earlier_group
// CHECK:         nv.wgmma.wait 1
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    memref.store %{{.*}}, %S
// CHECK-NEXT:    memref.store %{{.*}}, %S
// CHECK-NEXT:    memref.store %{{.*}}, %R
// CHECK-NEXT:    nv.wgmma.wait 0
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    memref.store %{{.*}}, %R
// CHECK-NEXT:    memref.store %{{.*}}, %R
// CHECK-NEXT:    func.return
func.func @operand_of_the_earlier_group(%v: f16, %acc: memref<64xf32, #l>) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<1024xf16, #s>
  %R = tile.alloc "R" offset 2048 : memref<1024xf16, #s>
  %c0 = arith.constant 0 : index
  %tid = gpu.thread_id x
  %d = nv.matrix %S[%c0] swizzle(128) leading(16) stride(1024) : memref<1024xf16, #s>
  %e = nv.matrix %R[%c0] swizzle(128) leading(16) stride(1024) : memref<1024xf16, #s>
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma %e, %e -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 1
  memref.store %v, %S[%tid] : memref<1024xf16, #s>
  memref.store %v, %S[%tid] : memref<1024xf16, #s>
  memref.store %v, %R[%tid] : memref<1024xf16, #s>
  nv.wgmma.wait 0
  memref.store %v, %R[%tid] : memref<1024xf16, #s>
  memref.store %v, %R[%tid] : memref<1024xf16, #s>
  func.return
}

// -----

// Threads write the next version of an operand while the MMA of the iteration before is in flight.
// Its reads need no barrier; those of the iteration before that, which are complete, need one.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @rotating_operand
// CHECK:         scf.for
// CHECK:           gpu.barrier
// CHECK-NEXT:      scf.for
// CHECK-NOT:         gpu.barrier
// CHECK:             memref.store
// CHECK-NEXT:      }
// CHECK-NOT:       gpu.barrier
// CHECK:           nv.fence_proxy_async
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      nv.wgmma %
// CHECK-NEXT:      nv.wgmma.commit
// CHECK-NEXT:      nv.wgmma.wait 1
// CHECK-NEXT:    }
func.func @rotating_operand(%v: f16, %acc: memref<64xf32, #l>) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 {tile.rotating, simt.versions = 2 : i64} : memref<2048xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c128 = arith.constant 128 : index
  %c1024 = arith.constant 1024 : index
  %tid = gpu.thread_id x
  scf.for %k = %c0 to %c8 step %c1 {
    %version = arith.remui %k, %c2 : index
    %first = arith.muli %version, %c1024 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %row = arith.muli %i, %c128 : index
      %rest = arith.addi %row, %tid : index
      %e = arith.addi %first, %rest : index
      memref.store %v, %S[%e] : memref<2048xf16, #s>
    }
    %d = nv.matrix %S[%first] swizzle(128) leading(16) stride(1024) : memref<2048xf16, #s>
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 1
  }
  nv.wgmma.wait 0
  func.return
}

// -----

// The same in a role. Its threads count from 0: with the others of the block, which do not run it,
// elements would seem to lie before their version.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @rotating_operand_of_a_role
// CHECK:         role "consumer"
// CHECK:         scf.for
// CHECK:           nv.bar
// CHECK-NEXT:      scf.for
// CHECK-NOT:         nv.bar
// CHECK:             memref.store
// CHECK-NEXT:      }
// CHECK-NOT:       nv.bar
// CHECK:           nv.fence_proxy_async
// CHECK-NEXT:      nv.bar
// CHECK-NEXT:      nv.wgmma %
// CHECK-NEXT:      nv.wgmma.commit
// CHECK-NEXT:      nv.wgmma.wait 1
// CHECK-NEXT:    }
func.func @rotating_operand_of_a_role(%v: f16, %acc: memref<64xf32, #l>) attributes {simt.kernel, simt.threads = 256 : i64} {
  %S = tile.alloc "S" offset 0 {tile.rotating, simt.versions = 2 : i64} : memref<2048xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c128 = arith.constant 128 : index
  %c1024 = arith.constant 1024 : index
  tile.ws role "producer" threads(0 to 128) {
  } role "consumer" threads(128 to 256) {
    %tid = gpu.thread_id x
    %own = arith.subi %tid, %c128 : index
    scf.for %k = %c0 to %c8 step %c1 {
      %version = arith.remui %k, %c2 : index
      %first = arith.muli %version, %c1024 : index
      scf.for %i = %c0 to %c8 step %c1 {
        %row = arith.muli %i, %c128 : index
        %rest = arith.addi %row, %own : index
        %e = arith.addi %first, %rest : index
        memref.store %v, %S[%e] : memref<2048xf16, #s>
      }
      %d = nv.matrix %S[%first] swizzle(128) leading(16) stride(1024) : memref<2048xf16, #s>
      nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
      nv.wgmma.commit
      nv.wgmma.wait 1
    }
    nv.wgmma.wait 0
  }
  func.return
}

// -----

// Another role wrote what TMA loads: its own threads fence that, and no barrier of this role does.

#g = #tile.space<global>
#s = #tile.space<shared>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @of_another_role
// CHECK:       role "group0"
// CHECK:         memref.store
// CHECK-NEXT:    nv.fence_proxy_async
// CHECK-NEXT:    nv.mbarrier.arrive
// CHECK:       role "group1"
// CHECK-NOT:     nv.fence_proxy_async
// CHECK:         nv.bar sync {{[0-9]+}}, 128
// CHECK-NEXT:    memref.store
// CHECK-NEXT:    nv.bar sync {{[0-9]+}}, 128
// CHECK-NEXT:    scf.if
// CHECK-NOT:     nv.fence_proxy_async
// A role of all these threads continues with what they did.
// CHECK:       role "both" threads(0 to 256)
// CHECK:         nv.fence_proxy_async
// CHECK-NEXT:    nv.mbarrier.arrive
func.func @of_another_role(%x: f32, %i: index, %map: !nv.tensormap) attributes {simt.kernel, simt.threads = 256 : i64} {
  %S = tile.alloc "S" offset 0 : memref<128xf32, #s>
  %V = tile.alloc "V" offset 512 : memref<128xf32, #s>
  %full = tile.alloc "full" init [128] offset 1024 : memref<1x!nv.mbarrier, #b>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %tid = gpu.thread_id x
  %first = arith.cmpi eq, %tid, %c0 : index
  nv.tma_load %map[%c0] -> %S[%c0] barrier %full[%c0] : memref<128xf32, #s>, memref<1x!nv.mbarrier, #b>
  tile.ws
  role "group0" threads(0 to 128) {
    memref.store %x, %S[%i] : memref<128xf32, #s>
    nv.mbarrier.arrive %full[%c0] : memref<1x!nv.mbarrier, #b>
    memref.store %x, %S[%i] : memref<128xf32, #s>
  }
  tile.ws
  role "group1" threads(128 to 256) {
    scf.for %k = %c0 to %c4 step %c1 {
      memref.store %x, %V[%c0] : memref<128xf32, #s>
      scf.if %first {
        %y = memref.load %V[%c0] : memref<128xf32, #s>
      }
    }
  }
  tile.ws
  role "both" threads(0 to 256) {
    nv.mbarrier.arrive %full[%c0] : memref<1x!nv.mbarrier, #b>
  }
  func.return
}

// -----

// Eight lanes of one warp look at the row that they copy together: other warps do not wait.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @lanes_of_a_warp
// CHECK:         memref.store
// CHECK-NEXT:    tile.sync warp
// CHECK-NEXT:    memref.load
// CHECK-NEXT:    memref.load
// CHECK-NEXT:    tile.sync warp
// CHECK-NEXT:    memref.store
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    memref.load
func.func @lanes_of_a_warp(%x: i1, %z: i1) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<16xi1, #s>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %tid = gpu.thread_id x
  %row = arith.divui %tid, %c8 : index
  memref.store %x, %S[%row] : memref<16xi1, #s>
  %y = memref.load %S[%row] : memref<16xi1, #s>
  %again = memref.load %S[%row] : memref<16xi1, #s>
  memref.store %z, %S[%row] : memref<16xi1, #s>
  %all = memref.load %S[%c0] : memref<16xi1, #s>
  func.return
}

// -----

// The same on an AMD GPU, whose lanes have no barrier of their own.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @lanes_of_a_wave
// CHECK:         memref.store
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    memref.load
func.func @lanes_of_a_wave(%x: i1) attributes {simt.kernel, simt.threads = 128 : i64, tile.target = #tile.target<hip, gfx942>} {
  %S = tile.alloc "S" offset 0 : memref<16xi1, #s>
  %c8 = arith.constant 8 : index
  %tid = gpu.thread_id x
  %row = arith.divui %tid, %c8 : index
  memref.store %x, %S[%row] : memref<16xi1, #s>
  %y = memref.load %S[%row] : memref<16xi1, #s>
  func.return
}

// -----

// A thread's copies in flight overwrite its own earlier ones; what it read before waits for all.

#s = #tile.space<shared>
#g = #tile.space<global>

// CHECK-LABEL: func.func @copies_of_a_thread
// CHECK:         scf.for
// CHECK-NEXT:      nv.async_move
// CHECK-NEXT:    }
// CHECK:         memref.load %S
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    nv.async_move
func.func @copies_of_a_thread(%A: memref<1024xf32, #g>, %n: index) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<128xf32, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tid = gpu.thread_id x
  scf.for %k = %c0 to %n step %c1 {
    nv.async_move %A[%tid] -> %S[%tid] lanes(1) : memref<1024xf32, #g>, memref<128xf32, #s>
  }
  nv.cp_async.wait 0
  gpu.barrier
  %y = memref.load %S[%tid] : memref<128xf32, #s>
  nv.async_move %A[%tid] -> %S[%tid] lanes(1) : memref<1024xf32, #g>, memref<128xf32, #s>
  func.return
}

// -----

// Copies that signal a barrier when they have landed: who waits for them fences, before the tensor
// core reads what they wrote.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @landed
// CHECK:         nv.cp_async.mbarrier_arrive
// CHECK:         nv.mbarrier.wait %full
// CHECK-NEXT:    nv.fence_proxy_async
// CHECK:         nv.wgmma %
// CHECK:         nv.mbarrier.wait %other
// CHECK-NOT:     nv.fence_proxy_async
// CHECK:         func.return
func.func @landed(%A: memref<?xf16, #g>) attributes {simt.kernel, simt.threads = 256 : i64} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c128 = arith.constant 128 : index
  %S = tile.alloc "S" offset 0 : memref<1024xf16, #s>
  %acc = tile.alloc "acc" : memref<64xf32, #l>
  %full = tile.alloc "full" init [128] offset 16384 : memref<1x!nv.mbarrier, #b>
  %other = tile.alloc "other" init [128] offset 16392 : memref<1x!nv.mbarrier, #b>
  %tid = gpu.thread_id x
  %produces = arith.cmpi ult, %tid, %c128 : index
  scf.if %produces {
    %i = arith.muli %tid, %c8 : index
    nv.async_move %A[%i] -> %S[%i] lanes(8) : memref<?xf16, #g>, memref<1024xf16, #s>
    nv.cp_async.mbarrier_arrive %full[%c0] {noinc} : memref<1x!nv.mbarrier, #b>
  } else {
    nv.mbarrier.wait %full[%c0], %c0 : memref<1x!nv.mbarrier, #b>, index
    %d = nv.matrix %S[%c0] swizzle(128) leading(16) stride(1024) : memref<1024xf16, #s>
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.mbarrier.wait %other[%c0], %c0 : memref<1x!nv.mbarrier, #b>, index
  }
  func.return
}
