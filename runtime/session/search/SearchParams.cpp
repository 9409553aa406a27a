//===- SearchParams.cpp - Checks the ranges of search parameters -----------===//
#include "runtime/session/search/SearchParams.h"

#include <string>

namespace ingot::runtime {

Result<void> BeamParams::check() const {
  auto outOfRange = [](const char *name, const std::string &value, const std::string &range) {
    return Error{ExitCode::Usage, "E0530",
                 std::string("a value of the beam search is out of range"),
                 std::string(name) + " is " + value + ", allowed: " + range,
                 std::string("give ") + name + " a value in that range"};
  };
  if (width < 1 || width > kMostBeams)
    return outOfRange("the width", std::to_string(width), "1 to " + std::to_string(kMostBeams));
  // Written as !(in range) so that NaN is rejected.
  if (!(lengthPenalty >= -kMostLengthPenalty && lengthPenalty <= kMostLengthPenalty))
    return outOfRange("the length penalty", std::to_string(lengthPenalty), "-8 to 8");
  return {};
}

Result<void> ContrastiveParams::check() const {
  auto outOfRange = [](const char *name, const std::string &value, const std::string &range) {
    return Error{ExitCode::Usage, "E0531", "a value of the contrastive search is out of range",
                 std::string(name) + " is " + value + ", allowed: " + range,
                 std::string("give ") + name + " a value in that range"};
  };
  if (!(alpha > 0 && alpha <= 1))
    return outOfRange("penalty-alpha", std::to_string(alpha), "above 0, to 1");
  if (topK < 2 || topK > kMostCandidates)
    return outOfRange("top-k", std::to_string(topK), "2 to " + std::to_string(kMostCandidates));
  return {};
}

} // namespace ingot::runtime
