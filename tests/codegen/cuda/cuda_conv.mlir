// Tests a convolution as CUDA C++. One block computes 128 channels of one sequence of the step.
// RUN: print-cuda-kernels %s | FileCheck %s

// CHECK-LABEL: // conv: causal_conv
// CHECK-NEXT:  #include "causal_conv.cuh"
// CHECK:       KERNEL void __launch_bounds__(128) conv(const float *x, const float *w, const float *bias, u8 *states, float *y, const BatchView *batch) {
// CHECK-NEXT:    pdl_launch();
// CHECK-NEXT:    causal_conv<200, 2, 1600>(x, w, bias, states, y, batch);
// CHECK:       // conv: grid spans * 2 / 1, 1 * 1 / 1; 128 threads
kernel.func @conv(%x: !kernel.activation<200, f32>, %w: !lm.weight<600, f32>, %b: !lm.weight<200, f32>, %s: !kernel.fixed_state<#lm.fixed<[x: 2x200 x f32]>>, %y: !kernel.activation<200, f32>) {
  kernel.causal_conv %x, %w bias %b : !lm.weight<200, f32> over %s : !kernel.activation<200, f32>, !lm.weight<600, f32>, !kernel.fixed_state<#lm.fixed<[x: 2x200 x f32]>> outs(%y : !kernel.activation<200, f32>)
  kernel.return
}

// This convolution has no bias.
// CHECK:         causal_conv<64, 1, 256>(x, w, nullptr, states, y, batch);
kernel.func @short(%x: !kernel.activation<64, f32>, %w: !lm.weight<128, f32>, %s: !kernel.fixed_state<#lm.fixed<[x: 1x64 x f32]>>, %y: !kernel.activation<64, f32>) {
  kernel.causal_conv %x, %w over %s : !kernel.activation<64, f32>, !lm.weight<128, f32>, !kernel.fixed_state<#lm.fixed<[x: 1x64 x f32]>> outs(%y : !kernel.activation<64, f32>)
  kernel.return
}
