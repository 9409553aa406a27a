//===- KvFormat.h - What the numbers of a paged state are ------------------===//
//
// A stream of a state holds vectors: of one position, one head's keys or values. A format says how many
// bits a value takes and how many values share a scale. Where they lie in a page is the kernels' own matter
// and differs from target to target (abi/KernelAbi.h, codegen/cuda/device/kv_page.cuh).
//
// A new format is a row of the table; what else it takes is in docs/extending.md.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

enum class KvFormat : uint8_t { F32, BF16, F16, Int8, FP8, Int4 };

struct KvFormatInfo {
  KvFormat id;
  std::string_view name; ///< as in IR, in options and in the engine: "f16"
  int bits;              ///< of a value
  int group;             ///< values that share a scale; 0: all of a vector
  int scaleBits;         ///< of a scale; 0: there are none
  int step;              ///< a vector's width is a multiple of it
  bool cpu, gpu;         ///< whose kernels read and write it

  /// Keeps what `exact` arithmetic stores: a value is rounded by itself, if at all.
  bool isPlain() const { return scaleBits == 0; }
  int64_t scalesOf(int64_t width) const {
    return scaleBits == 0 ? 0 : group == 0 ? 1 : (width + group - 1) / group;
  }
  /// Bytes of a vector of `width` values without its scales, and of its scales.
  int64_t valueBytes(int64_t width) const { return (width * bits + 7) / 8; }
  int64_t scaleBytes(int64_t width) const { return scalesOf(width) * scaleBits / 8; }
  int64_t vectorBytes(int64_t width) const { return valueBytes(width) + scaleBytes(width); }
};

const KvFormatInfo &kvFormat(KvFormat format);

/// The format of that name, if there is one.
std::optional<KvFormat> kvFormatNamed(std::string_view name);

/// "f32, bf16 and f16": those of the table that `which` takes, with `word` before the last.
std::string kvFormatNames(bool (*which)(const KvFormatInfo &), std::string_view word);
inline bool isOfCpus(const KvFormatInfo &format) { return format.cpu; }
inline bool isOfGpus(const KvFormatInfo &format) { return format.gpu; }
inline bool isOfAny(const KvFormatInfo &format) { return format.cpu || format.gpu; }

} // namespace ingot
