//===- SplitGguf.cpp - See SplitGguf.h ------------------------------------===//
#include "compiler/import/containers/SplitGguf.h"
#include "compiler/import/containers/Gguf.h"
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/files/Folder.h"

#include <algorithm>
#include <charconv>

namespace ingot::import {

static std::string fiveDigits(int64_t number) {
  std::string digits = std::to_string(number);
  return std::string(5 - std::min<size_t>(5, digits.size()), '0') + digits;
}

std::string SplitName::file() const {
  return stem + "-" + fiveDigits(number) + "-of-" + fiveDigits(count) + ".gguf";
}

std::optional<SplitName> splitName(std::string_view file) {
  constexpr size_t kEnding = sizeof "-00001-of-00003.gguf" - 1;
  if (file.size() <= kEnding)
    return std::nullopt;
  SplitName name{std::string(file.substr(0, file.size() - kEnding)), 0, 0};
  auto number = [&](size_t at, int64_t &into) {
    const char *begin = file.data() + file.size() - kEnding + at;
    auto [end, failed] = std::from_chars(begin, begin + 5, into);
    return failed == std::errc() && end == begin + 5 && into > 0;
  };
  if (!number(1, name.number) || !number(10, name.count) || name.number > name.count ||
      name.file() != file)
    return std::nullopt;
  return name;
}

namespace {

Error odd(const SplitName &part, const std::string &why) {
  return refuse(
      cause::ggufPartOdd, line(inQuotes(part.file()), " does not belong to the other parts"), why,
      "put all parts of the model into one folder, under the names that match split.no and "
      "split.count; or split the model again: llama-gguf-split --split");
}

Result<void> checkPart(const SplitName &name, const GgufPart &part, const GgufPart &first) {
  if (part.count != name.count)
    return odd(name, line("split.count is ", part.count, ", its name implies ", name.count));
  if (part.number != name.number - 1)
    return odd(name, line("split.no is ", part.number, ", its name implies ", name.number - 1));
  if (part.tensors != first.tensors)
    return odd(name, line("split.tensors.count is ", part.tensors, ", that of the first part ",
                          first.tensors));
  return {};
}

} // namespace

Result<std::vector<std::span<const std::byte>>>
readSplitGguf(const std::string &path, const SplitName &named, CheckpointBuilder &builder) {
  Folder folder(path);
  GgufPart first;
  for (SplitName name = {named.stem, 1, named.count}; name.number <= name.count; ++name.number) {
    if (!folder.has(name.file()))
      return refuse(cause::ggufPartMissing,
                    line("part ", name.number, " of ", name.count, " of the model is missing"),
                    line(wholePath(folder.pathOf(name.file())), " does not exist"),
                    line("put all ", name.count, " parts into one folder"));
    Result<std::shared_ptr<const MappedFile>> file = folder.open(name.file());
    if (!file)
      return file.error();
    builder.keep(*file);
    Result<GgufPart> part =
        readGgufPart((*file)->bytes(), folder.pathOf(name.file()), name.number == 1, builder);
    if (!part)
      return part.error();
    if (name.number == 1)
      first = *part;
    if (Result<void> fits = checkPart(name, *part, first); !fits)
      return fits.error();
  }
  if (static_cast<int64_t>(builder.tensors().size()) != first.tensors)
    return odd({named.stem, named.count, named.count},
               line("split.tensors.count is ", first.tensors, ", the ", named.count, " parts have ",
                    builder.tensors().size(), " tensors"));
  return folder.opened();
}

} // namespace ingot::import
