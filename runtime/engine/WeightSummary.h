//===- WeightSummary.h - Summarises many weights in a few lines -----------===//
#pragma once

#include "runtime/engine/EngineFile.h"

#include <string>
#include <vector>

namespace ingot::runtime {

/// "cpu-panel32", "gpu-frag16", "vector-f32".
const char *layoutName(fb::WeightLayout layout);

struct FormatSummary {
  std::string format, layout;
  uint64_t tensors = 0, elements = 0, bytes = 0;
  double bitsPerElement() const { return elements ? 8.0 * double(bytes) / double(elements) : 0; }
};

/// Totals per format and layout over all programs, largest first.
std::vector<FormatSummary> weightsByFormat(const EngineFile &engine);

/// Weights of the same format and shape with names that differ only in an index. For example, "blk.3.attn_q.weight" and
/// the same weight of the other layers are summarised as "blk.*.attn_q.weight".
struct RoleSummary {
  std::string name, format, shape; ///< "576x576"
  uint64_t tensors = 0, bytes = 0;
};

/// Roles in the first program, in the order of the table.
std::vector<RoleSummary> weightsByRole(const EngineFile &engine);

} // namespace ingot::runtime
