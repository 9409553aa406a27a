//===- Call.cpp - Names and effects of inputs --------------------------------===//
#include "deploy/triton/Call.h"

#include <algorithm>
#include <cstring>

namespace ingot::triton {

/// The name of an option, its type, and its effect on a request.
struct Option {
  const char *name;
  const char *type; ///< of the input; nullptr: JSON and parameters only
  std::vector<int64_t> dims;
  Outcome (*set)(Call &, const Value &);

  static Outcome json(Call &call, const Value &value) {
    std::string text;
    if (Outcome failed = value.text(text))
      return failed;
    return call.setJson(text);
  }
};

namespace {

/// Reads TensorRT-LLM's lists of words. The first row has the concatenated token ids of all words. The
/// second row has the end of each word, padded with -1.
Outcome readWords(const Value &value, std::vector<std::vector<int32_t>> &words) {
  std::vector<int32_t> all;
  if (Outcome failed = value.integerList(all))
    return failed;
  const auto &shape = value.shape();
  const bool fits = shape.size() == 2 && shape[0] == 2;
  if (!fits)
    return badRequest("E0953", "'" + value.name() + "' is not a list of words",
                      "its shape has " + std::to_string(shape.size()) +
                          " dimensions besides the batch, wanted is [2, n]",
                      "give ids in its first row and the ends of words in its second");
  const size_t columns = size_t(shape[1]);
  int32_t begin = 0;
  for (size_t i = 0; i < columns; ++i) {
    const int32_t end = all[columns + i];
    if (end == -1)
      break;
    if (end <= begin || size_t(end) > columns)
      return badRequest("E0953", "'" + value.name() + "' is not a list of words",
                        "word " + std::to_string(i) + " ends at " + std::to_string(end) +
                            ", allowed: " + std::to_string(begin + 1) + " to " +
                            std::to_string(columns),
                        "give the ends of words, ascending, then -1");
    words.emplace_back(all.begin() + begin, all.begin() + end);
    begin = end;
  }
  return {};
}

/// Refuses an unsupported flag unless it is false.
Outcome onlyOff(Call &, const Value &value) {
  bool on = true;
  if (Outcome failed = value.flag(on))
    return failed;
  return on ? badRequest("E0969", "'" + value.name() + "' is not supported", "it is true",
                         "leave it out")
            : Outcome();
}

Outcome ignored(Call &, const Value &) { return {}; }

#define INGOT_INT32(field, ...)                                                                    \
  [](Call &call, const Value &value) -> Outcome {                                                  \
    return value.int32(field __VA_OPT__(, ) __VA_ARGS__);                                          \
  }
#define INGOT_REAL(field)                                                                          \
  [](Call &call, const Value &value) -> Outcome { return value.real(field); }
#define INGOT_FLAG(field)                                                                          \
  [](Call &call, const Value &value) -> Outcome { return value.flag(field); }
#define INGOT_TEXT(field)                                                                          \
  [](Call &call, const Value &value) -> Outcome { return value.textWithoutNul(field); }

Outcome setMaxTokens(Call &call, const Value &value) {
  return value.integer(-1, std::numeric_limits<int32_t>::max(), call.request.max_tokens);
}
Outcome setTopK(Call &call, const Value &value) {
  int32_t most = 0;
  if (Outcome failed = value.int32(most, -1))
    return failed;
  call.request.top_k = std::max(most, 0); // -1: all in vLLM, the engine's default in libingot
  return {};
}
Outcome setSeed(Call &call, const Value &value) { return value.seed(call.request.seed); }
Outcome setBeams(Call &call, const Value &value) {
  int32_t width = 0;
  if (Outcome failed = value.int32(width, 1))
    return failed;
  call.request.beam_width = width > 1 ? width : 0; // 1 means no search
  return {};
}
Outcome setLogprobs(Call &call, const Value &value) {
  bool wanted = false;
  if (Outcome failed = value.flag(wanted))
    return failed;
  call.request.logprobs = wanted ? 0 : -1;
  return {};
}
Outcome setEnd(Call &call, const Value &value) {
  int32_t id = -1;
  if (Outcome failed = value.int32(id, -1))
    return failed;
  if (id >= 0) // -1: the engine's own stop tokens
    call.stopIds.push_back(id);
  return {};
}

const std::vector<Option> &options() {
  static const std::vector<Option> kOptions = {
      {"text_input",
       "TYPE_STRING",
       {1},
       [](Call &call, const Value &value) {
         call.hasPrompt = true;
         return value.text(call.prompt);
       }},
      {"messages",
       "TYPE_STRING",
       {1},
       [](Call &call, const Value &value) {
         call.hasMessages = true;
         return value.textWithoutNul(call.messages);
       }},
      {"template_variables", "TYPE_STRING", {1}, INGOT_TEXT(call.variables)},
      {"input_ids",
       "TYPE_INT32",
       {-1},
       [](Call &call, const Value &value) {
         call.hasIds = true;
         return value.integerList(call.ids);
       }},
      {"input_lengths",
       "TYPE_INT32",
       {1},
       [](Call &call, const Value &value) {
         return value.integer(0, std::numeric_limits<int32_t>::max(), call.length);
       }},
      {"max_tokens", "TYPE_INT32", {1}, setMaxTokens},
      {"request_output_len", "TYPE_INT32", {1}, setMaxTokens},
      {"min_tokens",
       "TYPE_INT32",
       {1},
       [](Call &call, const Value &value) {
         return value.integer(0, std::numeric_limits<int32_t>::max(), call.request.min_tokens);
       }},
      {"stream", "TYPE_BOOL", {1}, INGOT_FLAG(call.streaming)},
      {"streaming", "TYPE_BOOL", {1}, INGOT_FLAG(call.streaming)},
      {"temperature", "TYPE_FP32", {1}, INGOT_REAL(call.request.temperature)},
      {"top_p", "TYPE_FP32", {1}, INGOT_REAL(call.request.top_p)},
      {"runtime_top_p", "TYPE_FP32", {1}, INGOT_REAL(call.request.top_p)},
      {"top_k", "TYPE_INT32", {1}, setTopK},
      {"runtime_top_k", "TYPE_INT32", {1}, setTopK},
      {"min_p", "TYPE_FP32", {1}, INGOT_REAL(call.request.min_p)},
      {"typical_p", "TYPE_FP32", {1}, INGOT_REAL(call.request.typical_p)},
      {"repetition_penalty", "TYPE_FP32", {1}, INGOT_REAL(call.request.repetition_penalty)},
      {"presence_penalty", "TYPE_FP32", {1}, INGOT_REAL(call.request.presence_penalty)},
      {"frequency_penalty", "TYPE_FP32", {1}, INGOT_REAL(call.request.frequency_penalty)},
      {"penalty_window", "TYPE_INT32", {1}, INGOT_INT32(call.request.penalty_window, -1)},
      {"seed", "TYPE_UINT64", {1}, setSeed},
      {"random_seed", "TYPE_UINT64", {1}, setSeed},
      {"stop_words",
       "TYPE_STRING",
       {-1},
       [](Call &call, const Value &value) { return value.textList(call.stops); }},
      {"bad_words",
       "TYPE_STRING",
       {-1},
       [](Call &call, const Value &value) { return value.textList(call.badTexts); }},
      {"stop_words_list",
       "TYPE_INT32",
       {2, -1},
       [](Call &call, const Value &value) { return readWords(value, call.stopWords); }},
      {"bad_words_list",
       "TYPE_INT32",
       {2, -1},
       [](Call &call, const Value &value) { return readWords(value, call.badWords); }},
      {"end_id", "TYPE_INT32", {1}, setEnd},
      {"pad_id", "TYPE_INT32", {1}, ignored}, // nothing is padded
      {"ignore_eos",
       "TYPE_BOOL",
       {1},
       [](Call &call, const Value &value) {
         bool on = false;
         Outcome failed = value.flag(on);
         call.request.ignore_eos = on;
         return failed;
       }},
      {"skip_special_tokens",
       "TYPE_BOOL",
       {1},
       [](Call &call, const Value &value) {
         bool skip = true;
         Outcome failed = value.flag(skip);
         call.request.show_special = !skip;
         return failed;
       }},
      {"exclude_input_in_output",
       "TYPE_BOOL",
       {1},
       [](Call &call, const Value &value) {
         bool exclude = true;
         Outcome failed = value.flag(exclude);
         call.echo = !exclude;
         return failed;
       }},
      {"num_return_sequences", "TYPE_INT32", {1}, INGOT_INT32(call.request.choices)},
      {"beam_width", "TYPE_INT32", {1}, setBeams},
      {"length_penalty", "TYPE_FP32", {1}, INGOT_REAL(call.request.length_penalty)},
      {"len_penalty", "TYPE_FP32", {1}, INGOT_REAL(call.request.length_penalty)},
      {"early_stopping",
       "TYPE_BOOL",
       {1},
       [](Call &call, const Value &value) {
         bool early = false;
         Outcome failed = value.flag(early);
         call.request.stop_beams = early ? INGOT_STOP_EARLY : INGOT_STOP_WHEN_WORSE;
         return failed;
       }},
      {"return_log_probs", "TYPE_BOOL", {1}, setLogprobs},
      {"return_num_input_tokens", "TYPE_BOOL", {1}, ignored}, // requesting the output is enough
      {"return_num_output_tokens", "TYPE_BOOL", {1}, ignored},
      {"guided_decoding_guide_type", "TYPE_STRING", {1}, INGOT_TEXT(call.grammarKind)},
      {"guided_decoding_guide", "TYPE_STRING", {1}, INGOT_TEXT(call.grammar)},
      {"return_context_logits", "TYPE_BOOL", {1}, onlyOff},
      {"return_generation_logits", "TYPE_BOOL", {1}, onlyOff},
      {"return_perf_metrics", "TYPE_BOOL", {1}, onlyOff},
      {"sampling_parameters", "TYPE_STRING", {1}, Option::json},
      // vLLM's names for some of the options.
      {"n", nullptr, {}, INGOT_INT32(call.request.choices)},
      {"stop",
       nullptr,
       {},
       [](Call &call, const Value &value) { return value.textList(call.stops); }},
      {"stop_token_ids",
       nullptr,
       {},
       [](Call &call, const Value &value) { return value.integerList(call.stopIds); }},
      {"logprobs", nullptr, {}, INGOT_INT32(call.request.logprobs, -1)},
  };
  return kOptions;
}

#undef INGOT_INT32
#undef INGOT_REAL
#undef INGOT_FLAG
#undef INGOT_TEXT

Outcome unknownName(const std::string &name, const std::string &kind, const std::string &fix) {
  return badRequest("E0954", "there is no " + kind + " '" + name + "'",
                    "docs/triton.md lists those that there are", fix);
}

} // namespace

std::span<const Port> inputPorts() {
  static const std::vector<Port> kPorts = [] {
    std::vector<Port> ports;
    for (const Option &option : options())
      if (option.type)
        ports.push_back({option.name, option.type, option.dims});
    return ports;
  }();
  return kPorts;
}

bool acceptsType(const Port &input, std::string_view type) {
  static constexpr std::string_view kIntegers[] = {"TYPE_INT8",   "TYPE_INT16", "TYPE_INT32",
                                                   "TYPE_INT64",  "TYPE_UINT8", "TYPE_UINT16",
                                                   "TYPE_UINT32", "TYPE_UINT64"};
  static constexpr std::string_view kReals[] = {"TYPE_FP32", "TYPE_FP64"};
  auto both = [&](auto &types) {
    return std::ranges::find(types, input.type) != std::end(types) &&
           std::ranges::find(types, type) != std::end(types);
  };
  return type == input.type || both(kIntegers) || both(kReals);
}

Outcome Call::set(const Value &value) {
  for (const Option &option : options())
    if (value.name() == option.name)
      return option.set(*this, value);
  return unknownName(value.name(), "option", "leave it out");
}

Outcome Call::setJson(const std::string &json) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (const auto wrong = parser.parse(json).get_object().get(object))
    return badRequest("E0955", "'sampling_parameters' is no JSON object",
                      simdjson::error_message(wrong), "give {\"temperature\": 0.5, …}");
  for (const auto &[name, element] : object) {
    if (element.is_null()) // as if absent
      continue;
    if (name == "sampling_parameters")
      return unknownName("sampling_parameters", "option inside 'sampling_parameters'",
                         "write its members where it stands");
    Value value;
    if (Outcome failed = Value::ofJson(name, element, value))
      return failed;
    if (Outcome failed = set(value))
      return failed;
  }
  return {};
}

Outcome Call::read(TRITONBACKEND_Request *given, bool batched, bool ignoreUnknown) {
  uint32_t count = 0;
  if (Outcome failed = taken(TRITONBACKEND_RequestInputCount(given, &count)))
    return failed;
  for (uint32_t i = 0; i < count; ++i) {
    TRITONBACKEND_Input *input = nullptr;
    if (Outcome failed = taken(TRITONBACKEND_RequestInputByIndex(given, i, &input)))
      return failed;
    Value value;
    if (Outcome failed = Value::ofTensor(input, batched, value))
      return failed;
    if (Outcome failed = set(value))
      return failed;
  }
  if (Outcome failed = taken(TRITONBACKEND_RequestParameterCount(given, &count)))
    return failed;
  for (uint32_t i = 0; i < count; ++i) {
    const char *name = nullptr;
    TRITONSERVER_ParameterType type = TRITONSERVER_PARAMETER_STRING;
    const void *data = nullptr;
    if (Outcome failed = taken(TRITONBACKEND_RequestParameter(given, i, &name, &type, &data)))
      return failed;
    const bool known = std::ranges::any_of(
        options(), [&](const Option &option) { return !std::strcmp(option.name, name); });
    // The server's own parameters begin with its name.
    if (!known && (ignoreUnknown || std::string_view(name).starts_with("triton_")))
      continue;
    if (!known)
      return unknownName(name, "request parameter",
                         "leave it out, or set the model's parameter unknown_request_parameters "
                         "to \"ignore\"");
    Value value;
    if (Outcome failed = Value::ofParameter(name, type, data, value))
      return failed;
    if (Outcome failed = set(value))
      return failed;
  }
  const int prompts = hasPrompt + hasMessages + hasIds;
  if (prompts != 1)
    return badRequest("E0956",
                      prompts ? "the prompt is given more than once" : "there is no prompt",
                      std::to_string(prompts) + " of text_input, messages and input_ids are given",
                      "give one of them");
  return {};
}

Outcome Call::readGrammar() {
  static constexpr std::pair<const char *, int32_t> kKinds[] = {
      {"json", INGOT_GRAMMAR_JSON_OBJECT}, {"json_schema", INGOT_GRAMMAR_JSON_SCHEMA},
      {"regex", INGOT_GRAMMAR_REGEX},      {"ebnf_grammar", INGOT_GRAMMAR_GBNF},
      {"gbnf", INGOT_GRAMMAR_GBNF},        {"lark", INGOT_GRAMMAR_LARK},
      {"choice", INGOT_GRAMMAR_CHOICE}};
  if (grammarKind.empty() && grammar.empty())
    return {};
  for (const auto &[name, kind] : kKinds)
    if (grammarKind == name) {
      request.grammar_kind = kind;
      request.grammar = grammar.c_str();
      return {};
    }
  return badRequest("E0957", "the kind of guide is unknown",
                    "guided_decoding_guide_type is '" + grammarKind +
                        "', known: json, json_schema, regex, ebnf_grammar, gbnf, lark, choice",
                    "give one of them");
}

Outcome Call::tokenize(ingot_executor *executor) {
  for (const std::string &word : badTexts) {
    int32_t *found = nullptr;
    size_t count = 0;
    ingot_error *error = nullptr;
    if (ingot_encode(executor, word.data(), word.size(), 0, &found, &count, &error))
      return failureOf(IngotErrorPtr(error).get());
    badWords.emplace_back(found, found + count);
    ingot_free(found);
  }
  for (const std::vector<int32_t> &word : stopWords) {
    if (word.size() == 1) {
      stopIds.push_back(word[0]);
      continue;
    }
    char *found = nullptr;
    size_t size = 0;
    ingot_error *error = nullptr;
    if (ingot_decode(executor, word.data(), word.size(), 1, &found, &size, &error))
      return failureOf(IngotErrorPtr(error).get());
    stops.emplace_back(found, size);
    ingot_free(found);
  }
  return {};
}

Outcome Call::echoPrompt(ingot_executor *executor) {
  if (hasMessages)
    return badRequest("E0969", "messages cannot be repeated before the answer",
                      "'exclude_input_in_output' is false, and the prompt is given as messages",
                      "leave it out");
  ingot_error *error = nullptr;
  if (hasPrompt) {
    int32_t *found = nullptr;
    size_t count = 0;
    if (ingot_encode(executor, prompt.data(), prompt.size(), 1, &found, &count, &error))
      return failureOf(IngotErrorPtr(error).get());
    echoedIds.assign(found, found + count);
    ingot_free(found);
    echoedText = prompt;
    return {};
  }
  ingot_model model = {};
  model.struct_size = sizeof model;
  ingot_model_get(executor, &model);
  echoedIds = ids;
  if (!model.has_tokenizer)
    return {};
  char *found = nullptr;
  size_t size = 0;
  if (ingot_decode(executor, ids.data(), ids.size(), request.show_special, &found, &size, &error))
    return failureOf(IngotErrorPtr(error).get());
  echoedText.assign(found, size);
  ingot_free(found);
  return {};
}

Outcome Call::finish(ingot_executor *executor) {
  if (length >= 0 && hasIds) {
    if (size_t(length) > ids.size())
      return badRequest("E0953", "'input_lengths' is out of range",
                        "it is " + std::to_string(length) + ", and input_ids has " +
                            std::to_string(ids.size()),
                        "give the number of ids before the padding");
    ids.resize(size_t(length));
  }
  if (Outcome failed = readGrammar())
    return failed;
  if (Outcome failed = tokenize(executor))
    return failed;
  if (echo)
    if (Outcome failed = echoPrompt(executor))
      return failed;
  if (hasIds) {
    static constexpr int32_t kNone = 0; // a non-null pointer even without token ids
    request.prompt_ids = ids.empty() ? &kNone : ids.data();
    request.prompt_id_count = ids.size();
  } else if (hasPrompt) {
    request.prompt = prompt.c_str();
    request.prompt_size = prompt.size();
  } else {
    request.messages = messages.c_str();
    request.template_variables = variables.empty() ? nullptr : variables.c_str();
  }
  for (const std::string &stop : stops)
    stopPointers.push_back(stop.c_str());
  for (const std::vector<int32_t> &word : badWords)
    badPointers.push_back({word.data(), word.size()});
  request.stop_strings = stopPointers.data();
  request.stop_string_count = stopPointers.size();
  request.bad_words = badPointers.data();
  request.bad_word_count = badPointers.size();
  request.stop_ids = stopIds.data();
  request.stop_id_count = stopIds.size();
  request.streaming = streaming;
  if (request.beam_width > 0 && request.choices == 1)
    request.choices = request.beam_width; // clients of TensorRT-LLM expect every beam
  return {};
}

} // namespace ingot::triton
