//===- ExtensionPoints.cpp - See ExtensionPoints.h ------------------------===//
#include "compiler/options/ExtensionPoints.h"
#include "runtime/error/Suggest.h"

#include <algorithm>
#include <utility>

using namespace ingot;
using namespace ingot::compiler;

const std::vector<std::string> &compiler::extensionPoints() {
  static const std::vector<std::string> points = {"import", "pre-fusion", "post-fusion", "pre-plan",
                                                  "pre-codegen"};
  return points;
}

bool compiler::isExtensionPoint(const std::string &name) {
  return std::ranges::find(extensionPoints(), name) != extensionPoints().end();
}

Error compiler::noSuchPoint(const std::string &given, const std::string &point,
                            std::string example) {
  const std::string near = didYouMean(point, extensionPoints());
  return {ExitCode::Usage, "E0408", "unknown extension point in '" + given + "'",
          "points are import, pre-fusion, post-fusion, pre-plan and pre-codegen" +
              (near.empty() ? "" : "; " + near),
          std::move(example)};
}

PatternsAt compiler::patternsAt(const std::string &given) {
  const size_t equals = given.find('=');
  if (equals != std::string::npos && isExtensionPoint(given.substr(0, equals)))
    return {given.substr(0, equals), given.substr(equals + 1)};
  return {kPatternsPoint, given};
}

std::string compiler::textOf(const PatternsAt &patterns) {
  return patterns.point == kPatternsPoint ? patterns.path : patterns.point + "=" + patterns.path;
}
