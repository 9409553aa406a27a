//===- ExtensionPoints.h - Extension points for passes and patterns -------===//
#pragma once

#include "runtime/error/Error.h"

#include <string>
#include <vector>

namespace ingot::compiler {

/// The point for patterns that do not name one.
inline constexpr const char *kPatternsPoint = "pre-fusion";

/// A file of rewrite patterns and the point at which it is applied.
struct PatternsAt {
  std::string point; ///< one of extensionPoints()
  std::string path;
};

/// Returns all points, in the order in which a compilation reaches them.
const std::vector<std::string> &extensionPoints();
bool isExtensionPoint(const std::string &name);
/// Returns E0408: `given` begins with the unknown point `point`. `example` is a correct value.
Error noSuchPoint(const std::string &given, const std::string &point, std::string example);

/// Parses "post-fusion=rules.pdll", or just a file.
PatternsAt patternsAt(const std::string &given);
/// Returns the text that patternsAt parses.
std::string textOf(const PatternsAt &patterns);

} // namespace ingot::compiler
