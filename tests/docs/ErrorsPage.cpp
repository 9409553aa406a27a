//===- ErrorsPage.cpp - errors-page PAGE [--write] ---------------------------===//
//
// Writes the codes of docs/errors.md from runtime/error/Codes.def: a heading for each section and each
// code, so that a link can lead to `errors.md#e0505`.
//===----------------------------------------------------------------------===//
#include "runtime/error/Codes.h"
#include "tests/docs/MadePage.h"

#include <string>
#include <string_view>

using namespace ingot;

namespace {

constexpr size_t kColumns = 118;

/// Returns the text of a row outside of backquotes. Characters that Markdown and HTML would interpret are escaped.
std::string escaped(std::string_view text) {
  std::string out;
  bool inCode = false;
  for (char c : text) {
    inCode ^= c == '`';
    if (!inCode && (c == '<' || c == '*' || c == '_' || c == '[' || c == ']'))
      out += '\\';
    out += c;
  }
  return out;
}

std::string section(std::string_view heading) { return "## " + std::string(heading) + "\n\n"; }

std::string entry(std::string_view code, ExitCode exit, std::string_view title,
                  std::string_view cause, std::string_view remedy) {
  return "### " + std::string(code) + "\n\n" +
         errors::inLines("**" + escaped(title) + "** (exit code " + std::to_string(int(exit)) +
                             "). " + escaped(cause),
                         kColumns) +
         "\n" + errors::inLines(escaped(remedy), kColumns) + "\n";
}

std::string codes(const std::string &) {
  return std::string("\n")
#define INGOT_ERROR_SECTION(heading) .append(section(heading))
#define INGOT_ERROR(code, exit, title, cause, remedy)                                              \
  .append(entry(#code, ExitCode::exit, title, cause, remedy))
#include "runtime/error/Codes.def"
      ;
}

constexpr MadeTable kTables[] = {{"codes", codes}};

} // namespace

int main(int argc, char **argv) {
  std::string page;
  return makePage(argc, argv, kTables, page);
}
