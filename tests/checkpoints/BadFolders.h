//===- BadFolders.h - Folders whose index, config or links are wrong ------===//
#pragma once

#include "tests/checkpoints/CheckpointFiles.h"

namespace ingot::test {

void addBadFolders(std::vector<CheckpointFiles> &bad);

} // namespace ingot::test
