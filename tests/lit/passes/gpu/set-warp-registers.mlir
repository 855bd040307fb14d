// RUN: tilewright-opt -set-warp-registers -split-input-file %s | filecheck %s

// One group copies, two compute: 24 and 240 of 3 x 168.

// CHECK-LABEL: func.func @one_and_two
// CHECK:         role "producer"
// CHECK-NEXT:      nv.setmaxnreg dec 24
// CHECK:         role "consumer"
// CHECK-NEXT:      nv.setmaxnreg inc 240
func.func @one_and_two() attributes {simt.kernel, simt.threads = 384 : i64} {
  tile.ws
  role "producer" threads(0 to 128) {
    nv.fence_proxy_async
  }
  role "consumer" threads(128 to 384) {
    nv.fence_proxy_async
  }
  func.return
}

// -----

// One and three: 24 and 160.

// CHECK-LABEL: func.func @one_and_three
// CHECK:           nv.setmaxnreg dec 24
// CHECK:           nv.setmaxnreg inc 160
func.func @one_and_three() attributes {simt.kernel, simt.threads = 512 : i64} {
  tile.ws
  role "producer" threads(0 to 128) {
    nv.fence_proxy_async
  }
  role "consumer" threads(128 to 512) {
    nv.fence_proxy_async
  }
  func.return
}

// -----

// One and one: every thread has 255 anyway.

// CHECK-LABEL: func.func @one_and_one
// CHECK-NOT:     nv.setmaxnreg
func.func @one_and_one() attributes {simt.kernel, simt.threads = 256 : i64} {
  tile.ws
  role "producer" threads(0 to 128) {
    nv.fence_proxy_async
  }
  role "consumer" threads(128 to 256) {
    nv.fence_proxy_async
  }
  func.return
}

// -----

// Two blocks share the registers: 24 and 232 of 2 x 128.

// CHECK-LABEL: func.func @two_blocks
// CHECK:           nv.setmaxnreg dec 24
// CHECK:           nv.setmaxnreg inc 232
func.func @two_blocks() attributes {simt.kernel, simt.threads = 256 : i64, simt.min_blocks = 2 : i64} {
  tile.ws
  role "producer" threads(0 to 128) {
    nv.fence_proxy_async
  }
  role "consumer" threads(128 to 256) {
    nv.fence_proxy_async
  }
  func.return
}
