//===- ModelsPage.cpp - models-page PAGE [--write] ------------------------===//
//
// Writes the tables of docs/models.md from the compiler's own: families, quantisation methods,
// weight formats with their size on each device, and GGUF types that are refused. The tables are
// between markers of the page. The text around them is written by hand, and so is the families'
// column that lists the models of each family.
//
// Without --write, nothing is changed. If page and tables differ, the exit status is 1 and the differing
// lines are printed.
//===----------------------------------------------------------------------===//
#include "compiler/import/blocks/Codes.h"
#include "compiler/import/containers/Gguf.h"
#include "compiler/import/methods/Nvfp4.h"
#include "compiler/import/methods/Quantized.h"
#include "models/Family.h"
#include "runtime/formats/FragmentLayout.h"
#include "tests/docs/MadePage.h"

#include <cstdio>
#include <map>
#include <sstream>

using namespace ingot;

namespace {

using Cells = std::vector<std::string>;

std::string code(std::string_view text) {
  return text.empty() ? std::string() : "`" + std::string(text) + "`";
}

std::string row(const Cells &cells) {
  std::string text = "|";
  for (const std::string &cell : cells)
    text += " " + cell + (cell.empty() ? "|" : " |");
  return text + "\n";
}

std::string head(const Cells &titles) {
  std::string rule = "|";
  for (size_t i = 0; i < titles.size(); ++i)
    rule += "---|";
  return row(titles) + rule + "\n";
}

/// Returns the second cells of the page's rows, keyed by the first cell.
std::map<std::string, std::string> handWritten(const std::string &page) {
  std::map<std::string, std::string> cells;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(" | ");
    const size_t second = first == std::string::npos ? first : line.find(" | ", first + 3);
    if (line.starts_with("| ") && second != std::string::npos)
      cells[line.substr(2, first - 2)] = line.substr(first + 3, second - first - 3);
  }
  return cells;
}

/// For a family missing from the page; the text must be written by hand.
constexpr char kUnsaid[] = "?";

std::string familyTable(const std::string &page) {
  std::map<std::string, std::string> models = handWritten(page);
  std::string text = head({"family", "models", "config.json", "GGUF"});
  for (const models::Family &family : models::families()) {
    std::string configs, ggufs;
    const auto add = [](std::string &list, llvm::StringRef name) {
      list += (list.empty() ? "" : ", ") + code(name);
    };
    for (llvm::StringRef name : family.architectures)
      if (models::isOfConfig(name))
        add(configs, name);
      else if (models::isOfGguf(name))
        add(ggufs, name);
    const std::string &said = models[family.name.str()];
    text += row({family.name.str(), said.empty() ? kUnsaid : said, configs, ggufs});
  }
  return text;
}

std::string methodTable(const std::string &) {
  std::string text = head({"`quant_method`", "what is read", "what it becomes"});
  for (const import::QuantMethod &method : import::quantMethods())
    text += row({method.name.empty() ? "none" : code(method.name), std::string(method.reads),
                 std::string(method.becomes)});
  return text;
}

std::string bitsOf(int64_t bytes, int64_t values) {
  char text[16];
  std::snprintf(text, sizeof text, "%.2f",
                8 * static_cast<double>(bytes) / static_cast<double>(values));
  return text;
}

const import::GgufType *ggufTypeOf(WeightFormat format) {
  for (const import::GgufType &type : import::ggufTypes())
    if (type.format == format)
      return &type;
  return nullptr;
}

std::string bitsInGguf(WeightFormat format) {
  if (format == WeightFormat::Nvfp4)
    return bitsOf(import::kGgufNvfp4Bytes, import::kGgufNvfp4Values);
  return bitsOf(import::storedBlockBytes(format), import::storedBlockValues(format));
}

/// Lists the bits per value of a 4096 x 4096 matrix, including scales and padding.
std::string formatTable(const std::string &) {
  constexpr int64_t n = 4096, k = 4096;
  std::string text = head({"format", "GGUF", "bits in a GGUF", "bits on CPUs", "bits on GPUs"});
  for (int id = 0; id < kWeightFormatCount; ++id) {
    const auto format = static_cast<WeightFormat>(id);
    const import::GgufType *type = ggufTypeOf(format);
    text += row({code(numericFormat(format).name), type ? type->name : "",
                 type ? bitsInGguf(format) : "", bitsOf(panelLayout(format, n, k).bytes(), n * k),
                 bitsOf(fragmentLayout(format, n, k).bytes(), n * k)});
  }
  return text;
}

std::string refusalTable(const std::string &) {
  std::string text = head({"type of GGUF", "why it is refused"});
  for (const import::GgufType &type : import::ggufTypes())
    if (!type.format)
      text += row({type.name, type.why});
  return text;
}

constexpr MadeTable kTables[] = {{"families", familyTable},
                                 {"methods", methodTable},
                                 {"formats", formatTable},
                                 {"refusals", refusalTable}};

} // namespace

int main(int argc, char **argv) {
  std::string page;
  if (const int status = makePage(argc, argv, kTables, page))
    return status;
  if (page.find(std::string("| ") + kUnsaid + " |") != std::string::npos) {
    std::printf("a family's models are not said: write them in the second column of %s\n", argv[1]);
    return 1;
  }
  return 0;
}
