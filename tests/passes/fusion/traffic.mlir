// Every fusion must save launches or bytes. plan-count-traffic counts those of a step of a tiny model with and without
// each fusion (bytes of weights, per token and per logits row). Named patterns are measured without the grouper, which
// would fuse some of the ops that a disabled pattern leaves. The fusion of norm and rotation with the append to the
// cache is not optional, because no other kernel computes them.
// DEFINE: %{model} = llama
// DEFINE: %{options} =
// DEFINE: %{plan} = ingot compile %S/../../checkpoints/tiny/%{model}-gguf-mixed/model.gguf --emit plan %{options}

// The grouper: in one of two layers gate and up have different formats, and silu(gate) * up is a separate launch.
// RUN: %{plan} | FileCheck %s --check-prefix=ALL
// ALL: bytes_per_step = array<i64: 247744, 27602, 3456>, {{.*}} launches = 23 :
// REDEFINE: %{options} = --disable lm-group-elementwise
// RUN: %{plan} | FileCheck %s --check-prefix=NAMED
// NAMED: bytes_per_step = array<i64: 247744, 28370, 3456>, {{.*}} launches = 24 :

// REDEFINE: %{options} = --disable lm-group-elementwise --disable lm-fuse-gate-up
// RUN: %{plan} | FileCheck %s --check-prefix=GATE-UP
// GATE-UP: bytes_per_step = array<i64: 247744, 30674, 3456>, {{.*}} launches = 26 :

// Projections of one input: q, k and v in each layer, gate and up in one of them.
// REDEFINE: %{options} = --disable lm-group-elementwise --disable lm-fuse-projections
// RUN: %{plan} | FileCheck %s --check-prefix=PROJECTIONS
// PROJECTIONS: bytes_per_step = array<i64: 247744, 30610, 3456>, {{.*}} launches = 29 :

// A projection with the addition of the residual or of a bias.
// REDEFINE: %{options} = --disable lm-group-elementwise --disable lm-fuse-residual
// RUN: %{plan} | FileCheck %s --check-prefix=RESIDUAL
// RESIDUAL: bytes_per_step = array<i64: 247744, 40658, 3456>, {{.*}} launches = 30 :

// The selection of rows with the last norm.
// REDEFINE: %{options} = --disable lm-group-elementwise --disable lm-fuse-norms
// RUN: %{plan} | FileCheck %s --check-prefix=NORMS
// NORMS: bytes_per_step = array<i64: 247744, 28370, 5504>, {{.*}} launches = 25 :

// Gemma's seven layers have a norm before and after each residual.
// REDEFINE: %{model} = gemma3
// REDEFINE: %{options} = --disable lm-group-elementwise
// RUN: %{plan} | FileCheck %s --check-prefix=GEMMA
// GEMMA: bytes_per_step = array<i64: 225920, 40900, 1408>, {{.*}} launches = 75 :
// REDEFINE: %{options} = --disable lm-group-elementwise --disable lm-fuse-norms
// RUN: %{plan} | FileCheck %s --check-prefix=GEMMA-NORMS
// GEMMA-NORMS: bytes_per_step = array<i64: 225920, 53444, 1920>, {{.*}} launches = 104 :
