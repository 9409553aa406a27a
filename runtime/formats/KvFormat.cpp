//===- KvFormat.cpp - See KvFormat.h --------------------------------------===//
#include "runtime/formats/KvFormat.h"

#include <algorithm>

namespace ingot {

static constexpr KvFormatInfo kFormats[] = {
    {KvFormat::F32, "f32", 32, 0, 0},
    {KvFormat::BF16, "bf16", 16, 0, 0},
    {KvFormat::F16, "f16", 16, 0, 0},
    {KvFormat::FP8, "fp8", 8, 0, 32},   // E4M3
    {KvFormat::Int8, "int8", 8, 0, 32}, // KvInt8.h
};

const KvFormatInfo &kvFormat(KvFormat format) { return kFormats[size_t(format)]; }

std::optional<KvFormat> kvFormatNamed(std::string_view name) {
  const auto *found = std::ranges::find(kFormats, name, &KvFormatInfo::name);
  return found == std::end(kFormats) ? std::nullopt : std::optional(found->id);
}

std::span<const KvFormatInfo> kvFormats() { return kFormats; }

} // namespace ingot
