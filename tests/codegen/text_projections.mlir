// Tests projections of quantised weights as LLVM IR after optimisation. A group has integer dots and one explicit fma,
// and weights are prefetched.
// DEFINE: %{llvm} = ingot compile %S/../checkpoints/tiny/llama-gguf-mixed/model.gguf --emit llvm
// RUN: %{llvm} --target cpu:avx512 | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: %{llvm} --target cpu:avx2 | FileCheck %s --check-prefixes=CHECK,AVX2

// CHECK-LABEL: define void @projections_0(
// CHECK:         call void @llvm.prefetch
// AVX512:        call <16 x i32> @llvm.x86.avx512.vpdpbusd.512
// AVX2:          call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw
// AVX512:        call <16 x float> @llvm.fma.v16f32
// AVX2:          call <8 x float> @llvm.fma.v8f32
// CHECK-LABEL: define void @rope_append_0(
