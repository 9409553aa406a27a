// Caches of single layers get an element type, and layers of one kind that then differ get separate kinds. Layers that
// no rule names keep the original kind, and a layer without a cache is unchanged.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm-choose-kv{layers=1-2:int8,4-4:f32,5-5:int8})' | FileCheck %s
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm-choose-kv{layers=0-5:int8})' | FileCheck %s --check-prefix=ALL
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm-choose-kv{layers=1-2:int8,4-4:f32},lm-select-kernels{kv=f16},kernel-place,plan-outline)' | FileCheck %s --check-prefix=PLAN
// RUN: not ingot-opt %s --pass-pipeline='builtin.module(lm-choose-kv{layers=1-1:fp8},lm-select-kernels{kv=f16},kernel-place,plan-outline)' 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: not ingot-opt %s --pass-pipeline='builtin.module(lm-choose-kv{layers=1-2:int8,2-4:f32})' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not ingot-opt %s --pass-pipeline='builtin.module(lm-choose-kv{layers=1-6:int8})' 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not ingot-opt %s --pass-pipeline='builtin.module(lm-choose-kv{layers=1-2:int9})' 2>&1 | FileCheck %s --check-prefix=FORMAT

// CHECK:      lm.state @kv.0 : #lm.paged<[k: 1x64, v: 1x64]>{{$}}
// CHECK-NEXT: lm.state @kv.1 : #lm.paged<[k: 1x64, v: 1x64]> of "int8"
// CHECK-NEXT: lm.state @kv.2 : #lm.paged<[k: 1x64, v: 1x64]> of "int8"
// CHECK-NEXT: lm.state @kv.3 : #lm.paged<[k: 1x64, v: 1x64]>{{$}}
// CHECK-NEXT: lm.state @kv.4 : #lm.paged<[k: 1x64, v: 1x64]> of "f32"
// CHECK:      lm.layer_kind @layer({{.*}}%{{[a-z0-9]+}}: !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>,
// CHECK:      lm.layer_kind @layer_int8({{.*}}%{{[a-z0-9]+}}: !lm.state<#lm.paged<[k: 1x64, v: 1x64]>> {lm.element = "int8"},
// CHECK:      lm.layer_kind @layer_f32({{.*}}%{{[a-z0-9]+}}: !lm.state<#lm.paged<[k: 1x64, v: 1x64]>> {lm.element = "f32"},
// CHECK:      lm.layer_kind @norm(
// CHECK-NOT:  lm.layer_kind
// CHECK:      lm.layers {{.*}}kinds = [@layer, @layer_int8, @layer_int8, @layer, @layer_f32, @norm]

// ALL:     lm.layer_kind @layer({{.*}}{lm.element = "int8"}
// ALL-NOT: @layer_
// ALL:     kinds = [@layer, @layer, @layer, @layer, @layer, @norm]

// PLAN-DAG: kernel.rope_append {{.*}}<1, 64, f16>
// PLAN-DAG: kernel.rope_append {{.*}}<1, 64, int8>
// PLAN-DAG: kernel.rope_append {{.*}}<1, 64, f32>
// PLAN:     plan.state @kv.0 : #lm.paged<[k: 1x64, v: 1x64]> of "f16" window 0 bytes 8192
// PLAN:     plan.state @kv.1 : #lm.paged<[k: 1x64, v: 1x64]> of "int8" window 0 bytes 4352
// PLAN:     plan.state @kv.4 : #lm.paged<[k: 1x64, v: 1x64]> of "f32" window 0 bytes 16384
// PLAN:     plan.step @layer layer 0 states [@kv.0]
// PLAN:     plan.step @layer_int8 layer 1 states [@kv.1]
// PLAN:     plan.step @layer_f32 layer 4 states [@kv.4]

// DEVICE: error: 'lm.state' op has the element type "fp8", but cpu supports f32, bf16, f16, int8 and int4
// TWICE:  error: names a layer twice: '2-4:f32'
// RANGE:  error: expects FIRST-LAST:FORMAT of 6 layers, got '1-6:int8'
// FORMAT: error: expects FIRST-LAST:FORMAT of 6 layers, got '1-2:int9'

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @n : !lm.weight<64, f32> {source = "n"}
  lm.state @kv.0 : #lm.paged<[k: 1x64, v: 1x64]>
  lm.state @kv.1 : #lm.paged<[k: 1x64, v: 1x64]>
  lm.state @kv.2 : #lm.paged<[k: 1x64, v: 1x64]>
  lm.state @kv.3 : #lm.paged<[k: 1x64, v: 1x64]>
  lm.state @kv.4 : #lm.paged<[k: 1x64, v: 1x64]>
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>) {
    %kv1 = lm.fused "rope_append" -> !lm.state<#lm.paged<[k: 1x64, v: 1x64]>> {
      %0 = lm.kv_append %x, %x, %kv at %b : tensor<?x64xf32>, tensor<?x64xf32>, !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>
      lm.yield %0 : !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>
    }
    %a = lm.attention %x, %kv1, %b {heads = 1 : i64, scale = 1.0 : f32} : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 1x64, v: 1x64]>> -> tensor<?x64xf32>
    lm.return %a, %kv1 : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>
  }
  lm.layer_kind @norm(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}) -> tensor<?x64xf32> {
    %0 = lm.rms_norm %x, %n {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    lm.return %0 : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %s: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %s1 = lm.layers %x, %s, %b {kinds = [@layer, @layer, @layer, @layer, @layer, @norm], states = [[@kv.0], [@kv.1], [@kv.2], [@kv.3], [@kv.4], []], weights = [[], [], [], [], [], [@n]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %s1 : tensor<?x40xf32>, !lm.states
  }
}
