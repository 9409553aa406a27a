//===- WeightSurvey.cpp - See WeightSurvey.h -------------------------------===//
#include "tools/ingot/compile/WeightSurvey.h"

#include "compiler/import/config/Wrapper.h"
#include "runtime/engine/Inspect.h"
#include "tools/files/Json.h"
#include "tools/hub/Fetch.h"
#include "tools/terminal/Console.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <simdjson.h>

namespace ingot::cli {

namespace fs = std::filesystem;

namespace {

using Amounts = std::map<std::string, WeightSurvey::Amount>;

Error noHeader(const std::string &file, const std::string &why) {
  return {ExitCode::File, "E0165", file + " is not a safetensors file", why, "fetch it again"};
}

std::string amountsText(const Amounts &amounts) {
  std::string text;
  for (const auto &[name, amount] : amounts)
    text += (text.empty() ? "" : ", ") + name + " (" + grouped(amount.tensors) +
            (amount.tensors == 1 ? " tensor, " : " tensors, ") + runtime::humanBytes(amount.bytes) +
            ")";
  return text;
}

std::string amountsJson(const Amounts &amounts) {
  JsonObject object;
  for (const auto &[name, amount] : amounts)
    object.raw(name,
               JsonObject().field("tensors", amount.tensors).field("bytes", amount.bytes).str());
  return object.str();
}

} // namespace

Result<void> WeightSurvey::add(const std::string &file, const std::string &headerJson,
                               uint64_t fileBytes) {
  simdjson::dom::parser parser;
  simdjson::dom::object header;
  if (parser.parse(headerJson).get(header))
    return noHeader(file, "its header is not a JSON object");
  ++files;
  bytes += fileBytes;
  for (auto [name, tensor] : header) {
    if (name == "__metadata__")
      continue;
    std::string_view format;
    uint64_t begin = 0, end = 0;
    if (tensor["dtype"].get(format) || tensor["data_offsets"].at(0).get(begin) ||
        tensor["data_offsets"].at(1).get(end) || end < begin)
      return noHeader(file, "a tensor in its header has no dtype or no data_offsets");
    const auto count = [&](Amount &amount) {
      ++amount.tensors;
      amount.bytes += end - begin;
    };
    count(formats[std::string(format)]);
    count(parts[std::string(name.substr(0, name.find('.')))]);
    if (const std::string_view beside = import::besideText(name); !beside.empty())
      count(leftOut[std::string(beside)]);
  }
  return {};
}

Result<void> WeightSurvey::addFile(const std::string &path) {
  const std::string name = fs::path(path).filename().string();
  std::ifstream file(path, std::ios::binary);
  char first[sizeof(uint64_t)] = {};
  file.read(first, sizeof first);
  const auto size = file ? hub::headerBytes({first, sizeof first}) : std::nullopt;
  std::error_code gone;
  const uint64_t whole = fs::file_size(path, gone);
  if (!size || gone || *size > whole - sizeof first)
    return noHeader(name, "its first 8 bytes are not the length of a header");
  std::string header(*size, '\0');
  if (!file.read(header.data(), static_cast<std::streamsize>(header.size())))
    return noHeader(name, "its header cannot be read");
  return add(name, header, whole);
}

std::string WeightSurvey::formatsText() const {
  return grouped(files) + (files == 1 ? " file, " : " files, ") + runtime::humanBytes(bytes) +
         ": " + amountsText(formats);
}

std::string WeightSurvey::partsText() const { return amountsText(parts); }

std::string WeightSurvey::leftOutText() const { return amountsText(leftOut); }

std::string WeightSurvey::json() const {
  return JsonObject()
      .field("files", files)
      .field("bytes", bytes)
      .raw("formats", amountsJson(formats))
      .raw("parts", amountsJson(parts))
      .raw("left_out", amountsJson(leftOut))
      .str();
}

} // namespace ingot::cli
