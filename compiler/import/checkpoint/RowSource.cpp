//===- RowSource.cpp - See RowSource.h ------------------------------------===//
#include "compiler/import/checkpoint/RowSource.h"
#include "compiler/import/checkpoint/Dequantize.h"
#include "compiler/import/error/ImportErrors.h"

#include <algorithm>
#include <cassert>

namespace ingot::import {

namespace {

constexpr int64_t kMadeAtOnce = 32; ///< number of rows that are converted to blocks in one call

int64_t columnsOf(const Tensor &tensor) {
  return tensor.shape.size() == 1 ? 1 : tensor.shape.back();
}

Error notHeld(const TensorRows &rows, const std::string &why) {
  return refuse(cause::rowsMissing,
                line("the checkpoint does not have rows of ", inQuotes(rows.tensor)), why,
                "use the checkpoint that was imported");
}

} // namespace

int64_t rowsOf(const Tensor &tensor, Unit unit) {
  return tensor.elements() / (unit == Unit::Numbers ? 1 : columnsOf(tensor));
}

bool sameRows(const Tensor &a, const Tensor &b) {
  if (a.format != b.format || a.shape != b.shape || !std::ranges::equal(a.scales, b.scales))
    return false;
  std::vector<std::byte> rooms[2];
  const int64_t rows = a.elements() / a.shape.back();
  for (int64_t first = 0; first < rows; first += kMadeAtOnce) {
    const int64_t count = std::min(kMadeAtOnce, rows - first);
    if (!std::ranges::equal(tensorRows(a, first, count, rooms[0]),
                            tensorRows(b, first, count, rooms[1])))
      return false;
  }
  return true;
}

RowSource::RowSource(const Tensor &tensor) : width(columnsOf(tensor)) {
  total = rowsOf(tensor);
  parts.push_back({&tensor, {}, total, 0, total});
}

Result<void> RowSource::add(const Tensor &tensor, const TensorRows &rows) {
  const bool stack = rows.matrix >= 0;
  // A reference to a stack without a matrix number means all matrices, concatenated by rows.
  if (tensor.shape.size() > (rows.transposed && !stack ? 2u : 3u) ||
      (stack && tensor.shape.size() != 3))
    return notHeld(rows, line("it has ", tensor.shape.size(), " dimensions"));
  if (stack && rows.matrix >= tensor.shape.front())
    return notHeld(rows, line("matrix ", rows.matrix, " of ", tensor.shape.front()));
  const bool transposed = rows.transposed;
  if (transposed && (tensor.shape.size() < 2 || !numericFormat(tensor.format).isFloat()))
    return notHeld(rows, "only matrices of floats can be transposed");
  const int64_t height = stack ? tensor.shape[1] : rowsOf(tensor), across = columnsOf(tensor);
  const int64_t limit = transposed ? across : height, columns = transposed ? height : across;
  const int64_t count = rows.order.count(limit);
  if (count < 1 || rows.order.last(limit) >= limit)
    return notHeld(
        rows, line("it has ", limit, " rows, the reference needs row ", rows.order.last(limit)));
  const WeightFormat before = parts.empty() ? tensor.format : parts.front().tensor->format;
  if (!parts.empty() && (columns != width || tensor.format != before))
    return notHeld(rows, line(columns, " columns of ", numericFormat(tensor.format).name,
                              " follow ", width, " of ", numericFormat(before).name));
  width = columns;
  total += count;
  parts.push_back(
      {&tensor, rows.order, count, stack ? rows.matrix * height : 0, limit, transposed});
  return {};
}

/// Reads the elements of a vector and adds the offset to each.
static Result<std::shared_ptr<const std::vector<float>>>
readFactors(const Checkpoint &checkpoint, const Factors &factors, const TensorRows &rows) {
  const Tensor *vector = checkpoint.find(factors.vector);
  if (!vector || vector->shape.size() != 1 || vector->maker ||
      !numericFormat(vector->format).isFloat())
    return notHeld(rows,
                   line("it is multiplied by ", inQuotes(factors.vector),
                        vector ? ", which is not a vector of floats" : ", which does not exist"));
  auto numbers = std::make_shared<std::vector<float>>(static_cast<size_t>(vector->elements()));
  if (auto read = RowSource(*vector).read(0, *numbers); !read)
    return read.error();
  if (auto finite = checkFinite(*vector, 0, vector->elements()); !finite)
    return finite.error();
  for (float &number : *numbers)
    number += factors.offset;
  return std::shared_ptr<const std::vector<float>>(std::move(numbers));
}

Result<void> RowSource::addFactors(const Checkpoint &checkpoint, const TensorRows &rows) {
  if (!rows.isScaled())
    return {};
  Part &part = parts.back();
  if (!numericFormat(part.tensor->format).isFloat())
    return notHeld(rows, "it is quantised, and only floats can be multiplied");
  auto wrongNumber = [&](const Factors &factors, size_t found, int64_t from, int64_t to) {
    return notHeld(rows, line(inQuotes(factors.vector), " has ", found, " factors, needed are ",
                              from, " to ", to - 1));
  };
  if (const auto &factors = rows.columnFactors) {
    auto read = readFactors(checkpoint, *factors, rows);
    if (!read)
      return read.error();
    if (static_cast<int64_t>((*read)->size()) != width)
      return wrongNumber(*factors, (*read)->size(), 0, width);
    part.columnFactors = std::move(*read);
  }
  if (const auto &factors = rows.rowFactors) {
    auto read = readFactors(checkpoint, *factors, rows);
    if (!read)
      return read.error();
    const int64_t from = part.order.first - factors->first,
                  to = part.order.last(part.limit) - factors->first + 1;
    if (from < 0 || to > static_cast<int64_t>((*read)->size()))
      return wrongNumber(*factors, (*read)->size(), from, to);
    part.rowFactors = std::move(*read);
    part.firstFactor = factors->first;
  }
  scaled = true;
  return {};
}

Result<RowSource> RowSource::find(const Checkpoint &checkpoint, std::span<const TensorRows> parts,
                                  Unit unit) {
  RowSource source;
  for (const TensorRows &rows : parts) {
    const Tensor *tensor = checkpoint.find(rows.tensor);
    if (!tensor)
      return notHeld(rows, "there is no such tensor");
    if (tensor->maker && (unit == Unit::Numbers || rows.transposed))
      return notHeld(
          rows, "its rows are assembled from codes and scales, so only whole rows can be used");
    if (unit == Unit::Numbers && tensor->shape.size() > 1 &&
        numericFormat(tensor->format).isFloat()) {
      auto numbers = std::make_shared<Tensor>(*tensor);
      numbers->shape = {tensor->elements()};
      tensor = source.flat.emplace_back(std::move(numbers)).get();
    }
    if (rows.transposed && tensor->shape.size() == 1) { // make it a column, which becomes one row
      auto column = std::make_shared<Tensor>(*tensor);
      column->shape = {tensor->elements(), 1};
      tensor = source.flat.emplace_back(std::move(column)).get();
    }
    Result<void> added = source.add(*tensor, rows);
    if (added)
      added = source.addFactors(checkpoint, rows);
    if (!added)
      return added.error();
  }
  assert(!source.parts.empty() && "a reference has a part");
  return source;
}

StoredRow RowSource::at(int64_t n) const {
  assert(n >= 0 && n < total && "the source has fewer rows");
  auto part = parts.begin();
  for (; n >= part->rows; ++part)
    n -= part->rows;
  return {part->tensor, (part->transposed ? 0 : part->stack) + part->order.at(n)};
}

template <typename F>
Result<void> RowSource::forEachRun(int64_t first, int64_t count, F call) const {
  assert(first >= 0 && first + count <= total && "the source has fewer rows");
  auto part = parts.begin();
  for (; part != parts.end() && first >= part->rows; ++part)
    first -= part->rows;
  for (; count > 0; ++part, first = 0) {
    assert(part != parts.end() && "the parts have fewer rows than their sum");
    for (int64_t n = first; n < part->rows && count > 0;) {
      int64_t run = std::min(count, part->order.run(n, part->limit));
      Result<void> done =
          call(*part, (part->transposed ? 0 : part->stack) + part->order.at(n), run);
      if (!done)
        return done;
      assert(run >= 1 && "a run has a row");
      n += run;
      count -= run;
    }
  }
  return {};
}

/// Reads columns `first`, first + 1, … of the `height` rows starting at `top`, and stores one column
/// after another.
static void readColumns(const Tensor &tensor, int64_t top, int64_t first, std::span<float> out,
                        int64_t height) {
  const auto count = out.size() / static_cast<size_t>(height);
  assert(out.size() == count * static_cast<size_t>(height) && "columns are whole");
  const int64_t bytes = storedBlockBytes(tensor.format);
  std::vector<float> across(count);
  for (int64_t k = 0; k < height; ++k) {
    std::span<const std::byte> row =
        tensorRow(tensor, top + k)
            .subspan(static_cast<size_t>(first * bytes), count * static_cast<size_t>(bytes));
    (void)dequantizeRow(tensor.format, row, across); // floats, one per block: this cannot fail
    for (size_t n = 0; n < count; ++n)
      out[n * static_cast<size_t>(height) + static_cast<size_t>(k)] = across[n];
  }
}

/// Reads `count` rows of a tensor, starting at `row`, as f32.
Result<void> RowSource::readPart(const Part &part, int64_t row, int64_t count, int64_t width,
                                 std::span<float> out) {
  const auto rowSize = static_cast<size_t>(width);
  const Tensor &tensor = *part.tensor;
  if (part.transposed) {
    readColumns(tensor, part.stack, row, out, width);
    return {};
  }
  if (tensor.shape.size() == 1) {
    // The elements of a vector are a single row of `count` values.
    const int64_t size = storedBlockBytes(tensor.format);
    return dequantizeRow(
        tensor.format,
        tensor.data.subspan(static_cast<size_t>(row * size), static_cast<size_t>(count * size)),
        out);
  }
  if (!tensor.maker) {
    for (int64_t i = 0; i < count; ++i, out = out.subspan(rowSize))
      if (Result<void> done = dequantizeRow(tensor, row + i, out.first(rowSize)); !done)
        return done;
    return {};
  }
  std::vector<std::byte> room;
  for (int64_t i = 0; i < count; i += kMadeAtOnce) {
    const int64_t some = std::min(kMadeAtOnce, count - i);
    const std::span<const std::byte> rows = tensorRows(tensor, row + i, some, room);
    const size_t bytes = rows.size() / static_cast<size_t>(some);
    for (size_t at = 0; at < rows.size(); at += bytes, out = out.subspan(rowSize))
      if (Result<void> done =
              dequantizeRow(tensor.format, rows.subspan(at, bytes), out.first(rowSize));
          !done)
        return done;
  }
  return {};
}

Result<void> RowSource::read(int64_t first, std::span<float> out) const {
  const auto rowSize = static_cast<size_t>(width);
  assert(out.size() % rowSize == 0 && "rows are whole");
  return forEachRun(
      first, static_cast<int64_t>(out.size() / rowSize),
      [&](const Part &part, int64_t row, int64_t count) -> Result<void> {
        std::span<float> own = out.first(static_cast<size_t>(count) * rowSize);
        out = out.subspan(own.size());
        if (Result<void> done = readPart(part, row, count, width, own); !done)
          return done;
        const int64_t inMatrix = row - (part.transposed ? 0 : part.stack);
        for (int64_t i = 0; i < count && (part.columnFactors || part.rowFactors); ++i) {
          const float factor =
              part.rowFactors
                  ? (*part.rowFactors)[static_cast<size_t>(inMatrix + i - part.firstFactor)]
                  : 1.0f;
          for (size_t k = 0; k < rowSize; ++k)
            own[static_cast<size_t>(i) * rowSize + k] *=
                factor * (part.columnFactors ? (*part.columnFactors)[k] : 1.0f);
        }
        return {};
      });
}

void RowSource::stored(
    int64_t first, int64_t count,
    const std::function<void(int64_t, StoredRow, std::span<const std::byte>)> &call) const {
  std::vector<std::byte> room;
  int64_t n = 0;
  (void)forEachRun(first, count, [&](const Part &part, int64_t row, int64_t run) -> Result<void> {
    assert(!part.transposed && !part.columnFactors && !part.rowFactors &&
           "its rows are stored nowhere");
    const std::span<const std::byte> rows = tensorRows(*part.tensor, row, run, room);
    const size_t bytes = rows.size() / static_cast<size_t>(run);
    for (size_t at = 0; at < rows.size(); at += bytes, ++row)
      call(n++, {part.tensor, row}, rows.subspan(at, bytes));
    return {};
  });
}

Result<void> RowSource::checkFinite() const {
  return forEachRun(0, total, [&](const Part &part, int64_t row, int64_t count) {
    return part.transposed ? import::checkFinite(*part.tensor, part.stack, width)
                           : import::checkFinite(*part.tensor, row, count);
  });
}

} // namespace ingot::import
