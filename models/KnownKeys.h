//===- KnownKeys.h - Keys of configurations that change nothing -----------===//
//
// A family's reader asks for the keys that it uses. One that nobody asked for changes numbers only where
// transformers (a config.json) or llama.cpp (a GGUF) reads it for this family, and where its value is not the one
// that says nothing. Both are said in one table, KnownKeys.cpp: keys, the families that they are met in, and the
// values with which they change nothing. What is in no row and does not say "off" is refused.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/Checkpoint.h"

#include "llvm/ADT/StringRef.h"

namespace ingot::models {

/// What is known of a key of which no reader asked.
struct KnownKey {
  enum class Verdict {
    Unknown,      ///< nobody knows it: refused
    Housekeeping, ///< names, tokens, training, what a program runs: never of what is computed
    Neutral,      ///< it says nothing: passed over, and listed for who asks
    Refused       ///< with this value the model would be another one
  } verdict;
  llvm::StringRef supported; ///< of Refused: the values that say nothing, with blanks between
};

/// `key` is without the architecture's prefix in a GGUF, "" in `family` is of no family in particular.
KnownKey lookUpKey(bool gguf, llvm::StringRef family, llvm::StringRef key,
                   const import::MetaValue &value);

/// A value for people: 'text', true, 0.5, the one number of a list, or how long a list is.
std::string shown(const import::MetaValue &value);

} // namespace ingot::models
