//===- Checkpoint.h - A model as read from disk ---------------------------===//
//
// A Checkpoint is the common view of GGUF files and safetensors folders: tensors by name, metadata by key, and text
// artefacts. The readers check counts, sizes and offsets against the actual bytes before anything is allocated.
// Afterwards every `Tensor::data` either lies inside a live mapping, or is empty. If it is empty, the tensor's rows are
// made on demand (quantised safetensors: Quantized.h).
//
// This file does not use LLVM, because the fuzzers build it.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/formats/NumericFormat.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ingot::import {

/// Makes the rows of a tensor that no file holds: a quantised matrix, assembled from its codes and scales
/// (Quantized.h). Thread-safe.
class BlockMaker {
public:
  virtual ~BlockMaker() = default;
  /// Writes `count` rows, starting at `first`, encoded as the tensor's format stores them
  /// (Codes.h).
  virtual void make(int64_t first, int64_t count, std::byte *out) const = 0;
  /// Finds the first value in these rows that has a NaN or infinite scale. Returns its index in the tensor, or -1 if
  /// there is none.
  virtual int64_t firstNotFinite(int64_t first, int64_t count) const = 0;
};

struct Tensor {
  std::string name;
  WeightFormat format;        ///< numeric format; Codes.h has the packing
  std::vector<int64_t> shape; ///< outermost first: a matrix is [rows n][columns k]
  std::span<const std::byte> data;
  /// The scales of an fp8 tensor, else empty. A matrix has 1 (fp8_tensor), n (fp8), or ceil(n/128) x ceil(k/128)
  /// (fp8_block128) scales. A stack has this many for each matrix, except that an fp8_tensor stack may have only one.
  std::span<const float> scales = {};
  std::shared_ptr<const BlockMaker> maker = nullptr; ///< replaces data if set

  int64_t elements() const;
  uint64_t bytes() const; ///< of all rows, as the format stores them
  /// Returns the scale of value (row, k) of an fp8 tensor.
  float scale(int64_t row, int64_t k) const;
};

/// A tensor of a type that no weight has, without its bytes. Older files contain masks of such types.
struct UnreadTensor {
  std::string name;
  std::string_view type; ///< "BOOL"
};

/// Tensors of the checkpoint that are not part of the model that a family sees.
struct LeftOut {
  std::string_view what; ///< "vision tower"
  size_t tensors;
  uint64_t bytes;
};

/// Returns "vision tower left out: 0.4 GB, 312 tensors".
std::string describe(const LeftOut &part);

/// A metadata value: a GGUF key or a config.json field. Integers are i64 (a u64 beyond that range is
/// refused); nested JSON objects are flattened with '.' ("rope_scaling.factor").
using MetaArray = std::variant<std::vector<int64_t>, std::vector<double>, std::vector<std::string>,
                               std::vector<bool>>;
using MetaValue =
    std::variant<std::monostate /*null*/, bool, int64_t, double, std::string, MetaArray>;

using Metadata = std::map<std::string, MetaValue, std::less<>>;

enum class Container : uint8_t { Gguf, Safetensors };

struct NamedTemplate {
  std::string name; ///< "default", "tool_use"
  std::string source;
};

/// Text artefacts of a safetensors folder, verbatim; empty if the file is missing (TextFiles.h).
struct TextFiles {
  std::string tokenizerJson, tokenizerConfigJson, specialTokensMapJson, addedTokensJson,
      generationConfigJson;
  /// Files from which a tokenizer.json can be generated. They are read only if there is none. tokenizerModel may hold
  /// any bytes.
  std::string vocabJson, tokenizerModel, mergesTxt, tekkenJson;
  std::vector<NamedTemplate> chatTemplates; ///< names are unique
};

class MappedFile;

class Checkpoint {
public:
  Container container;
  /// general.architecture ("llama") or architectures[0] ("LlamaForCausalLM"). For a wrapper, it is the architecture of
  /// the text model (Wrapper.h).
  std::string architecture;
  /// general.name, or the stem of the folder's or file's name.
  std::string name;
  Metadata metadata;
  std::vector<Tensor> tensors; ///< sorted by name; unique
  /// Tensors of blocks that predict tokens after the next one (DraftBlocks.h). They are not layers of the model.
  std::vector<Tensor> draftBlocks;
  /// The parts of the files that are not in `tensors`, for reports. They include the draft blocks, and the tensors that
  /// are not in `draftBlocks` either (Wrapper.h).
  std::vector<LeftOut> leftOut;
  /// Further remarks for the user, for example about weights that differ slightly from those in the files.
  std::vector<std::string> notes;
  /// Tensors that the family must declare unneeded (E0218 otherwise), sorted by name.
  std::vector<UnreadTensor> unread;
  /// Format of the layers' matrices according to config.json (quantization_config), for configurations
  /// without tensors.
  std::optional<WeightFormat> layerFormat;
  bool headless = false;                ///< safetensors of a model that was saved without its head
  TextFiles text;                       ///< safetensors only; GGUF keeps its vocabulary in metadata
  std::vector<std::string> weightFiles; ///< paths of the safetensors files that hold the tensors
  std::string contentHash; ///< hex XXH3-128 over everything read (for caches and provenance)

  const Tensor *find(std::string_view tensorName) const;
  const UnreadTensor *findUnread(std::string_view tensorName) const;

  /// Typed look-ups; each marks the key as used. A key of the wrong type is an error that names the key, the
  /// type found and the expected type. JSON null counts as missing; `has` does not mark the key as used.
  bool has(std::string_view key) const;
  Result<int64_t> integer(std::string_view key) const;
  Result<double> number(std::string_view key) const; ///< integers convert
  Result<bool> boolean(std::string_view key) const;
  Result<std::string> string(std::string_view key) const;
  const MetaArray *array(std::string_view key) const; ///< null if missing or not an array
  Result<int64_t> integerOr(std::string_view key, int64_t otherwise) const;
  Result<double> numberOr(std::string_view key, double otherwise) const;
  Result<bool> booleanOr(std::string_view key, bool otherwise) const;

  /// Releases the resident pages of its files (MappedFile::forgetPages).
  void forgetPages() const;

  /// Marks keys as known and harmless (a trailing '*' matches any rest).
  void ignore(std::string_view pattern) const;
  /// Returns the keys that were neither used nor ignored. A family must refuse them or declare that they change
  /// nothing. To ignore them silently is a bug.
  std::vector<std::string> unusedKeys() const;
  /// Records that a key, according to the family, does not affect this model. Does nothing if the key is
  /// missing, null or already used.
  void passOver(std::string_view key) const;
  /// Returns the keys recorded by passOver.
  const std::set<std::string, std::less<>> &passedOver() const { return passed; }

private:
  friend class CheckpointBuilder;
  mutable std::map<std::string, bool, std::less<>> used;
  mutable std::set<std::string, std::less<>> passed;
  std::vector<std::shared_ptr<const MappedFile>> files; ///< kept mapped
  std::vector<std::shared_ptr<const void>> mappings;    ///< other memory that tensors point into
};

} // namespace ingot::import
