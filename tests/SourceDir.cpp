//===- SourceDir.cpp - Where the tests' files are -------------------------===//
#include "tests/SourceDir.h"

std::string ingot::test::sourceDir() { return INGOT_SOURCE_DIR; }
