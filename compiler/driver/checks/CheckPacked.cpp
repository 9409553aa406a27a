//===- CheckPacked.cpp - See CheckPacked.h --------------------------------===//
#include "compiler/driver/checks/CheckPacked.h"
#include "compiler/reference/interpreter/WeightReader.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace ingot;
using namespace ingot::compiler;
using reference::interpreter::WeightReader;

/// Returns the allowed error of the value that a format stores for `wanted`, in a row with the largest magnitude
/// `largest`. If the checkpoint's format is kept (`asStored`), only the order of a few multiplications may differ.
/// Formats with a table allow more, because the table holds integers (docs/numerics.md). `step` is the distance from
/// one code to the next.
static double allowedOf(const NumericFormat &format, bool asStored, double wanted, double largest,
                        double step) {
  const double exact = (format.table ? 1e-2 : 1e-5) * largest;
  if (asStored)
    return exact;
  if (format.isFloat())
    return exact + 0x1p-8 * std::abs(wanted);
  // E4M3: the relative error is half of an eighth; near 0, the error is half of 2^-9 of the scale.
  if (format.isScaledFloat())
    return exact + 0x1p-4 * std::abs(wanted) + 0x1p-9 * step;
  return exact + 1.01 * step; // the largest number of a group may be clipped by one code
}

/// Formats a number with the digits that an f32 has.
static std::string digits(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

static Error wrong(const std::string &name, const std::string &where, double value, double wanted,
                   double allowed) {
  return {ExitCode::Internal, "E0493", "the packed weight " + name + " differs from the checkpoint",
          where + " is " + digits(value) + ", expected " + digits(wanted) +
              " (allowed error: " + digits(allowed) + ")",
          "this is a bug in ingot: please report it with the checkpoint's config"};
}

/// Checks one row of `bytes`, which is panel or tile `unit` of the weight. `own` is the layout of this unit alone.
template <typename Layout>
static Result<void> check(const import::RowSource &source, const Layout &layout, const Layout &own,
                          int64_t unit, std::span<const std::byte> bytes, const std::string &name) {
  const RowSpan rows = layout.rowsOf(unit);
  if (rows.count < 1) // padding
    return {};
  const int64_t row = (unit * 7919 + 5) % rows.count;
  std::vector<float> wanted(size_t(layout.k));
  if (auto ok = source.read(rows.first + row, wanted); !ok)
    return ok;
  const WeightReader<Layout> reader(own, bytes.data());
  const NumericFormat &format = numericFormat(layout.format);
  const bool asStored =
      source.format() == layout.format &&
      !(layout.format == WeightFormat::F32 && std::is_same_v<Layout, FragmentLayout>);
  double largest = 0;
  for (float value : wanted)
    largest = std::max(largest, std::abs(double(value)));
  for (int64_t k = 0; k < layout.k; ++k) {
    const double value = reader.value(row, k), of = wanted[size_t(k)];
    const double step = format.isFloat() || asStored ? 0 : std::abs(double(reader.d(row, k)));
    const double allowed = allowedOf(format, asStored, of, largest, step);
    if (!(std::abs(value - of) <= allowed))
      return wrong(name,
                   "column " + std::to_string(k) + " of row " + std::to_string(rows.first + row),
                   value, of, allowed);
  }
  return {};
}

/// The maximum number of panels or tiles of a piece from which a row is read back.
static constexpr int64_t kMostUnits = 8;

template <typename Layout>
static Result<void> checkSome(const import::RowSource &source, const Layout &layout,
                              const Layout &own, int64_t unitBytes, int64_t first,
                              std::span<const std::byte> packed, const std::string &name) {
  const int64_t units = int64_t(packed.size()) / unitBytes, looks = std::min(units, kMostUnits);
  for (int64_t look = 0; look < looks; ++look) { // spread over the piece, including its last unit
    const int64_t unit = (units - 1) - look * units / looks;
    if (auto ok = check(source, layout, own, first + unit,
                        packed.subspan(size_t(unit * unitBytes), size_t(unitBytes)), name);
        !ok)
      return ok;
  }
  return {};
}

Result<void> compiler::checkPacked(const import::RowSource &source, const PanelLayout &layout,
                                   int64_t first, std::span<const std::byte> packed,
                                   const std::string &name) {
  return checkSome(source, layout, panelLayout(layout.format, kPanelRows, layout.k),
                   layout.panelBytes(), first, packed, name);
}

Result<void> compiler::checkPacked(const import::RowSource &source, const FragmentLayout &layout,
                                   int64_t first, std::span<const std::byte> packed,
                                   const std::string &name) {
  return checkSome(source, layout, fragmentLayout(layout.format, kFragmentRows, layout.k),
                   layout.tileBytes(), first, packed, name);
}

Result<void> compiler::checkPackedVector(const import::RowSource &source,
                                         std::span<const std::byte> packed,
                                         const std::string &name) {
  const auto count = int64_t(packed.size() / sizeof(float));
  for (int64_t i = 0; i < source.rows(); ++i) {
    float value = NAN, wanted; // NaN if the value was not packed
    if (i < count)
      std::memcpy(&value, &packed[size_t(i) * sizeof value], sizeof value);
    if (auto ok = source.read(i, std::span(&wanted, 1)); !ok)
      return ok;
    if (std::bit_cast<uint32_t>(value) != std::bit_cast<uint32_t>(wanted))
      return wrong(name, "value " + std::to_string(i), value, wanted, 0);
  }
  return {};
}
