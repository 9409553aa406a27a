// A symmetric head: in greedy steps of several rows only the first plane of two is computed, each dot plus the maximum
// that the second could add; both planes follow for the rows that survive (MatmulCandidates.h).
// DEFINE: %{llvm} = ingot compile %S/../checkpoints/tiny/llama3-tied --quantize int8 --emit llvm
// RUN: %{llvm} --target cpu:avx512 | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: %{llvm} --target cpu:avx2 | FileCheck %s --check-prefixes=CHECK,AVX2

// Sums of magnitudes of both planes.
// CHECK-LABEL: define void @linear_0_keys(
// CHECK:         call <4 x i64> @llvm.x86.avx2.psad.bw(
// CHECK:         call <4 x i64> @llvm.x86.avx2.psad.bw(
// CHECK:         store float

// No plane is shifted before the bound; it has the sign of the weight's scale.
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

// The survivors: both planes of one token, and nothing is prefetched again.
// CHECK:         @llvm.ctpop.i64(
// CHECK-NOT:     @llvm.prefetch
// AVX512:        shl <16 x i32> {{%.+}}, splat (i32 8)
// AVX2:          shl <8 x i32> {{%.+}}, splat (i32 8)
// CHECK:         ret void
