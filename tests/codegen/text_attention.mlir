// Tests kernel.attention over bf16 pages with a window of 9 and heads of 26. Both levels use the same vectors of 16, so
// that the sums are the same numbers. AVX2 takes fewer rows at a time.
// DEFINE: %{llvm} = ingot compile %S/../checkpoints/tiny/gemma3-layer-types --kv bf16 --emit llvm
// RUN: %{llvm} --target cpu:avx512 | FileCheck %s
// RUN: %{llvm} --target cpu:avx2 | FileCheck %s

// CHECK-LABEL: define void @attention_0(
// The queries go to scratch, with the last 10 of 26 masked. The first maximum is finite, since inf - inf would be NaN.
// CHECK:         call <16 x float> @llvm.masked.load.v16f32.p0({{.*}}i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>
// CHECK:         store float 0xC6293E5940000000

// For q . K, shift and mask widen bf16. Each lane is one fma chain in order of d; the next block is prefetched.
// CHECK:         call void @llvm.prefetch
// CHECK:         [[WORDS:%.+]] = load <16 x i32>
// CHECK-NEXT:    shl <16 x i32> [[WORDS]], splat (i32 16)
// CHECK:         and <16 x i32> [[WORDS]], splat (i32 -65536)
// CHECK:         call <16 x float> @llvm.fma.v16f32
// CHECK-NEXT:    call <16 x float> @llvm.fma.v16f32

// Positions after the row's own and before its window count as -inf, in blocks that some row does not see whole.
// CHECK:         icmp sgt <16 x i32> {{%.+}}, <i32 -1, i32 1, i32 3,
// CHECK:         icmp slt <16 x i32> {{%.+}}, <i32 0, i32 2, i32 4,
// CHECK:         and <16 x i1>
// CHECK-NEXT:    select <16 x i1> {{%.+}}, <16 x float> {{%.+}}, <16 x float> splat (float 0xFFF0000000000000)

// 2^x by the shift trick (1.5 * 2^23) and a polynomial of explicit fmas; below -126 it is 0.
// CHECK:         [[SHIFTED:%.+]] = fadd <16 x float> [[LESS:%.+]], splat (float 0x4168000000000000)
// CHECK-NEXT:    fadd <16 x float> [[SHIFTED]], splat (float 0xC168000000000000)
// CHECK:         call <16 x float> @llvm.fma.v16f32({{.*}}splat (float 0x3F241FAC40000000)
// CHECK-COUNT-5: call <16 x float> @llvm.fma.v16f32
// CHECK:         shl <16 x i32> {{%.+}}, splat (i32 23)
// CHECK:         fcmp olt <16 x float> [[LESS]], splat (float -1.260000e+02)

// At the end there is one division by the sum of the lanes, which are added as a tree.
// CHECK:         fadd <8 x float>
// CHECK:         fadd <4 x float>
// CHECK:         fadd <2 x float>
// CHECK:         fdiv <16 x float>
// CHECK-LABEL: define void @{{.+}}_0(
