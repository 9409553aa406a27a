//===- Goldens.h - Reads the test data of this folder --------------------===//
#pragma once

#include "tests/SourceDir.h"

#include <cstdint>
#include <fstream>
#include <simdjson.h>
#include <sstream>
#include <string>
#include <vector>

namespace goldens {

inline std::string path(const std::string &name) {
  return ingot::test::sourceDir() + "/tests/runtime/text/goldens/" + name;
}

inline std::string read(const std::string &file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::vector<int32_t> ids(simdjson::dom::element list) {
  std::vector<int32_t> result;
  for (simdjson::dom::element id : list.get_array())
    result.push_back(static_cast<int32_t>(int64_t(id)));
  return result;
}

inline std::string text(simdjson::dom::element value) {
  return std::string(std::string_view(value));
}

} // namespace goldens
