//===- Gguf.cpp - Header, tensor records and data layout ------------------===//
#include "compiler/import/containers/Gguf.h"
#include "compiler/import/blocks/Codes.h"
#include "compiler/import/containers/GgufMetadata.h"
#include "compiler/import/containers/Q2Blocks.h"
#include "compiler/import/containers/SplitGguf.h"
#include "compiler/import/files/FileKind.h"
#include "compiler/import/methods/Nvfp4.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace ingot::import {

namespace {

constexpr uint64_t kMaxCount = 65536; // for keys and for tensors
constexpr int kMaxDims = 4;
constexpr uint64_t kLeastKeyBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kLeastRecordBytes = 8 + 1 + 4 + 8 + 4 + 8;

constexpr char kActivations[] = "used by ggml only for activations";
constexpr char kNoWeights[] = "not used for weights of language models";

constexpr GgufType kStoredTypes[] = {
    {0, "F32", WeightFormat::F32},
    {1, "F16", WeightFormat::F16},
    {2, "Q4_0", WeightFormat::Q4_0},
    {3, "Q4_1", WeightFormat::Q4_1},
    {6, "Q5_0", WeightFormat::Q5_0},
    {7, "Q5_1", WeightFormat::Q5_1},
    {8, "Q8_0", WeightFormat::Q8_0},
    {9, "Q8_1", kActivations},
    {10, "Q2_K", WeightFormat::Q2_K},
    {11, "Q3_K", WeightFormat::Q3_K},
    {12, "Q4_K", WeightFormat::Q4_K},
    {13, "Q5_K", WeightFormat::Q5_K},
    {14, "Q6_K", WeightFormat::Q6_K},
    {15, "Q8_K", kActivations},
    {16, "IQ2_XXS", WeightFormat::IQ2_XXS},
    {17, "IQ2_XS", WeightFormat::IQ2_XS},
    {18, "IQ3_XXS", WeightFormat::IQ3_XXS},
    {19, "IQ1_S", WeightFormat::IQ1_S},
    {20, "IQ4_NL", WeightFormat::IQ4_NL},
    {21, "IQ3_S", WeightFormat::IQ3_S},
    {22, "IQ2_S", WeightFormat::IQ2_S},
    {23, "IQ4_XS", WeightFormat::IQ4_XS},
    {24, "I8", kNoWeights},
    {25, "I16", kNoWeights},
    {26, "I32", kNoWeights},
    {27, "I64", kNoWeights},
    {28, "F64", kNoWeights},
    {29, "IQ1_M", WeightFormat::IQ1_M},
    {30, "BF16", WeightFormat::BF16},
    {34, "TQ1_0", WeightFormat::TQ1_0},
    {35, "TQ2_0", WeightFormat::TQ2_0},
    {39, "MXFP4", WeightFormat::Mxfp4},
    {40, "NVFP4", WeightFormat::Nvfp4},
    {41, "Q1_0", WeightFormat::Q1_0},
    {42, "Q2_0", WeightFormat::Q2_0},
};

/// Returns the names of the types that can be read, ordered by number.
std::string readableTypes() {
  std::string list;
  for (const GgufType &type : kStoredTypes)
    if (type.format)
      list += (list.empty() ? "" : " ") + std::string(type.name);
  return list;
}

struct Header {
  uint64_t tensors, keys;
};

struct Record {
  std::string name;
  WeightFormat format;
  std::vector<int64_t> shape; // outermost first
  uint64_t offset, bytes;     // in the data section
};

uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

class GgufReader {
public:
  /// Keys and tensors may be added to different builders, as for the second and later parts of a split model.
  GgufReader(std::span<const std::byte> file, const std::string &path, CheckpointBuilder &keys,
             CheckpointBuilder &builder)
      : file(file), path(path), keys(keys), builder(builder), cursor(file, path) {}

  Result<GgufPart> readKeys();
  Result<void> readTensors();
  uint64_t tensors() const { return header.tensors; }
  Error noTensorsError() const;

private:
  Result<void> checkVersion();
  Result<Header> readHeader();
  Result<Record> readRecord(uint64_t index);
  Result<std::vector<int64_t>> readShape(const std::string &name);
  Result<void> readFormat(Record &record);
  Result<void> place(uint64_t alignment);
  Result<void> checkQuantisationVersion();

  std::span<const std::byte> file;
  const std::string &path;
  CheckpointBuilder &keys, &builder;
  GgufCursor cursor;
  Header header{};
  std::vector<Record> records;
};

Result<void> GgufReader::checkVersion() {
  Result<uint32_t> magic = cursor.take<uint32_t>(cause::ggufHeaderCut, "the header");
  if (!magic)
    return magic.error();
  if (*magic != 0x46554747) // "GGUF"
    return withOtherFile(
        refuse(cause::ggufMagic, line(fileName(path), " is not a GGUF file"),
               line("its first 4 bytes are ",
                    inQuotes({reinterpret_cast<const char *>(file.data()), 4}),
                    ", expected 'GGUF'"),
               "name a .gguf file, or a safetensors folder"),
        {reinterpret_cast<const char *>(file.data()), std::min<size_t>(file.size(), 64)});
  Result<uint32_t> version = cursor.take<uint32_t>(cause::ggufHeaderCut, "the header");
  if (!version)
    return version.error();
  if (*version == 2 || *version == 3) // version 3 differs only in that it allows big-endian files
    return {};
  if ((*version & 0xFFFF) == 0 && *version != 0)
    return refuse(
        cause::ggufBigEndian, line(fileName(path), " is a big-endian GGUF file"),
        line("its version reads ", *version, ", byte-swapped ", __builtin_bswap32(*version)),
        "convert it: gguf-convert-endian FILE little");
  if (*version < 2)
    return refuse(
        cause::ggufOldVersion, line(fileName(path), " is an old GGUF file"),
        line("version ", *version, ", with lengths of 32 bits; supported: versions 2 and 3"),
        "convert the original model again: llama.cpp's convert_hf_to_gguf.py");
  return refuse(cause::ggufNewVersion, line(fileName(path), " is from a newer GGUF version"),
                line("version ", *version, "; supported: versions 2 and 3"),
                "convert the original model to GGUF version 3: llama.cpp's convert_hf_to_gguf.py");
}

Result<Header> GgufReader::readHeader() {
  Result<uint64_t> tensors = cursor.take<uint64_t>(cause::ggufHeaderCut, "the tensor count");
  if (!tensors)
    return tensors.error();
  Result<uint64_t> keys = cursor.take<uint64_t>(cause::ggufHeaderCut, "the key count");
  if (!keys)
    return keys.error();
  const char *damaged = "download it again: its header is damaged";
  if (*tensors > kMaxCount)
    return refuse(cause::tooManyTensors, line(fileName(path), " has too many tensors"),
                  line(*tensors, " tensors, at most ", kMaxCount), damaged);
  if (*keys > kMaxCount)
    return refuse(cause::tooManyKeys, line(fileName(path), " has too many keys"),
                  line(*keys, " keys, at most ", kMaxCount), damaged);
  if (*keys * kLeastKeyBytes > cursor.left())
    return refuse(cause::ggufKeysCut, line(fileName(path), " is too short for its keys"),
                  line(*keys, " keys of at least ", kLeastKeyBytes, " bytes, ", cursor.left(),
                       " bytes are left"),
                  "download it again");
  if (*tensors * kLeastRecordBytes > cursor.left())
    return refuse(cause::ggufTensorsCut, line(fileName(path), " is too short for its tensors"),
                  line(*tensors, " records of at least ", kLeastRecordBytes, " bytes, ",
                       cursor.left(), " bytes are left"),
                  "download it again");
  return Header{*tensors, *keys};
}

Result<std::vector<int64_t>> GgufReader::readShape(const std::string &name) {
  constexpr std::string_view what = "the shape of";
  Result<uint32_t> dims = cursor.take<uint32_t>(cause::ggufDimsCut, what, name);
  if (!dims)
    return dims.error();
  if (*dims == 0)
    return refuse(cause::ggufNoDims, line("tensor ", inQuotes(name), " has no dimensions"),
                  line("found 0 dimensions, expected 1 to ", kMaxDims),
                  "convert the checkpoint again");
  // Check the limit first: a huge count must not be read extent by extent.
  if (*dims > static_cast<uint32_t>(kMaxDims))
    return tooManyDimensions(name, *dims, kMaxDims);
  std::vector<int64_t> shape(*dims);
  for (auto extent = shape.rbegin(); extent != shape.rend(); ++extent) {
    Result<uint64_t> raw = cursor.take<uint64_t>(cause::ggufDimsCut, what, name);
    if (!raw)
      return raw.error();
    *extent = static_cast<int64_t>(*raw); // negative if too large: countElements refuses it
  }
  return shape;
}

Result<void> GgufReader::readFormat(Record &record) {
  Result<uint32_t> type = cursor.take<uint32_t>(cause::ggufRecordCut, "the type of", record.name);
  if (!type)
    return type.error();
  const auto *stored = std::find_if(std::begin(kStoredTypes), std::end(kStoredTypes),
                                    [&](const GgufType &known) { return known.id == *type; });
  if (stored == std::end(kStoredTypes))
    return refuse(
        cause::typeUnknown, line("tensor ", inQuotes(record.name), " has an unknown type"),
        line("type ", *type, "; known types: 0 to 42"),
        "use a variant of the checkpoint in a known type, such as Q4_K_M or Q8_0; forks of "
        "llama.cpp define additional types");
  if (!stored->format)
    return refuse(
        cause::typeUnsupported,
        line("tensor ", inQuotes(record.name), " has the type ", stored->name),
        line("type ", *type, " is not supported (", stored->why, "); supported: ", readableTypes()),
        "use a variant of the checkpoint in one of these types, such as Q4_K_M or Q8_0");
  record.format = *stored->format;
  return {};
}

Result<Record> GgufReader::readRecord(uint64_t index) {
  Record record;
  std::string which = line("the name of tensor ", index);
  Result<uint64_t> size = cursor.take<uint64_t>(cause::ggufNameLengthCut, which);
  if (!size)
    return size.error();
  Result<std::string_view> name = cursor.takeText(*size, cause::ggufNamePastEnd, which);
  if (!name)
    return name.error();
  if (Result<void> checked = builder.checkTensorName(*name, path); !checked)
    return checked.error();
  record.name = *name;

  Result<std::vector<int64_t>> shape = readShape(record.name);
  if (!shape)
    return shape.error();
  record.shape = std::move(*shape);
  Result<int64_t> elements = countElements(record.name, record.shape, kMaxDims);
  if (!elements)
    return elements.error();
  if (Result<void> format = readFormat(record); !format)
    return format.error();

  // Blocks of NVFP4 are made from the blocks in the file, which have another size (Nvfp4.h).
  const bool made = record.format == WeightFormat::Nvfp4;
  const int64_t values = made ? kGgufNvfp4Values : storedBlockValues(record.format),
                blockBytes = made ? kGgufNvfp4Bytes : storedBlockBytes(record.format),
                k = record.shape.back();
  if (made && record.shape.size() < 2)
    return refuse(cause::typeUnsupported,
                  line("tensor ", inQuotes(record.name), " is a vector of NVFP4"),
                  line(k, " values in 1 dimension; supported: matrices of 2 and stacks of 3"),
                  "convert the checkpoint again, with this tensor as F16 or F32");
  if (k % values != 0)
    return refuse(cause::ggufRowBlocks,
                  line("tensor ", inQuotes(record.name), " has rows that are not whole blocks"),
                  line("rows of ", k, " values, blocks of ", values, " (",
                       numericFormat(record.format).name, ")"),
                  "convert the checkpoint again, with this tensor as F16 or F32");
  if (__builtin_mul_overflow(static_cast<uint64_t>(*elements / values),
                             static_cast<uint64_t>(blockBytes), &record.bytes))
    return refuse(cause::ggufByteOverflow,
                  line("tensor ", inQuotes(record.name), " is larger than any file"),
                  line(*elements, " values of ", numericFormat(record.format).name,
                       " need more than 2^64 bytes"),
                  "download the checkpoint again: its header is damaged");
  Result<uint64_t> offset =
      cursor.take<uint64_t>(cause::ggufRecordCut, "the offset of", record.name);
  if (!offset)
    return offset.error();
  record.offset = *offset;
  return record;
}

/// Returns whether the bytes of a tensor fill the space up to the next tensor, or to the end of the file.
bool fills(uint64_t bytes, uint64_t room, uint64_t alignment) {
  return bytes == room || alignUp(bytes, alignment) == room;
}

/// The positions of all tensors, ordered by offset.
struct Layout {
  std::vector<size_t> order;
  std::vector<uint64_t> room; ///< per record: bytes up to the next one, or to the end
};

Layout layoutOf(const std::vector<Record> &records, uint64_t size) {
  Layout layout{std::vector<size_t>(records.size()), std::vector<uint64_t>(records.size())};
  std::vector<size_t> &order = layout.order;
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(records[a].offset, a) < std::pair(records[b].offset, b);
  });
  for (size_t i = 0; i < order.size(); ++i) {
    const uint64_t begin = records[order[i]].offset,
                   next = i + 1 < order.size() ? records[order[i + 1]].offset : size;
    layout.room[order[i]] = next > begin ? next - begin : 0;
  }
  return layout;
}

/// Returns whether blocks of type Q2_0 have 128 values in 34 bytes, as a fork of llama.cpp writes them (Q2Blocks.h).
/// Only the space that the tensors of a file occupy shows the size of the blocks. Errors: E0845: the space fits blocks
/// of both sizes or of neither, or the file has tensors of both sizes.
Result<bool> hasWideQ2(const std::vector<Record> &records, const Layout &layout, uint64_t alignment,
                       const std::string &path) {
  const Record *narrow = nullptr, *wide = nullptr, *open = nullptr, *none = nullptr;
  const auto room = [&](const Record *record) {
    return layout.room[static_cast<size_t>(record - records.data())];
  };
  const auto sizes = [&](const Record *record) {
    return line("tensor ", inQuotes(record->name), " has ", room(record),
                " bytes: blocks of 64 values take ", record->bytes, ", blocks of 128 take ",
                wideQ2Bytes(record->bytes));
  };
  for (const Record &record : records) {
    if (record.format != WeightFormat::Q2_0)
      continue;
    const bool fits64 = fills(record.bytes, room(&record), alignment),
               fits128 = record.shape.back() % kWideQ2Values == 0 &&
                         fills(wideQ2Bytes(record.bytes), room(&record), alignment);
    (fits64 && fits128 ? open : fits64 ? narrow : fits128 ? wide : none) = &record;
  }
  const bool mixed = narrow && wide, undecided = !narrow && !wide && open,
             neither = !narrow && !wide && none;
  if (mixed || undecided)
    return refuse(
        cause::ggufQ2Size,
        line(fileName(path), mixed ? " has blocks of Q2_0 of 64 and of 128 values"
                                   : " has blocks of Q2_0 of ambiguous size"),
        mixed ? sizes(narrow) + "; " + sizes(wide) : sizes(open),
        "quantise the original model again, with a single program: llama-quantize IN.gguf OUT.gguf "
        "Q2_0");
  if (neither)
    return refuse(cause::ggufQ2Size, line(fileName(path), " has blocks of Q2_0 of an unknown size"),
                  line(sizes(none), "; neither fills the space"),
                  "download it again if it was cut; otherwise quantise the original model again: "
                  "llama-quantize IN.gguf OUT.gguf Q4_0");
  return wide != nullptr;
}

/// Checks the tensors in the order of their offsets. Each must start where its predecessor ended, apart from alignment,
/// and the last must end at the end of the file, apart from padding.
Result<void> GgufReader::place(uint64_t alignment) {
  const uint64_t start = alignUp(cursor.offset(), alignment);
  if (records.empty() && start >= file.size())
    return {}; // the first part of a split model may have no data
  if (start >= file.size())
    return refuse(cause::ggufDataMissing, line(fileName(path), " has no tensor data"),
                  line("the data of ", records.size(), " tensors should start at ", start,
                       ", the file has ", file.size(), " bytes"),
                  "download it again");
  const uint64_t size = file.size() - start;
  const Layout layout = layoutOf(records, size);
  const Result<bool> wideQ2 = hasWideQ2(records, layout, alignment, path);
  if (!wideQ2)
    return wideQ2.error();

  uint64_t end = 0;
  for (size_t i : layout.order) {
    Record &record = records[i];
    const bool isWide = *wideQ2 && record.format == WeightFormat::Q2_0;
    if (isWide)
      record.bytes = wideQ2Bytes(record.bytes);
    std::string which = line("tensor ", inQuotes(record.name));
    if (record.offset % alignment != 0)
      return refuse(cause::ggufOffsetUnaligned, line(which, " is not aligned"),
                    line("offset ", record.offset, " is not a multiple of ", alignment),
                    "convert the checkpoint again");
    if (record.offset > size || record.bytes > size - record.offset)
      return refuse(cause::dataPastEnd, line(which, " ends after the file"),
                    line(record.bytes, " bytes at ", record.offset, ", the data section has ", size,
                         " bytes"),
                    "download the checkpoint again");
    if (record.offset < end)
      return refuse(cause::overlap, line(which, " overlaps another tensor"),
                    line("it starts at ", record.offset, ", the previous one ends at ", end),
                    "convert the checkpoint again");
    if (record.offset > alignUp(end, alignment))
      return refuse(cause::hole, line(which, " leaves a hole before it"),
                    line("it starts at ", record.offset, ", the previous one ends at ", end,
                         ", the alignment is ", alignment),
                    "convert the checkpoint again");
    end = record.offset + record.bytes;
    const std::span<const std::byte> data =
        file.subspan(static_cast<size_t>(start + record.offset), static_cast<size_t>(record.bytes));
    Tensor tensor{std::move(record.name), record.format, std::move(record.shape), data};
    if (tensor.format == WeightFormat::Nvfp4) {
      const int64_t columns = tensor.shape.back();
      tensor.maker = makeNvfp4({columns, tensor.elements() / columns, data, {}, {1.0f}});
      tensor.data = {};
    }
    if (isWide) {
      tensor.maker = makeOfWideQ2(tensor.shape.back(), data);
      tensor.data = {};
    }
    builder.addTensor(std::move(tensor));
  }
  if (size > alignUp(end, alignment))
    return refuse(cause::trailingBytes, line(fileName(path), " has bytes after its last tensor"),
                  line("the tensors end at ", start + end, ", the file at ", file.size()),
                  "download it again, or remove what was appended");
  return {};
}

Result<void> GgufReader::checkQuantisationVersion() {
  const MetaValue *entry = builder.metadata("general.quantization_version");
  if (!entry)
    return {};
  builder.markUsed("general.quantization_version");
  const auto *version = std::get_if<int64_t>(entry);
  bool quantised = std::any_of(records.begin(), records.end(), [](const Record &record) {
    return !numericFormat(record.format).isFloat();
  });
  if (!quantised || (version && *version == 2))
    return {};
  return refuse(cause::ggufQuantVersion, line(fileName(path), " uses an old block layout"),
                version
                    ? line("general.quantization_version is ", *version, "; supported: 2")
                    : std::string("general.quantization_version is not an integer; supported: 2"),
                "quantise the checkpoint again with a current tool");
}

Error GgufReader::noTensorsError() const {
  return refuse(cause::noTensors, line(fileName(path), " has no tensors"),
                line("0 tensors, ", header.keys, " keys"), "name the model's own file");
}

Result<GgufPart> GgufReader::readKeys() {
  if (Result<void> version = checkVersion(); !version)
    return version.error();
  Result<Header> counts = readHeader();
  if (!counts)
    return counts.error();
  header = *counts;
  if (Result<void> read = readGgufMetadata(cursor, header.keys, keys, path); !read)
    return read.error();
  return ggufPart(keys, path);
}

Result<void> GgufReader::readTensors() {
  Result<uint64_t> alignment = ggufAlignment(keys, path);
  if (!alignment)
    return alignment.error();
  records.reserve(static_cast<size_t>(header.tensors));
  for (uint64_t i = 0; i < header.tensors; ++i) {
    Result<Record> record = readRecord(i);
    if (!record)
      return record.error();
    records.push_back(std::move(*record));
  }
  if (Result<void> quantisation = checkQuantisationVersion(); !quantisation)
    return quantisation;
  return place(*alignment);
}

} // namespace

std::span<const GgufType> ggufTypes() { return kStoredTypes; }

Result<void> readGguf(std::span<const std::byte> file, const std::string &path,
                      CheckpointBuilder &builder) {
  GgufReader reader(file, path, builder, builder);
  Result<GgufPart> part = reader.readKeys();
  if (!part)
    return part.error();
  if (part->count != 1)
    return refuse(
        cause::ggufSplit, line(fileName(path), " is one part of a split model"),
        line("split.count is ", part->count, ", and the file name does not show which part it is"),
        line("restore the names of the parts; this one is ",
             SplitName{"NAME", part->number + 1, part->count}.file()));
  if (Result<void> identified = identifyGguf(builder, path); !identified)
    return identified;
  if (reader.tensors() == 0)
    return reader.noTensorsError();
  return reader.readTensors();
}

Result<GgufHead> readGgufHead(std::span<const std::byte> file, const std::string &path) {
  CheckpointBuilder keys(Container::Gguf);
  GgufReader reader(file, path, keys, keys);
  Result<GgufPart> part = reader.readKeys();
  if (!part)
    return part.error();
  GgufHead head{*part, {}};
  if (part->count > 1) // later parts do not state the kind of the model
    return head;
  if (Result<void> model = identifyGguf(keys, path); !model)
    head.notModel = model.error();
  else if (reader.tensors() == 0) // the file is only a vocabulary
    head.notModel = reader.noTensorsError();
  return head;
}

Result<GgufPart> readGgufPart(std::span<const std::byte> file, const std::string &path, bool first,
                              CheckpointBuilder &builder) {
  CheckpointBuilder own(Container::Gguf);
  GgufReader reader(file, path, first ? builder : own, builder);
  Result<GgufPart> part = reader.readKeys();
  if (!part)
    return part;
  if (first)
    if (Result<void> identified = identifyGguf(builder, path); !identified)
      return identified.error();
  if (!first && reader.tensors() == 0)
    return reader.noTensorsError();
  if (Result<void> read = reader.readTensors(); !read)
    return read.error();
  return part;
}

} // namespace ingot::import
