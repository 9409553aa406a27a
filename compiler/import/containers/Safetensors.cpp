//===- Safetensors.cpp - Header entries and exact coverage ----------------===//
#include "compiler/import/containers/Safetensors.h"
#include "compiler/import/config/Wrapper.h"
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/files/FileKind.h"
#include "compiler/import/files/Json.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace ingot::import {

namespace {

using simdjson::dom::element;

constexpr uint64_t kMaxHeader = 100'000'000;
constexpr size_t kMaxTensors = 65536;
constexpr int kMaxDims = 8;

struct Dtype {
  std::string_view name;
  std::optional<WeightFormat> format; ///< empty: no weight, but maybe part of a quantised weight
  int bytes;                          ///< per element; 0: tensors of this type are not read
};

constexpr Dtype kDtypes[] = {
    {"F32", WeightFormat::F32, 4},
    {"F16", WeightFormat::F16, 2},
    {"BF16", WeightFormat::BF16, 2},
    {"F64", std::nullopt, 0},
    {"F8_E4M3", WeightFormat::Fp8Tensor, 1}, // the scales determine which fp8 format it is
    {"F8_E5M2", std::nullopt, 0},
    {"F8_E8M0", std::nullopt, 1},
    {"F6_E2M3", std::nullopt, 0},
    {"F6_E3M2", std::nullopt, 0},
    {"F4", std::nullopt, 0},
    {"I64", std::nullopt, 8},
    {"I32", std::nullopt, 4},
    {"I16", std::nullopt, 0},
    {"I8", std::nullopt, 1},
    {"U64", std::nullopt, 0},
    {"U32", std::nullopt, 4},
    {"U16", std::nullopt, 0},
    {"U8", std::nullopt, 1},
    {"BOOL", std::nullopt, 1},
    {"C64", std::nullopt, 0},
};

struct Entry {
  std::string name;
  const Dtype *dtype;
  std::vector<int64_t> shape;
  uint64_t begin, end;      // in the data
  std::string_view leftOut; // the part of a wrapper that contains the tensor; empty if it is read
};

/// The three fields of an entry, unchecked. Each may occur only once.
struct RawEntry {
  std::optional<element> dtype, shape, offsets;
};

class SafetensorsReader {
public:
  SafetensorsReader(const std::string &path, CheckpointBuilder &builder)
      : path(path), builder(builder) {}

  /// Checks the length of the header and returns the header.
  Result<std::string_view> header(std::span<const std::byte> file);
  Result<void> entries(std::string_view header);
  Result<void> place(std::span<const std::byte> data);
  std::vector<std::string> names;

private:
  Result<void> metadata(element value);
  Result<RawEntry> fields(const std::string &name, element value);
  Result<Entry> entry(std::string_view name, element value);
  Result<const Dtype *> dtype(const std::string &name, element value, bool leftOut);
  Result<std::vector<int64_t>> shape(const std::string &name, element value);
  Result<void> offsets(Entry &entry, element value);

  const std::string &path;
  CheckpointBuilder &builder;
  std::vector<Entry> found;
};

Result<std::string_view> SafetensorsReader::header(std::span<const std::byte> file) {
  uint64_t length;
  if (file.size() < sizeof length)
    return refuse(cause::stHeaderCut, line(fileName(path), " is cut short"),
                  line("the header's length needs 8 bytes, the file has ", file.size()),
                  "download it again");
  std::memcpy(&length, file.data(), sizeof length);
  if (length > kMaxHeader)
    return withOtherFile(
        refuse(cause::stHeaderLarge, line(fileName(path), " is not a safetensors file"),
               line("its header claims ", length, " bytes, at most ", kMaxHeader),
               "name a safetensors file"),
        {reinterpret_cast<const char *>(file.data()), std::min<size_t>(file.size(), 64)});
  if (length > file.size() - sizeof length)
    return refuse(
        cause::stHeaderPastEnd, line(fileName(path), " is cut short"),
        line("its header has ", length, " bytes, ", file.size() - sizeof length, " are left"),
        "download it again");
  std::string_view text(reinterpret_cast<const char *>(file.data()) + sizeof length,
                        static_cast<size_t>(length));
  if (!text.starts_with('{'))
    return refuse(cause::stHeaderNotObject, line(fileName(path), " is not a safetensors file"),
                  line("its header of ", length, " bytes does not start with '{'"),
                  "name a safetensors file");
  return text;
}

Result<void> SafetensorsReader::metadata(element value) {
  simdjson::dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS)
    return refuse(cause::stMetadata, line(fileName(path), " has invalid metadata"),
                  line("'__metadata__' is ", jsonTypeName(value), ", expected an object"),
                  "save the checkpoint again");
  for (auto [key, item] : object)
    if (!item.is_string())
      return refuse(cause::stMetadata, line(fileName(path), " has invalid metadata"),
                    line("'__metadata__' has ", jsonTypeName(item), " at ", inQuotes(key),
                         ", expected a string"),
                    "save the checkpoint again");
  return {};
}

Result<RawEntry> SafetensorsReader::fields(const std::string &name, element value) {
  simdjson::dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS)
    return jsonWrongType(path, name, "an object", value);
  RawEntry raw;
  for (auto [key, item] : object) {
    std::optional<element> *field = key == "dtype"          ? &raw.dtype
                                    : key == "shape"        ? &raw.shape
                                    : key == "data_offsets" ? &raw.offsets
                                                            : nullptr;
    if (!field)
      return refuse(cause::stFieldUnknown,
                    line("tensor ", inQuotes(name), " has an unknown field ", inQuotes(key)),
                    "its 3 fields are dtype, shape, data_offsets", "save the checkpoint again");
    if (field->has_value())
      return refuse(cause::keyTwice,
                    line("duplicate key ", inQuotes(key), " of tensor ", inQuotes(name)),
                    "each key may occur once", "save the checkpoint again");
    *field = item;
  }
  const char *missing = !raw.dtype ? "dtype" : !raw.shape ? "shape" : "data_offsets";
  if (!raw.dtype || !raw.shape || !raw.offsets)
    return refuse(cause::jsonFieldMissing,
                  line("tensor ", inQuotes(name), " has no ", inQuotes(missing)),
                  line("it has ", object.size(), " of 3 fields"), "save the checkpoint again");
  return raw;
}

Result<const Dtype *> SafetensorsReader::dtype(const std::string &name, element value,
                                               bool leftOut) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS)
    return jsonWrongType(path, name + ".dtype", "a string", value);
  const auto *known = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                   [&](const Dtype &dtype) { return dtype.name == text; });
  if (known == std::end(kDtypes))
    return refuse(cause::typeUnknown, line("tensor ", inQuotes(name), " has an unknown type"),
                  line("dtype ", inQuotes(text), "; 4 are supported: F32 F16 BF16 F8_E4M3"),
                  "save the checkpoint again as BF16, F16 or F32");
  if (known->bytes == 0 && !leftOut)
    return refuse(cause::typeUnsupported,
                  line("tensor ", inQuotes(name), " has the type ", known->name),
                  line(known->name, " is not supported; these 4 are: F32 F16 BF16 F8_E4M3"),
                  "use the original checkpoint in BF16, F16 or F32");
  return known;
}

Result<std::vector<int64_t>> SafetensorsReader::shape(const std::string &name, element value) {
  simdjson::dom::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS)
    return jsonWrongType(path, name + ".shape", "an array", value);
  std::vector<int64_t> extents;
  for (element item : array) {
    int64_t extent;
    if (item.get_int64().get(extent) != simdjson::SUCCESS || extent < 0)
      return refuse(cause::stDimension, line("tensor ", inQuotes(name), " has an invalid shape"),
                    line("dimension ", extents.size(), " is ", jsonTypeName(item),
                         ", expected 1 to 9223372036854775807"),
                    "save the checkpoint again");
    extents.push_back(extent);
    if (extents.size() > static_cast<size_t>(kMaxDims))
      break; // countElements refuses it
  }
  return extents;
}

Result<void> SafetensorsReader::offsets(Entry &entry, element value) {
  simdjson::dom::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS)
    return jsonWrongType(path, entry.name + ".data_offsets", "an array", value);
  uint64_t pair[2];
  size_t count = 0;
  bool integers = true;
  for (element item : array) {
    if (count < 2)
      integers &= item.get_uint64().get(pair[count]) == simdjson::SUCCESS;
    ++count;
  }
  if (count != 2 || !integers)
    return refuse(cause::stOffsets, line("tensor ", inQuotes(entry.name), " has invalid offsets"),
                  line("data_offsets has ", count, " entries; expected 2 non-negative integers"),
                  "save the checkpoint again");
  if (pair[0] > pair[1])
    return refuse(
        cause::stOffsetsBackwards, line("tensor ", inQuotes(entry.name), " ends before it starts"),
        line("data_offsets are ", pair[0], " and ", pair[1]), "save the checkpoint again");
  entry.begin = pair[0];
  entry.end = pair[1];
  return {};
}

Result<Entry> SafetensorsReader::entry(std::string_view name, element value) {
  if (Result<void> checked = builder.checkTensorName(name, path); !checked)
    return checked.error();
  Entry entry;
  entry.name = name;
  if (builder.isWrapper())
    entry.leftOut = besideText(entry.name);
  Result<RawEntry> raw = fields(entry.name, value);
  if (!raw)
    return raw.error();
  Result<const Dtype *> type = dtype(entry.name, *raw->dtype, !entry.leftOut.empty());
  if (!type)
    return type.error();
  entry.dtype = *type;
  Result<std::vector<int64_t>> extents = shape(entry.name, *raw->shape);
  if (!extents)
    return extents.error();
  entry.shape = std::move(*extents);
  Result<int64_t> elements = countElements(entry.name, entry.shape, kMaxDims);
  if (!elements)
    return elements.error();
  if (entry.shape.empty())
    entry.shape.push_back(1);
  if (Result<void> placed = offsets(entry, *raw->offsets); !placed)
    return placed.error();
  if (!entry.leftOut.empty())
    return entry; // the size of its type may be unknown
  const auto size = static_cast<uint64_t>(entry.dtype->bytes);
  const uint64_t bytes = entry.end - entry.begin;
  if (bytes % size != 0 || bytes / size != static_cast<uint64_t>(*elements))
    return refuse(
        cause::stSizeMismatch, line("tensor ", inQuotes(entry.name), " has the wrong size"),
        line(*elements, " elements of ", size, " bytes, but data_offsets give ", bytes, " bytes"),
        "save the checkpoint again: its header contradicts itself");
  return entry;
}

Result<void> SafetensorsReader::entries(std::string_view header) {
  Result<std::unique_ptr<JsonDocument>> document = parseJson(header, path);
  if (!document)
    return document.error();
  simdjson::dom::object object;
  if ((*document)->root.get_object().get(object) != simdjson::SUCCESS)
    return jsonWrongType(path, "(the header)", "an object", (*document)->root);
  bool metadataSeen = false;
  for (auto [name, value] : object) {
    if (name == "__metadata__") {
      if (metadataSeen)
        return refuse(cause::keyTwice, "duplicate key '__metadata__'",
                      line("in the header of ", fileName(path), ", ", header.size(), " bytes"),
                      "save the checkpoint again");
      metadataSeen = true;
      if (Result<void> fine = metadata(value); !fine)
        return fine;
      continue;
    }
    if (found.size() == kMaxTensors)
      return refuse(cause::tooManyTensors, line(fileName(path), " has too many tensors"),
                    line("more than ", kMaxTensors), "split the checkpoint into shards");
    Result<Entry> read = entry(name, value);
    if (!read)
      return read.error();
    found.push_back(std::move(*read));
  }
  if (found.empty())
    return refuse(cause::noTensors, line(fileName(path), " has no tensors"),
                  line("0 tensors in a header of ", header.size(), " bytes"),
                  "name the model's own file");
  return {};
}

Result<void> SafetensorsReader::place(std::span<const std::byte> data) {
  std::sort(found.begin(), found.end(), [](const Entry &a, const Entry &b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t end = 0;
  for (Entry &entry : found) {
    std::string which = line("tensor ", inQuotes(entry.name));
    if (entry.end > data.size())
      return refuse(cause::dataPastEnd, line(which, " ends after the file"),
                    line("its bytes end at ", entry.end, ", the data has ", data.size(), " bytes"),
                    "download the checkpoint again");
    if (entry.begin < end)
      return refuse(cause::overlap, line(which, " overlaps another tensor"),
                    line("it starts at ", entry.begin, ", the previous one ends at ", end),
                    "save the checkpoint again");
    if (entry.begin > end)
      return refuse(cause::hole, line(which, " leaves a hole before it"),
                    line("it starts at ", entry.begin, ", the previous one ends at ", end),
                    "save the checkpoint again");
    end = entry.end;
    names.push_back(entry.name);
    std::span<const std::byte> bytes = data.subspan(static_cast<size_t>(entry.begin),
                                                    static_cast<size_t>(entry.end - entry.begin));
    if (!entry.leftOut.empty())
      builder.leaveOut(entry.leftOut, entry.end - entry.begin);
    else if (entry.dtype->format)
      builder.addTensor(
          {std::move(entry.name), *entry.dtype->format, std::move(entry.shape), bytes});
    else
      builder.addRaw({std::move(entry.name), entry.dtype->name, std::move(entry.shape), bytes});
  }
  if (end < data.size())
    return refuse(cause::trailingBytes, line(fileName(path), " has bytes after its last tensor"),
                  line("the tensors end at ", end, ", the data at ", data.size()),
                  "download it again, or remove what was appended");
  return {};
}

} // namespace

Result<std::vector<std::string>> readSafetensors(std::span<const std::byte> file,
                                                 const std::string &path,
                                                 CheckpointBuilder &builder) {
  SafetensorsReader reader(path, builder);
  Result<std::string_view> header = reader.header(file);
  if (!header)
    return header.error();
  if (Result<void> entries = reader.entries(*header); !entries)
    return entries.error();
  if (Result<void> placed = reader.place(file.subspan(8 + header->size())); !placed)
    return placed.error();
  return std::move(reader.names);
}

} // namespace ingot::import
