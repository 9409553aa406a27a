//===- Prompts.cpp - Reading prompts of text or ids ---------------------------===//
#include "runtime/server/api/Prompts.h"

#include <algorithm>

namespace ingot::api {

namespace dom = simdjson::dom;

namespace {

/// Reads prompts of token ids and texts in llama.cpp's formats.
struct MixedReader {
  const Fields &body;
  const Generation &generation;

  void add(const std::string &at, std::string_view text, std::vector<int32_t> &ids) const {
    const bool begins = ids.empty(); // a prompt's beginning may need BOS
    auto encoded = generation.model->session().encodeToFit(
        text, begins ? runtime::PromptText::Plain : runtime::PromptText::Rendered);
    if (!encoded)
      return body.fail(promptError(encoded.error(), at, generation, text));
    ids.insert(ids.end(), encoded->begin(), encoded->end());
  }

  /// Adds a token id or a text of a list.
  void piece(const std::string &at, dom::element one, std::vector<int32_t> &ids) const {
    const int64_t vocab = generation.model->session().vocab();
    std::string_view text;
    int64_t id = -1;
    if (!one.get(text))
      add(at, text, ids);
    else if (one.get(id) || id < 0 || id >= vocab)
      body.fail(at, "must have ids from 0 to " + std::to_string(vocab - 1) + ", or strings");
    else
      ids.push_back(int32_t(id));
  }

  void object(const std::string &at, dom::object object, std::vector<int32_t> &ids) const {
    std::string_view text;
    dom::array parts;
    dom::element media;
    if (!object["multimodal_data"].get(media))
      return body.fail(at + ".multimodal_data", "is not supported: this model accepts only text");
    if (!object["prompt_string"].get(text))
      return add(at, text, ids);
    if (object["content"].get(parts))
      return body.fail(at, "must have prompt_string, or content with parts of text");
    std::string all;
    for (dom::element part : parts) {
      std::string_view type, piece;
      if (part["type"].get(type) || type != "text" || part["text"].get(piece))
        return body.fail(at + ".content", "must be parts of text: this model accepts only text");
      all += piece;
    }
    add(at, all, ids);
  }

  std::vector<int32_t> prompt(const std::string &at, dom::element one) const {
    std::vector<int32_t> ids;
    dom::array list;
    dom::object fields;
    if (!one.get(fields))
      object(at, fields, ids);
    else if (one.get(list))
      piece(at, one, ids);
    else
      for (dom::element item : list)
        piece(at, item, ids);
    return ids;
  }
};

bool isList(dom::element one) { return one.is_array() || one.is_object(); }

/// Returns whether a value is a single prompt: an object, or a list of token ids and texts that has at
/// least one token id.
bool isOnePrompt(dom::element found) {
  dom::array list;
  if (found.get(list))
    return true;
  bool number = false;
  for (dom::element item : list) {
    if (isList(item))
      return false;
    number |= item.is_number();
  }
  return number;
}

} // namespace

bool readPrompts(const Fields &body, std::string_view name, const Generation &generation,
                 std::vector<std::vector<int32_t>> &prompts, std::vector<std::string> &texts,
                 size_t most) {
  const service::ServedModel &model = *generation.model;
  body.require(name);
  auto found = body.element(name);
  if (!found)
    return false;
  const int64_t vocab = model.session().vocab();
  dom::array list;
  const bool many = !found->get(list);
  auto all = [&](auto &&test) { return many && list.size() && std::ranges::all_of(list, test); };
  if (all([](dom::element item) { return item.is_number(); })) {
    auto ids = body.integers(name, size_t(1) << 21, 0, vocab - 1);
    prompts.emplace_back(ids.begin(), ids.end());
    return true;
  }
  auto isPlain = [](dom::element item) { return !isList(item) && !item.is_number(); };
  if (many ? list.size() == 0 || all(isPlain) : !found->is_object()) {
    texts = body.texts(name, most, kMostPromptBytes);
    if (many && texts.empty())
      body.fail(name, "is empty");
    if (!texts.empty() && !model.tokenizer())
      body.fail(name, "must be ids: this engine has no tokenizer");
    return !texts.empty();
  }
  const MixedReader reader{body, generation};
  if (isOnePrompt(*found)) {
    prompts.push_back(reader.prompt(std::string(name), *found));
    return !body.failed();
  }
  if (list.size() > most)
    body.fail(name, "has more than " + std::to_string(most) + " items");
  for (dom::element item : list) {
    if (body.failed())
      return false;
    prompts.push_back(
        reader.prompt(std::string(name) + "[" + std::to_string(prompts.size()) + "]", item));
  }
  return !body.failed();
}

std::optional<ApiError> tooLongToCount(std::string_view text) {
  if (text.size() <= kMostCountedBytes)
    return std::nullopt;
  return ApiError{400,
                  "messages: are " + std::to_string(text.size()) +
                      " bytes of text; allowed: " + std::to_string(kMostCountedBytes),
                  "messages", ""};
}

} // namespace ingot::api
