//===- Prompts.cpp - Reading prompts of text or ids ---------------------------===//
#include "runtime/server/api/Prompts.h"

namespace ingot::api {

bool readPrompts(const Fields &body, std::string_view name, const service::ServedModel &model,
                 std::vector<std::vector<int32_t>> &prompts, std::vector<std::string> &texts,
                 size_t most) {
  body.require(name);
  auto found = body.element(name);
  if (!found)
    return false;
  const int64_t vocab = model.session().vocab();
  simdjson::dom::array list;
  const bool isList = !found->get(list);
  if (isList && list.size() && list.at(0).is_number()) {
    auto ids = body.integers(name, size_t(1) << 21, 0, vocab - 1);
    prompts.emplace_back(ids.begin(), ids.end());
    return true;
  }
  if (isList && list.size() && list.at(0).is_array()) {
    for (simdjson::dom::element item : list) {
      std::string at = std::string(name) + "[" + std::to_string(prompts.size()) + "]";
      simdjson::dom::array inner;
      if (item.get(inner))
        body.fail(at, "must be a list of integers, as the first is");
      else if (prompts.size() == most)
        body.fail(name, "has more than " + std::to_string(most) + " items");
      if (body.failed())
        return false;
      std::vector<int32_t> ids;
      for (simdjson::dom::element one : inner) {
        int64_t id = -1;
        if (one.get(id) || id < 0 || id >= vocab) {
          body.fail(at, "must hold ids from 0 to " + std::to_string(vocab - 1));
          return false;
        }
        ids.push_back(int32_t(id));
      }
      prompts.push_back(std::move(ids));
    }
    return true;
  }
  texts = body.texts(name, most, kMostPromptBytes);
  if (isList && texts.empty())
    body.fail(name, "is empty");
  if (!texts.empty() && !model.tokenizer())
    body.fail(name, "must be ids: this engine has no tokenizer");
  return !texts.empty();
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
