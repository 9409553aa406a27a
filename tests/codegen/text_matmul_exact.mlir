// Tests --precision exact with Q4_K. Each weight is (d * s) * q - (dmin * t) with one rounding per operation, then one
// fma chain per output runs in order of k. Rows are f32, and there is no integer dot.
// DEFINE: %{llvm} = ingot compile %S/../checkpoints/tiny/llama-gguf-mixed/model.gguf --precision exact --emit llvm
// RUN: %{llvm} --target cpu:avx512 | FileCheck %s '-D$N=16'
// RUN: %{llvm} --target cpu:avx2 | FileCheck %s '-D$N=8'

// CHECK-LABEL: define void @projections_0(
// CHECK-NOT:     {{vpdpbusd|pmadd}}
// CHECK:         [[D:%.+]] = fpext <[[$N]] x half> {{%.+}} to <[[$N]] x float>
// CHECK:         [[S:%.+]] = uitofp <[[$N]] x i8> {{%.+}} to <[[$N]] x float>
// CHECK-NEXT:    [[SCALE:%.+]] = fmul <[[$N]] x float> [[D]], [[S]]
// CHECK:         [[DMIN:%.+]] = fpext <[[$N]] x half> {{%.+}} to <[[$N]] x float>
// CHECK:         [[T:%.+]] = uitofp <[[$N]] x i8> {{%.+}} to <[[$N]] x float>
// CHECK-NEXT:    [[MINIMUM:%.+]] = fmul <[[$N]] x float> [[DMIN]], [[T]]

// k = 0 of a lane is the lowest byte,
// CHECK:         [[Q:%.+]] = and <[[$N]] x i32> [[LANES:%.+]], splat (i32 15)
// CHECK-NEXT:    [[CODE:%.+]] = uitofp nneg <[[$N]] x i32> [[Q]] to <[[$N]] x float>
// CHECK-NEXT:    [[SCALED:%.+]] = fmul <[[$N]] x float> [[SCALE]], [[CODE]]
// CHECK-NEXT:    [[W:%.+]] = fsub <[[$N]] x float> [[SCALED]], [[MINIMUM]]
// CHECK:         [[ACC:%.+]] = call <[[$N]] x float> @llvm.fma.v[[$N]]f32(<[[$N]] x float> [[W]],

// k = 1 is the next byte; its product is added to the sum of k = 0.
// CHECK:         lshr <[[$N]] x i32> [[LANES]], splat (i32 8)
// CHECK:         call <[[$N]] x float> @llvm.fma.v[[$N]]f32({{.*}}, <[[$N]] x float> [[ACC]])
// CHECK-NOT:     {{vpdpbusd|pmadd}}
// CHECK-LABEL: define void @rope_append_0(
