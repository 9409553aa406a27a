// Checks that chat templates of real models give the output of Python's Jinja, and that contents
// with all their control tokens stay text. `./dev test --long` runs it over llama.cpp's collection.
//
//   text-templates CASES.json        made by make_template_cases.py
//
// Prints the failures and finally "N passed, N failed". A conversation with a template counts as
// one.

#include "Goldens.h"
#include "compiler/text/TextBuild.h"

#include <algorithm>
#include <iostream>

using namespace ingot;
using namespace ingot::text;

namespace {

struct Case {
  const ChatTemplate &chat;
  const Tokenizer &tokenizer;
  ChatTemplate::Options options;
  std::string messages;
};

/// Returns the messages with `text` appended to the content of the last one, written by a user or a tool.
std::string attacked(const std::string &messages, const std::string &text) {
  constexpr std::string_view kContent = "\"content\":\"";
  std::string changed = messages;
  const size_t begin = changed.rfind(kContent) + kContent.size();
  size_t end = begin;
  while (changed[end] != '"')
    end += changed[end] == '\\' ? 2 : 1;
  return changed.insert(end, text);
}

/// Checks that an attack yields no more control tokens than the same text with letters. Returns "" or the
/// failure.
std::string attack(const Case &one, const std::string &controls) {
  auto count = [&](const std::string &text) -> int64_t {
    auto encoded = one.chat.encode(one.tokenizer, attacked(one.messages, text), one.options);
    if (!encoded)
      return -1;
    return std::ranges::count_if(encoded->ids,
                                 [&](int32_t id) { return one.tokenizer.isSpecial(id); });
  };
  const int64_t letters = count("xx"), all = count(controls);
  if (letters < 0 || all < 0)
    return letters == all ? "" : "one of two contents is refused";
  return letters == all
             ? ""
             : "a content makes " + std::to_string(all - letters) + " control tokens more";
}

std::string check(const Case &one, simdjson::dom::element golden, const std::string &controls) {
  auto text = one.chat.render(one.messages, one.options);
  std::string_view expected;
  if (golden["rendered"].get(expected)) // Jinja refused it, so no text is expected
    return text ? "Jinja refuses it: " + goldens::text(golden["refused"]) : "";
  if (!text)
    return text.error().format();
  if (*text != expected) {
    const size_t at = size_t(std::ranges::mismatch(*text, expected).in1 - text->begin());
    const size_t from = at - std::min<size_t>(at, 40);
    return "at byte " + std::to_string(at) + "\n    is:    " + text->substr(from, 80) +
           "\n    wants: " + std::string(expected.substr(from, 80));
  }
  auto encoded = one.chat.encode(one.tokenizer, one.messages, one.options);
  auto plain = one.tokenizer.encode(*text);
  if (!encoded || !plain || encoded->text != *text)
    return "it is not encoded as it is rendered";
  return attack(one, controls);
}

} // namespace

int main(int count, char **arguments) {
  simdjson::dom::parser parser;
  simdjson::dom::element templates;
  if (count != 2 || parser.load(arguments[1]).get(templates)) {
    std::cerr << "usage: text-templates CASES.json\n";
    return 2;
  }
  int passed = 0, failed = 0;
  for (simdjson::dom::element given : templates.get_array()) {
    const std::string name = goldens::text(given["name"]);
    std::string wrong;
    auto built = compileTokenizerJson(simdjson::minify(given["tokenizer"]));
    auto chat = ChatTemplate::parse(goldens::text(given["source"]));
    if (!built || !chat) {
      std::cout << name << ": " << (built ? chat.error() : built.error()).format();
      ++failed;
      continue;
    }
    auto tokenizer = Tokenizer::fromBytes(built->kind, std::as_bytes(std::span(built->bytes)));
    std::string controls;
    for (simdjson::dom::element one : given["controls"].get_array())
      controls += goldens::text(one);
    for (simdjson::dom::element golden : given["cases"].get_array()) {
      const Case one{**chat,
                     **tokenizer,
                     {.bosToken = goldens::text(given["bos"]),
                      .eosToken = goldens::text(given["eos"]),
                      .extraJson = simdjson::minify(golden["extra"])},
                     simdjson::minify(golden["messages"])};
      wrong = check(one, golden, controls);
      (wrong.empty() ? passed : failed) += 1;
      if (!wrong.empty())
        std::cout << name << ", " << goldens::text(golden["name"]) << ": " << wrong << "\n";
    }
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed != 0 || passed == 0;
}
