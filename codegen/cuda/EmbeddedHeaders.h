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
/// The further headers that host compilation needs, named by their path from the source root:
/// emulator/kernel/*.cuh and the entry points of the emulator.
std::span<const EmbeddedHeader> emulatorHeaders();

} // namespace ingot::codegen::cuda
