//===- Config.h - Reading a model's configuration -------------------------===//
//
// The first thing that is wrong stops the import, but a family's reader should read
// like a list of keys: so the error is kept, further reads give 1 or the like, and
// `finish` hands the error over. Keys that were not read by then say nothing (KnownKeys.h), or are refused.
//
// A list with an entry for each layer is the one value that all of them have.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/Checkpoint.h"
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
  /// Whether it is there and null, which `has` takes for missing.
  bool isNull(llvm::StringRef key) const;
  bool hasArray(llvm::StringRef key) const;
  bool isText(llvm::StringRef key) const;
  /// Whether there is any key that begins so ("rope_parameters.").
  bool hasScope(llvm::StringRef scope) const;

  /// An integer of 1 to `most`.
  int64_t count(llvm::StringRef key, int64_t most = std::numeric_limits<int32_t>::max());
  int64_t countOr(llvm::StringRef key, int64_t otherwise);
  /// An integer from 0 on.
  int64_t sizeOr(llvm::StringRef key, int64_t otherwise);
  /// A finite number above 0.
  double positive(llvm::StringRef key);
  double positiveOr(llvm::StringRef key, double otherwise);
  /// A finite number.
  double numberOr(llvm::StringRef key, double otherwise);
  bool flagOr(llvm::StringRef key, bool otherwise);
  std::string textOr(llvm::StringRef key, llvm::StringRef otherwise);
  /// The elements of an array of strings; none if it is missing.
  std::vector<std::string> texts(llvm::StringRef key);
  std::vector<bool> flags(llvm::StringRef key);
  std::vector<int64_t> integers(llvm::StringRef key);
  std::vector<double> numbers(llvm::StringRef key);

  /// Reads keys whose only supported value is one that the model's other keys give. Of those whose value is the same
  /// for all models KnownKeys.cpp has a row.
  void requireCount(llvm::StringRef key, int64_t value);
  void requirePositive(llvm::StringRef key, double value);

  /// Keys that change nothing of a model whose other keys are as they are: a window that is switched off.
  void passOver(llvm::ArrayRef<llvm::StringRef> keys);

  /// Keeps the error if it is the first one.
  void refuse(Error error);
  void refuseValue(llvm::StringRef key, const std::string &found, const std::string &supported);

  /// Success, the first error, or the keys that nobody read and that may change what a model of this family computes
  /// (KnownKeys.h). Those that do not are noted in the checkpoint (Checkpoint::passedOver).
  Result<void> finish(llvm::StringRef family);

private:
  std::string full(llvm::StringRef key) const { return prefix + key.str(); }
  template <typename T> T keep(Result<T> result, T otherwise);
  /// The value of a key or, of a list with an entry for each layer, the one that all have.
  template <typename T>
  T read(llvm::StringRef key, T otherwise,
         Result<T> (import::Checkpoint::*typed)(std::string_view) const);
  void refuseLayers(llvm::StringRef key, const import::MetaArray &list);
  Error unknownKeys(llvm::ArrayRef<std::string> keys) const;

  const import::Checkpoint &checkpoint;
  std::string prefix;
  std::optional<Error> first;
};

/// hidden_act or hidden_activation of a config.json.
lm::ActivationKind readActivation(Config &config, llvm::StringRef key, llvm::StringRef otherwise);

/// Checks that heads fit each other: kv_heads divides heads, and the rotary part of a head
/// is even (rope turns pairs) and no larger than it; 0 where nothing turns.
void checkHeads(Config &config, int64_t heads, int64_t kvHeads, int64_t headDim, int64_t rotary);

} // namespace ingot::models
