// Tests kernel.rowwise: RMS norm of a row into int8 (256 wide), and of a row whose width no vector divides (36).
// DEFINE: %{tiny} = %S/../checkpoints/tiny
// RUN: ingot compile %{tiny}/llama-gguf-mixed/model.gguf --emit llvm --target cpu:avx512 | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: ingot compile %{tiny}/llama-gguf-mixed/model.gguf --emit llvm --target cpu:avx2 | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: ingot compile %{tiny}/mistral-window --emit llvm --target cpu:avx512 | FileCheck %s --check-prefix=TAIL
// RUN: ingot compile %{tiny}/mistral-window --emit llvm --target cpu:avx2 | FileCheck %s --check-prefix=TAIL

// Squares go into 16 partial sums at both levels, with product and sum rounded separately. Then comes the tree, and 1 /
// sqrt as two operations.
// CHECK-LABEL: define void @norm_0(
// CHECK:         [[SUM:%.+]] = phi <16 x float>
// CHECK:         [[X:%.+]] = load <16 x float>
// CHECK-NEXT:    [[SQUARE:%.+]] = fmul <16 x float> [[X]], [[X]]
// CHECK-NEXT:    fadd <16 x float> [[SUM]], [[SQUARE]]
// CHECK:         fadd <8 x float>
// CHECK:         fadd <4 x float>
// CHECK:         fadd <2 x float>
// CHECK:         [[ROOT:%.+]] = call float @llvm.sqrt.f32
// CHECK-NEXT:    fdiv float 1.000000e+00, [[ROOT]]

// Computes (x * inverse) * weight, then the largest of 32 magnitudes as integers, and 127 / it (0 if all are 0).
// CHECK:         [[NORMED:%.+]] = fmul <16 x float>
// CHECK:         fmul <16 x float> [[NORMED]],
// AVX512:        call <16 x i32> @llvm.smax.v16i32
// AVX2:          call <8 x i32> @llvm.smax.v8i32
// CHECK:         [[FACTOR:%.+]] = fdiv float 1.270000e+02, [[MOST:%.+]]
// CHECK:         fdiv float [[MOST]], 1.270000e+02
// CHECK:         select i1 {{.*}}, float [[FACTOR]], float 0.000000e+00

// Values are rounded to nearest even (8: regardless of the thread's rounding mode, which AVX2 uses). One instruction
// sums 16 values.
// AVX512-COUNT-2: call <16 x i32> @llvm.x86.avx512.mask.cvtps2dq.512({{.*}}, i16 -1, i32 8)
// AVX2-COUNT-4:   call <8 x i32> @llvm.x86.avx.cvt.ps2dq.256
// CHECK:         store <32 x i8>
// CHECK:         call <4 x i64> @llvm.x86.avx2.psad.bw
// CHECK-NOT:     llvm.fma
// CHECK-LABEL: define void @projections_0(

// The row ends with the last 4 of 36. Lanes beyond them are 0 in the sum and in the stored row.
// TAIL-LABEL:  define void @norm_0(
// TAIL:          [[ALL:%.+]] = fmul <16 x float>
// TAIL:          [[ALL:%.+]] = fmul <16 x float>
// TAIL-NEXT:     [[FOUR:%.+]] = shufflevector <16 x float> [[ALL]], <16 x float> <float poison, float poison, float poison, float poison, float 0.000000e+00,
// TAIL-NEXT:     fadd <16 x float> {{%.+}}, [[FOUR]]
// TAIL:          fdiv float {{%.+}}, 3.600000e+01
// TAIL:          store <16 x float> zeroinitializer
// TAIL-LABEL: define void @projections_0(
