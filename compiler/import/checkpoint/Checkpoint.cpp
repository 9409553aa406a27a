//===- Checkpoint.cpp - Look-ups that record the keys used ----------------===//
#include "compiler/import/checkpoint/Checkpoint.h"
#include "compiler/import/blocks/Codes.h"
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/files/MappedFile.h"

#include <algorithm>
#include <cstdio>

namespace ingot::import {

int64_t Tensor::elements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

uint64_t Tensor::bytes() const {
  if (!maker)
    return data.size();
  const int64_t k = shape.back();
  return static_cast<uint64_t>(elements() / k * storedRowBytes(format, k));
}

float Tensor::scale(int64_t row, int64_t k) const {
  const int64_t n = shape[shape.size() - 2], matrix = row / n; // position in a stack
  switch (format) {
  case WeightFormat::Fp8Tensor:
    return scales[scales.size() == 1 ? 0 : static_cast<size_t>(matrix)];
  case WeightFormat::Fp8:
    return scales[static_cast<size_t>(row)];
  default: {
    const int64_t blocks = (n + 127) / 128, columns = (shape.back() + 127) / 128;
    return scales[static_cast<size_t>((matrix * blocks + row % n / 128) * columns + k / 128)];
  }
  }
}

std::string describe(const LeftOut &part) {
  const auto bytes = static_cast<double>(part.bytes);
  char size[32];
  if (part.bytes < 100'000)
    std::snprintf(size, sizeof size, "%.0f bytes", bytes);
  else if (part.bytes < 100'000'000)
    std::snprintf(size, sizeof size, "%.1f MB", bytes / 1e6);
  else
    std::snprintf(size, sizeof size, "%.1f GB", bytes / 1e9);
  return line(part.what, " left out: ", size, ", ", part.tensors,
              part.tensors == 1 ? " tensor" : " tensors");
}

const Tensor *Checkpoint::find(std::string_view tensorName) const {
  auto tensor = std::lower_bound(
      tensors.begin(), tensors.end(), tensorName,
      [](const Tensor &candidate, std::string_view name) { return candidate.name < name; });
  return tensor != tensors.end() && tensor->name == tensorName ? &*tensor : nullptr;
}

const UnreadTensor *Checkpoint::findUnread(std::string_view tensorName) const {
  auto tensor = std::ranges::lower_bound(unread, tensorName, {}, &UnreadTensor::name);
  return tensor != unread.end() && tensor->name == tensorName ? &*tensor : nullptr;
}

namespace {

std::string describe(const MetaValue &value) {
  if (std::holds_alternative<std::monostate>(value))
    return "null";
  if (const auto *flag = std::get_if<bool>(&value))
    return *flag ? "the boolean true" : "the boolean false";
  if (const auto *integer = std::get_if<int64_t>(&value))
    return line("the integer ", *integer);
  if (const auto *number = std::get_if<double>(&value))
    return line("the number ", *number);
  if (const auto *text = std::get_if<std::string>(&value))
    return line("the string ", inQuotes(*text));
  return std::visit([](const auto &array) { return line("an array of ", array.size()); },
                    std::get<MetaArray>(value));
}

Error missing(std::string_view key, const char *expected) {
  return refuse(cause::keyMissing, line("the checkpoint has no ", inQuotes(key)),
                line("the model needs it; expected ", expected),
                "convert the checkpoint again with a current converter");
}

Error wrongType(std::string_view key, const MetaValue &value, const char *expected) {
  return refuse(cause::keyType, line("the key ", inQuotes(key), " has the wrong type"),
                line("found ", describe(value), ", expected ", expected),
                "correct the value, or convert the checkpoint again");
}

/// Returns the key's value, or null if the key is missing or its value is JSON null, which means the same.
const MetaValue *lookUp(const Checkpoint &checkpoint, std::string_view key) {
  auto entry = checkpoint.metadata.find(key);
  if (entry == checkpoint.metadata.end() || std::holds_alternative<std::monostate>(entry->second))
    return nullptr;
  return &entry->second;
}

template <typename T>
Result<T> typed(const Checkpoint &checkpoint, std::string_view key, const char *expected) {
  const MetaValue *value = lookUp(checkpoint, key);
  if (!value)
    return missing(key, expected);
  if (const T *found = std::get_if<T>(value))
    return *found;
  return wrongType(key, *value, expected);
}

} // namespace

void Checkpoint::forgetPages() const {
  for (const auto &file : files)
    file->forgetPages();
}

bool Checkpoint::has(std::string_view key) const { return lookUp(*this, key) != nullptr; }

Result<int64_t> Checkpoint::integer(std::string_view key) const {
  used[std::string(key)] = true;
  return typed<int64_t>(*this, key, "an integer");
}

Result<double> Checkpoint::number(std::string_view key) const {
  used[std::string(key)] = true;
  const MetaValue *value = lookUp(*this, key);
  if (value && std::holds_alternative<int64_t>(*value))
    return static_cast<double>(std::get<int64_t>(*value));
  return typed<double>(*this, key, "a number");
}

Result<bool> Checkpoint::boolean(std::string_view key) const {
  used[std::string(key)] = true;
  return typed<bool>(*this, key, "a boolean");
}

Result<std::string> Checkpoint::string(std::string_view key) const {
  used[std::string(key)] = true;
  return typed<std::string>(*this, key, "a string");
}

const MetaArray *Checkpoint::array(std::string_view key) const {
  const MetaValue *value = lookUp(*this, key);
  const MetaArray *found = value ? std::get_if<MetaArray>(value) : nullptr;
  if (found)
    used[std::string(key)] = true;
  return found;
}

Result<int64_t> Checkpoint::integerOr(std::string_view key, int64_t otherwise) const {
  return has(key) ? integer(key) : Result<int64_t>(otherwise);
}

Result<double> Checkpoint::numberOr(std::string_view key, double otherwise) const {
  return has(key) ? number(key) : Result<double>(otherwise);
}

Result<bool> Checkpoint::booleanOr(std::string_view key, bool otherwise) const {
  return has(key) ? boolean(key) : Result<bool>(otherwise);
}

// A pattern is stored among the used keys, as an entry with the value false.
void Checkpoint::ignore(std::string_view pattern) const {
  bool isPattern = pattern.ends_with('*');
  used.try_emplace(std::string(pattern), !isPattern);
}

void Checkpoint::passOver(std::string_view key) const {
  if (!has(key) || used.contains(key))
    return;
  used[std::string(key)] = true;
  passed.emplace(key);
}

std::vector<std::string> Checkpoint::unusedKeys() const {
  auto covered = [&](std::string_view key) {
    if (used.contains(key))
      return true;
    return std::any_of(used.begin(), used.end(), [&](const auto &entry) {
      return !entry.second &&
             key.starts_with(std::string_view(entry.first).substr(0, entry.first.size() - 1));
    });
  };
  std::vector<std::string> unused;
  for (const auto &[key, value] : metadata)
    if (!std::holds_alternative<std::monostate>(value) && !covered(key))
      unused.push_back(key);
  return unused;
}

} // namespace ingot::import
