//===- LastWords.h - Ends that no caller can report ------------------------===//
#pragma once

namespace ingot::cli {

/// From here on, a process without memory (E0507) and one whose mapped file became shorter
/// under it (E0388) end with three lines and exit code 3 instead of a signal.
void prepareLastWords();

} // namespace ingot::cli
