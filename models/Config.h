//===- Config.h - Reading a model's configuration -------------------------===//
//
// The first error stops the import, but a family's reader should look like a list of keys. A read therefore does not
// return its error: Config keeps the first one, later reads return a harmless value such as 1, and `finish` returns
// the error. Keys that were not read by then must be neutral (KnownKeys.h); otherwise they are refused.
//
// A list with an entry per layer is read as a single value if all entries are equal.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/Checkpoint.h"
#include "dialects/lm/LmDialect.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <limits>
#include <optional>
#include <string>

namespace ingot::models {

class Config {
public:
  /// Keys are looked up as prefix + key ("llama." for a GGUF, "" for a config.json).
  Config(const import::Checkpoint &checkpoint, std::string prefix)
      : checkpoint(checkpoint), prefix(std::move(prefix)) {}

  bool isGguf() const { return checkpoint.container == import::Container::Gguf; }
  bool has(llvm::StringRef key) const;
  /// Returns whether the key is present and null, which `has` treats as missing.
  bool isNull(llvm::StringRef key) const;
  bool hasArray(llvm::StringRef key) const;
  bool isText(llvm::StringRef key) const;
  /// Returns whether any key starts with `scope` ("rope_parameters.").
  bool hasScope(llvm::StringRef scope) const;

  /// An integer of 1 to `most`.
  int64_t count(llvm::StringRef key, int64_t most = std::numeric_limits<int32_t>::max());
  int64_t countOr(llvm::StringRef key, int64_t otherwise);
  /// A non-negative integer.
  int64_t sizeOr(llvm::StringRef key, int64_t otherwise);
  /// A finite number above 0.
  double positive(llvm::StringRef key);
  double positiveOr(llvm::StringRef key, double otherwise);
  /// A finite number.
  double numberOr(llvm::StringRef key, double otherwise);
  bool flagOr(llvm::StringRef key, bool otherwise);
  std::string textOr(llvm::StringRef key, llvm::StringRef otherwise);
  /// Returns the elements of an array of strings; empty if the key is missing.
  std::vector<std::string> texts(llvm::StringRef key);
  std::vector<bool> flags(llvm::StringRef key);
  std::vector<int64_t> integers(llvm::StringRef key);
  std::vector<double> numbers(llvm::StringRef key);

  /// Reads a key that has only one supported value, which follows from the model's other keys. If the supported value
  /// is the same for all models, the key has a row in KnownKeys.cpp instead.
  void requireCount(llvm::StringRef key, int64_t value);
  void requirePositive(llvm::StringRef key, double value);

  /// Skips keys that have no effect given the model's other keys, for example a window that is switched off.
  void passOver(llvm::ArrayRef<llvm::StringRef> keys);

  /// Keeps the error, unless there is an earlier one.
  void refuse(Error error);
  void refuseValue(llvm::StringRef key, const std::string &found, const std::string &supported);

  /// Returns success, the first error, or an error about unread keys that may change what a model of this family
  /// computes (KnownKeys.h). Unread keys that cannot change it are recorded in the checkpoint
  /// (Checkpoint::passedOver).
  Result<void> finish(llvm::StringRef family);

private:
  std::string full(llvm::StringRef key) const { return prefix + key.str(); }
  template <typename T> T keep(Result<T> result, T otherwise);
  /// Returns the value of a key or, for a list with an entry per layer, the common value.
  template <typename T>
  T read(llvm::StringRef key, T otherwise,
         Result<T> (import::Checkpoint::*typed)(std::string_view) const);
  void refuseLayers(llvm::StringRef key, const import::MetaArray &list);
  Error unknownKeys(llvm::ArrayRef<std::string> keys) const;

  const import::Checkpoint &checkpoint;
  std::string prefix;
  std::optional<Error> first;
};

/// Reads hidden_act or hidden_activation of a config.json.
lm::ActivationKind readActivation(Config &config, llvm::StringRef key, llvm::StringRef otherwise);

/// Checks that head sizes are consistent: kv_heads divides heads, and the rotary part of a head is even (rope
/// rotates pairs) and no larger than the head; 0 means that no value is rotated.
void checkHeads(Config &config, int64_t heads, int64_t kvHeads, int64_t headDim, int64_t rotary);

} // namespace ingot::models
