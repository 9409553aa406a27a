// Tests kernel.causal_conv. It multiplies and adds one by one, the oldest row first: weights of four taps, then the
// bias. Channels beyond the last (the third vector has 10 of 16) are not read from weights, biases or slots, nor
// written to a slot.
// DEFINE: %{level} = avx512
// DEFINE: %{llvm} = ingot compile %S/../checkpoints/tiny/lfm2-biases-untied --emit llvm --target cpu:%{level}
// RUN: %{llvm} | FileCheck %s
// REDEFINE: %{level} = avx2
// RUN: %{llvm} | FileCheck %s

// CHECK-LABEL: define void @conv_0(
// CHECK-NOT:     llvm.fma
// CHECK:         [[A:%.+]] = fmul <16 x float>
// CHECK:         [[B:%.+]] = fmul <16 x float>
// CHECK:         [[AB:%.+]] = fadd <16 x float> [[A]], [[B]]
// CHECK:         [[C:%.+]] = fmul <16 x float>
// CHECK:         [[ABC:%.+]] = fadd <16 x float> [[AB]], [[C]]
// CHECK:         [[D:%.+]] = fmul <16 x float>
// CHECK:         [[ALL:%.+]] = fadd <16 x float> [[ABC]], [[D]]
// CHECK:         fadd <16 x float> [[ALL]],
// CHECK:         call <16 x float> @llvm.masked.load.v16f32.p0
// CHECK:         call void @llvm.masked.store.v16f32.p0
// CHECK-NOT:     llvm.fma
// CHECK:         ret void
