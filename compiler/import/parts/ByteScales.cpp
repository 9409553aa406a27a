//===- ByteScales.cpp - See ByteScales.h -----------------------------------===//
#include "compiler/import/parts/ByteScales.h"
#include "compiler/import/error/ImportErrors.h"
#include "runtime/formats/E4M3.h"
#include "runtime/formats/E8M0.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace ingot::import {

namespace {

constexpr uint8_t kOne[] = {127, 0x38}; // the number 1 in E8M0 and in E4M3

float valueOf(ByteScale kind, uint8_t byte) {
  return kind == ByteScale::E8M0 ? f32FromE8M0(byte) : f32FromE4M3(byte);
}

/// Returns the byte that encodes `number` exactly, or nothing if there is none. It uses binary search, because values
/// increase with their bytes.
std::optional<uint8_t> byteOf(ByteScale kind, float number) {
  const int count = kind == ByteScale::E8M0 ? 255 : 127; // the next byte is NaN
  int least = 0, most = count;
  while (least < most) {
    const int middle = (least + most) / 2;
    if (valueOf(kind, static_cast<uint8_t>(middle)) < number)
      least = middle + 1;
    else
      most = middle;
  }
  if (least == count || valueOf(kind, static_cast<uint8_t>(least)) != number)
    return std::nullopt;
  return static_cast<uint8_t>(least);
}

bool isStoredSo(ByteScale kind, std::string_view dtype) {
  return dtype == "U8" || dtype == (kind == ByteScale::E8M0 ? "F8_E8M0" : "F8_E4M3");
}

} // namespace

std::string_view typesOf(ByteScale kind) {
  return kind == ByteScale::E8M0 ? "U8 F8_E8M0 F32 F16 BF16" : "F8_E4M3 U8 F32 F16 BF16 F8_E8M0";
}

Result<std::span<const std::byte>> byteScales(RawTensors &parts, const Part &scales, ByteScale kind,
                                              const std::function<bool(int64_t)> &codesAreZero) {
  if (isStoredSo(kind, scales.dtype))
    return scales.data;
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(scales.elements()));
  for (int64_t i = 0; i < scales.elements(); ++i) {
    const float number = scales.number(i);
    std::optional<uint8_t> byte = byteOf(kind, number);
    if (!byte && number >= 0 && number < (kind == ByteScale::E8M0 ? 0x1p-127f : 0x1p-9f) &&
        codesAreZero(i))
      byte = kOne[static_cast<size_t>(kind)];
    if (!byte)
      return refuse(cause::quantValue,
                    line("a scale of ", inQuotes(scales.name), " is invalid in its format"),
                    line("number ", i, " of ", scales.elements(), " (", scales.dtype, ") is ",
                         number, "; ",
                         kind == ByteScale::E8M0 ? "supported: powers of two from 2^-127 to 2^127"
                                                 : "supported: values of E4M3, up to 448"),
                    "use the original checkpoint, with --quantize int4-g32 or fp8");
    (*bytes)[static_cast<size_t>(i)] = static_cast<std::byte>(*byte);
  }
  const std::span<const std::byte> all = *bytes;
  parts.keep(std::move(bytes));
  return all;
}

bool areZeroE2M1(std::span<const std::byte> codes, int64_t first, int64_t count) {
  return std::ranges::all_of(
      codes.subspan(static_cast<size_t>(first / 2), static_cast<size_t>(count / 2)),
      [](std::byte both) { return (both & std::byte(0x77)) == std::byte(0); });
}

bool areZeroE4M3(std::span<const std::byte> codes, int64_t first, int64_t count) {
  return std::ranges::all_of(
      codes.subspan(static_cast<size_t>(first), static_cast<size_t>(count)),
      [](std::byte code) { return (code & std::byte(0x7f)) == std::byte(0); });
}

} // namespace ingot::import
