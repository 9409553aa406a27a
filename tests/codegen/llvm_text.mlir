// What kernels become, as LLVM IR after optimisation: the instructions that the level is for, nothing from outside.
// RUN: ingot compile %S/../checkpoints/tiny/llama-gguf-mixed/model.gguf --emit llvm --target cpu:avx512 | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: ingot compile %S/../checkpoints/tiny/llama-gguf-mixed/model.gguf --emit llvm --target cpu:avx2 | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: ingot compile %S/../checkpoints/tiny/llama-gguf-mixed/model.gguf --emit llvm --target cpu:avx512 | FileCheck %s --check-prefix=ALONE

// Projections: integer dots of a group, one explicit fma per group, weights prefetched.
// CHECK-LABEL: define {{.*}}@projections_0(ptr
// CHECK:         call void @llvm.prefetch
// AVX512:        call <16 x i32> @llvm.x86.avx512.vpdpbusd.512
// AVX2:          call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw
// AVX512:        call <16 x float> @llvm.fma.v16f32
// AVX2:          call <8 x float> @llvm.fma.v8f32

// No kernel calls anything but intrinsics, and none may contract or reassociate on its own.
// ALONE-NOT: call {{.*}}@{{exp|tanh|erf|sin|cos|mem}}
// ALONE-NOT: {{fmul|fadd|fsub}} {{.*}}{{reassoc|contract|fast}}
