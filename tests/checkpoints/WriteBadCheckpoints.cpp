//===- WriteBadCheckpoints.cpp - bad-checkpoints FOLDER -------------------===//
//
// Writes every bad checkpoint below FOLDER, each in a folder of its own, and prints
// "CODE PATH" lines: what to open and the error it must give.
//===----------------------------------------------------------------------===//
#include "tests/checkpoints/CheckpointFiles.h"

#include <cstdio>

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bad-checkpoints FOLDER\n");
    return 2;
  }
  for (const auto &list : {ingot::test::badGgufFiles(), ingot::test::badSafetensorsFiles()})
    for (const ingot::test::CheckpointFiles &bad : list) {
      std::string path = ingot::test::writeCheckpoint(bad, std::string(argv[1]) + "/" + bad.name);
      std::printf("%s %s\n", bad.code.c_str(), path.c_str());
    }
  return 0;
}
