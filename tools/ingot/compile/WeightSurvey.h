//===- WeightSurvey.h - Formats and parts of a checkpoint's weights --------===//
//
// The survey reads only the headers of safetensors files, so it is fast whatever their size.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdint>
#include <map>
#include <string>

namespace ingot::cli {

struct WeightSurvey {
  struct Amount {
    uint64_t tensors = 0, bytes = 0;
  };
  uint64_t files = 0, bytes = 0;         ///< bytes: of whole files
  std::map<std::string, Amount> formats; ///< "BF16"
  /// Keyed by the first part of a tensor's name: "model", "lm_head", "vision_tower".
  std::map<std::string, Amount> parts;
  std::map<std::string, Amount> leftOut; ///< parts that text does not need: "vision tower"

  /// Counts the tensors of a header. Errors: E0165: the text is not a header.
  Result<void> add(const std::string &file, const std::string &headerJson, uint64_t fileBytes);
  /// Reads the header of a file and counts its tensors.
  Result<void> addFile(const std::string &path);

  /// "2 files, 4.9 GiB: BF16 (290 tensors, 4.9 GiB)"
  std::string formatsText() const;
  /// "model (290 tensors, 4.9 GiB), vision_tower (…)"
  std::string partsText() const;
  /// "vision tower (312 tensors, 0.8 GiB)"; empty if all tensors belong to the text model.
  std::string leftOutText() const;
  std::string json() const;
};

} // namespace ingot::cli
