//===- PageFigures.h - What `ingot inspect --html` shows beside the engine ---===//
#pragma once

#include "runtime/engine/EngineFile.h"
#include "tools/ingot/measure/Roofline.h"

#include <string>

namespace ingot::cli {

/// JSON for runtime::inspectHtml, of each program:
///
///   "loads":[{"name","sequences","tokens","positions"}]     steps that are told of
///   "programs":[{
///     "chosen":[[case of each section] of each load],
///     "targets":[{"target","limits":{"read","int8","bf16","f32","source","exposed_us"} or null,
///                 "code": base64 of what the compiler lists (CompilerLibrary.h), or null with "no_code", why
///                 "work":[[[[ [bytes, of weights, of KV, operations, µs] of each load] launches] cases] sections]}]}],
///   "measured": what `inspect --roofline --json` prints of the code for "measured_target", or null
///
/// The time is the cost model's (StepTime.h); 0 where no limits are known. Measures what this machine can do at most,
/// which takes some 0.3 s, unless that was measured with the kernels. `measured` may be empty.
std::string pageFigures(const runtime::EngineFile &engine, int threads,
                        const MeasuredKernels &measured);

} // namespace ingot::cli
