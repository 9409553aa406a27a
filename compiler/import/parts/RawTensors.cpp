//===- RawTensors.cpp - See RawTensors.h -----------------------------------===//
#include "compiler/import/parts/RawTensors.h"
#include "compiler/import/blocks/Codes.h"
#include "compiler/import/error/ImportErrors.h"
#include "runtime/formats/E4M3.h"
#include "runtime/formats/E8M0.h"

#include <bit>
#include <cassert>

namespace ingot::import {

namespace {

std::string_view dtypeOf(WeightFormat format) {
  switch (format) {
  case WeightFormat::F32:
    return "F32";
  case WeightFormat::F16:
    return "F16";
  case WeightFormat::BF16:
    return "BF16";
  case WeightFormat::Fp8Tensor:
    return "F8_E4M3";
  default:
    return "";
  }
}

Error badPart(const std::string &name, std::string why) {
  return refuse(cause::quantPart, line("tensor ", inQuotes(name), " is not part of a weight"),
                std::move(why),
                "take configuration and tensors from the same checkpoint, all its files");
}

} // namespace

std::string printedShape(std::span<const int64_t> shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : "x") + (extent < 0 ? "?" : std::to_string(extent));
  return text;
}

int64_t Part::elements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

int64_t Part::integer(int64_t i) const {
  if (dtype == "I64")
    return load<int64_t>(data.data() + 8 * i);
  if (dtype == "I32")
    return load<int32_t>(data.data() + 4 * i);
  if (dtype == "U32")
    return word(i);
  return dtype == "I8" ? static_cast<int8_t>(byte(i)) : byte(i);
}

float Part::number(int64_t i) const {
  if (dtype == "F32")
    return load<float>(data.data() + 4 * i);
  if (dtype == "F8_E4M3")
    return f32FromE4M3(byte(i));
  if (dtype == "F8_E8M0")
    return f32FromE8M0(byte(i));
  const auto bits = load<uint16_t>(data.data() + 2 * i);
  return dtype == "F16" ? f16ToF32(bits) : std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

RawTensors::RawTensors(CheckpointBuilder &builder) : builder(builder) {
  for (const Tensor &tensor : builder.tensors())
    parts.emplace(tensor.name,
                  Part{tensor.name, dtypeOf(tensor.format), tensor.shape, tensor.data});
  for (const RawTensor &tensor : builder.raw())
    parts.emplace(tensor.name, Part{tensor.name, tensor.dtype, tensor.shape, tensor.data});
}

std::vector<std::string> RawTensors::endingWith(std::string_view ending) const {
  std::vector<std::string> names;
  for (const auto &[name, part] : parts)
    if (name.ends_with(ending) && name.size() > ending.size())
      names.push_back(name.substr(0, name.size() - ending.size()));
  return names;
}

Result<const Part *> RawTensors::take(const std::string &name, std::string_view types) {
  auto found = parts.find(name);
  if (found == parts.end())
    return refuse(
        cause::quantPart, line("there is no tensor ", inQuotes(name)),
        line("the quantised weight ", inQuotes(name.substr(0, name.rfind('.'))),
             " needs it, and it is not among the ", parts.size(), " tensors of the checkpoint"),
        "check that the folder has all files of its source; otherwise use the original checkpoint "
        "with --quantize int4-g64 or fp8");
  const Part &part = found->second;
  for (size_t at = 0; at < types.size();) { // one word per iteration
    const size_t end = std::min(types.find(' ', at), types.size());
    if (types.substr(at, end - at) == part.dtype) {
      taken.insert(name);
      return &part;
    }
    at = end + 1;
  }
  return badPart(name, line("it is ", part.dtype, "; expected: ", types));
}

Result<const Part *> RawTensors::take(const std::string &name, std::string_view types,
                                      const std::vector<int64_t> &shape) {
  Result<const Part *> part = take(name, types);
  if (!part)
    return part;
  bool fits = (*part)->shape.size() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = shape[i] < 0 || (*part)->shape[i] == shape[i];
  if (!fits)
    return badPart(
        name, line("it is ", printedShape((*part)->shape), "; expected: ", printedShape(shape)));
  return part;
}

Result<void> RawTensors::put(Tensor tensor) {
  if (!taken.contains(tensor.name))
    if (auto fresh = builder.checkTensorName(tensor.name, tensor.name); !fresh)
      return fresh;
  made.push_back(std::move(tensor));
  return {};
}

void RawTensors::finish() {
  std::erase_if(builder.tensors(),
                [&](const Tensor &tensor) { return taken.contains(tensor.name); });
  std::erase_if(builder.raw(),
                [&](const RawTensor &tensor) { return taken.contains(tensor.name); });
  for (Tensor &tensor : made)
    builder.addTensor(std::move(tensor));
  made.clear();
}

} // namespace ingot::import
