//===- Passes.td - Every pass of the compiler -----------------------------===//
//
// File organisation, in the order in which Pipelines.cpp runs the passes
//   quantize/   numeric formats of weights
//   (extend)    the user's patterns: compiler/extend, tests/passes/extend
//   fusion/     groups ops into launches (named patterns, then the grouper)
//   lowering/   lm -> kernel + plan, and cases in which one kernel replaces several
//   planning/   cases, buffers, barriers, traffic
//
// One pass is one .cpp file and one test tests/passes/<folder>/<name>.mlir.
//===----------------------------------------------------------------------===//
#ifndef INGOT_PASSES_PASSES_TD
#define INGOT_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Options of several passes: their types and defaults are in PassOptions.h
//===----------------------------------------------------------------------===//

def PrecisionOption : Option<"precision", "precision", "::ingot::Precision", "::ingot::kDefaultPrecision",
                             "fast or exact">;
def DeviceOption : Option<"device", "device", "::ingot::DeviceKind", "::ingot::kDefaultDevice",
                          "the device whose target answers (passes/Target.h): cpu or cuda">;
/// DeviceOption with GPUs as the default, for passes that run only or mostly for them.
def GpuOption : Option<"device", "device", "::ingot::DeviceKind", "::ingot::DeviceKind::Cuda",
                       "the device whose target answers (passes/Target.h): cpu or cuda">;

//===----------------------------------------------------------------------===//
// quantize/
//===----------------------------------------------------------------------===//

def QuantizeWeightsPass : Pass<"lm-quantize-weights", "::ingot::lm::ModelOp"> {
  let summary = "quantise floating-point matrices";
  let description = [{
    Floating-point matrices that `lm.linear` reads get `format`. The embedding and the head (the weights that `lm.embed`
    and the linears of the entry point read) get int8, since they affect quality most and are read once per step.
    `rules` take precedence: "GLOB:FORMAT" over weight symbols (`blk.*.ffn_down:int8`), for weights of any format; the
    first match applies. Layers whose formats then differ get layer kinds of their own.
    Numbers are rounded when the engine is packed; `stored` keeps the format of the checkpoint.
  }];
  let options = [Option<"format", "format", "std::string", "\"\"",
                        "the format of floating-point matrices: int8, int4_g32, int4_g64, int4_g128 or fp8">,
                 ListOption<"rules", "rules", "std::string", "GLOB:FORMAT; the first match applies">];
}

def RoundFloatsPass : Pass<"lm-round-floats", "::ingot::lm::ModelOp"> {
  let summary = "store floating-point matrices as bf16 (fast precision)";
  let description = [{
    f32 and f16 matrices become bf16, the input format of vdpbf16ps. This halves the bytes of f32. Vectors stay f32.
  }];
}

//===----------------------------------------------------------------------===//
// (extend)
//===----------------------------------------------------------------------===//

def ApplyPatternsPass : Pass<"lm-apply-patterns", "::ingot::lm::ModelOp"> {
  let summary = "apply the rewrite patterns of a file (ingot compile --patterns)";
  let description = [{
    `patterns` is a file of PDLL (`.pdll`, which the tool mlir-pdll translates) or of PDL IR (`.pdl.mlir`). Its
    patterns are applied until none matches. A remark reports how often they matched, or that they never did.
    `rewrites=N` stops after the first N rewrites; the rewrite that E0428 names is the difference between N - 1 and N.
    `devices` are the targets that Fuse and TargetCanFuse query; without any, no target is queried.
  }];
  let options = [Option<"patterns", "patterns", "std::string", "\"\"", "a .pdll, .pdl.mlir or .mlir file">,
                 Option<"rewrites", "rewrites", "int64_t", "-1", "largest number of rewrites; negative: no limit">,
                 ListOption<"devices", "devices", "::ingot::DeviceKind", "the devices whose targets are queried">,
                 PrecisionOption,
                 Option<"fp8Rows", "fp8-rows", "bool", "false", "the fp8-rows option of lm-choose-encodings">];
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect",
                           "::ingot::kernel::KernelDialect", "::ingot::plan::PlanDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def ApplyKernelPatternsPass : Pass<"kernel-apply-patterns", "::mlir::ModuleOp"> {
  let summary = "apply the rewrite patterns of a file to kernels and launches (ingot compile --patterns pre-plan=FILE)";
  let description = [{
    Applies patterns as lm-apply-patterns does, to each kernel.func until none matches, then to the launches of the
    program, each of which is tried once. FuseIntoConsumers and FuseIntoProducer query the target `device` for kernels
    that replace several others. Functions that create regions and weights apply to `lm` only and have no effect here.
  }];
  let options = [Option<"patterns", "patterns", "std::string", "\"\"", "a .pdll, .pdl.mlir or .mlir file">,
                 ListOption<"device", "device", "::ingot::DeviceKind",
                            "the device of the launches; none: no target is queried">];
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect"];
}

//===----------------------------------------------------------------------===//
// fusion/
//===----------------------------------------------------------------------===//

def FuseGateUpPass : Pass<"lm-fuse-gate-up", "::ingot::lm::ModelOp"> {
  let summary = "fuse two projections of one input and activation(gate) * up";
  let description = [{
    The two weights must have the same type; otherwise there is a missed remark. The patterns are in
    passes/patterns/GateUp.pdll.
  }];
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect"];
}
def FuseProjectionsPass : Pass<"lm-fuse-projections", "::ingot::lm::ModelOp"> {
  let summary = "fuse projections of one input (q, k, v) into segments of one launch";
}
def FuseResidualPass : Pass<"lm-fuse-residual", "::ingot::lm::ModelOp"> {
  let summary = "fuse a projection and the addition of the residual";
  let description = "The patterns are in passes/patterns/Residual.pdll.";
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect"];
}
def FuseRopeAppendPass : Pass<"lm-fuse-rope-append", "::ingot::lm::ModelOp"> {
  let summary = "fuse the norm and rotation of queries and keys with the KV append";
}
def FuseNormsPass : Pass<"lm-fuse-norms", "::ingot::lm::ModelOp"> {
  let summary = "fuse a norm, the residual addition and the next norm; fuse row selection with the last norm";
  let description = "The patterns are in passes/patterns/Norms.pdll.";
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect"];
}
def GroupElementwisePass : Pass<"lm-group-elementwise", "::ingot::lm::ModelOp"> {
  let summary = "generic grouper: fuse a root and the elementwise ops up to its post-dominator";
  let description = [{
    For every op that no named pattern fused, a group grows from this root along the immediate post-dominator
    (Boost.Graph's Lengauer-Tarjan on the reversed data flow) while all ops on the way are elementwise on rows of the
    root's width. A single op is not a group and stays unchanged.
  }];
}

//===----------------------------------------------------------------------===//
// lowering/
//===----------------------------------------------------------------------===//

def ChooseEncodingsPass : Pass<"lm-choose-encodings", "::ingot::lm::ModelOp"> {
  let summary = "choose the encodings of rows between launches, which projections read (lm.cast)";
  let description = [{
    With `fast`, quantised weights are multiplied by rows of q8 (int8, one scale per 32 values; q8x2 in the entry point,
    which has the head). On a device that reads bf16 rows, all weights are multiplied by those. A conversion is fused
    into the launch that produces its value if that launch can write the encoding; otherwise it is a launch of its own.
    With `exact`, all rows are f32.
  }];
  let options = [PrecisionOption, DeviceOption,
                 Option<"fp8Rows", "fp8-rows", "bool", "false",
                        "for cuda: give projections of fp8 weights fp8 rows as well">];
}
def ChooseKvPass : Pass<"lm-choose-kv", "::mlir::ModuleOp"> {
  let summary = "choose the KV cache formats of individual layers";
  let description = [{
    Paged states of the listed layers get an element (`lm.state @kv.0 : #lm.paged<[…]> of "int8"`). Layers of one kind
    whose elements then differ get layer kinds of their own, named after the element: `@layer` and `@layer_int8`. All
    other states get the element of lm-lower-to-plan, which also rejects elements that the device does not support.
  }];
  let options = [ListOption<"layers", "layers", "std::string",
                            "FIRST-LAST:FORMAT, counted from 0, a name of runtime/formats/KvFormat.h; no layer twice">];
}
def LowerToPlanPass : Pass<"lm-lower-to-plan", "::mlir::ModuleOp"> {
  let summary = "outline every fused region into a kernel.func and every function into a plan section";
  let description = [{
    Rows have the encodings that lm-choose-encodings chose. With `fast`, projections with bf16 weights may round f32
    rows. `kv` is the element type of the KV pools whose state has none of its own (lm-choose-kv).
  }];
  let options = [PrecisionOption,
                 Option<"kv", "kv", "::ingot::KvFormat", "::ingot::kDefaultKv", "a name of runtime/formats/KvFormat.h">,
                 DeviceOption];
  let dependentDialects = ["::ingot::kernel::KernelDialect", "::ingot::plan::PlanDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def ChooseLayoutsPass : Pass<"kernel-choose-layouts", "::mlir::ModuleOp"> {
  let summary = "choose the layout of each matrix, which becomes part of its type";
  let description = [{
    The target chooses once for each weight and sees all kernels that read it, in any section and layer: `frag16` for
    GPUs, `panel32` for CPUs. The types of the plan's weight and of the kernels' operands get the layout; they determine
    how bytes are counted, stored and packed.
  }];
  let options = [DeviceOption];
}
def FoldArgmaxPass : Pass<"kernel-fold-argmax", "::mlir::ModuleOp"> {
  let summary = "let the projection that computes the logits find the largest of each row";
  let description = [{
    The launch that writes the logits, a projection of logits rows, gets a buffer with one key per row. Its blocks raise
    the key to the largest value and its index. The keys are an output of the entry point, which thereby gets the mode
    greedy. If the target has code for keys without logits (CPUs), greedy steps are a case of their own, and the other
    steps also write the largest of each 32 logits, which tell a sampler where to look. Otherwise (GPUs) there is a
    case of few rows that writes both.
  }];
  let options = [GpuOption];
}
def Fp8CasesPass : Pass<"kernel-fp8-cases", "::mlir::ModuleOp"> {
  let summary = "GPUs: restrict fp8 rows and their projections to steps of many tokens";
  let options = [Option<"few", "few", "int64_t", /*default=*/"64",
                        "the largest number of tokens (or rows) for which no code multiplies in fp8">];
}
def AppendEpiloguesPass : Pass<"kernel-append-epilogues", "::mlir::ModuleOp"> {
  let summary = "GPUs: in steps of few tokens, fuse rotation and append into the projection of q, k and v";
  let description = [{
    Applies to a `kernel.rope_append` without norms whose q, k and v are the outputs of one projection. In steps of few
    (8) tokens it is replaced by a kernel that holds a copy of the projection followed by the rotation. It is not fused
    if another launch reads the rows of k or v, or if the target has no code for the kernel. The patterns are in
    passes/patterns/AppendEpilogues.pdll.
  }];
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect"];
  let options = [GpuOption];
}
def NormProloguesPass : Pass<"kernel-norm-prologues", "::mlir::ModuleOp"> {
  let summary = "GPUs: in steps of few tokens, fuse a norm into the projections that read it";
  let description = [{
    Applies to a `kernel.rowwise` whose only output is bf16 rows that only projections of the same extent read. In steps
    of few tokens it is replaced by copies of those projections, each of which computes the rows in its own kernel. The
    target determines the limit for such kernels (on GPUs 1, 2, 4 or 8 tokens). The pass runs last, so all other cases
    of a projection are nested inside its own. The patterns are in passes/patterns/NormPrologues.pdll.
  }];
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect"];
  let options = [GpuOption];
}

//===----------------------------------------------------------------------===//
// planning/
//===----------------------------------------------------------------------===//

def AddWorkspacesPass : Pass<"plan-add-workspaces", "::mlir::ModuleOp"> {
  let summary = "GPUs: add a buffer for kernels that need memory in addition to their operands";
  let description = [{
    Kernels whose code needs a workspace get one as their last operand. The program gets one buffer `workspace` of the
    class `fixed` that is large enough for each of them.
  }];
  let options = [GpuOption];
}
def FindIdsPass : Pass<"plan-find-ids", "::mlir::ModuleOp"> {
  let summary = "GPUs: add a section after the logits that finds or draws the ids of their rows";
  let description = [{
    The section `ids` has launches for steps that take the id of the largest logit, and others for steps that draw. The
    entry point gets a step that runs the section, the output `ids`, and the modes greedy and drawn.
  }];
  let options = [GpuOption];
}
def ExpandCasesPass : Pass<"plan-expand-cases", "::mlir::ModuleOp"> {
  let summary = "expand each section into straight lists of launches, one case for each list that can occur";
  let description = [{
    Nested `plan.when` become `plan.case`. A step runs the first case whose conditions all hold; the last case has no
    conditions. Cases with the same launches are merged. Kernels that run only in steps of certain counts get these as
    `counts`; kernels that no launch uses are removed.
  }];
}
def PackBuffersPass : Pass<"plan-pack-buffers", "::ingot::plan::ProgramOp"> {
  let summary = "give every buffer an offset in the arena of its class";
  let description = [{
    Interval packing per case: in order of size, each buffer gets the lowest offset that does not overlap a buffer that
    is live at the same time in some case. Like sections, cases never run at the same time. Persistent buffers are live
    for the whole step, outputs from their first write to its end. A case may read only buffers that it wrote itself or
    that all cases of an earlier section wrote; other buffers must be persistent. Reports the peak and its lower bound
    (the largest sum of live bytes).
  }];
}
def ElideBarriersPass : Pass<"plan-elide-barriers", "::ingot::plan::ProgramOp"> {
  let summary = "drop the barrier after a launch if the next one conflicts with none since the last barrier";
}

def CountTrafficPass : Pass<"plan-count-traffic", "::ingot::plan::ProgramOp"> {
  let summary = "count the launches of a step and the bytes that they move";
  let description = [{
    Every launch is counted as accessing each operand once: whole weights, and rows of activations once per token or
    logits row. `bytes_per_step` holds the bytes per step, per token and per logits row. It excludes the KV pool reads
    of attention, which grow with the number of earlier positions whatever is fused. Of the cases of a section, the one
    for many tokens in the mode logits counts; `decode_launches` counts those for one token.
  }];
}

#endif
