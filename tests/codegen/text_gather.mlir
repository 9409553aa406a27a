// Tests kernel.gather, which reads one row from the panels. It reads words of codes and rounds each op (no fma).
// DEFINE: %{tiny} = %S/../checkpoints/tiny
// DEFINE: %{level} = avx512
// DEFINE: %{codes} = ingot compile %{tiny}/llama-gguf-mixed/model.gguf --emit llvm --target cpu:%{level}
// DEFINE: %{floats} = ingot compile %{tiny}/mistral-window --emit llvm --target cpu:%{level}
// RUN: %{codes} | FileCheck %s --check-prefix=Q6K
// RUN: %{floats} | FileCheck %s --check-prefix=BF16
// REDEFINE: %{level} = avx2
// RUN: %{codes} | FileCheck %s --check-prefix=Q6K
// RUN: %{floats} | FileCheck %s --check-prefix=BF16

// Q6_K: four words of lower bits, upper pairs shifted out lane by lane; (d * s) * (q - 32).
// Q6K-LABEL:  define void @embed_0(
// Q6K-NOT:      llvm.fma
// Q6K:          fpext half {{%.+}} to float
// Q6K:          [[WORDS:%.+]] = bitcast <4 x i32> {{%.+}} to <16 x i8>
// Q6K-NEXT:     [[BYTES:%.+]] = zext <16 x i8> [[WORDS]] to <16 x i32>
// Q6K:          and <16 x i32> [[BYTES]], splat (i32 15)
// Q6K:          lshr <16 x i32> [[BYTES]], splat (i32 4)
// Q6K:          lshr <16 x i32> {{%.+}}, <i32 0, i32 0, i32 0, i32 0, i32 2,
// Q6K:          add nsw <16 x i32> {{%.+}}, splat (i32 -32)
// Q6K:          sitofp <16 x i32>
// Q6K:          fmul float
// Q6K:          fmul <16 x float>
// Q6K:          store <16 x float>
// Q6K-NOT:      llvm.fma
// Q6K-LABEL: define void @norm_0(

// For bf16, 36 wide, the padding up to 64 comes first, then eight values per iteration by a shift, and the last 4.
// BF16-LABEL: define void @embed_0(
// BF16:         store <16 x float> zeroinitializer
// BF16:         store <16 x float> zeroinitializer
// BF16:         icmp slt i64 {{%.+}}, 32
// BF16:         [[HALF:%.+]] = load i16
// BF16-NEXT:    [[WORD:%.+]] = zext i16 [[HALF]] to i32
// BF16-NEXT:    [[FLOAT:%.+]] = shl nuw i32 [[WORD]], 16
// BF16-NEXT:    store i32 [[FLOAT]],
// BF16-COUNT-11: shl nuw i32 {{%.+}}, 16
// BF16-NOT:     shl nuw i32 {{%.+}}, 16
// BF16-LABEL: define void @norm_0(
