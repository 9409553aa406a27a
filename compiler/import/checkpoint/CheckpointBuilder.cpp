//===- CheckpointBuilder.cpp - Checks for all containers ------------------===//
#include "compiler/import/checkpoint/CheckpointBuilder.h"
#include "compiler/import/error/ImportErrors.h"

#include <algorithm>

namespace ingot::import {

CheckpointBuilder::CheckpointBuilder(Container container)
    : checkpoint(std::make_shared<Checkpoint>()) {
  checkpoint->container = container;
}

Result<void> CheckpointBuilder::addMetadata(std::string key, MetaValue value) {
  auto [entry, added] = checkpoint->metadata.try_emplace(std::move(key), std::move(value));
  if (!added)
    return refuse(cause::keyTwice, line("duplicate key ", inQuotes(entry->first)),
                  line("after ", checkpoint->metadata.size(), " other keys"),
                  "convert the checkpoint again with a current converter");
  return {};
}

const MetaValue *CheckpointBuilder::metadata(std::string_view key) const {
  auto entry = checkpoint->metadata.find(key);
  return entry == checkpoint->metadata.end() ? nullptr : &entry->second;
}

void CheckpointBuilder::markUsed(std::string_view key) {
  checkpoint->used[std::string(key)] = true;
}

Result<void> CheckpointBuilder::checkTensorName(std::string_view name, const std::string &path) {
  constexpr size_t kMaxName = 256;
  const size_t index = tensorNames.size();
  if (name.empty())
    return refuse(cause::tensorNameEmpty, line(fileName(path), " has a tensor without a name"),
                  line("tensor ", index, " has a name of 0 bytes"), "convert the checkpoint again");
  if (name.size() > kMaxName)
    return refuse(cause::tensorNameLong,
                  line(fileName(path), " has a tensor name that is too long"),
                  line(name.size(), " bytes, at most ", kMaxName, ": ", inQuotes(name)),
                  "rename the tensor in the checkpoint");
  if (!isPlainName(name))
    return refuse(cause::tensorNameOdd,
                  line(fileName(path), " has a tensor name with invalid bytes: ", inQuotes(name)),
                  line("tensor ", index, " has control characters or malformed UTF-8 in its ",
                       name.size(), " bytes"),
                  "convert the checkpoint again");
  if (!tensorNames.emplace(name, true).second)
    return refuse(cause::tensorTwice, line("duplicate tensor ", inQuotes(name)),
                  line("tensor ", index, " of ", fileName(path), " has the same name"),
                  "convert the checkpoint again; tensor names must be unique");
  return {};
}

void CheckpointBuilder::leaveOut(std::string_view what, uint64_t bytes) {
  auto part = std::ranges::find(checkpoint->leftOut, what, &LeftOut::what);
  if (part == checkpoint->leftOut.end())
    part = checkpoint->leftOut.insert(part, LeftOut{what, 0, 0});
  ++part->tensors;
  part->bytes += bytes;
}

std::shared_ptr<Checkpoint> CheckpointBuilder::finish(std::string contentHash) {
  checkpoint->contentHash = std::move(contentHash);
  std::sort(checkpoint->tensors.begin(), checkpoint->tensors.end(),
            [](const Tensor &a, const Tensor &b) { return a.name < b.name; });
  std::ranges::sort(checkpoint->unread, {}, &UnreadTensor::name);
  std::ranges::sort(checkpoint->draftBlocks, {}, &Tensor::name);
  return std::move(checkpoint);
}

Error tooManyDimensions(std::string_view tensorName, uint64_t count, int maxDims) {
  return refuse(cause::tooManyDims,
                line("tensor ", inQuotes(tensorName), " has too many dimensions"),
                line(count, " dimensions, at most ", maxDims), "convert the checkpoint again");
}

Result<int64_t> countElements(std::string_view tensorName, std::span<const int64_t> shape,
                              int maxDims) {
  constexpr int64_t kMaxElements = int64_t(1) << 62;
  if (shape.size() > static_cast<size_t>(maxDims))
    return tooManyDimensions(tensorName, shape.size(), maxDims);
  int64_t elements = 1;
  for (int64_t extent : shape) {
    if (extent == 0)
      return refuse(cause::dimensionZero, line("tensor ", inQuotes(tensorName), " is empty"),
                    line("one of its ", shape.size(), " dimensions is 0"),
                    "convert the checkpoint again, without empty tensors");
    if (extent < 0 || elements > kMaxElements / extent)
      return refuse(cause::elementOverflow,
                    line("tensor ", inQuotes(tensorName), " is larger than any file"),
                    line("its ", shape.size(), " dimensions multiply to more than ", kMaxElements,
                         " elements (one is ", static_cast<uint64_t>(extent), ")"),
                    "download the checkpoint again: its header is damaged");
    elements *= extent;
  }
  return elements;
}

} // namespace ingot::import
