//===- KvFormat.h - Numeric formats of a paged state -----------------------===//
//
// A stream of a state holds vectors: the keys or values of one head at one position. A format defines how
// many bits a value takes and how many values share a scale. The layout of a page is private to the kernels
// and differs between targets (abi/KernelAbi.h, codegen/cuda/device/kv_page.cuh).
//
// A new format is a row of the table; docs/extending.md lists the other steps.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ingot {

enum class KvFormat : uint8_t { F32, BF16, F16, Int8, FP8, Int4 };

struct KvFormatInfo {
  KvFormat id;
  std::string_view name; ///< as in IR, in options and in the engine: "f16"
  int bits;              ///< bits of a value
  int group;             ///< values that share a scale; 0: all of a vector
  int scaleBits;         ///< bits of a scale; 0: there are no scales
  int step;              ///< a vector's width is a multiple of this
  bool cpu, gpu;         ///< whether kernels of CPUs and of GPUs read and write it

  /// Returns whether the format suits `exact` arithmetic: each value is rounded on its own, if at all.
  bool isPlain() const { return scaleBits == 0; }
  int64_t scalesOf(int64_t width) const {
    return scaleBits == 0 ? 0 : group == 0 ? 1 : (width + group - 1) / group;
  }
  /// Returns the size in bytes of a vector of `width` values without its scales, of its scales, and of both.
  int64_t valueBytes(int64_t width) const { return (width * bits + 7) / 8; }
  int64_t scaleBytes(int64_t width) const { return scalesOf(width) * scaleBits / 8; }
  int64_t vectorBytes(int64_t width) const { return valueBytes(width) + scaleBytes(width); }
};

/// The default formats: on CPUs, on CPUs with exact arithmetic, and on GPUs.
inline constexpr KvFormat kCpuKv = KvFormat::F16, kExactKv = KvFormat::F32, kGpuKv = KvFormat::BF16;

const KvFormatInfo &kvFormat(KvFormat format);
/// Returns all formats.
std::span<const KvFormatInfo> kvFormats();

/// Returns the format of that name, if there is one.
std::optional<KvFormat> kvFormatNamed(std::string_view name);

/// Returns the formats that `which` accepts as a list such as "f32, bf16 and f16", with `word` before the last one.
std::string kvFormatNames(bool (*which)(const KvFormatInfo &), std::string_view word);
inline bool isOfCpus(const KvFormatInfo &format) { return format.cpu; }
inline bool isOfGpus(const KvFormatInfo &format) { return format.gpu; }
inline bool isOfAny(const KvFormatInfo &format) { return format.cpu || format.gpu; }

} // namespace ingot
