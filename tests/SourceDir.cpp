//===- SourceDir.cpp - Location of the test files -------------------------===//
#include "tests/SourceDir.h"

std::string ingot::test::sourceDir() { return INGOT_SOURCE_DIR; }
