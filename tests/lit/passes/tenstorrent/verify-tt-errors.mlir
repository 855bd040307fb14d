// RUN: not tilewright-opt %s --verify-tt --split-input-file 2>&1 | filecheck %s

// CHECK: error[TW7100]: Missing required attribute: tensix.host_plan
// CHECK: error[TW7100]: Missing required attribute: grid
tensix.kernel @reader role(reader) {
}

// -----

tensix.host_plan @empty {plan = {}}
