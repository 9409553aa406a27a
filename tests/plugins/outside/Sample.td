//===- Sample.td - A dialect of ops with their own kernels ------------------===//
include "dialects/lm/LmInterfaces.td"
include "dialects/lm/LmTypes.td"

def Sample_Dialect : Dialect {
  let name = "sample";
  let cppNamespace = "::sample";
  let dependentDialects = ["::ingot::lm::LmDialect"];
}

def Sample_QkNormRopeOp : Op<Sample_Dialect, "qk_norm_rope", [
    Pure, AllTypesMatch<["q", "turnedQ"]>, AllTypesMatch<["k", "turnedK"]>,
    DeclareOpInterfaceMethods<Lm_RowOpInterface, ["decompose", "kernelBody", "operationsPerRow"]>]> {
  let summary = "norms and rotates each head of q and k: four ops of lm in one launch";
  let arguments = (ins Lm_Activations:$q, Lm_Activations:$k, Lm_WeightType:$qNorm, Lm_WeightType:$kNorm,
                   Lm_WeightType:$frequencies, Lm_BatchType:$batch, F32Attr:$eps);
  let results = (outs Lm_Activations:$turnedQ, Lm_Activations:$turnedK);
  let assemblyFormat = [{ $q `,` $k `,` $qNorm `,` $kNorm `,` $frequencies `at` $batch attr-dict `:` type($q) `,`
                          type($k) `,` type($qNorm) `,` type($kNorm) `,` type($frequencies) }];
  let extraClassDeclaration = [{
    /// The number of values in a head.
    int64_t headDim() { return getQNorm().getType().rows(); }
  }];
}

def Sample_FadingOp : Op<Sample_Dialect, "fading", [
    Pure, AllTypesMatch<["x", "result"]>, AllTypesMatch<["before", "after"]>,
    DeclareOpInterfaceMethods<Lm_RowOpInterface, ["evaluateRow", "kernelBody"]>]> {
  let summary = "an activation with a state: s = keep s + x, y = x / (1 + |s|), elementwise";
  let arguments = (ins Lm_Activations:$x, Lm_StateType:$before, F32Attr:$keep);
  let results = (outs Lm_Activations:$result, Lm_StateType:$after);
  let assemblyFormat = "$x `over` $before attr-dict `:` type($x) `,` type($before)";
}

def Sample_GateOp : Op<Sample_Dialect, "gate", [
    Pure, AllTypesMatch<["gate", "up", "result"]>,
    DeclareOpInterfaceMethods<Lm_RowOpInterface, ["decompose", "kernelBody"]>]> {
  let summary = "silu(gate) * up; has a kernel for CPUs, elsewhere its decomposition is lowered";
  let arguments = (ins Lm_Activations:$gate, Lm_Activations:$up);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$gate `,` $up attr-dict `:` type($gate)";
}

def Sample_CubeOp : Op<Sample_Dialect, "cube", [
    Pure, AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Lm_RowOpInterface, ["evaluateRow", "kernelBody"]>]> {
  let summary = "x^3; has a kernel for CPUs and no implementation elsewhere";
  let arguments = (ins Lm_Activations:$x);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
