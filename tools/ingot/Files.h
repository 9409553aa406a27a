//===- Files.h - Small files, read and written whole -----------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <string>
#include <string_view>

namespace ingot::cli {

/// The bytes of a file; "-" is stdin. E0120, exit 3, with the system's reason.
Result<std::string> readFile(const std::string &path);

/// E0121, exit 3.
Result<void> writeFile(const std::string &path, std::string_view bytes);

} // namespace ingot::cli
