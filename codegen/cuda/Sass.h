//===- Sass.h - What a cubin holds, as NVIDIA's disassembler prints it -------===//
//
// nvdisasm is a program of its own, and no part of Ingot. It is looked for where NVRTC's wheels put it beside the library
// in use (…/nvidia/cu13/bin), beside that library, and in PATH.
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace ingot::cuda {

/// A function of a cubin.
struct SassFunction {
  std::string symbol, text;
};

/// How to get it, in a line.
constexpr const char *kDisassemblerHint =
    "pip install nvidia-cuda-nvdisasm==13.2.51 beside NVRTC, or nvdisasm in PATH";

/// The path of nvdisasm; empty: there is none.
std::string findDisassembler();

/// The functions of a cubin, in its order. False, with `problem` set: the disassembler did not run, or refused.
bool disassembleCubin(const std::string &disassembler, llvm::StringRef cubin,
                      std::vector<SassFunction> &functions, std::string &problem);

/// The size of the ELF file that `bytes` begin with; 0: there is none.
size_t sizeOfElf(llvm::StringRef bytes);

} // namespace ingot::cuda
