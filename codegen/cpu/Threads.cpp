//===- Threads.cpp - See Threads.h ----------------------------------------===//
//
// Unlike the other files, this one is compiled with exceptions, since std::jthread throws if the system
// cannot start a thread.
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
