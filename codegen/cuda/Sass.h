//===- Sass.h - Disassembly of cubins by NVIDIA's nvdisasm -------------------===//
//
// nvdisasm is a separate program, not part of Ingot. Ingot searches for it in the folder where the
// wheels of the NVRTC in use install it (…/nvidia/cu13/bin), next to the NVRTC library, and in PATH.
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace ingot::codegen::cuda {

/// A function of a cubin.
struct SassFunction {
  std::string symbol, text;
};

/// One line on how to install nvdisasm.
constexpr const char *kDisassemblerHint =
    "pip install nvidia-cuda-nvdisasm==13.2.51 next to NVRTC, or put nvdisasm in PATH";

/// Returns the path of nvdisasm; empty if it is not found.
std::string findDisassembler();

/// Disassembles the functions of a cubin, in their order in the cubin. Returns false and sets
/// `problem` if the disassembler did not run or rejected the cubin.
bool disassembleCubin(const std::string &disassembler, llvm::StringRef cubin,
                      std::vector<SassFunction> &functions, std::string &problem);

/// Returns the size of the ELF file at the start of `bytes`; 0 if there is none.
size_t sizeOfElf(llvm::StringRef bytes);

} // namespace ingot::codegen::cuda
