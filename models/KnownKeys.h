//===- KnownKeys.h - Configuration keys that change nothing ---------------===//
//
// A family's reader requests the keys that it uses. A key that it did not request changes the model's results only if
// transformers (for a config.json) or llama.cpp (for a GGUF) reads it for this family, and if its value is not a
// neutral one. The table in KnownKeys.cpp covers both conditions: it lists keys, the families in which they occur, and
// their neutral values. A key that is in no row is refused unless its value means "off".
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/Checkpoint.h"

#include "llvm/ADT/StringRef.h"

namespace ingot::models {

/// The verdict on a key that no reader requested.
struct KnownKey {
  enum class Verdict {
    Unknown,      ///< not in the table: refused
    Housekeeping, ///< names, tokens, training, runtime settings: never affects the computation
    Neutral,      ///< no effect with this value: skipped, and listed on request
    Refused       ///< with this value, the model would compute something else
  } verdict;
  llvm::StringRef supported; ///< if Refused: the neutral values, separated by blanks
};

/// `key` has no architecture prefix in a GGUF; `family` "" means no particular family.
KnownKey lookUpKey(bool gguf, llvm::StringRef family, llvm::StringRef key,
                   const import::MetaValue &value);

/// Formats a value for messages: 'text', true, 0.5, the only number of a list, or the length of a list.
std::string shown(const import::MetaValue &value);

} // namespace ingot::models
