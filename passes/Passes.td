//===- Passes.td - Every pass of the compiler -----------------------------===//
//
// File organisation, in the order in which Pipelines.cpp runs them
//   quantize/   numeric formats of weights
//   (extend)    patterns of the user's: compiler/extend, tests/passes/extend
//   fusion/     which ops one launch computes (named patterns, then the grouper)
//   lowering/   lm -> kernel + plan, and cases where kernels take over what others do
//   planning/   cases, buffers, barriers, traffic
//
// One pass is one .cpp file and one test tests/passes/<room>/<name>.mlir.
//===----------------------------------------------------------------------===//
#ifndef INGOT_PASSES_PASSES_TD
#define INGOT_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// quantize/
//===----------------------------------------------------------------------===//

def QuantizeWeightsPass : Pass<"lm-quantize-weights", "::ingot::lm::ModelOp"> {
  let summary = "give floating matrices a quantised format";
  let description = [{
    Matrices of a floating format that `lm.linear` reads become `format`; the embedding and the head (whoever
    `lm.embed` or the entry's own linears read) become int8, since they decide quality most and are read once per step.
    `rules` come first: "GLOB:FORMAT" over weight symbols (`blk.*.ffn_down:int8`), for weights of any format; the first
    that matches decides. Layers that come to differ get kinds of their own.
    The numbers are rounded when the engine is packed; `stored` keeps the format of the checkpoint.
  }];
  let options = [Option<"format", "format", "std::string", "\"\"",
                        "of floating matrices: int8, int4_g32, int4_g64, int4_g128 or fp8">,
                 ListOption<"rules", "rules", "std::string", "GLOB:FORMAT, the first match decides">];
}

def RoundFloatsPass : Pass<"lm-round-floats", "::ingot::lm::ModelOp"> {
  let summary = "store floating matrices as bf16 (fast precision)";
  let description = [{
    f32 and f16 matrices become bf16: half the bytes, and what vdpbf16ps multiplies. Vectors stay f32.
  }];
}

//===----------------------------------------------------------------------===//
// (extend)
//===----------------------------------------------------------------------===//

def ApplyPatternsPass : Pass<"lm-apply-patterns", "::ingot::lm::ModelOp"> {
  let summary = "the rewrite patterns of a file (ingot compile --patterns)";
  let description = [{
    `patterns` is a file of PDLL (`.pdll`, which the tool mlir-pdll translates) or of PDL IR (`.pdl.mlir`). Its
    patterns are applied until none matches. They are the user's: a remark says how often they matched, or that they
    never did. `rewrites=N` stops after the first N rewrites: what E0428 names is the difference between N - 1 and N.
    `devices` are the targets that Fuse and TargetCanFuse ask; without any they ask nobody.
  }];
  let options = [Option<"patterns", "patterns", "std::string", "\"\"", "a .pdll, .pdl.mlir or .mlir file">,
                 Option<"rewrites", "rewrites", "int64_t", "-1", "how many at most; negative: all">,
                 ListOption<"devices", "devices", "std::string", "targets that are asked (passes/Target.h)">,
                 Option<"precision", "precision", "std::string", "\"fast\"", "fast or exact">,
                 Option<"fp8Rows", "fp8-rows", "bool", "false", "as lm-choose-forms will be told">];
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect",
                           "::ingot::kernel::KernelDialect", "::ingot::plan::PlanDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def ApplyKernelPatternsPass : Pass<"kernel-apply-patterns", "::mlir::ModuleOp"> {
  let summary = "the rewrite patterns of a file, over kernels (ingot compile --patterns pre-plan=FILE)";
  let description = [{
    As lm-apply-patterns, over each kernel.func, until none matches; then over the launches of the program, each of
    which is offered once. IntoReaders and IntoMaker ask the target `device` for kernels that do what several did. What
    makes regions and weights is of `lm`: here it does nothing.
  }];
  let options = [Option<"patterns", "patterns", "std::string", "\"\"", "a .pdll, .pdl.mlir or .mlir file">,
                 Option<"device", "device", "std::string", "\"\"", "whose kernels launches become (passes/Target.h)">];
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect"];
}

//===----------------------------------------------------------------------===//
// fusion/
//===----------------------------------------------------------------------===//

def FuseGateUpPass : Pass<"lm-fuse-gate-up", "::ingot::lm::ModelOp"> {
  let summary = "two projections of one input, activation(gate) * up, in one launch";
  let description = [{
    The two weights must be of one type; else a missed remark says so. Its patterns are passes/patterns/GateUp.pdll.
  }];
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect"];
}
def FuseProjectionsPass : Pass<"lm-fuse-projections", "::ingot::lm::ModelOp"> {
  let summary = "projections of one input (q, k, v) as segments of one launch";
}
def FuseResidualPass : Pass<"lm-fuse-residual", "::ingot::lm::ModelOp"> {
  let summary = "a projection and the addition of the residual";
  let description = "Its patterns are passes/patterns/Residual.pdll.";
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect"];
}
def FuseRopeAppendPass : Pass<"lm-fuse-rope-append", "::ingot::lm::ModelOp"> {
  let summary = "norm and rotation of queries and keys with the KV append";
}
def FuseNormsPass : Pass<"lm-fuse-norms", "::ingot::lm::ModelOp"> {
  let summary = "residual addition of a normed value with the next norm; row selection with the last norm";
  let description = "Its patterns are passes/patterns/Norms.pdll.";
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect"];
}
def GroupElementwisePass : Pass<"lm-group-elementwise", "::ingot::lm::ModelOp"> {
  let summary = "generic grouper: a root and the elementwise ops up to its post-dominator";
  let description = [{
    For every op that no named pattern took, grow from the root along the immediate post-dominator (Boost.Graph's
    Lengauer-Tarjan on the reversed data flow) while all ops on the way are elementwise on rows of the root's width.
    A group of one op is no fusion and is left alone.
  }];
}

//===----------------------------------------------------------------------===//
// lowering/
//===----------------------------------------------------------------------===//

def ChooseFormsPass : Pass<"lm-choose-forms", "::ingot::lm::ModelOp"> {
  let summary = "rows between launches in the forms that projections read (lm.round)";
  let description = [{
    In `fast`, quantised weights are multiplied with rows of q8 (int8, one scale per 32 values; q8x2 in the entry,
    which has the head), and on a device that reads bf16 rows all weights are multiplied with those. A conversion joins
    the launch that makes its value where that can write the form; else it is a launch of its own. With `exact`, all
    rows are f32.
  }];
  let options = [Option<"precision", "precision", "std::string", "\"fast\"", "fast or exact">,
                 Option<"device", "device", "std::string", "\"cpu\"", "whose kernels read them (passes/Target.h)">,
                 Option<"fp8Rows", "fp8-rows", "bool", "false",
                        "for cuda: projections of fp8 weights get fp8 rows as well">];
}
def ChooseKvPass : Pass<"lm-choose-kv", "::mlir::ModuleOp"> {
  let summary = "what the numbers in the KV caches of single layers are";
  let description = [{
    Paged states of the layers that are named get an element (`lm.state @kv.0 : #lm.paged<[…]> of "int8"`). Layers of one kind that come to
    differ get kinds of their own, which are called for the element: `@layer` and `@layer_int8`. All other states are as
    lm-lower-to-plan says. An element that the device does not have is refused there.
  }];
  let options = [ListOption<"layers", "layers", "std::string",
                            "FIRST-LAST:FORMAT, from 0 on, of runtime/formats/KvFormat.h; no layer twice">];
}
def LowerToPlanPass : Pass<"lm-lower-to-plan", "::mlir::ModuleOp"> {
  let summary = "outline every fused region into a kernel.func and every function into a plan section";
  let description = [{
    Rows are held as lm-choose-forms says. With `fast`, bf16 weights that read f32 rows may round those. `kv` is the
    element type of the KV pools whose state does not say another (lm-choose-kv).
  }];
  let options = [Option<"precision", "precision", "std::string", "\"fast\"", "fast or exact">,
                 Option<"kv", "kv", "std::string", "\"bf16\"", "a name of runtime/formats/KvFormat.h">,
                 Option<"device", "device", "std::string", "\"cpu\"", "a target: cpu or cuda">];
  let dependentDialects = ["::ingot::kernel::KernelDialect", "::ingot::plan::PlanDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def ChooseLayoutsPass : Pass<"kernel-choose-layouts", "::mlir::ModuleOp"> {
  let summary = "how each matrix lies, which becomes part of its type";
  let description = [{
    The target is asked once for each weight, and sees all kernels that read it, in whichever section and layer:
    `frag16` for GPUs, `panel32` for CPUs. The plan's weight and the operands of its kernels get types that say so;
    bytes are counted, stored and packed by them.
  }];
  let options = [Option<"device", "device", "std::string", "\"cpu\"", "whose kernels read them (passes/Target.h)">];
}
def FoldArgmaxPass : Pass<"kernel-fold-argmax", "::mlir::ModuleOp"> {
  let summary = "the projection that makes the logits finds the largest of each row";
  let description = [{
    The one launch that writes the logits, a projection of logits rows, gets a buffer of keys, one a row, which its
    blocks raise to the largest value and its index: an output of the entry, whose steps may be greedy. Where the
    target has code for keys without logits (CPUs), that is the case of greedy steps, and in others it leaves the
    largest of each 32 values beside the logits, which tell a sampler where to look. Else (GPUs) it is a case of few
    rows, which has both.
  }];
  let options = [Option<"device", "device", "std::string", "\"cuda\"", "whose code it is (passes/Target.h)">];
}
def Fp8CasesPass : Pass<"kernel-fp8-cases", "::mlir::ModuleOp"> {
  let summary = "GPUs: fp8 rows, and projections of them, in steps of many tokens alone";
  let options = [Option<"few", "few", "int64_t", /*default=*/"64",
                        "tokens (or rows) up to which no code multiplies in fp8">];
}
def AppendEpiloguesPass : Pass<"kernel-append-epilogues", "::mlir::ModuleOp"> {
  let summary = "GPUs: in steps of few tokens the projection of q, k and v rotates and appends";
  let description = [{
    A `kernel.rope_append` without norms whose q, k and v are the outputs of one projection is left out of steps of few
    (8) tokens: there it stands behind a copy of the projection, in one kernel. Rows of k and v that somebody else
    reads rule it out, and what the target has no code for. Its patterns are passes/patterns/AppendEpilogues.pdll.
  }];
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect"];
  let options = [Option<"device", "device", "std::string", "\"cuda\"", "whose code it is (passes/Target.h)">];
}
def NormProloguesPass : Pass<"kernel-norm-prologues", "::mlir::ModuleOp"> {
  let summary = "GPUs: in steps of few tokens projections compute the norm before them themselves";
  let description = [{
    A `kernel.rowwise` whose only output is bf16 rows that projections of the same extent read, and nobody else, is
    left out of steps of few tokens: there it stands before copies of those projections, in their kernels. How many are
    few is what the target says of such kernels (on GPUs 1, 2, 4 or 8). It runs last: whatever other cases a projection
    has are within. Its patterns are passes/patterns/NormPrologues.pdll.
  }];
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect"];
  let options = [Option<"device", "device", "std::string", "\"cuda\"", "whose code it is (passes/Target.h)">];
}

//===----------------------------------------------------------------------===//
// planning/
//===----------------------------------------------------------------------===//

def AddWorkspacesPass : Pass<"plan-add-workspaces", "::mlir::ModuleOp"> {
  let summary = "GPUs: a buffer for kernels that ask for memory beside their operands";
  let description = [{
    Kernels whose code wants a workspace get it as their last operand, and the program one buffer `workspace` of the
    class `fixed` that is large enough for each of them.
  }];
  let options = [Option<"device", "device", "std::string", "\"cuda\"", "whose code it is (passes/Target.h)">];
}
def FindIdsPass : Pass<"plan-find-ids", "::mlir::ModuleOp"> {
  let summary = "GPUs: a section behind the logits that finds or draws the ids of their rows";
  let description = [{
    The section `ids` has launches for steps that want the largest logit's id, and others for steps that draw. The
    entry gets a step of it, the output `ids`, and the modes greedy and drawn.
  }];
  let options = [Option<"device", "device", "std::string", "\"cuda\"", "whose kernels draw (passes/Target.h)">];
}
def ExpandCasesPass : Pass<"plan-expand-cases", "::mlir::ModuleOp"> {
  let summary = "give each section straight lists of launches: a case for each that can occur";
  let description = [{
    Nested `plan.when` become `plan.case`: conditions of a case all hold, cases are tried in order, the last has none;
    cases of the same launches are one. Kernels that run in steps of some counts alone are told which (`counts`); those
    that nobody launches go.
  }];
}
def PackBuffersPass : Pass<"plan-pack-buffers", "::ingot::plan::ProgramOp"> {
  let summary = "give every buffer an offset in the arena of its class";
  let description = [{
    Interval packing per case: buffers sorted by size take the lowest offset that no buffer has that lives with them in
    some case. Cases never run together, as sections do not. Persistent buffers live for the whole step, outputs from
    where they are written to its end. What a case reads it has written itself, or all cases of a section before it
    have; else the buffer must be persistent. Reports the peak and its lower bound (the largest sum of live bytes).
  }];
}
def ElideBarriersPass : Pass<"plan-elide-barriers", "::ingot::plan::ProgramOp"> {
  let summary = "drop the barrier after a launch when the next one touches nothing that it needs";
}

def CountTrafficPass : Pass<"plan-count-traffic", "::ingot::plan::ProgramOp"> {
  let summary = "count the launches of a step and the bytes that they move";
  let description = [{
    Every launch touches each operand once: weights whole, rows of activations once per token or logits row.
    `bytes_per_step` holds the bytes of a step, per token and per logits row. What attention reads of the KV pool is
    not among them: it grows with the positions before, whatever is fused. Of the cases of a section that of many
    tokens in the mode logits counts; `decode_launches` are those of one token.
  }];
}

#endif
