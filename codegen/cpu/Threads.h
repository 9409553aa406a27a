//===- Threads.h - Work on as many threads as the system gives ------------===//
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>

namespace ingot::codegen::cpu {

/// Runs `work` on this thread and on up to `threads` - 1 others, and waits for all. Fewer threads run
/// if the system gives fewer, so each must take its work from a common counter.
void runOnThreads(size_t threads, llvm::function_ref<void()> work);

} // namespace ingot::codegen::cpu
