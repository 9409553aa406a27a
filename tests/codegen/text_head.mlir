// Tests the head. Rows have two int8 planes (q8x2), and the second holds the remainder of the first. The dots of a
// group are one integer.
// DEFINE: %{llvm} = ingot compile %S/../checkpoints/tiny/llama-gguf-mixed/model.gguf --emit llvm
// RUN: %{llvm} --target cpu:avx512 | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: %{llvm} --target cpu:avx2 | FileCheck %s --check-prefixes=CHECK,AVX2

// Only rows of logits are computed. rowTokens gives the rows to read.
// CHECK-LABEL: define void @select_norm_0(
// CHECK:         [[TOKEN:%.+]] = load i32
// CHECK-NEXT:    sext i32 [[TOKEN]] to i64
// The second plane is x - q * scale, computed as one fma of the codes with the negated scale.
// CHECK:         fdiv float {{%.+}}, 1.270000e+02
// AVX512:        [[CODES:%.+]] = sitofp <16 x i32> {{%.+}} to <16 x float>
// AVX512-NEXT:   call <16 x float> @llvm.fma.v16f32(
// AVX2:          [[CODES:%.+]] = sitofp <8 x i32> {{%.+}} to <8 x float>
// AVX2-NEXT:     call <8 x float> @llvm.fma.v8f32(
// The second plane's step is 1/256 of the first one's, so it needs no other division.
// CHECK-NOT:     fdiv
// CHECK:         fmul float {{%.+}}, 3.906250e-03
// CHECK:         ret void

// Q5_K with 97 rows has 4 bits and the fifth. The minimums are a second fma on the group's scaled sum.
// CHECK-LABEL: define void @linear_0(
// CHECK:         call void @llvm.prefetch
// AVX512:        and <64 x i8> {{%.+}}, splat (i8 15)
// AVX512:        and <64 x i8> {{%.+}}, splat (i8 16)
// AVX512:        call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> zeroinitializer,
// AVX512:        shl <16 x i32> {{%.+}}, splat (i32 8)
// AVX512:        [[DOT:%.+]] = sitofp <16 x i32> {{%.+}} to <16 x float>
// AVX512-NEXT:   [[SUM:%.+]] = call <16 x float> @llvm.fma.v16f32(<16 x float> [[DOT]],
// AVX512:        call <16 x float> @llvm.fma.v16f32({{.*}}, <16 x float> [[SUM]])
// AVX2:          and <32 x i8> {{%.+}}, splat (i8 16)
// AVX2:          call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw
// AVX2:          call <8 x i32> @llvm.x86.avx2.pmadd.wd
// AVX2:          shl <8 x i32> {{%.+}}, splat (i32 8)
// AVX2:          [[DOT:%.+]] = sitofp <8 x i32> {{%.+}} to <8 x float>
// AVX2-NEXT:     [[SUM:%.+]] = call <8 x float> @llvm.fma.v8f32(<8 x float> [[DOT]],
// AVX2:          call <8 x float> @llvm.fma.v8f32({{.*}}, <8 x float> [[SUM]])
// CHECK:         ret void
