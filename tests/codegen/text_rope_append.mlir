// Tests kernel.rope_append: head norm, rotation and the cache. Each operation rounds once, so there is no fma.
// DEFINE: %{tiny} = %S/../checkpoints/tiny
// DEFINE: %{level} = avx512
// DEFINE: %{interleaved} = ingot compile %{tiny}/llama-gguf-mixed/model.gguf --emit llvm --target cpu:%{level}
// DEFINE: %{halves} = ingot compile %{tiny}/gemma3-layer-types --kv bf16 --emit llvm --target cpu:%{level}
// RUN: %{interleaved} | FileCheck %s --check-prefix=PAIRS
// RUN: %{halves} | FileCheck %s --check-prefix=HALVES
// REDEFINE: %{level} = avx2
// RUN: %{interleaved} | FileCheck %s --check-prefix=PAIRS
// RUN: %{halves} | FileCheck %s --check-prefix=HALVES

// Neighbours are (2i, 2i+1) in heads of 24, so the second vector has 8 values. The neighbour comes from a shuffle. The
// minus sign of a' is in the sine.
// PAIRS-LABEL: define void @rope_append_0(
// PAIRS-NOT:     llvm.fma
// PAIRS:         call <16 x float> @llvm.masked.load.v16f32.p0({{.*}}i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>
// PAIRS:         xor <16 x i32> {{%.+}}, <i32 -2147483648, i32 0,
// PAIRS:         [[OTHER:%.+]] = shufflevector <16 x float> [[X:%.+]], <16 x float> poison, <16 x i32> <i32 1, i32 0, i32 3, i32 2,
// PAIRS-NEXT:    [[A:%.+]] = fmul <16 x float> [[X]],
// PAIRS-NEXT:    [[B:%.+]] = fmul <16 x float> [[OTHER]],
// PAIRS-NEXT:    fadd <16 x float> [[A]], [[B]]
// PAIRS-NOT:     llvm.fma
// PAIRS:         call void @llvm.masked.store.v16f32.p0

// Values go into the cache as f16. A value that f16 cannot hold becomes the largest f16, never an infinity.
// PAIRS:         fcmp ogt <16 x float> {{%.+}}, splat (float 6.550400e+04)
// PAIRS:         fcmp olt <16 x float> {{%.+}}, splat (float -6.550400e+04)
// PAIRS:         fptrunc <16 x float> {{%.+}} to <16 x half>
// PAIRS-NOT:     llvm.fma
// PAIRS-LABEL: define void @attention_0(

// The head norm adds 1 to the weight. Halves (i, i + 13) that are not aligned to vectors go through scratch.
// HALVES-LABEL: define void @rope_append_0(
// HALVES-NOT:    llvm.fma
// HALVES:        call float @llvm.sqrt.f32
// HALVES-NEXT:   fdiv float 1.000000e+00,
// HALVES:        fadd <16 x float> {{%.+}}, splat (float 1.000000e+00)
// HALVES-NEXT:   [[NORMED:%.+]] = fmul <16 x float>
// HALVES-NEXT:   fmul <16 x float> [[NORMED]],
// HALVES:        call <16 x float> @llvm.masked.load.v16f32.p0
// HALVES:        [[AC:%.+]] = fmul <16 x float> [[A:%.+]], [[COS:%.+]]
// HALVES-NEXT:   [[BS:%.+]] = fmul <16 x float> [[B:%.+]], [[SIN:%.+]]
// HALVES-NEXT:   fsub <16 x float> [[AC]], [[BS]]
// HALVES-NEXT:   [[BC:%.+]] = fmul <16 x float> [[B]], [[COS]]
// HALVES-NEXT:   [[AS:%.+]] = fmul <16 x float> [[A]], [[SIN]]
// HALVES-NEXT:   fadd <16 x float> [[BC]], [[AS]]
// HALVES:        call void @llvm.masked.store.v16f32.p0

// Integer operations round to the nearest even bf16. NaN stays NaN.
// HALVES:        [[BITS:%.+]] = bitcast <16 x float> [[V:%.+]] to <16 x i32>
// HALVES-NEXT:   [[UPPER:%.+]] = lshr <16 x i32> [[BITS]], splat (i32 16)
// HALVES-NEXT:   and <16 x i32> [[UPPER]], splat (i32 1)
// HALVES:        add <16 x i32> {{%.+}}, splat (i32 32767)
// HALVES:        or <16 x i32> [[UPPER]], splat (i32 64)
// HALVES-NEXT:   fcmp uno <16 x float> [[V]],
// HALVES:        trunc {{.*}}<16 x i32> {{%.+}} to <16 x i16>
// HALVES-NOT:    llvm.fma
// HALVES-LABEL: define void @attention_0(
