//===- WeightSurvey.h - What formats and parts a checkpoint's weights have -===//
//
// From the headers of safetensors files alone, so that it takes no time whatever their size.
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
  uint64_t files = 0, bytes = 0;         ///< of whole files
  std::map<std::string, Amount> formats; ///< "BF16"
  /// By the first word of a tensor's name: "model", "lm_head", "vision_tower".
  std::map<std::string, Amount> parts;
  std::map<std::string, Amount> leftOut; ///< of those what text does without: "vision tower"

  /// Counts the tensors of a header. E0165: it is none.
  Result<void> add(const std::string &file, const std::string &headerJson, uint64_t fileBytes);
  /// The same of a file's header, which is read.
  Result<void> addFile(const std::string &path);

  /// "2 files, 4.9 GiB: BF16 (290 tensors, 4.9 GiB)"
  std::string formatsText() const;
  /// "model (290 tensors, 4.9 GiB), vision_tower (…)"
  std::string partsText() const;
  /// "vision tower (312 tensors, 0.8 GiB)"; empty if all is of the text model.
  std::string leftOutText() const;
  std::string json() const;
};

} // namespace ingot::cli
