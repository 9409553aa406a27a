//===- BadEngines.cpp - See BadEngines.h ----------------------------===//
#include "BadEngines.h"

#include <algorithm>
#include <iterator>

using namespace ingot;
using namespace ingot::test;

std::string BadEngine::bytes() const {
  std::string image = assemble(before, after, segments);
  if (file)
    file(image);
  return image;
}

const std::vector<BadEngine> &test::badEngines() {
  static const std::vector<BadEngine> bad = [] { // static: used during test registration
    std::vector<BadEngine> all;
    for (auto *some : {badFiles, badPrograms, badWeights, badGpuPrograms})
      std::ranges::move(some(), std::back_inserter(all));
    return all;
  }();
  return bad;
}
