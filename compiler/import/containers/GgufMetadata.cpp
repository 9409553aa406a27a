//===- GgufMetadata.cpp - Thirteen value types, all bounded ---------------===//
#include "compiler/import/containers/GgufMetadata.h"

#include <bit>
#include <cmath>
#include <limits>
#include <simdjson.h>

namespace ingot::import {

namespace {

enum ValueType : uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

constexpr uint64_t kMaxKey = 65535; // from the specification
constexpr uint64_t kMaxString = uint64_t(16) << 20;
constexpr uint64_t kMaxVocabulary = 4u << 20;

/// Reads one value of each type. `key` is for messages.
class ValueReader {
public:
  ValueReader(GgufCursor &cursor, std::string_view key, const std::string &path)
      : cursor(cursor), key(key), path(path) {}

  Result<MetaValue> value(uint32_t type);

private:
  template <typename T> Result<int64_t> integer() {
    Result<T> raw = cursor.take<T>(cause::ggufValueCut, "the value of", key);
    if (!raw)
      return raw.error();
    if constexpr (std::is_same_v<T, uint64_t>)
      if (*raw > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        return refuse(cause::integerRange, line("the value of ", inQuotes(key), " is too large"),
                      line(*raw, " is beyond 9223372036854775807"), "convert the checkpoint again");
    return static_cast<int64_t>(*raw);
  }

  template <typename T> Result<double> number() {
    Result<T> raw = cursor.take<T>(cause::ggufValueCut, "the value of", key);
    return raw ? Result<double>(static_cast<double>(*raw)) : Result<double>(raw.error());
  }

  Result<bool> boolean();
  Result<std::string_view> text(const char *endCause);
  Result<MetaValue> scalarString();
  Result<MetaValue> array();

  template <typename Element, typename Take> Result<MetaValue> elements(uint64_t count, Take take) {
    std::vector<Element> values;
    values.reserve(static_cast<size_t>(count));
    for (uint64_t i = 0; i < count; ++i) {
      auto element = take();
      if (!element)
        return element.error();
      values.push_back(Element(*element));
    }
    return MetaValue(MetaArray(std::move(values)));
  }

  GgufCursor &cursor;
  std::string_view key;
  const std::string &path;
};

template <typename T> Result<MetaValue> widen(Result<T> value) {
  return value ? Result<MetaValue>(MetaValue(*value)) : Result<MetaValue>(value.error());
}

Result<MetaValue> finite(Result<double> value, std::string_view key, size_t end) {
  if (value && !std::isfinite(*value))
    return refuse(cause::ggufFloatNotFinite,
                  line("the value of ", inQuotes(key), " is NaN or infinite"),
                  line("found ", *value, " before offset ", end, "; expected a finite number"),
                  "convert the checkpoint again");
  return widen(std::move(value));
}

Result<bool> ValueReader::boolean() {
  Result<uint8_t> raw = cursor.take<uint8_t>(cause::ggufValueCut, "the value of", key);
  if (!raw)
    return raw.error();
  if (*raw > 1)
    return refuse(cause::ggufBool, line("the boolean ", inQuotes(key), " is neither 0 nor 1"),
                  line("found ", int(*raw), " at offset ", cursor.offset() - 1),
                  "download the checkpoint again: its header is damaged");
  return *raw == 1;
}

Result<std::string_view> ValueReader::text(const char *endCause) {
  Result<uint64_t> size =
      cursor.take<uint64_t>(cause::ggufStringLengthCut, "a string length of", key);
  if (!size)
    return size.error();
  if (*size > kMaxString)
    return refuse(cause::ggufStringLong, line("a string of ", inQuotes(key), " is too long"),
                  line(*size, " bytes, at most ", kMaxString),
                  "download the checkpoint again: its header is damaged");
  return cursor.takeText(*size, endCause, "a string of", key);
}

Result<MetaValue> ValueReader::scalarString() {
  Result<std::string_view> value = text(cause::ggufStringPastEnd);
  if (!value)
    return value.error();
  // Array elements may be raw bytes (some vocabularies have them); a single string must be text.
  if (!simdjson::validate_utf8(value->data(), value->size()))
    return refuse(cause::notUtf8, line("the string ", inQuotes(key), " is not UTF-8"),
                  line("its ", value->size(), " bytes start with ", inQuotes(*value)),
                  "convert the checkpoint again");
  return MetaValue(std::string(*value));
}

/// Returns the minimum size of an element in bytes; 0 for an unknown type.
uint64_t leastBytes(uint32_t type) {
  switch (type) {
  case U8:
  case I8:
  case Bool:
    return 1;
  case U16:
  case I16:
    return 2;
  case U32:
  case I32:
  case F32:
    return 4;
  case U64:
  case I64:
  case F64:
  case String:
    return 8;
  default:
    return 0;
  }
}

Result<MetaValue> ValueReader::array() {
  constexpr std::string_view what = "the array header of";
  Result<uint32_t> type = cursor.take<uint32_t>(cause::ggufArrayHeaderCut, what, key);
  if (!type)
    return type.error();
  Result<uint64_t> count = cursor.take<uint64_t>(cause::ggufArrayHeaderCut, what, key);
  if (!count)
    return count.error();
  if (*type == Array)
    return refuse(cause::ggufArrayNested, line("the array ", inQuotes(key), " contains arrays"),
                  line(*count, " of them; only arrays of plain values are supported"),
                  "convert the checkpoint again, without nested arrays");
  uint64_t least = leastBytes(*type);
  if (least == 0)
    return refuse(cause::ggufArrayType, line("the array ", inQuotes(key), " has an unknown type"),
                  line("element type ", *type, " of ", *count, " elements; known types: 0 to 12"),
                  "download the checkpoint again: its header is damaged");
  if (key == "tokenizer.ggml.tokens" && *count > kMaxVocabulary)
    return refuse(cause::ggufVocabulary, "the vocabulary is too large",
                  line(*count, " tokens, at most ", kMaxVocabulary),
                  "use a checkpoint with a smaller vocabulary");
  if (*count > cursor.left() / least)
    return refuse(cause::ggufArrayPastEnd, line("the array ", inQuotes(key), " is cut short"),
                  line(*count, " elements of at least ", least, " bytes, ", cursor.left(),
                       " bytes are left in ", fileName(path)),
                  "download it again");
  switch (*type) {
  case U8:
    return elements<int64_t>(*count, [&] { return integer<uint8_t>(); });
  case I8:
    return elements<int64_t>(*count, [&] { return integer<int8_t>(); });
  case U16:
    return elements<int64_t>(*count, [&] { return integer<uint16_t>(); });
  case I16:
    return elements<int64_t>(*count, [&] { return integer<int16_t>(); });
  case U32:
    return elements<int64_t>(*count, [&] { return integer<uint32_t>(); });
  case I32:
    return elements<int64_t>(*count, [&] { return integer<int32_t>(); });
  case U64:
    return elements<int64_t>(*count, [&] { return integer<uint64_t>(); });
  case I64:
    return elements<int64_t>(*count, [&] { return integer<int64_t>(); });
  case F32:
    return elements<double>(*count, [&] { return number<float>(); });
  case F64:
    return elements<double>(*count, [&] { return number<double>(); });
  case Bool:
    return elements<bool>(*count, [&] { return boolean(); });
  default:
    return elements<std::string>(*count, [&] { return text(cause::ggufArrayStringCut); });
  }
}

Result<MetaValue> ValueReader::value(uint32_t type) {
  switch (type) {
  case U8:
    return widen(integer<uint8_t>());
  case I8:
    return widen(integer<int8_t>());
  case U16:
    return widen(integer<uint16_t>());
  case I16:
    return widen(integer<int16_t>());
  case U32:
    return widen(integer<uint32_t>());
  case I32:
    return widen(integer<int32_t>());
  case U64:
    return widen(integer<uint64_t>());
  case I64:
    return widen(integer<int64_t>());
  case F32: {
    Result<double> value = number<float>();
    return finite(std::move(value), key, cursor.offset());
  }
  case F64: {
    Result<double> value = number<double>();
    return finite(std::move(value), key, cursor.offset());
  }
  case Bool:
    return widen(boolean());
  case String:
    return scalarString();
  case Array:
    return array();
  default:
    return refuse(cause::ggufValueType, line("the key ", inQuotes(key), " has an unknown type"),
                  line("type ", type, " at offset ", cursor.offset() - 4, "; known types: 0 to 12"),
                  "download the checkpoint again: its header is damaged");
  }
}

Result<std::string_view> readKey(GgufCursor &cursor, uint64_t index, const std::string &path) {
  std::string which = line("key ", index);
  Result<uint64_t> size =
      cursor.take<uint64_t>(cause::ggufKeyLengthCut, line("the length of ", which));
  if (!size)
    return size.error();
  if (*size == 0)
    return refuse(cause::ggufKeyEmpty, line(fileName(path), " has a key without a name"),
                  line(which, " has a name of 0 bytes at offset ", cursor.offset()),
                  "convert the checkpoint again");
  if (*size > kMaxKey)
    return refuse(cause::keyLong, line(fileName(path), " has a key that is too long"),
                  line(which, " has ", *size, " bytes, at most ", kMaxKey),
                  "download it again: its header is damaged");
  Result<std::string_view> key = cursor.takeText(*size, cause::ggufKeyPastEnd, which);
  if (!key)
    return key;
  for (char c : *key)
    if (c <= 0x20 || c >= 0x7F)
      return refuse(cause::ggufKeyOdd, line("the key ", inQuotes(*key), " has invalid characters"),
                    line(which, " of ", *size, " bytes has byte ",
                         int(static_cast<unsigned char>(c)), "; keys are printable ASCII"),
                    "convert the checkpoint again");
  return key;
}

} // namespace

Result<void> readGgufMetadata(GgufCursor &cursor, uint64_t count, CheckpointBuilder &builder,
                              const std::string &path) {
  for (uint64_t i = 0; i < count; ++i) {
    Result<std::string_view> key = readKey(cursor, i, path);
    if (!key)
      return key.error();
    Result<uint32_t> type = cursor.take<uint32_t>(cause::ggufValueTypeCut, "the type of", *key);
    if (!type)
      return type.error();
    Result<MetaValue> value = ValueReader(cursor, *key, path).value(*type);
    if (!value)
      return value.error();
    if (Result<void> added = builder.addMetadata(std::string(*key), std::move(*value)); !added)
      return added;
  }
  return {};
}

// In a file that was merged from parts, split.count is 0 or 1, and the other split keys have no meaning. (llama.cpp's
// llama_model_loader reads these keys only if split.count is above 1.)
Result<GgufPart> ggufPart(CheckpointBuilder &builder, const std::string &path) {
  GgufPart part;
  struct {
    const char *key;
    int64_t &target;
    int64_t least, most;
  } keys[] = {{"split.count", part.count, 0, 99999},
              {"split.no", part.number, 0, 99998},
              {"split.tensors.count", part.tensors, 0, 65536}};
  for (auto &[key, target, least, most] : keys) {
    const MetaValue *value = builder.metadata(key);
    if (!value)
      continue;
    builder.markUsed(key);
    const auto *number = std::get_if<int64_t>(value);
    if (&target != &part.count && part.count <= 1)
      continue;
    if (!number || *number < least || *number > most)
      return refuse(
          cause::ggufPartOdd, line(fileName(path), " is an invalid part of a split model"),
          number ? line(inQuotes(key), " is ", *number, "; expected ", least, " to ", most)
                 : line(inQuotes(key), " is not an integer"),
          "split the model again: llama-gguf-split --split MODEL.gguf NAME");
    target = *number;
  }
  if (part.count <= 1)
    part = GgufPart();
  return part;
}

/// Returns advice on which file to use instead of a GGUF file that is not a model.
static const char *modelOf(std::string_view type) {
  if (type == "mmproj" || type == "clip")
    return "it is the vision or audio encoder of a model: name the GGUF of the text model, in the "
           "same folder";
  if (type == "adapter")
    return "merge it into its base model first: llama-export-lora -m BASE.gguf --lora FILE -o "
           "OUT.gguf";
  return "name the model's own file, not an adapter, projector or vocabulary";
}

Result<void> identifyGguf(CheckpointBuilder &builder, const std::string &path) {
  if (const MetaValue *type = builder.metadata("general.type")) {
    const auto *text = std::get_if<std::string>(type);
    if (!text || *text != "model")
      return refuse(cause::ggufNotAModel, line(fileName(path), " is not a model"),
                    text ? line("general.type is ", inQuotes(*text), ", expected 'model'")
                         : std::string("general.type is not a string"),
                    modelOf(text ? *text : ""));
    builder.markUsed("general.type");
  }
  const MetaValue *architecture = builder.metadata("general.architecture");
  if (!architecture)
    return refuse(cause::architectureMissing, line(fileName(path), " names no architecture"),
                  line("none of its ", builder.keys(), " keys is 'general.architecture'"),
                  "convert the checkpoint again");
  const auto *text = std::get_if<std::string>(architecture);
  if (!text || text->empty() || text->size() > 64 || !isPlainName(*text))
    return refuse(cause::architectureOdd, line(fileName(path), " has an invalid architecture"),
                  text
                      ? line("general.architecture has ", text->size(), " bytes: ", inQuotes(*text))
                      : std::string("general.architecture is not a string of 1 to 64 bytes"),
                  "convert the checkpoint again");
  if (*text == "clip") // older projectors identify themselves in no other way
    return refuse(cause::ggufNotAModel, line(fileName(path), " is not a model"),
                  "general.architecture is 'clip'", modelOf(*text));
  builder.markUsed("general.architecture");
  builder.setArchitecture(*text);
  if (const MetaValue *name = builder.metadata("general.name"))
    if (const auto *given = std::get_if<std::string>(name); given && !given->empty()) {
      builder.setName(*given);
      builder.markUsed("general.name");
    }
  return {};
}

Result<uint64_t> ggufAlignment(CheckpointBuilder &builder, const std::string &path) {
  constexpr int64_t kDefault = 32, kMax = 65536;
  const MetaValue *entry = builder.metadata("general.alignment");
  if (!entry)
    return uint64_t(kDefault);
  builder.markUsed("general.alignment");
  const auto *value = std::get_if<int64_t>(entry);
  const char *fix = "convert the checkpoint again, with the default alignment of 32";
  if (!value)
    return refuse(cause::ggufAlignmentType, line(fileName(path), " has an invalid alignment"),
                  "general.alignment is not an integer (32 is usual)", fix);
  if (*value <= 0 || !std::has_single_bit(static_cast<uint64_t>(*value)))
    return refuse(cause::ggufAlignmentPower, line(fileName(path), " has an invalid alignment"),
                  line("general.alignment is ", *value, ", expected a power of two"), fix);
  if (*value > kMax)
    return refuse(cause::ggufAlignmentLarge,
                  line(fileName(path), " has an alignment that is too large"),
                  line("general.alignment is ", *value, ", at most ", kMax), fix);
  return static_cast<uint64_t>(*value);
}

} // namespace ingot::import
