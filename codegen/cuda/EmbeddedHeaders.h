//===- EmbeddedHeaders.h - The device library inside the compiler -----------===//
#pragma once

#include <span>

namespace ingot::codegen::cuda {

/// `name` is the name by which a kernel includes the header.
struct EmbeddedHeader {
  const char *name, *text;
};

/// codegen/cuda/device/*.cuh, by file name.
std::span<const EmbeddedHeader> deviceHeaders();
/// Returns the additional headers that host compilation needs: emulator/kernel/*.cuh and the emulator's entry
/// points. Each is named by its path from the source root.
std::span<const EmbeddedHeader> emulatorHeaders();

} // namespace ingot::codegen::cuda
