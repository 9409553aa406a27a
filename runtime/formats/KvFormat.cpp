//===- KvFormat.cpp - See KvFormat.h --------------------------------------===//
#include "runtime/formats/KvFormat.h"

#include <algorithm>
#include <cassert>

namespace ingot {

static constexpr KvFormatInfo kFormats[] = {
    // id             name    bits group scale step cpu   gpu
    {KvFormat::F32, "f32", 32, 0, 0, 1, true, false},
    {KvFormat::BF16, "bf16", 16, 0, 0, 1, true, true},
    {KvFormat::F16, "f16", 16, 0, 0, 1, true, false},
    {KvFormat::Int8, "int8", 8, 0, 32, 4, true, false},   // KvInt8.h
    {KvFormat::FP8, "fp8", 8, 0, 32, 1, false, true},     // E4M3
    {KvFormat::Int4, "int4", 4, 32, 16, 32, true, false}, // KvInt4.h
};

const KvFormatInfo &kvFormat(KvFormat format) {
  assert(size_t(format) < std::size(kFormats) && "no format of the table");
  assert(kFormats[size_t(format)].id == format && "the table is not in the order of the formats");
  return kFormats[size_t(format)];
}

std::span<const KvFormatInfo> kvFormats() { return kFormats; }

std::optional<KvFormat> kvFormatNamed(std::string_view name) {
  const auto *found = std::ranges::find(kFormats, name, &KvFormatInfo::name);
  return found == std::end(kFormats) ? std::nullopt : std::optional(found->id);
}

std::string kvFormatNames(bool (*which)(const KvFormatInfo &), std::string_view word) {
  std::string text, last;
  for (const KvFormatInfo &format : kFormats) {
    if (!which(format))
      continue;
    if (!last.empty())
      text += (text.empty() ? "" : ", ") + last;
    last = format.name;
  }
  return text.empty() ? last : text + " " + std::string(word) + " " + last;
}

} // namespace ingot
