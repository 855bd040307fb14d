// RUN: tilewright-opt %s --bind-target=target=cuda:sm_90 | filecheck %s
// RUN: tilewright-opt %s --bind-target=target=hip:gfx942 | filecheck %s --check-prefix=HIP
// RUN: not tilewright-opt %s --bind-target=target=cuda:sm_91 2>&1 | filecheck %s --check-prefix=ARCH
// RUN: not tilewright-opt %s --bind-target=target=vulkan 2>&1 | filecheck %s --check-prefix=KIND
// RUN: not tilewright-opt %s --bind-target=target=hip --bind-target=target=cuda 2>&1 | filecheck %s --check-prefix=TWICE

// CHECK: func.func @empty() attributes {tile.entry, tile.target = #tile.target<cuda, sm_90a>}
// HIP: tile.target = #tile.target<hip, gfx942>
// ARCH: error[TW6007]: unknown target 'sm_91'; known: sm_80
// KIND: error[TW6007]: unknown target 'vulkan': expected one of cuda, hip, tenstorrent, numpy
// TWICE: error[TW6007]: target mismatch: the function is bound to #tile.target<hip, gfx942>
func.func @empty() attributes {tile.entry} {
  func.return
}
