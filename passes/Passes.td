//===- Passes.td - Every pass of the compiler -----------------------------===//
//
// File organisation, in the order in which Pipelines.cpp runs the passes
//   quantize/   numeric formats of weights
//   (extend)    the user's patterns (code: compiler/extend; tests: tests/passes/extend)
//   fusion/     groups ops into launches (named patterns, then the grouper)
//   select/     lm -> kernels on values
//   lowering/   values -> buffers, kernels -> functions, and cases in which one kernel replaces several
//   planning/   cases, buffers, barriers, traffic
//
// One pass is one .cpp file and one test tests/passes/<folder>/<name>.mlir.
//===----------------------------------------------------------------------===//
#ifndef INGOT_PASSES_PASSES_TD
#define INGOT_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Options that several passes share; PassOptions.h defines their types and defaults
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
    `rules` take precedence. A rule "GLOB:FORMAT" (`blk.*.ffn_down:int8`) applies to weights of any format whose symbol
    matches the glob; the first rule that matches decides. Layers of one kind whose formats then differ get separate
    layer kinds. The pass changes only types: numbers are rounded when the engine is packed. The attribute `stored`
    keeps the format of the checkpoint.
  }];
  let options = [Option<"format", "format", "std::string", "\"\"",
                        "the format of floating-point matrices: int8, int4_g32, int4_g64, int4_g128 or fp8">,
                 ListOption<"rules", "rules", "std::string", "GLOB:FORMAT; the first match applies">];
}

def RoundFloatsPass : Pass<"lm-round-floats", "::ingot::lm::ModelOp"> {
  let summary = "store floating-point matrices as bf16 (fast precision)";
  let description = [{
    f32 and f16 matrices become bf16, the input format of the CPU instruction vdpbf16ps. This halves the bytes of f32
    matrices. Vectors stay f32.
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
    `rewrites=N` stops after the first N rewrites. E0428 names a rewrite by its number N: the results of `rewrites=N-1`
    and `rewrites=N` differ in this rewrite alone. `devices` are the targets that Fuse and TargetCanFuse query; without
    any, no target is queried.
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
    Reads patterns as lm-apply-patterns does. The pass applies them to each kernel.func until none matches, and then
    tries them once on each launch of the program. The functions FuseIntoConsumers and FuseIntoProducer query the target
    `device` for kernels that replace several others. Functions that create regions and weights apply to `lm` only, so
    they have no effect here.
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
    The two weights must have the same type; otherwise the pass emits a missed remark. The patterns are in
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
    A projection, norm or elementwise op that no named pattern has fused is the root of a group. The group grows from
    the root to its immediate post-dominator, and on to that op's own (Boost.Graph's Lengauer-Tarjan on the reversed
    data flow), while all ops on the way are elementwise on rows of the root's width. If the root is not a projection,
    norms can join as well. A single op is not a group and stays unchanged.
  }];
}

//===----------------------------------------------------------------------===//
// select/
//===----------------------------------------------------------------------===//

def ChooseEncodingsPass : Pass<"lm-choose-encodings", "::ingot::lm::ModelOp"> {
  let summary = "choose the encodings of rows between launches, which projections read (lm.cast)";
  let description = [{
    With `fast`, quantised weights are multiplied by q8 rows: int8 values with one scale per 32. The entry point, which
    contains the head, uses q8x2 (two planes) instead. On a device whose projections read bf16 rows, all weights are
    multiplied by bf16 rows, except floating-point routers, which read f32. A conversion is fused into the launch that
    produces its value if that launch can write the encoding; otherwise it is a launch of its own. With `exact`, all
    rows are f32.
  }];
  let options = [PrecisionOption, DeviceOption,
                 Option<"fp8Rows", "fp8-rows", "bool", "false",
                        "for cuda: give projections of fp8 weights fp8 rows as well">];
}
def ChooseKvPass : Pass<"lm-choose-kv", "::mlir::ModuleOp"> {
  let summary = "choose the KV cache formats of individual layers";
  let description = [{
    Paged states of the listed layers get an element type (`lm.state @kv.0 : #lm.paged<[…]> of "int8"`). Layers of one
    kind whose element types then differ get separate layer kinds, named after the element type: `@layer` and
    `@layer_int8`. All other states get the element type that the option `kv` of lm-select-kernels gives. That pass also
    rejects element types that the device does not support.
  }];
  let options = [ListOption<"layers", "layers", "std::string",
                            "FIRST-LAST:FORMAT, counted from 0, a name of runtime/formats/KvFormat.h; no layer twice">];
}
def SelectKernelsPass : Pass<"lm-select-kernels", "::mlir::ModuleOp"> {
  let summary = "make a kernel on values (kernel.dispatch) of every fused region and of every other op";
  let description = [{
    Rows have the encodings that lm-choose-encodings chose. With `fast`, projections with bf16 weights may round f32
    rows. `kv` is the element type of the KV pools whose state has none of its own (lm-choose-kv).
  }];
  let options = [PrecisionOption,
                 Option<"kv", "kv", "::ingot::KvFormat", "::ingot::kDefaultKv", "a name of runtime/formats/KvFormat.h">,
                 DeviceOption];
  let dependentDialects = ["::ingot::kernel::KernelDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

//===----------------------------------------------------------------------===//
// lowering/
//===----------------------------------------------------------------------===//

def PlacePass : Pass<"kernel-place", "::mlir::ModuleOp"> {
  let summary = "cut the model into sections, and give each value of its dispatches a buffer";
  let description = [{
    The program gets the sections `begin`, one for each layer kind, and `end`. The rows that each layer passes to the
    next one have a fixed buffer. Other results are written over an operand that nothing reads later, if the kernel
    permits that (LaunchInterface::mayOverwrite), or else into a buffer of their own. A value that is the same in all
    layers of a step is computed in `begin`.
  }];
  let options = [Option<"inPlace", "in-place", "bool", "true",
                        "place results over operands that nothing reads later; false: to check the kernels alone">];
  let dependentDialects = ["::ingot::plan::PlanDialect"];
}
def OutlinePass : Pass<"plan-outline", "::mlir::ModuleOp"> {
  let summary = "make a kernel.func of each dispatch, shared by those that are the same";
}

def ChooseLayoutsPass : Pass<"kernel-choose-layouts", "::mlir::ModuleOp"> {
  let summary = "choose the layout of each matrix, which becomes part of its type";
  let description = [{
    The target chooses one layout for each weight (mostly `frag16` on GPUs, `panel32` on CPUs), given all kernels that
    read the weight in any section and layer. The layout becomes part of the types of the plan's weight and of the
    kernels' operands. These types determine how bytes are counted, stored and packed.
  }];
  let options = [DeviceOption];
}
def FoldArgmaxPass : Pass<"kernel-fold-argmax", "::mlir::ModuleOp"> {
  let summary = "let the projection that computes the logits find the largest of each row";
  let description = [{
    The pass applies if the launch that writes the logits is a projection of logits rows. The launch gets a buffer with
    one key per row; a key holds the largest value so far and its index, and each block of the launch raises it. The
    keys become an output of the entry point, which also gets the mode greedy. If the target has code that computes keys
    without logits (CPUs), greedy steps are a case of their own. The other steps then also write the largest of each 32
    logits, so that a sampler can skip the rest. Otherwise (GPUs), steps of few rows are a case that writes both keys
    and logits.
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
    conditions. Cases with the same launches are merged. A kernel that runs only with certain numbers of tokens (or
    logits rows) gets the attribute `counts`, which gives these numbers. Kernels that no launch uses are removed.
  }];
}
def PackBuffersPass : Pass<"plan-pack-buffers", "::ingot::plan::ProgramOp"> {
  let summary = "give every buffer an offset in the arena of its class";
  let description = [{
    Buffers are placed one by one, the largest first. Each gets the lowest offset at which it does not overlap a buffer
    that is live at the same time in some case. (Cases never run at the same time, and neither do sections.) Persistent
    buffers are live for the whole step, outputs from their first write to the end of the step. A case may read only
    buffers that it wrote itself or that all cases of an earlier section wrote; other buffers must be persistent. The
    program records the peak and its lower bound, the largest sum of bytes that are live at once.
  }];
}
def ElideBarriersPass : Pass<"plan-elide-barriers", "::ingot::plan::ProgramOp"> {
  let summary = "drop the barrier after a launch if the next one conflicts with none since the last barrier";
}

def CountTrafficPass : Pass<"plan-count-traffic", "::ingot::plan::ProgramOp"> {
  let summary = "count the launches of a step and the bytes that they move";
  let description = [{
    Every launch counts as accessing each operand once: weights as a whole, and activations once per token or logits
    row. `bytes_per_step` holds the bytes per step, per token and per logits row. It excludes the KV pool reads of
    attention, which grow with the number of earlier positions and do not depend on fusion. If a section has several
    cases, the case for many tokens in the mode logits is counted. `decode_launches` is the number of launches in the
    cases for one token.
  }];
}

#endif
