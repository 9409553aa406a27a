//===- WriteTestEngine.cpp - write-test-engine PATH --------------------------===//
#include "tests/embed/TestEngine.h"

int main(int, char **argv) { ingot::test::writeTestEngine(argv[1]); }
