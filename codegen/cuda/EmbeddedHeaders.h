//===- EmbeddedHeaders.h - The device library inside the compiler -----------===//
#pragma once

#include <span>

namespace ingot::cuda {

/// `name` as a kernel includes it.
struct EmbeddedHeader {
  const char *name, *text;
};

/// codegen/cuda/device/*.cuh, by file name.
std::span<const EmbeddedHeader> deviceHeaders();
/// What host compilation needs besides, by path from the root of the sources:
/// emulator/kernel/*.cuh and the entries of the emulator.
std::span<const EmbeddedHeader> emulatorHeaders();

} // namespace ingot::cuda
