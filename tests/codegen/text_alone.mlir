// Tests properties of every kernel of every generator. It calls nothing except intrinsics that are instructions, LLVM
// may contract or reassociate nothing, and no sum has an unspecified order.
// DEFINE: %{tiny} = %S/../checkpoints/tiny
// DEFINE: %{model} = llama-gguf-mixed/model.gguf
// DEFINE: %{options} =
// DEFINE: %{check} = ingot compile %{tiny}/%{model} --emit llvm %{options} | FileCheck %s

// RUN: %{check}
// REDEFINE: %{options} = --target cpu:avx2
// RUN: %{check}
// REDEFINE: %{options} = --precision exact
// RUN: %{check}
// REDEFINE: %{model} = gemma3-layer-types
// REDEFINE: %{options} = --kv bf16
// RUN: %{check}
// REDEFINE: %{options} = --quantize int4-g64 --target cpu:avx2
// RUN: %{check}

// CHECK:     define void @rope_table_0(
// CHECK-NOT: call {{[^@]*@([^l]|l[^l]|llvm[.](exp|log|pow|sin|cos|tan|mem|vector[.]reduce))}}
// CHECK-NOT: {{= (f(add|sub|mul|div|rem|neg)|fptrunc|fpext|select|(tail )?call) (reassoc|nnan|ninf|nsz|arcp|contract|afn|fast) }}
// CHECK-NOT: {{ = (internal |private )?(constant|global) }}
// CHECK:     define void @linear_0(
// CHECK-NOT: call {{[^@]*@([^l]|l[^l]|llvm[.](exp|log|pow|sin|cos|tan|mem|vector[.]reduce))}}
// CHECK-NOT: {{= (f(add|sub|mul|div|rem|neg)|fptrunc|fpext|select|(tail )?call) (reassoc|nnan|ninf|nsz|arcp|contract|afn|fast) }}
// CHECK-NOT: {{ = (internal |private )?(constant|global) }}
