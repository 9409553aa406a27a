//===- Value.cpp - Tensors, JSON and parameters as values --------------------===//
#include "deploy/triton/Value.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace ingot::triton {

namespace {

Failure wrongTensor(const std::string &name, const std::string &why) {
  return badRequest("E0951", "the tensor '" + name + "' cannot be read", why,
                    "see \"Inputs\" in docs/triton.md for types and shapes");
}

std::string written(const std::vector<int64_t> &shape) {
  std::string text;
  for (const int64_t extent : shape)
    text += (text.empty() ? "" : ",") + std::to_string(extent);
  return "[" + text + "]";
}

/// Copies the bytes of all of an input's buffers. The server chooses their memory; GPU memory is
/// refused.
Outcome bytesOf(TRITONBACKEND_Input *input, const std::string &name, uint32_t buffers,
                std::string &into) {
  for (uint32_t i = 0; i < buffers; ++i) {
    const void *data = nullptr;
    uint64_t size = 0;
    TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
    int64_t memoryId = 0;
    if (Outcome failed =
            taken(TRITONBACKEND_InputBuffer(input, i, &data, &size, &memory, &memoryId)))
      return failed;
    if (memory == TRITONSERVER_MEMORY_GPU)
      return wrongTensor(name, "it lies in the memory of GPU " + std::to_string(memoryId) +
                                   ", and this backend reads host memory");
    if (size)
      into.append(static_cast<const char *>(data), size);
  }
  return {};
}

template <typename T, typename Into>
void widen(const std::string &bytes, uint64_t count, std::vector<Into> &into) {
  into.resize(count);
  for (uint64_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    into[i] = Into(element);
  }
}

size_t sizeOf(TRITONSERVER_DataType type) {
  switch (type) {
  case TRITONSERVER_TYPE_BOOL:
  case TRITONSERVER_TYPE_UINT8:
  case TRITONSERVER_TYPE_INT8:
    return 1;
  case TRITONSERVER_TYPE_UINT16:
  case TRITONSERVER_TYPE_INT16:
    return 2;
  case TRITONSERVER_TYPE_UINT32:
  case TRITONSERVER_TYPE_INT32:
  case TRITONSERVER_TYPE_FP32:
    return 4;
  case TRITONSERVER_TYPE_UINT64:
  case TRITONSERVER_TYPE_INT64:
  case TRITONSERVER_TYPE_FP64:
    return 8;
  default:
    return 0;
  }
}

} // namespace

const char *nameOf(TRITONSERVER_DataType type) {
  static constexpr const char *kNames[] = {"INVALID", "BOOL", "UINT8", "UINT16", "UINT32",
                                           "UINT64",  "INT8", "INT16", "INT32",  "INT64",
                                           "FP16",    "FP32", "FP64",  "BYTES",  "BF16"};
  return size_t(type) < std::size(kNames) ? kNames[type] : "?";
}

Outcome Value::ofTensor(TRITONBACKEND_Input *input, bool batched, Value &into) {
  const char *name = nullptr;
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
  const int64_t *shape = nullptr;
  uint32_t dimensions = 0, buffers = 0;
  uint64_t size = 0;
  if (Outcome failed = taken(
          TRITONBACKEND_InputProperties(input, &name, &type, &shape, &dimensions, &size, &buffers)))
    return failed;
  into = Value();
  into.itsName = name;
  into.itsShape.assign(shape, shape + dimensions);
  if (batched && dimensions) {
    if (shape[0] != 1)
      return badRequest("E0952", "a request has more than one row",
                        "the shape of '" + into.itsName + "' is " + written(into.itsShape) +
                            ", whose first dimension is the batch",
                        "send a request for each row: they share the engine's steps anyway");
    into.itsShape.erase(into.itsShape.begin());
  }
  std::string bytes;
  if (Outcome failed = bytesOf(input, into.itsName, buffers, bytes))
    return failed;
  uint64_t count = 1;
  for (const int64_t extent : into.itsShape) {
    // An element has at least one byte.
    if (extent < 0 || (extent && count > bytes.size() / uint64_t(extent)))
      return wrongTensor(into.itsName, "its shape is " + written(into.itsShape) + " and it has " +
                                           std::to_string(bytes.size()) + " bytes");
    count *= uint64_t(extent);
  }
  return into.tensorData(type, bytes, count);
}

Outcome Value::tensorData(TRITONSERVER_DataType type, const std::string &bytes, uint64_t count) {
  if (type == TRITONSERVER_TYPE_BYTES) {
    itsKind = Kind::Texts;
    std::string_view rest = bytes;
    for (uint64_t i = 0; i < count; ++i) {
      uint32_t length = 0;
      if (rest.size() < sizeof length)
        return wrongTensor(itsName, "string " + std::to_string(i) + " of " + std::to_string(count) +
                                        " has no length before it");
      std::memcpy(&length, rest.data(), sizeof length);
      rest.remove_prefix(sizeof length);
      if (length > rest.size())
        return wrongTensor(itsName, "string " + std::to_string(i) + " says that it has " +
                                        std::to_string(length) + " bytes, and " +
                                        std::to_string(rest.size()) + " follow");
      texts.emplace_back(rest.substr(0, length));
      rest.remove_prefix(length);
    }
    if (!rest.empty())
      return wrongTensor(itsName, std::to_string(rest.size()) + " bytes follow its " +
                                      std::to_string(count) + " strings");
    return {};
  }
  const size_t size = sizeOf(type);
  if (!size)
    return wrongTensor(itsName, std::string("its type is ") + nameOf(type) +
                                    ", known are BOOL, integers, FP32, FP64 and BYTES");
  if (bytes.size() != count * size)
    return wrongTensor(itsName, "it has " + std::to_string(bytes.size()) + " bytes, and " +
                                    std::to_string(count) + " of " + nameOf(type) + " are " +
                                    std::to_string(count * size));
  itsKind = Kind::Integers;
  switch (type) {
  case TRITONSERVER_TYPE_BOOL:
    itsKind = Kind::Flags;
    widen<uint8_t>(bytes, count, integers);
    break;
  case TRITONSERVER_TYPE_UINT8:
    widen<uint8_t>(bytes, count, integers);
    break;
  case TRITONSERVER_TYPE_INT8:
    widen<int8_t>(bytes, count, integers);
    break;
  case TRITONSERVER_TYPE_UINT16:
    widen<uint16_t>(bytes, count, integers);
    break;
  case TRITONSERVER_TYPE_INT16:
    widen<int16_t>(bytes, count, integers);
    break;
  case TRITONSERVER_TYPE_UINT32:
    widen<uint32_t>(bytes, count, integers);
    break;
  case TRITONSERVER_TYPE_INT32:
    widen<int32_t>(bytes, count, integers);
    break;
  case TRITONSERVER_TYPE_UINT64:
  case TRITONSERVER_TYPE_INT64:
    widen<int64_t>(bytes, count, integers);
    break;
  case TRITONSERVER_TYPE_FP32:
    itsKind = Kind::Reals;
    widen<float>(bytes, count, reals);
    break;
  default:
    itsKind = Kind::Reals;
    widen<double>(bytes, count, reals);
    break;
  }
  return {};
}

Outcome Value::ofJson(std::string_view name, const simdjson::dom::element &json, Value &into) {
  into = Value();
  into.itsName = name;
  auto add = [&](const simdjson::dom::element &element, bool first) -> Outcome {
    Kind kind = Kind::Texts;
    if (std::string_view text; !element.get_string().get(text)) {
      into.texts.emplace_back(text);
    } else if (bool flag = false; !element.get_bool().get(flag)) {
      kind = Kind::Flags;
      into.integers.push_back(flag);
    } else if (int64_t whole = 0; !element.get_int64().get(whole)) {
      kind = Kind::Integers;
      into.integers.push_back(whole);
    } else if (uint64_t large = 0; !element.get_uint64().get(large)) {
      kind = Kind::Integers;
      into.integers.push_back(int64_t(large));
    } else if (double real = 0; !element.get_double().get(real)) {
      kind = Kind::Reals;
      into.reals.push_back(real);
    } else {
      return into.unlike("a number, a string, a truth value, or an array of one of them");
    }
    if (!first && kind != into.itsKind)
      return into.unlike("an array whose elements are all alike");
    into.itsKind = kind;
    return {};
  };
  simdjson::dom::array array;
  if (json.get_array().get(array))
    return add(json, true);
  bool first = true;
  for (const simdjson::dom::element element : array) {
    if (Outcome failed = add(element, first))
      return failed;
    first = false;
  }
  into.itsShape = {int64_t(into.count())};
  return {};
}

Outcome Value::ofParameter(const char *name, TRITONSERVER_ParameterType type, const void *given,
                           Value &into) {
  into = Value();
  into.itsName = name;
  switch (type) {
  case TRITONSERVER_PARAMETER_STRING:
    into.texts.emplace_back(static_cast<const char *>(given));
    return {};
  case TRITONSERVER_PARAMETER_INT:
    into.itsKind = Kind::Integers;
    into.integers.push_back(*static_cast<const int64_t *>(given));
    return {};
  case TRITONSERVER_PARAMETER_BOOL:
    into.itsKind = Kind::Flags;
    into.integers.push_back(*static_cast<const bool *>(given));
    return {};
  case TRITONSERVER_PARAMETER_DOUBLE:
    into.itsKind = Kind::Reals;
    into.reals.push_back(*static_cast<const double *>(given));
    return {};
  default:
    return into.unlike("a parameter that is a string, a number or a truth value");
  }
}

std::string Value::found() const {
  static constexpr const char *kKinds[] = {"integer", "real number", "truth value", "string"};
  const size_t many = count();
  return std::to_string(many) + " " + kKinds[size_t(itsKind)] + (many == 1 ? "" : "s");
}

Outcome Value::unlike(const std::string &wanted) const {
  return badRequest("E0953", "'" + itsName + "' is not what it should be",
                    "it is " + found() + ", wanted is " + wanted,
                    "see \"Inputs\" in docs/triton.md for types and shapes");
}

Outcome Value::one(Kind kind, const char *wanted) const {
  return itsKind == kind && count() == 1 ? Outcome() : unlike(wanted);
}

namespace {
/// Clients of other backends write numbers in JSON as strings.
template <typename T> bool parses(const std::string &text, T &into) {
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), into);
  return wrong == std::errc() && end == text.data() + text.size();
}
} // namespace

Outcome Value::integer(int64_t least, int64_t most, int64_t &into) const {
  int64_t value = 0;
  if (itsKind == Kind::Texts && count() == 1 && parses(texts[0], value)) {
    // the string holds the number
  } else if (Outcome failed = one(Kind::Integers, "one integer")) {
    return failed;
  } else {
    value = integers[0];
  }
  if (value < least || value > most)
    return badRequest("E0953", "'" + itsName + "' is out of range",
                      "it is " + std::to_string(value) + ", allowed: " + std::to_string(least) +
                          " to " + std::to_string(most),
                      "give another value");
  into = value;
  return {};
}

Outcome Value::int32(int32_t &into, int32_t least) const {
  int64_t value = 0;
  if (Outcome failed = integer(least, std::numeric_limits<int32_t>::max(), value))
    return failed;
  into = int32_t(value);
  return {};
}

Outcome Value::seed(uint64_t &into) const {
  if (itsKind == Kind::Texts && count() == 1 && parses(texts[0], into))
    return {};
  if (Outcome failed = one(Kind::Integers, "one integer"))
    return failed;
  into = uint64_t(integers[0]);
  return {};
}

Outcome Value::real(float &into) const {
  double value = 0;
  if (itsKind == Kind::Integers && count() == 1)
    value = double(integers[0]);
  else if (itsKind == Kind::Texts && count() == 1 && parses(texts[0], value))
    ; // the string holds the number
  else if (Outcome failed = one(Kind::Reals, "one number"))
    return failed;
  else
    value = reals[0];
  if (!std::isfinite(float(value)))
    return unlike("a finite number");
  into = float(value);
  return {};
}

Outcome Value::flag(bool &into) const {
  if (itsKind == Kind::Texts && count() == 1 && (texts[0] == "true" || texts[0] == "false")) {
    into = texts[0] == "true";
    return {};
  }
  if (Outcome failed = one(Kind::Flags, "one truth value"))
    return failed;
  into = integers[0] != 0;
  return {};
}

Outcome Value::text(std::string &into) const {
  if (Outcome failed = one(Kind::Texts, "one string"))
    return failed;
  into = texts[0];
  return {};
}

Outcome Value::textWithoutNul(std::string &into) const {
  if (Outcome failed = text(into))
    return failed;
  return into.find('\0') == into.npos ? Outcome() : unlike("a string without NUL");
}

Outcome Value::integerList(std::vector<int32_t> &into) const {
  if (itsKind != Kind::Integers && count())
    return unlike("integers");
  for (const int64_t value : integers) {
    if (value != int32_t(value))
      return badRequest("E0953", "'" + itsName + "' has a value out of range",
                        std::to_string(value) + " does not fit into 32 bits",
                        "give ids of the vocabulary");
    into.push_back(int32_t(value));
  }
  return {};
}

Outcome Value::textList(std::vector<std::string> &into) const {
  if (itsKind != Kind::Texts && count())
    return unlike("strings");
  for (const std::string &value : texts) {
    if (value.find('\0') != value.npos)
      return unlike("strings without NUL");
    if (!value.empty()) // clients send one empty string for none
      into.push_back(value);
  }
  return {};
}

} // namespace ingot::triton
