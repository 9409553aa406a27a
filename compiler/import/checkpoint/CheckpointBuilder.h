//===- CheckpointBuilder.h - How readers fill a Checkpoint ----------------===//
#pragma once

#include "compiler/import/checkpoint/Checkpoint.h"
#include "compiler/import/files/MappedFile.h"

namespace ingot::import {

/// A tensor of a type that no weight has. It may be a part of a quantised weight (RawTensors.h).
struct RawTensor {
  std::string name;
  std::string_view dtype; ///< as in the safetensors header: "I32"
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
};

/// Collects the keys and tensors that a container's reader finds. It checks names and keys for duplicates, in the same
/// way for all containers. `finish` sorts the tensors.
class CheckpointBuilder {
public:
  explicit CheckpointBuilder(Container container);
  Container container() const { return checkpoint->container; }

  /// Adds a metadata entry (E0214 if the key exists already).
  Result<void> addMetadata(std::string key, MetaValue value);
  /// Returns the value of a key that was already added, or null.
  const MetaValue *metadata(std::string_view key) const;
  /// Returns the number of metadata entries.
  size_t keys() const { return checkpoint->metadata.size(); }
  const Metadata &allMetadata() const { return checkpoint->metadata; }
  /// For passes that rewrite the configuration (Wrapper.h).
  Metadata &allMetadata() { return checkpoint->metadata; }
  /// Marks a key that the reader itself has handled, so that families need not.
  void markUsed(std::string_view key);

  /// Checks a name's length, bytes and uniqueness (E0210 to E0213). Call it before the tensor's record is
  /// trusted; every checked name must be added afterwards.
  Result<void> checkTensorName(std::string_view name, const std::string &path);
  void addTensor(Tensor tensor) { checkpoint->tensors.push_back(std::move(tensor)); }
  void addRaw(RawTensor tensor) { rawTensors.push_back(std::move(tensor)); }
  std::vector<RawTensor> &raw() { return rawTensors; }
  void addUnread(UnreadTensor tensor) { checkpoint->unread.push_back(std::move(tensor)); }
  /// Returns all tensors added so far, for passes that need the complete list (Float8.h).
  std::vector<Tensor> &tensors() { return checkpoint->tensors; }
  std::vector<UnreadTensor> &unread() { return checkpoint->unread; }
  std::vector<Tensor> &draftBlocks() { return checkpoint->draftBlocks; }
  /// Counts a tensor that is left out, as part of `what` (a literal).
  void leaveOut(std::string_view what, uint64_t bytes);

  const std::string &architecture() const { return checkpoint->architecture; }
  void setArchitecture(std::string architecture) {
    checkpoint->architecture = std::move(architecture);
  }
  /// Adds a one-line remark for the user.
  void note(std::string text) { checkpoint->notes.push_back(std::move(text)); }
  void setLayerFormat(WeightFormat format) { checkpoint->layerFormat = format; }
  /// Marks the configuration as a wrapper's, so that towers and the modules that connect them are left out.
  void setWrapper() { wrapper = true; }
  bool isWrapper() const { return wrapper; }
  /// Marks the model as saved without its head.
  void setHeadless() { checkpoint->headless = true; }
  void addWeightFile(std::string path) { checkpoint->weightFiles.push_back(std::move(path)); }
  void setName(std::string name) { checkpoint->name = std::move(name); }
  TextFiles &text() { return checkpoint->text; }
  /// Keeps the memory under the tensors alive with the checkpoint.
  void keep(std::shared_ptr<const void> mapping) {
    checkpoint->mappings.push_back(std::move(mapping));
  }

  void keep(std::shared_ptr<const MappedFile> file) {
    checkpoint->files.push_back(std::move(file));
  }

  /// Returns the checkpoint. The builder is empty afterwards.
  std::shared_ptr<Checkpoint> finish(std::string contentHash);

private:
  std::shared_ptr<Checkpoint> checkpoint;
  std::map<std::string, bool, std::less<>> tensorNames;
  bool wrapper = false;
  std::vector<RawTensor> rawTensors;
};

/// Returns the error for a tensor with too many dimensions, `count` (E0215).
Error tooManyDimensions(std::string_view tensorName, uint64_t count, int maxDims);

/// Checks a shape and counts its elements: 1 to 8 dimensions, no zero extent, a product below 2^62 (E0215 to
/// E0217; `maxDims` is the container's limit).
Result<int64_t> countElements(std::string_view tensorName, std::span<const int64_t> shape,
                              int maxDims);

} // namespace ingot::import
