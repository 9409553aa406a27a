// Checks vocabularies of real models, given as GGUF files without weights, against llama.cpp's ids.
// `./dev test --long` runs it over the files of llama-cpp-python's source package, which are too large
// for this repository.
//
//   text-vocabularies FILE.gguf…      next to each file: FILE.gguf.inp, texts separated by a line
//                                     __ggml_vocab_test__, and FILE.gguf.out, a line of ids for each
//   text-vocabularies --ids FILE.gguf <TEXTS      prints the ids of each line of standard input as a line; a line
//                                                 that begins with a quote is a JSON string. If a config.json is
//                                                 given instead of the GGUF, the tokenizer next to it is used
//
// The program prints a line per file and finally "N passed, N failed". A file without texts, or of a kind that is
// refused (E0620), is listed but not counted.

#include "compiler/import/OpenCheckpoint.h"
#include "compiler/import/checkpoint/Checkpoint.h"
#include "compiler/text/TextBuild.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <simdjson.h>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

using namespace ingot;

namespace {

constexpr std::string_view kBetween = "\n__ggml_vocab_test__\n";

std::string contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> textsOf(std::string_view all) {
  std::vector<std::string> texts;
  for (size_t at; (at = all.find(kBetween)) != std::string_view::npos;) {
    texts.emplace_back(all.substr(0, at));
    all.remove_prefix(at + kBetween.size());
  }
  texts.emplace_back(all);
  return texts;
}

std::string printed(const std::vector<int32_t> &ids) {
  std::string line;
  for (int32_t id : ids)
    line += (line.empty() ? "" : " ") + std::to_string(id);
  return line;
}

/// Makes a copy with a tensor of one number, since a GGUF without tensors is refused. These files end
/// with their metadata.
std::string withTensor(const std::string &path) {
  std::string bytes = contents(path);
  auto put = [&](auto value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  };
  if (bytes.size() > 24)
    bytes[8] = 1;                     // the count of tensors, a u64
  put(uint64_t(1)), bytes += 'x';     // name
  put(uint32_t(1)), put(uint64_t(1)); // one dimension of size one
  put(uint32_t(0)), put(uint64_t(0)); // f32, at the first byte of the data
  bytes.resize((bytes.size() + 31) / 32 * 32 + 32);
  const std::string copy = (std::filesystem::temp_directory_path() /
                            ("vocabulary-" + std::to_string(getpid()) + ".gguf"))
                               .string();
  std::ofstream(copy, std::ios::binary) << bytes;
  return copy;
}

Result<std::unique_ptr<text::Tokenizer>> open(const std::string &path) {
  const bool gguf = path.ends_with(".gguf");
  const std::string copy = gguf ? withTensor(path) : path;
  auto checkpoint = import::openCheckpoint(copy);
  if (gguf)
    std::filesystem::remove(copy);
  if (!checkpoint)
    return checkpoint.error();
  auto built = text::buildTokenizer(**checkpoint);
  if (!built)
    return built.error();
  if (!*built)
    return Error{ExitCode::File, "E0620", "there is no tokenizer", "", ""};
  static std::vector<std::string> kept; // tokenizers read their bytes in place
  kept.push_back(std::move((*built)->bytes));
  return text::Tokenizer::fromBytes((*built)->kind, std::as_bytes(std::span(kept.back())));
}

/// Normalises a line of numbers that llama.cpp prints with spaces before, between and after them.
std::string normal(const std::string &line) {
  std::istringstream words(line);
  std::string word, all;
  while (words >> word)
    all += (all.empty() ? "" : " ") + word;
  return all;
}

} // namespace

int main(int count, char **arguments) {
  int passed = 0, failed = 0;
  const bool ids = count == 3 && std::string_view(arguments[1]) == "--ids";
  for (int i = ids ? 2 : 1; i < count; ++i) {
    const std::string path = arguments[i];
    if (!ids && !std::filesystem::exists(path + ".inp")) {
      std::cout << path << ": no texts\n";
      continue;
    }
    auto tokenizer = open(path);
    if (!tokenizer) {
      const bool refused = tokenizer.error().code == "E0620";
      std::cout << path << ": " << tokenizer.error().what << "\n";
      failed += !refused;
      continue;
    }
    if (ids) {
      for (std::string line; std::getline(std::cin, line);) {
        simdjson::dom::parser parser;
        std::string_view text = line;
        if (line.starts_with('"') && parser.parse(line).get(text))
          text = line;
        if (auto encoded = (*tokenizer)->encode(text); encoded)
          std::cout << printed(*encoded) << "\n";
      }
      return 0;
    }
    std::istringstream expected(contents(path + ".out"));
    size_t lines = 0, wrong = 0;
    for (const std::string &text : textsOf(contents(path + ".inp"))) {
      std::string want;
      if (!std::getline(expected, want))
        break;
      auto encoded = (*tokenizer)->encode(text);
      ++lines;
      if (encoded && printed(*encoded) == normal(want))
        continue;
      ++wrong;
      std::cout << "  text:  " << text
                << "\n  ids:   " << (encoded ? printed(*encoded) : encoded.error().format())
                << "\n  wants: " << normal(want) << "\n";
    }
    std::cout << path << ": " << lines - wrong << " of " << lines << "\n";
    (wrong || lines == 0 ? failed : passed) += 1;
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed != 0 || passed == 0;
}
