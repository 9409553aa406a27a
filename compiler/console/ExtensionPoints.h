//===- ExtensionPoints.h - Where users' passes and patterns run -----------===//
#pragma once

#include "runtime/error/Error.h"

#include <string>
#include <vector>

namespace ingot::compiler {

/// Where patterns are applied that name no point.
inline constexpr const char *kPatternsPoint = "pre-fusion";

/// A file of rewrite patterns, and where it is applied.
struct PatternsAt {
  std::string point; ///< one of extensionPoints()
  std::string path;
};

/// In the order in which a compilation comes to them.
const std::vector<std::string> &extensionPoints();
bool isExtensionPoint(const std::string &name);
/// E0408: `given` begins with the unknown point `point`; `example` is how it should look.
Error noSuchPoint(const std::string &given, const std::string &point, std::string example);

/// Of "post-fusion=rules.pdll", or of a file alone.
PatternsAt patternsAt(const std::string &given);
/// What patternsAt reads.
std::string textOf(const PatternsAt &patterns);

} // namespace ingot::compiler
