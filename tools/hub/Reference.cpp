//===- Reference.cpp - See Reference.h ------------------------------------===//
#include "tools/hub/Reference.h"

#include <algorithm>

namespace ingot::hub {

namespace {

constexpr std::string_view kScheme = "hf:";
constexpr size_t kLongestPart = 96, kLongestPath = 1024;

bool isWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

/// Returns whether `part` is a valid ORG or NAME. The cache separates the parts of a name with two dashes,
/// so no part may contain them.
bool isNamePart(std::string_view part) {
  auto isEdge = [](char c) { return c == '.' || c == '-'; };
  return !part.empty() && part.size() <= kLongestPart &&
         std::ranges::all_of(part, isWordCharacter) && !isEdge(part.front()) &&
         !isEdge(part.back()) && part.find("--") == std::string_view::npos &&
         part.find("..") == std::string_view::npos;
}

bool isRepository(std::string_view name) {
  const size_t slash = name.find('/');
  return slash == std::string_view::npos
             ? isNamePart(name)
             : isNamePart(name.substr(0, slash)) && isNamePart(name.substr(slash + 1));
}

} // namespace

std::string Reference::text() const {
  return std::string(kScheme) + repository + (revisionGiven ? "@" + revision : "") +
         (file.empty() ? "" : ":" + file);
}

bool isReference(std::string_view model) { return model.starts_with(kScheme); }

bool isPlainPath(std::string_view path) {
  if (path.empty() || path.size() > kLongestPath)
    return false;
  for (const char c : path)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\')
      return false;
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..")
      return false;
    if (slash == std::string_view::npos)
      return true;
    path.remove_prefix(slash + 1);
  }
}

bool isCommit(std::string_view revision) {
  return revision.size() == 40 &&
         revision.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<Reference> parseReference(std::string_view model) {
  auto odd = [&](std::string why) {
    return Error{ExitCode::Usage, "E0150", "invalid model name: " + std::string(model),
                 std::move(why), "give hf:ORG/NAME, hf:ORG/NAME@REVISION or hf:ORG/NAME:FILE.gguf"};
  };
  std::string_view rest = model;
  if (!isReference(rest))
    return odd("it does not begin with hf:");
  rest.remove_prefix(kScheme.size());
  Reference reference;
  if (const size_t colon = rest.find(':'); colon != std::string_view::npos) {
    reference.file = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!isPlainPath(reference.file) || !reference.file.ends_with(".gguf"))
      return odd("the second colon must be followed by the path of a .gguf in the repository");
  }
  if (const size_t at = rest.find('@'); at != std::string_view::npos) {
    reference.revision = rest.substr(at + 1);
    reference.revisionGiven = true;
    rest = rest.substr(0, at);
    if (!isPlainPath(reference.revision))
      return odd("@ must be followed by a branch, a tag or a commit");
  }
  if (!isRepository(rest))
    return odd("a repository is ORG/NAME, with letters, digits and . _ -");
  reference.repository = rest;
  return reference;
}

} // namespace ingot::hub
