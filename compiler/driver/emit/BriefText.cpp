//===- BriefText.cpp ------------------------------------------------------===//
#include "compiler/driver/emit/BriefText.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace ingot;

static constexpr size_t kLongestLine = 240;

/// Returns the declaring op of a line: "lm.weight" for "    lm.weight @w : …"; empty for an op that computes.
static llvm::StringRef declared(llvm::StringRef line) {
  const llvm::StringRef name = line.ltrim().split(' ').first;
  const bool declares = name == "lm.weight" || name == "lm.state" || name == "plan.weight" ||
                        name == "plan.step" || name == "plan.state";
  return declares ? name : "";
}

/// Returns the line without its layer numbers (".0." in "@blk.0.attn_q"). Lines that differ only in these numbers
/// have the same role.
static std::string roleOf(llvm::StringRef line) {
  std::string role;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool begins =
        i > 0 && (line[i - 1] == '.' || line[i - 1] == ' ') && llvm::isDigit(line[i]);
    if (!begins) {
      role += line[i];
      continue;
    }
    const size_t end = std::min(line.find_if_not(llvm::isDigit, i), line.size());
    role += end == line.size() || !llvm::isAlpha(line[end]) ? "#" : line.slice(i, end).str();
    i = end - 1;
  }
  return role;
}

std::string compiler::briefly(llvm::StringRef ir) {
  llvm::SmallVector<llvm::StringRef> lines;
  ir.rtrim('\n').split(lines, '\n');
  std::string out;
  for (size_t i = 0; i < lines.size();) {
    const llvm::StringRef name = declared(lines[i]);
    size_t end = i + 1;
    while (!name.empty() && end < lines.size() && declared(lines[end]) == name)
      ++end;
    llvm::SmallVector<std::pair<llvm::StringRef, size_t>>
        shown; // the first line of each role and the number of lines
    llvm::StringMap<size_t> roles;
    for (llvm::StringRef line : llvm::ArrayRef(lines).slice(i, end - i)) {
      const auto [role, isNew] = roles.try_emplace(roleOf(line), shown.size());
      if (isNew)
        shown.emplace_back(line, 0);
      ++shown[role->second].second;
    }
    for (const auto &[line, count] : shown) {
      out += line.size() > kLongestLine ? line.take_front(kLongestLine).str() + " …" : line.str();
      out += count > 1 ? "  // × " + std::to_string(count) + "\n" : "\n";
    }
    i = end;
  }
  return out;
}
