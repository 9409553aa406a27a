//===- CompareRows.cpp - See CompareRows.h --------------------------------===//
#include "compiler/targets/CompareRows.h"
#include "compiler/reference/Matrix.h"
#include "compiler/reference/interpreter/RowEncodings.h"
#include "runtime/formats/PanelLayout.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

using namespace ingot;
using namespace ingot::compiler;
using namespace ingot::reference::interpreter;
using kernel::ActivationType;
using kernel::RowKind;
using reference::Matrix;

/// A few values of a q8 row may differ by one code, because rounding may go the other way. In the second plane of q8x2,
/// codes are so fine that many values may differ. In floating-point encodings the last digit may differ. Its error is
/// relative to the value, not to the row's largest, and is largest next to a power of two.
static constexpr double kCode = 1.01 / 127, kMostCodesOff = 0.005;
static constexpr double kBf16Step = 0x1.01p-7, kE4M3Step = 0x1.01p-3;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Decodes consecutive rows.
static Matrix decodeRows(ActivationType type, int64_t count, const std::byte *from) {
  Matrix rows(count, type.getN());
  for (int64_t row = 0; row < count; ++row)
    decodeRow(type, from + row * type.rowBytes(), rows.row(row));
  return rows;
}

static double largestOf(std::span<const float> values) {
  double most = 0;
  for (float value : values)
    most = std::max(most, double(std::abs(value)));
  return most;
}

/// Returns the error of a value that should be `wanted` but was rounded in the other direction, in a row with the
/// largest magnitude `size`.
static double stepOf(RowKind kind, double wanted, double size) {
  switch (kind) {
  case RowKind::Q8:
    return kCode * size;
  case RowKind::Q8x2:
    return kCode / 256 * size;
  case RowKind::BF16:
    return kBf16Step * std::abs(wanted);
  case RowKind::FP8: // a group's values near 0 are multiples of 2^-9 of its scale
    return kE4M3Step * std::abs(wanted) + size * 0x1p-9 / 448;
  default:
    return 0;
  }
}

BufferAgreement compiler::compareNumbers(ActivationType type, int64_t count,
                                         const std::byte *expectedBytes,
                                         const std::byte *foundBytes, double allowed) {
  const Matrix expected = decodeRows(type, count, expectedBytes),
               found = decodeRows(type, count, foundBytes);
  BufferAgreement agreement;
  int64_t codesOff = 0;
  const double ofAll = largestOf(expected.values);
  for (int64_t row = 0; row < count; ++row) {
    // A narrow row has few values, and all of them may be small by chance. The largest value of all rows is used
    // instead.
    const double size = type.getN() < kPanelRows ? ofAll : largestOf(expected.row(row));
    for (int64_t i = 0; i < expected.columns; ++i) {
      const float wanted = expected.row(row)[size_t(i)], value = found.row(row)[size_t(i)];
      const double off = std::abs(double(value) - double(wanted));
      const double most = allowed * size + stepOf(type.getKind(), wanted, size);
      codesOff += off > allowed * size;
      if (!(off <= most)) { // also true for NaN
        llvm::raw_string_ostream(agreement.wrong.emplace())
            << "value " << i << " of row " << row << " is " << value << ", expected " << wanted
            << " (allowed error: " << most << ")";
        return agreement;
      }
      if (size > 0)
        agreement.largest = std::max(agreement.largest, off / size);
      agreement.largestAbsolute = std::max(agreement.largestAbsolute, off);
    }
  }
  if (type.getKind() != RowKind::Q8)
    return agreement;
  if (const auto values = int64_t(expected.values.size());
      double(codesOff) > 2 + (kMostCodesOff + 127 * allowed) * double(values))
    agreement.wrong = std::to_string(codesOff) + " of " + std::to_string(values) +
                      " codes differ, in " + std::to_string(count) + " rows";
  return agreement;
}

//===----------------------------------------------------------------------===//
// Ids, keys and routes
//===----------------------------------------------------------------------===//

/// Returns the logit of a key (RowEncodings.h: keyOf).
static double logitOf(uint64_t key) {
  const auto sorted = uint32_t(key >> 32);
  return std::bit_cast<float>(sorted & 0x80000000u ? sorted & 0x7fffffffu : ~sorted);
}

static std::string textOfKey(uint64_t key) {
  return "id " + std::to_string(idOf(key)) + ", " + std::to_string(logitOf(key));
}

BufferAgreement compiler::compareWords(ActivationType type, int64_t count,
                                       const std::byte *expected, const std::byte *found,
                                       double allowed, int64_t &idsOff) {
  for (int64_t row = 0; row < count; ++row) {
    const int64_t at = row * type.rowBytes();
    if (std::memcmp(expected + at, found + at, size_t(type.rowBytes())) == 0)
      continue;
    const bool keys = type.getKind() == RowKind::Key;
    uint64_t wanted = 0, value = 0;
    std::memcpy(&wanted, expected + at, keys ? 8 : 4),
        std::memcpy(&value, found + at, keys ? 8 : 4);
    // If logits differ slightly, keys differ as well. If two logits are almost equal, either of them may be found to be
    // the largest, but this is very rare.
    if (keys && allowed > 0) {
      const double largest = logitOf(wanted), off = std::abs(logitOf(value) - largest);
      if (off <= allowed * std::abs(largest) && (idOf(value) == idOf(wanted) || ++idsOff <= 1))
        continue;
    }
    return {(keys ? "the largest of row " : "the id of row ") + std::to_string(row) + " is " +
            (keys ? textOfKey(value) + ", expected " + textOfKey(wanted)
                  : std::to_string(value) + ", expected " + std::to_string(wanted))};
  }
  return {};
}

static bool differ(const std::byte *expected, const std::byte *found, int64_t from, int64_t to) {
  return std::memcmp(expected + from, found + from, size_t(to - from)) != 0;
}

BufferAgreement compiler::compareRoutes(RoutesLayout layout, const std::byte *expected,
                                        const std::byte *found, double allowed) {
  if (differ(expected, found, layout.expert(), layout.weight()))
    return {"it chooses the wrong experts for a row"};
  BufferAgreement agreement;
  for (int64_t at = layout.weight(); at < layout.endOfPairs(); at += 4) {
    float wanted, value;
    std::memcpy(&wanted, expected + at, 4), std::memcpy(&value, found + at, 4);
    const double off = std::abs(double(value) - double(wanted));
    if (!(off <= allowed)) // also true for NaN
      return {"it weights an expert of a row with " + std::to_string(value) + ", expected " +
              std::to_string(wanted)};
    agreement.largest = std::max(agreement.largest, off);
  }
  return agreement;
}

BufferAgreement compiler::compareGroupedRoutes(RoutesLayout layout, const std::byte *expected,
                                               const std::byte *found) {
  if (differ(expected, found, layout.expert(), layout.endOfPairs()))
    return {"it changes the experts of rows, or their weights"};
  int32_t segments; // beyond them, a kernel may leave any bytes
  std::memcpy(&segments, expected + layout.count(), 4);
  if (differ(expected, found, layout.row(), layout.count() + 4) ||
      differ(expected, found, layout.segments(),
             layout.segments() + int64_t(sizeof(RouteSegment)) * segments))
    return {"it puts rows of experts in the wrong order"};
  return {};
}
