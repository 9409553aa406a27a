//===- BriefText.cpp ------------------------------------------------------===//
#include "compiler/driver/BriefText.h"

#include "llvm/ADT/SmallVector.h"

using namespace ingot;

/// A layer has about a dozen weights: one of each role is seen.
static constexpr size_t kShownOfRun = 12;
static constexpr size_t kLongestLine = 240;

std::string compiler::briefly(llvm::StringRef ir) {
  llvm::SmallVector<llvm::StringRef> lines;
  ir.rtrim('\n').split(lines, '\n');
  auto declared =
      [](llvm::StringRef line) { // "lm.weight" of "    lm.weight @w : …"; empty for what computes
        llvm::StringRef name = line.ltrim().split(' ').first;
        return name == "lm.weight" || name == "lm.state" || name == "plan.weight" ||
                       name == "plan.step" || name == "plan.state"
                   ? name
                   : "";
      };
  std::string out;
  for (size_t i = 0; i < lines.size();) {
    llvm::StringRef name = declared(lines[i]);
    size_t end = i + 1;
    while (!name.empty() && end < lines.size() && declared(lines[end]) == name)
      ++end;
    const size_t shown = std::min(end - i, kShownOfRun);
    for (llvm::StringRef line : llvm::ArrayRef(lines).slice(i, shown))
      out +=
          (line.size() > kLongestLine ? line.take_front(kLongestLine).str() + " …" : line.str()) +
          "\n";
    if (shown < end - i)
      out += std::string(lines[i].size() - lines[i].ltrim().size(), ' ') + "// and " +
             std::to_string(end - i - shown) + " more of " + name.str() + "\n";
    i = end;
  }
  return out;
}
