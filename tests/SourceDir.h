//===- SourceDir.h - Location of the test files ---------------------------===//
//
// This is a function, not a macro: only SourceDir.cpp contains a path of this machine, so another
// clone still gets ccache hits for every other file.
//===----------------------------------------------------------------------===//
#pragma once

#include <string>

namespace ingot::test {

/// Returns the root of the source tree, without a trailing slash.
std::string sourceDir();

} // namespace ingot::test
