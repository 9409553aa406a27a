//===- PageFigures.h - Figures for the page of `ingot inspect --html` --------===//
#pragma once

#include "runtime/engine/EngineFile.h"
#include "tools/ingot/measure/roofline/Roofline.h"

#include <string>

namespace ingot::cli {

/// Returns JSON for runtime::inspectHtml, with the figures of each program:
///
///   "loads":[{"name","sequences","tokens","positions"}]     the steps that the page describes
///   "programs":[{
///     "chosen":[[index of the case of each section] for each load],
///     "targets":[{"target","limits":{"read","int8","bf16","f32","source","exposed_us"} or null,
///                 "code": base64 of the listing (CompilerLibrary.h), or null and the reason in "no_code"
///                 "work":[[[[ [bytes, of weights, of KV, operations, µs] per load] launches] cases] sections]}]}],
///   "measured": the output of `inspect --roofline --json` for the code of "measured_target", or null
///
/// The µs are the cost model's prediction (StepTime.h), or 0 if no limits are known. Measures the limits of this
/// machine, which takes some 0.3 s, unless they were measured with the kernels. `measured` may be empty.
std::string pageFigures(const runtime::EngineFile &engine, int threads,
                        const MeasuredKernels &measured);

} // namespace ingot::cli
