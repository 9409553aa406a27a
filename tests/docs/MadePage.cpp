//===- MadePage.cpp - Tables of a page, made by a program -------------------===//
#include "tests/docs/MadePage.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>

namespace ingot {

namespace {

/// Returns the page with its tables regenerated; empty if a marker is missing.
std::string withTables(const std::string &page, std::span<const MadeTable> tables) {
  std::string text = page;
  for (const MadeTable &table : tables) {
    const std::string begin = std::string("<!-- dev docs: ") + table.name + " -->\n",
                      end = std::string("<!-- dev docs: end of ") + table.name + " -->";
    const size_t from = text.find(begin), to = text.find(end);
    if (from == std::string::npos || to == std::string::npos || to < from) {
      std::fprintf(stderr, "the page has no '%s' with its end\n",
                   begin.substr(0, begin.size() - 1).c_str());
      return {};
    }
    text.replace(from + begin.size(), to - from - begin.size(), table.make(page));
  }
  return text;
}

/// Prints the lines that only one of the two has.
void printDifferences(const std::string &page, const std::string &made) {
  const auto linesOf = [](const std::string &text) {
    std::multiset<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
      lines.insert(line);
    return lines;
  };
  const auto print = [&](char mark, std::multiset<std::string> lines,
                         const std::multiset<std::string> &others) {
    for (const std::string &other : others)
      if (auto found = lines.find(other); found != lines.end())
        lines.erase(found);
    for (const std::string &line : lines)
      std::printf("%c %s\n", mark, line.c_str());
  };
  print('-', linesOf(page), linesOf(made));
  print('+', linesOf(made), linesOf(page));
}

} // namespace

int makePage(int argc, char **argv, std::span<const MadeTable> tables, std::string &page) {
  const bool write = argc == 3 && std::string_view(argv[2]) == "--write";
  if (argc != 2 && !write) {
    std::fprintf(stderr, "usage: %s PAGE [--write]\n", argv[0]);
    return 2;
  }
  std::ifstream file(argv[1]);
  const std::string now{std::istreambuf_iterator<char>(file), {}};
  page = withTables(now, tables);
  if (page.empty())
    return 1;
  if (write && page != now)
    std::ofstream(argv[1]) << page;
  else if (page != now) {
    printDifferences(now, page);
    std::printf("%s differs from the program's tables; ./dev docs --write makes them anew\n",
                argv[1]);
    return 1;
  }
  return 0;
}

} // namespace ingot
