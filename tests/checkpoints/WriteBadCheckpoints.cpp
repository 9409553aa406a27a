//===- WriteBadCheckpoints.cpp - bad-checkpoints FOLDER -------------------===//
//
// Writes every bad checkpoint to its own folder below FOLDER and prints "CODE PATH" lines: the
// expected error and the path to open.
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
