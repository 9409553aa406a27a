// Tests float weights as bf16. At avx512 the rows are rounded once and vdpbf16ps takes two k at a time. At avx2 they
// stay f32 and each k is one fma. In exact precision, weights keep their stored type and rows are f32.
// DEFINE: %{tiny} = %S/../checkpoints/tiny
// DEFINE: %{llvm} = ingot compile %{tiny}/mistral-window --emit llvm
// RUN: %{llvm} --target cpu:avx512 | FileCheck %s --check-prefix=AVX512
// RUN: %{llvm} --target cpu:avx2 | FileCheck %s --check-prefix=AVX2
// RUN: %{llvm} --target cpu:avx512vnni | FileCheck %s --check-prefix=VNNI
// RUN: ingot compile %{tiny}/llama3-tied --emit llvm --target cpu:avx512 --precision exact | FileCheck %s --check-prefix=F32
// RUN: ingot compile %{tiny}/llama-old-config --emit llvm --target cpu:avx2 --precision exact | FileCheck %s --check-prefix=F16

// AVX512-LABEL: define void @projections_0(
// AVX512:         [[ROUNDED:%.+]] = call <32 x bfloat> @llvm.x86.avx512bf16.cvtne2ps2bf16.512(
// AVX512:         store <32 x bfloat> [[ROUNDED]],
// AVX512:         call void @llvm.prefetch
// AVX512:         [[W0:%.+]] = load <32 x bfloat>
// AVX512:         [[W1:%.+]] = load <32 x bfloat>
// AVX512:         [[X:%.+]] = bitcast <16 x i32> {{%.+}} to <32 x bfloat>
// AVX512-NEXT:    [[ACC:%.+]] = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> {{%.+}}, <32 x bfloat> [[W0]], <32 x bfloat> [[X]])
// AVX512-NEXT:    call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> {{%.+}}, <32 x bfloat> [[W1]], <32 x bfloat> [[X]])
// AVX512:         @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> [[ACC]],
// AVX512-NOT:     @llvm.fma
// AVX512-LABEL: define void @rope_append_0(

// Even k is the lower half of a word, odd k the upper; both go into one chain.
// AVX2-LABEL: define void @projections_0(
// AVX2-NOT:     bfloat
// AVX2:         call void @llvm.prefetch
// AVX2:         [[PAIR:%.+]] = load <8 x i32>
// AVX2-NEXT:    shl <8 x i32> [[PAIR]], splat (i32 16)
// AVX2:         [[ACC:%.+]] = call <8 x float> @llvm.fma.v8f32(
// AVX2:         and <8 x i32> [[PAIR]], splat (i32 -65536)
// AVX2:         call <8 x float> @llvm.fma.v8f32({{.*}}, <8 x float> [[ACC]])
// AVX2-NOT:     bfloat
// AVX2-LABEL: define void @rope_append_0(

// A level of 512 bits without vdpbf16ps does what avx2 does, 16 lanes at a time.
// VNNI-LABEL: define void @projections_0(
// VNNI-NOT:     bfloat
// VNNI:         [[SUM:%.+]] = call <16 x float> @llvm.fma.v16f32(
// VNNI:         call <16 x float> @llvm.fma.v16f32({{.*}}, <16 x float> [[SUM]])
// VNNI-NOT:     bfloat
// VNNI-LABEL: define void @rope_append_0(

// F32-LABEL: define void @projections_0(
// F32-NOT:     bfloat
// F32:         call void @llvm.prefetch
// F32:         [[W:%.+]] = load <16 x float>, ptr {{%.+}}, align 64
// F32:         call <16 x float> @llvm.fma.v16f32(<16 x float> [[W]],
// F32-NOT:     bfloat
// F32-LABEL: define void @rope_append_0(

// F16-LABEL: define void @projections_0(
// F16-NOT:     bfloat
// F16:         [[W:%.+]] = fpext <8 x half> {{%.+}} to <8 x float>
// F16:         call <8 x float> @llvm.fma.v8f32(<8 x float> [[W]],
// F16-NOT:     bfloat
// F16-LABEL: define void @rope_append_0(
