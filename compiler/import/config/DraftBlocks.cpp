//===- DraftBlocks.cpp - See DraftBlocks.h --------------------------------===//
#include "compiler/import/config/DraftBlocks.h"

#include <charconv>
#include <utility>

namespace ingot::import {

namespace {

constexpr std::string_view kPrefixes[] = {"mtp.", "mtp_", "model.mtp.", "model.mtp_"};

/// Returns the value of a key if it is a positive integer, else 0.
int64_t countOf(const CheckpointBuilder &builder, std::string_view key) {
  const MetaValue *value = builder.metadata(key);
  const auto *count = value ? std::get_if<int64_t>(value) : nullptr;
  return count && *count > 0 ? *count : 0;
}

/// Returns the N of "model.layers.N.…", or -1. `prefix` is the part before N.
int64_t layerOf(std::string_view tensor, std::string_view prefix) {
  int64_t layer = -1;
  if (!tensor.starts_with(prefix))
    return -1;
  tensor.remove_prefix(prefix.size());
  auto [end, failed] = std::from_chars(tensor.data(), tensor.data() + tensor.size(), layer);
  const bool whole = failed == std::errc() && end != tensor.data() + tensor.size() && *end == '.';
  return whole && layer >= 0 ? layer : -1;
}

/// Moves the tensors of draft blocks out of the model.
template <typename IsDraft> void takeOut(CheckpointBuilder &builder, IsDraft isDraft) {
  constexpr std::string_view kWhat = "next-token prediction";
  std::erase_if(builder.tensors(), [&](Tensor &tensor) {
    if (!isDraft(tensor.name))
      return false;
    builder.leaveOut(kWhat, tensor.bytes());
    builder.draftBlocks().push_back(std::move(tensor));
    return true;
  });
  std::erase_if(builder.unread(), [&](const UnreadTensor &tensor) { return isDraft(tensor.name); });
}

void takeOutOfFolder(CheckpointBuilder &builder) {
  const int64_t layers = countOf(builder, "num_hidden_layers"),
                drafts = countOf(builder, "num_nextn_predict_layers");
  for (const auto &[key, value] : std::as_const(builder).allMetadata())
    if (key.starts_with("mtp_") || key == "num_nextn_predict_layers" || key == "use_mtp" ||
        key == "num_mtp_modules")
      builder.markUsed(key);
  takeOut(builder, [&](std::string_view name) {
    for (std::string_view prefix : kPrefixes)
      if (name.starts_with(prefix))
        return true;
    const int64_t layer = layers && drafts ? layerOf(name, "model.layers.") : -1;
    return layer >= layers && layer - layers < drafts && layer >= 0;
  });
}

/// If `value` is an array with one number per block, keeps only the first `layers` numbers.
void shorten(MetaValue &value, int64_t blocks, int64_t layers) {
  if (auto *array = std::get_if<MetaArray>(&value))
    std::visit(
        [&](auto &numbers) {
          if (static_cast<int64_t>(numbers.size()) == blocks)
            numbers.resize(static_cast<size_t>(layers));
        },
        *array);
}

void takeOutOfGguf(CheckpointBuilder &builder) {
  const std::string scope = builder.architecture() + ".";
  const int64_t blocks = countOf(builder, scope + "block_count"),
                drafts = countOf(builder, scope + "nextn_predict_layers");
  const MetaValue *given = builder.metadata(scope + "nextn_predict_layers");
  const auto *none = given ? std::get_if<int64_t>(given) : nullptr;
  if (none && *none == 0)
    builder.markUsed(scope + "nextn_predict_layers");
  if (drafts == 0 || drafts >= blocks)
    return; // the family refuses the key, because it is not used
  const int64_t layers = blocks - drafts;
  builder.markUsed(scope + "nextn_predict_layers");
  for (auto &[key, value] : builder.allMetadata())
    if (key == scope + "block_count")
      value = layers;
    else if (key.starts_with(scope + "attention.") ||
             key.starts_with(scope + "feed_forward_length"))
      shorten(value, blocks, layers);
  takeOut(builder, [&](std::string_view name) { return layerOf(name, "blk.") >= layers; });
}

} // namespace

void setDraftBlocksAside(CheckpointBuilder &builder) {
  if (builder.container() == Container::Gguf)
    takeOutOfGguf(builder);
  else
    takeOutOfFolder(builder);
}

} // namespace ingot::import
