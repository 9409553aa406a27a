// Tests a symmetric head. In greedy steps of several rows, it computes only the first of two planes, and adds to each
// dot the maximum that the second could add. Only surviving rows compute both planes (MatmulCandidates.h).
// DEFINE: %{llvm} = ingot compile %S/../checkpoints/tiny/llama3-tied --quantize int8 --emit llvm
// RUN: %{llvm} --target cpu:avx512 | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: %{llvm} --target cpu:avx2 | FileCheck %s --check-prefixes=CHECK,AVX2

// The magnitudes of both planes are summed.
// CHECK-LABEL: define void @linear_0_keys(
// CHECK:         call <4 x i64> @llvm.x86.avx2.psad.bw(
// CHECK:         call <4 x i64> @llvm.x86.avx2.psad.bw(
// CHECK:         store float

// No plane is shifted before the bound. The bound has the sign of the weight's scale.
// CHECK:         call void @llvm.prefetch
// CHECK-NOT:     splat (i32 8)
// AVX512:        [[DOT:%.+]] = sitofp <16 x i32> {{%.+}} to <16 x float>
// AVX512:        and <16 x i32> {{%.+}}, splat (i32 -2147483648)
// AVX512:        [[MOVED:%.+]] = fadd <16 x float> [[DOT]],
// AVX512-NEXT:   call <16 x float> @llvm.fma.v16f32(<16 x float> [[MOVED]],
// AVX512:        fcmp ugt <16 x float>
// AVX2:          [[DOT:%.+]] = sitofp <8 x i32> {{%.+}} to <8 x float>
// AVX2:          and <8 x i32> {{%.+}}, splat (i32 -2147483648)
// AVX2:          [[MOVED:%.+]] = fadd <8 x float> [[DOT]],
// AVX2-NEXT:     call <8 x float> @llvm.fma.v8f32(<8 x float> [[MOVED]],
// AVX2:          fcmp ugt <8 x float>

// The survivors compute both planes of one token. Nothing is prefetched again.
// CHECK:         @llvm.ctpop.i64(
// CHECK-NOT:     @llvm.prefetch
// AVX512:        shl <16 x i32> {{%.+}}, splat (i32 8)
// AVX2:          shl <8 x i32> {{%.+}}, splat (i32 8)
// CHECK:         ret void
