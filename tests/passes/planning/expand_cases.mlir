// Nested conditions become one case for each list of launches that can occur, the last without a condition.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(plan-expand-cases)' | FileCheck %s
// RUN: ingot-opt %s --pass-pipeline='builtin.module(plan-expand-cases,plan-expand-cases)' | FileCheck %s
// RUN: not ingot-opt %s --pass-pipeline='builtin.module(plan.program(plan-elide-barriers))' 2>&1 | FileCheck %s --check-prefix=NESTED
// NESTED: 'plan.when' op expects plan-expand-cases to have run

// Kernels get the counts with which they are launched; kernels that are never launched are removed.
// CHECK-LABEL: kernel.func @a({{.*}} attributes {counts = #kernel.counts<1 to 1>} {
// CHECK-LABEL: kernel.func @b({{.*}} attributes {counts = #kernel.counts<2 to 8>} {
// CHECK-LABEL: kernel.func @c({{.*}} attributes {counts = #kernel.counts<9>} {
// CHECK-LABEL: kernel.func @d({{.*}}f32>) {
// CHECK-NOT:   kernel.func
kernel.func @a(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }
  kernel.return
}
kernel.func @b(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }
  kernel.return
}
kernel.func @c(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }
  kernel.return
}
kernel.func @d(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }
  kernel.return
}
kernel.func @never(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }
  kernel.return
}

plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @x per_token 256 persistent
  plan.buffer @y per_token 256

  // A nested condition is resolved if the outer one implies it: one token is at most 8.
  // CHECK:      plan.section @nested {
  // CHECK-NEXT:   plan.case when [tokens <= 1] {
  // CHECK-NEXT:     plan.launch @a
  // CHECK-NEXT:     plan.launch @d
  // CHECK-NEXT:   }
  // CHECK-NEXT:   plan.case when [tokens <= 8] {
  // CHECK-NEXT:     plan.launch @b
  // CHECK-NEXT:     plan.launch @d
  // CHECK-NEXT:   }
  // CHECK-NEXT:   plan.case {
  // CHECK-NEXT:     plan.launch @c
  // CHECK-NEXT:     plan.launch @d
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  plan.section @nested {
    plan.when [tokens <= 1] {
      plan.when [tokens <= 8] {
        plan.launch @a [#plan.buffer<@x>, #plan.buffer<@y>]
      } else {
        plan.launch @never [#plan.buffer<@x>, #plan.buffer<@y>]
      }
    } else {
      plan.when [tokens <= 8] {
        plan.launch @b [#plan.buffer<@x>, #plan.buffer<@y>]
      } else {
        plan.launch @c [#plan.buffer<@x>, #plan.buffer<@y>]
      }
    }
    plan.launch @d [#plan.buffer<@x>, #plan.buffer<@y>]
  }

  // Conditions on two quantities are conjunctions; a step has one mode. Cases with the same launches become one.
  // CHECK:      plan.section @both {
  // CHECK-NEXT:   plan.case when [mode = greedy, rows <= 4] {
  // CHECK-NEXT:   }
  // CHECK-NEXT:   plan.case when [mode = greedy] {
  // CHECK-NEXT:     plan.launch @d
  // CHECK-NEXT:   }
  // CHECK-NEXT:   plan.case {
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  plan.section @both {
    plan.when [mode = greedy] {
      plan.when [rows <= 4] {
      } else {
        plan.launch @d [#plan.buffer<@x>, #plan.buffer<@y>]
      }
    } else {
      plan.when [mode = greedy] {
        plan.launch @never [#plan.buffer<@x>, #plan.buffer<@y>]
      } else {
        plan.when [mode = drawn, tokens <= 8] {
        }
      }
    }
  }

  // CHECK:      plan.section @straight {
  // CHECK-NEXT:   plan.launch @d
  plan.section @straight {
    plan.when [rows <= 4] {
      plan.launch @d [#plan.buffer<@x>, #plan.buffer<@y>]
    } else {
      plan.launch @d [#plan.buffer<@x>, #plan.buffer<@y>]
    }
  }
}
