//===- Checkpoint.h - A model as it was found on disk ---------------------===//
//
// What GGUF files and safetensors folders have in common: tensors by name,
// metadata by key, and text artefacts. Reading checks counts, sizes and offsets
// against the bytes that are there before anything is allocated; afterwards every
// `Tensor::data` is known to lie inside a live mapping, or is empty and rows are made when they are
// asked for (quantised safetensors: Quantized.h).
//
// No LLVM here: this is what the fuzzers build.
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

/// Makes the rows of a tensor that lies in no file: a quantised matrix, of its codes and scales (Quantized.h). Any
/// thread may ask, for any rows.
class BlockMaker {
public:
  virtual ~BlockMaker() = default;
  /// `count` rows from `first` on, as the tensor's format stores them (Codes.h).
  virtual void make(int64_t first, int64_t count, std::byte *out) const = 0;
  /// The first value of these rows whose scale is NaN or infinite, counted over the tensor; -1: none.
  virtual int64_t firstNotFinite(int64_t first, int64_t count) const = 0;
};

struct Tensor {
  std::string name;
  WeightFormat format;        ///< numeric format; the packing is the file's own (Dequantize.h)
  std::vector<int64_t> shape; ///< outermost first: a matrix is [rows n][columns k]
  std::span<const std::byte> data;
  /// fp8 formats only: 1 (fp8_tensor), n (fp8), or ceil(n/128) x ceil(k/128) (fp8_block128)
  /// numbers; of a stack as many for each matrix, but one of fp8_tensor may be for all.
  std::span<const float> scales = {};
  std::shared_ptr<const BlockMaker> maker = nullptr; ///< instead of data

  int64_t elements() const;
  uint64_t bytes() const; ///< of all rows, as the format stores them
  /// Of an fp8 tensor: what value (row, k) is multiplied by.
  float scale(int64_t row, int64_t k) const;
};

/// A tensor of a type that no weight has, without its bytes: older files keep masks so.
struct UnreadTensor {
  std::string name;
  std::string_view type; ///< "BOOL"
};

/// Tensors that a checkpoint has beside the model that a family sees.
struct LeftOut {
  std::string_view what; ///< "vision tower"
  size_t tensors;
  uint64_t bytes;
};

/// "vision tower left out: 0.4 GB, 312 tensors"
std::string describe(const LeftOut &part);

/// A metadata value: GGUF keys and config.json fields. Integers are i64 (an u64 beyond
/// that is refused), nested JSON objects are flattened with '.' ("rope_scaling.factor").
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

/// Text artefacts of a safetensors folder, verbatim; empty where the file is missing (TextFiles.h).
struct TextFiles {
  std::string tokenizerJson, tokenizerConfigJson, specialTokensMapJson, addedTokensJson,
      generationConfigJson;
  /// Looked for where there is no tokenizer.json: what one can be made of. The second may hold any bytes.
  std::string vocabJson, tokenizerModel, mergesTxt, tekkenJson;
  std::vector<NamedTemplate> chatTemplates; ///< of different names
};

class MappedFile;

class Checkpoint {
public:
  Container container;
  /// general.architecture ("llama") or architectures[0] ("LlamaForCausalLM"); of a wrapper, its
  /// text model's (Wrapper.h).
  std::string architecture;
  /// general.name, or the folder's or file's stem.
  std::string name;
  Metadata metadata;
  std::vector<Tensor> tensors; ///< sorted by name; unique
  /// Blocks that predict tokens after the next one (DraftBlocks.h): no layers of the model.
  std::vector<Tensor> draftBlocks;
  /// What is in the files and in neither list (Wrapper.h), and the draft blocks: for people.
  std::vector<LeftOut> leftOut;
  /// What else is to be said of it: weights that are not quite those of the files.
  std::vector<std::string> notes;
  /// What a family must know to be needless (E0218 else), sorted by name.
  std::vector<UnreadTensor> unread;
  /// What config.json says of the layers' matrices (quantization_config): for shapes without
  /// tensors.
  std::optional<WeightFormat> layerFormat;
  bool headless = false;                ///< safetensors of a model that was saved without its head
  TextFiles text;                       ///< safetensors only; GGUF keeps its vocabulary in metadata
  std::vector<std::string> weightFiles; ///< the safetensors files that tensors are of, as paths
  std::string contentHash; ///< hex XXH3-128 over everything read (for caches and provenance)

  const Tensor *find(std::string_view tensorName) const;
  const UnreadTensor *findUnread(std::string_view tensorName) const;

  /// Typed look-ups; each remembers that the key was used. A key of the wrong type is an
  /// error naming key, found and expected type. JSON's null counts as missing; `has` is no use.
  bool has(std::string_view key) const;
  Result<int64_t> integer(std::string_view key) const;
  Result<double> number(std::string_view key) const; ///< integers convert
  Result<bool> boolean(std::string_view key) const;
  Result<std::string> string(std::string_view key) const;
  const MetaArray *array(std::string_view key) const; ///< null if missing or no array
  Result<int64_t> integerOr(std::string_view key, int64_t otherwise) const;
  Result<double> numberOr(std::string_view key, double otherwise) const;
  Result<bool> booleanOr(std::string_view key, bool otherwise) const;

  /// Lets go of the pages of its files that are in memory (MappedFile::forgetPages).
  void forgetPages() const;

  /// Marks keys as known and harmless (a trailing '*' matches any rest).
  void ignore(std::string_view pattern) const;
  /// Keys that nobody used or ignored: a family must refuse them (silence is a bug), or know that they change nothing.
  std::vector<std::string> unusedKeys() const;
  /// Notes that a key changes nothing of this model, whose family knows it; one that is missing or null says as much.
  void passOver(std::string_view key) const;
  /// The keys of which that was noted.
  const std::set<std::string, std::less<>> &passedOver() const { return passed; }

private:
  friend class CheckpointBuilder;
  mutable std::map<std::string, bool, std::less<>> used;
  mutable std::set<std::string, std::less<>> passed;
  std::vector<std::shared_ptr<const MappedFile>> files; ///< kept mapped
  std::vector<std::shared_ptr<const void>> mappings;    ///< other memory under tensors
};

/// What the hash of a checkpoint is made of: all bytes of its files, or the first of each, which takes no time. Those are
/// enough where weights are made up.
enum class Hashed : uint8_t { Everything, Beginnings };

/// Opens a GGUF file or any part of a split one, a safetensors file (config.json beside it) or the index of several, a
/// folder of a safetensors checkpoint (single or sharded) or of one GGUF model, a model's folder in
/// the Hugging Face cache (models--ORG--NAME), or a config.json (no tensors). What a file is, its first bytes say.
Result<std::shared_ptr<Checkpoint>> openCheckpoint(const std::string &path,
                                                   Hashed hashed = Hashed::Everything);

} // namespace ingot::import
