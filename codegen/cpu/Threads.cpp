//===- Threads.cpp - See Threads.h ----------------------------------------===//
//
// Compiled with exceptions, unlike the other files: std::jthread throws if there is no thread.
//===----------------------------------------------------------------------===//
#include "codegen/cpu/Threads.h"

#include <system_error>
#include <thread>
#include <vector>

void ingot::codegen::cpu::runOnThreads(size_t threads, llvm::function_ref<void()> work) {
  std::vector<std::jthread> others; // joins at the end, whatever happens before
  others.reserve(threads);
  try {
    while (others.size() + 1 < threads)
      others.emplace_back([work] { work(); });
  } catch (const std::system_error &) { // no memory for a stack, or too many threads
  }
  work();
}
