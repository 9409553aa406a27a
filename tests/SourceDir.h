//===- SourceDir.h - Where the tests' files are ---------------------------===//
//
// A function, not a macro: only SourceDir.cpp knows a path of this machine, so that
// another clone finds everything else in ccache.
//===----------------------------------------------------------------------===//
#pragma once

#include <string>

namespace ingot::test {

/// The root of the source tree, without a slash at the end.
std::string sourceDir();

} // namespace ingot::test
