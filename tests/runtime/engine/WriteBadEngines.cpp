//===- WriteBadEngines.cpp - bad-engines FOLDER ---------------------------===//
//
// Writes every bad engine into FOLDER and prints "CODE PATH" lines: the expected error code
// and the file to open.
//===----------------------------------------------------------------------===//
#include "BadEngines.h"

#include <cstdio>

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bad-engines FOLDER\n");
    return 2;
  }
  for (const ingot::test::BadEngine &bad : ingot::test::badEngines()) {
    std::string path = std::string(argv[1]) + "/" + bad.name + ".ingot";
    ingot::test::writeFile(path, bad.bytes());
    std::printf("%s %s\n", bad.code, path.c_str());
  }
  return 0;
}
