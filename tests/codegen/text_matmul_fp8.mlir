// Tests fp8 weights at both levels. A sign extension, a shift and a mask turn a code into an f16, which F16C widens.
// The scale with its factor 2^8 is applied once per 128 k. One chain of fma runs in order of k.
// DEFINE: %{fp8} = ingot compile %S/../checkpoints/tiny/mistral-window --quantize fp8 --emit llvm
// RUN: %{fp8} --target cpu:avx512 | FileCheck %s --check-prefix=AVX512
// RUN: %{fp8} --target cpu:avx2 | FileCheck %s --check-prefix=AVX2

// AVX512-LABEL: define void @projections_0(
// AVX512:         fmul <16 x float> {{%.+}}, splat (float 2.560000e+02)
// AVX512:         [[CODES:%.+]] = load <16 x i8>, ptr {{%.+}}, align 16
// AVX512-NEXT:    [[WIDE:%.+]] = sext <16 x i8> [[CODES]] to <16 x i16>
// AVX512-NEXT:    [[UP:%.+]] = shl nsw <16 x i16> [[WIDE]], splat (i16 7)
// AVX512-NEXT:    [[HALF:%.+]] = and <16 x i16> [[UP]], splat (i16 -16512)
// AVX512-NEXT:    [[BITS:%.+]] = bitcast <16 x i16> [[HALF]] to <16 x half>
// AVX512-NEXT:    [[F:%.+]] = fpext <16 x half> [[BITS]] to <16 x float>
// AVX512-NEXT:    [[W:%.+]] = fmul <16 x float> {{%.+}}, [[F]]
// AVX512:         call <16 x float> @llvm.fma.v16f32(<16 x float> [[W]],
// AVX512-LABEL: define void @rope_append_0(

// AVX2-LABEL: define void @projections_0(
// AVX2:         [[CODES:%.+]] = load <8 x i8>, ptr {{%.+}}, align 8
// AVX2-NEXT:    sext <8 x i8> [[CODES]] to <8 x i16>
// AVX2:         fpext <8 x half> {{%.+}} to <8 x float>
// AVX2:         call <8 x float> @llvm.fma.v8f32(
// AVX2-LABEL: define void @rope_append_0(
