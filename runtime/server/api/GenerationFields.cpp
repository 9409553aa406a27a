//===- GenerationFields.cpp - Reading fields of all routes that generate ---===//
#include "runtime/server/api/GenerationFields.h"

#include "runtime/engine/Hash.h"
#include "runtime/json/JsonText.h"
#include "runtime/sample/SamplingFields.h"

#include <algorithm>
#include <charconv>
#include <random>

namespace ingot::api {

namespace dom = simdjson::dom;

ApiError promptError(const Error &error, std::string param, const Generation &generation,
                     int64_t promptIds) {
  ApiError out = apiError(error, std::move(param));
  if (error.code != errors::kBeyondContext && error.code != errors::kBeyondKvMemory)
    return out;
  const bool answers = generation.request.pooling == runtime::Pooling::None;
  const int64_t answer = answers ? std::max<int64_t>(generation.request.maxTokens, 0) : 0;
  // A prompt token takes one position, and the last new token takes none.
  out.overflow = Overflow{promptIds, answer, generation.model->session().mostNewIds(1)};
  return out;
}

ApiError promptError(const Error &error, std::string param, const Generation &generation,
                     std::string_view text) {
  const text::Tokenizer *tokenizer = generation.model->tokenizer();
  int64_t count = 0;
  if (tokenizer && error.code == errors::kBeyondContext) {
    auto ids = tokenizer->encode(text.substr(0, kMostCountedAgain));
    count = ids ? int64_t(ids->size()) : 0;
  }
  const int64_t least = generation.model->session().context() + 1; // E0505 implies at least that
  return promptError(error, std::move(param), generation, std::max(count, least));
}

ApiError unknownModel(const service::ModelRegistry &models) {
  std::string list;
  for (const auto &one : models.all())
    list += (list.empty() ? "" : ", ") + one->name();
  std::string message = "no model has that name; available: " + list;
  if (models.all().size() == 1)
    message += "; `ingot serve --any-model-name` accepts any name";
  return {404, message, "model", "model_not_found"};
}

std::optional<std::shared_ptr<service::ServedModel>> readModel(const Fields &body,
                                                               const service::ModelRegistry &models,
                                                               std::optional<ApiError> &notFound,
                                                               std::string_view field) {
  auto name = body.text(field, 1 << 10);
  auto model = models.find(name.value_or(""));
  constexpr std::string_view kTag = ":latest"; // Ollama's clients append it to every name
  if (!model && name && name->ends_with(kTag))
    model = models.find(name->substr(0, name->size() - kTag.size()));
  if (!model && name) // llama-server accepts every name
    if (const auto all = models.all(); all.size() == 1 && all[0]->rules().anyName)
      model = all[0];
  if (model)
    return model;
  notFound = unknownModel(models);
  return std::nullopt;
}

void refuseUnsupported(const Fields &body, std::string_view name, std::string_view why,
                       std::initializer_list<std::string_view> harmless) {
  if (!body.has(name))
    return;
  std::string value = body.json(name);
  for (std::string_view one : harmless)
    if (value == one)
      return;
  body.fail(name, std::string(why));
}

/// Adds the bias of a token, or of each token of a text. `at` is the entry's path inside the field.
static void addBias(const Fields &body, const std::string &at, dom::element key, dom::element value,
                    Generation &out) {
  const int64_t vocab = out.model->session().vocab();
  std::vector<int32_t> ids;
  std::string_view text;
  int64_t id = -1;
  bool off = false;
  double amount = 0;
  if (!key.get(text)) {
    const char *last = text.data() + text.size();
    const bool number = std::from_chars(text.data(), last, id).ptr == last && !text.empty();
    if (!number && out.model->tokenizer()) // llama.cpp allows a text as the key
      if (auto found = out.model->tokenizer()->encode(text); found)
        ids = std::move(*found);
  } else if (key.get(id)) {
    return body.fail(at, "must be a token id or a string");
  }
  if (ids.empty() && (id < 0 || id >= vocab))
    return body.fail(at, "is not a token id; allowed: 0 to " + std::to_string(vocab - 1));
  if (ids.empty())
    ids.push_back(int32_t(id));
  if (!value.get(off) && !off) // llama.cpp's form of "never"
    amount = -100;
  else if (!value.is_number() || value.get(amount))
    return body.fail(at, value.is_null() ? "must be a number, not null" : "must be a number");
  else if (!(amount >= -100 && amount <= 100))
    return body.fail(at,
                     "is " + runtime::JsonText().value(amount).text() + "; allowed: -100 to 100");
  for (int32_t one : ids)
    out.request.sampling.logitBias.emplace_back(one, float(amount));
}

/// Reads the biases from OpenAI's object with token ids as keys, or from llama.cpp's list of pairs. In both, a text
/// stands for its tokens.
static void readBias(const Fields &body, Generation &out) {
  auto found = body.element("logit_bias");
  if (dom::array list; found && !found->get(list)) {
    if (list.size() > kMostBias)
      return body.fail("logit_bias", "has " + std::to_string(list.size()) +
                                         " items; allowed: " + std::to_string(kMostBias));
    size_t index = 0;
    for (dom::element item : list) {
      const std::string at = "logit_bias[" + std::to_string(index++) + "]";
      dom::array pair;
      if (item.get(pair) || pair.size() != 2)
        return body.fail(at, "must be a pair of a token and its bias");
      addBias(body, at, pair.at(0).value_unsafe(), pair.at(1).value_unsafe(), out);
    }
    return;
  }
  auto bias = body.object("logit_bias");
  if (!bias)
    return;
  auto members = bias->members();
  if (members.size() > kMostBias)
    return body.fail("logit_bias", "has " + std::to_string(members.size()) +
                                       " members; allowed: " + std::to_string(kMostBias));
  dom::parser parser; // keys are views, but addBias needs elements
  for (auto [key, value] : members) {
    const std::string quoted = runtime::JsonText().value(key).text();
    addBias(body, "logit_bias." + std::string(key.substr(0, 32)),
            parser.parse(quoted).value_unsafe(), value, out);
  }
}

/// Reads rules about allowed and forbidden ids: vLLM's allowed_token_ids, bad_words, min_tokens.
static void readIdRules(const Fields &body, Generation &out) {
  runtime::IdRules &rules = out.request.ids;
  const int64_t vocab = out.model->session().vocab();
  for (int64_t id : body.integers("allowed_token_ids", size_t(vocab), 0, vocab - 1))
    rules.allowed.push_back(int32_t(id));
  if (body.has("allowed_token_ids") && rules.allowed.empty())
    body.fail("allowed_token_ids", "is empty, so no answer would be possible");
  const text::Tokenizer *tokenizer = out.model->tokenizer();
  for (const std::string &word : body.texts("bad_words", kMostBadWords, kMostStopBytes)) {
    if (!tokenizer)
      return body.fail("bad_words", "this engine has no tokenizer");
    const size_t begin = word.find_first_not_of(' ');
    if (begin == std::string::npos)
      return body.fail("bad_words", "has a word without a letter");
    // The tokens of a word differ between the beginning and the inside of a text. A word without tokens
    // cannot be generated, so no rule has to forbid it.
    for (const char *before : {"", " "}) {
      auto ids = tokenizer->encode(before + word.substr(begin), /*parseSpecial=*/false);
      if (ids && !ids->empty() && (rules.forbidden.empty() || rules.forbidden.back() != *ids))
        rules.forbidden.push_back(std::move(*ids));
    }
  }
  rules.minTokens = body.integer("min_tokens", 0, 1 << 30).value_or(0);
  const int64_t most = out.request.promptOnly ? 0 : out.request.maxTokens;
  if (most >= 0 && rules.minTokens > most)
    body.fail("min_tokens", "is " + std::to_string(rules.minTokens) +
                                ", but the answer has at most " + std::to_string(most) + " tokens");
}

/// Refuses unsupported fields of other servers that would change the answer. A value is harmless if
/// it has the same effect on the field's own server as omitting the field.
static void refuseForeign(const Fields &body, const Generation &out) {
  struct Foreign {
    const char *name;
    std::initializer_list<std::string_view> harmless;
  };
  static const Foreign kForeign[] = {
      // OpenAI's
      {"web_search_options", {}},
      // vLLM's
      {"guided_whitespace_pattern", {}},
      {"structural_tag", {}},
      {"logits_processors", {"[]"}},
      {"kv_transfer_params", {"{}"}},
      {"vllm_xargs", {"{}"}},
      {"mm_processor_kwargs", {"{}"}},
      {"return_tokens_as_token_ids", {"false"}},
      // llama.cpp's
      {"mirostat", {"0"}},
      {"dry_multiplier", {"0", "0.0"}},
      {"xtc_probability", {"0", "0.0"}},
      {"dynatemp_range", {"0", "0.0"}},
      {"top_n_sigma", {"-1", "-1.0"}},
      {"samplers", {}},
      {"post_sampling_probs", {"false"}},
      {"t_max_predict_ms", {"0", "-1"}},
      {"n_indent", {"0"}},
      {"lora", {"[]"}},
  };
  if (!out.llamaCpp)
    refuseUnsupported(body, "n_probs", "is not supported here: give logprobs", {"0"});
  // best_of equal to n selects nothing and is allowed.
  if (auto best = body.integer("best_of", 1, 1 << 30);
      best && *best != body.integer("n", 1, 1 << 30).value_or(1))
    body.fail("best_of", "is not supported");
  for (const Foreign &one : kForeign)
    refuseUnsupported(body, one.name, "is not supported", one.harmless);
}

/// Returns a number that only this process can compute. Therefore no client can find a text that has
/// the same number as another client's text.
static uint64_t hidden(std::string_view purpose, int apiKey, std::string_view text) {
  static const std::string secret = [] {
    std::random_device device;
    std::string bytes;
    for (int i = 0; i < 8; ++i) {
      const uint32_t word = device();
      bytes.append(reinterpret_cast<const char *>(&word), sizeof word);
    }
    return bytes;
  }();
  std::string all = secret + std::string(purpose) + std::to_string(apiKey) + ":";
  all += text;
  return runtime::hash128(std::as_bytes(std::span(all))).low;
}

/// Reads a sampling field under one of its names. Returns whether the body has it.
static bool readSampling(const Fields &body, const char *name, const runtime::SamplingField &field,
                         runtime::AskedSampling &asked) {
  auto read = [&]<typename T>(T runtime::SamplingParams::*member) {
    auto take = [&](const auto &value) {
      if (value)
        asked.set(member, T(*value));
      return value.has_value();
    };
    if constexpr (std::is_floating_point_v<T>)
      return take(body.number(name, field.least, field.most));
    else if constexpr (std::is_signed_v<T>)
      return take(body.integer(name, int64_t(field.least), int64_t(field.most)));
    else
      return take(body.integer(name, INT64_MIN, INT64_MAX)); // all 64 bits, as in vLLM
  };
  return std::visit(read, field.member);
}

/// Reads a sampling field under its name and its alias. If both are given, one of them must be off.
static void readSampling(const Fields &body, const runtime::SamplingField &field,
                         runtime::AskedSampling &asked) {
  const bool named = readSampling(body, field.name, field, asked);
  if (!*field.alias)
    return;
  const runtime::AskedSampling before = asked;
  if (!readSampling(body, field.alias, field, asked) || !named || field.isOff(before.values))
    return;
  if (!field.isOff(asked.values))
    body.fail(field.alias, std::string("cannot be given together with ") + field.name);
  asked = before;
}

void readGeneration(const Fields &body, Generation &out,
                    std::initializer_list<std::string_view> maxTokens) {
  auto set = [](auto &to, const auto &from) {
    if (from)
      to = std::remove_reference_t<decltype(to)>(*from);
  };
  runtime::AskedSampling asked;
  for (const runtime::SamplingField &field : runtime::kSamplingFields)
    if (!field.apart())
      readSampling(body, field, asked);
  out.request.sampling = asked.over(out.model->session().defaultSampling());
  readBias(body, out);

  out.request.stopStrings = body.texts("stop", kMostStops, kMostStopBytes);
  if (std::ranges::any_of(out.request.stopStrings, &std::string::empty))
    body.fail("stop", "must not be an empty string");
  if (!out.request.stopStrings.empty() && !out.model->tokenizer())
    body.fail("stop", "this engine has no tokenizer");
  const int64_t vocab = out.model->session().vocab();
  for (int64_t id : body.integers("stop_token_ids", kMostStops, 0, vocab - 1))
    out.request.stopIds.push_back(int32_t(id));
  set(out.request.ignoreEos, body.boolean("ignore_eos"));
  set(out.choices, body.integer("n", 1, out.model->rules().mostChoices));
  set(out.stream, body.boolean("stream"));
  if (auto options = body.object("stream_options")) {
    set(out.includeUsage, options->boolean("include_usage"));
    set(out.continuousUsage, options->boolean("continuous_usage_stats"));
    if (!out.stream && (out.includeUsage || out.continuousUsage))
      body.fail("stream_options", "is allowed only if stream is true");
    out.continuousUsage &= out.includeUsage; // as in vLLM
  }
  for (std::string_view name : maxTokens)
    if (auto most = body.integer(name, 0, 1 << 30))
      out.request.maxTokens = *most;
  if (auto most = body.integer("n_predict", -1, 1 << 30)) // llama.cpp's name of max_tokens
    out.request.maxTokens = *most;
  out.request.promptOnly = out.request.maxTokens == 0;
  readIdRules(body, out);
  set(out.request.showStop, body.boolean("include_stop_str_in_output"));
  if (auto skip = body.boolean("skip_special_tokens"))
    out.request.showSpecial = !*skip;
  set(out.returnIds, body.boolean("return_token_ids"));
  set(out.timingsPerToken, body.boolean("timings_per_token"));
  out.request.reportProgress = body.boolean("return_progress").value_or(false) && out.stream;
  if (out.returnIds)
    out.request.reportStop = true; // as in vLLM, the returned tokens include the stop token
  if (auto kept = body.integer("truncate_prompt_tokens", -1, 1 << 30)) {
    if (*kept == 0)
      body.fail("truncate_prompt_tokens", "must not be 0, which would remove the whole prompt");
    out.keepPrompt = *kept < 0
                         ? std::max<int64_t>(1, out.model->session().context() -
                                                    std::max<int64_t>(1, out.request.maxTokens))
                         : *kept;
  }
  set(out.request.cachePrefix, body.boolean("cache_prompt")); // llama.cpp's name
  set(out.request.priority, body.integer("priority", INT32_MIN, INT32_MAX));
  // Cached prefixes are shared among requests with the same key and salt. Fair-scheduling shares
  // are per key and user.
  out.request.cacheSalt = hidden("salt", out.apiKey, body.text("cache_salt", 1 << 10).value_or(""));
  out.request.user = int64_t(hidden("user", out.apiKey, body.text("user", 1 << 10).value_or("")));
  refuseForeign(body, out);
}

void readPromptLogprobs(const Fields &body, Generation &out) {
  auto top = body.integer("prompt_logprobs", 0, runtime::kMaxTopLogprobs);
  if (!top)
    return;
  if (out.stream)
    body.fail("prompt_logprobs", "is not supported if stream is true");
  out.request.promptLogprobs = int32_t(*top);
}

std::string promptLogprobsJson(const service::ServedModel &model,
                               const std::vector<runtime::PromptScore> &scores) {
  runtime::JsonText json;
  json.open('[').raw("null");
  for (const runtime::PromptScore &score : scores) {
    json.open('{');
    for (size_t i = 0; i < score.logprobs.size(); ++i) {
      const runtime::TokenLogprob &one = score.logprobs[i];
      if (i && one.id == score.logprobs[0].id)
        continue;
      json.key(std::to_string(one.id)).open('{').key("logprob").value(double(one.logprob));
      // The n-th likeliest token has rank n.
      json.key("rank").value(i ? int32_t(i) : score.rank).key("decoded_token");
      json.value(model.tokenizer() ? text::replaceInvalidUtf8(model.tokenizer()->tokenBytes(one.id))
                                   : std::to_string(one.id));
      json.close();
    }
    json.close();
  }
  return json.close().text();
}

void takeWhatFits(Generation &generation, size_t promptIds) {
  int64_t &most = generation.request.maxTokens;
  most = std::min(most, generation.model->session().mostNewIds(int64_t(promptIds)));
}

void truncatePrompt(const Generation &generation, std::vector<int32_t> &ids) {
  if (generation.keepPrompt >= 0 && int64_t(ids.size()) > generation.keepPrompt)
    ids.erase(ids.begin(), ids.end() - generation.keepPrompt);
}

std::string withClosedObjects(std::string schema) {
  auto closed = text::closeObjects(schema);
  return closed ? std::move(*closed) : std::move(schema);
}

/// Reads vLLM's structured_outputs, an object with one of several kinds of grammar.
template <typename Ask> static void readStructured(const Fields &wanted, Ask &&ask) {
  using text::GrammarKind;
  if (auto schema = wanted.element("json"))
    ask(wanted.path("json"), GrammarKind::JsonSchema,
        withClosedObjects(schema->is_string() ? std::string(schema->get_string().value_unsafe())
                                              : wanted.json("json")));
  if (auto text = wanted.text("regex", 64 << 10))
    ask(wanted.path("regex"), GrammarKind::Regex, std::string(*text));
  if (auto text = wanted.text("grammar", 64 << 10))
    ask(wanted.path("grammar"), GrammarKind::Lark, std::string(*text));
  if (wanted.has("choice") && !wanted.texts("choice", 4096, 4096).empty())
    ask(wanted.path("choice"), GrammarKind::Choice, wanted.json("choice"));
  if (wanted.boolean("json_object").value_or(false))
    ask(wanted.path("json_object"), GrammarKind::JsonObject, "");
  for (const char *name : {"structural_tag", "whitespace_pattern"})
    refuseUnsupported(wanted, name, "is not supported");
  for (const char *name : {"disable_any_whitespace", "disable_additional_properties"})
    refuseUnsupported(wanted, name, "is not supported", {"false"});
}

std::optional<AskedGrammar> readGrammar(const Fields &body) {
  using text::GrammarKind;
  std::optional<AskedGrammar> asked;
  auto ask = [&](std::string name, GrammarKind wanted, std::string text) {
    if (asked)
      return body.fail(name, "cannot be given together with " + asked->field);
    asked = {wanted, std::move(text), std::move(name)};
  };
  if (auto format = body.object("response_format"); format && format->json() != "{}") {
    format->require("type");
    auto type = format->oneOf("type", {"text", "json_object", "json_schema", "regex", "grammar"});
    if (type == "json_object" && format->object("schema")) { // llama.cpp's form
      ask("response_format.schema", GrammarKind::JsonSchema,
          withClosedObjects(format->json("schema")));
    } else if (type == "json_object") {
      ask("response_format", GrammarKind::JsonObject, "");
    } else if (type == "json_schema") {
      format->require("json_schema");
      if (auto holder = format->object("json_schema")) {
        (void)holder->text("name", 64);
        const bool strict = holder->boolean("strict").value_or(false);
        holder->require("schema");
        if (holder->object("schema"))
          ask("response_format.json_schema.schema", GrammarKind::JsonSchema,
              strict ? withClosedObjects(holder->json("schema")) : holder->json("schema"));
      }
    } else if (type == "regex") {
      format->require("regex");
      if (auto text = format->text("regex", 64 << 10))
        ask("response_format.regex", GrammarKind::Regex, std::string(*text));
    } else if (type == "grammar") {
      format->require("grammar");
      if (auto text = format->text("grammar", 64 << 10))
        ask("response_format.grammar", GrammarKind::Lark, std::string(*text));
    }
  }
  if (auto wanted = body.object("structured_outputs")) { // vLLM's
    readStructured(*wanted, ask);
    if (!asked)
      body.fail("structured_outputs",
                "is empty: one of json, regex, choice, grammar and json_object is needed");
  }
  // vLLM's older names.
  if (auto guided = body.element("guided_json"))
    ask("guided_json", GrammarKind::JsonSchema,
        withClosedObjects(guided->is_string() ? std::string(guided->get_string().value_unsafe())
                                              : body.json("guided_json")));
  if (auto text = body.text("guided_regex", 64 << 10); text && !text->empty())
    ask("guided_regex", GrammarKind::Regex, std::string(*text));
  if (auto text = body.text("guided_grammar", 64 << 10); text && !text->empty())
    ask("guided_grammar", GrammarKind::Lark, std::string(*text));
  if (auto text = body.text("grammar", 64 << 10); text && !text->empty()) // llama.cpp's name
    ask("grammar", GrammarKind::Gbnf, std::string(*text));
  if (body.object("json_schema")) // llama.cpp's
    ask("json_schema", GrammarKind::JsonSchema, withClosedObjects(body.json("json_schema")));
  if (body.has("guided_choice"))
    if (auto choices = body.texts("guided_choice", 4096, 4096); !choices.empty())
      ask("guided_choice", GrammarKind::Choice, body.json("guided_choice"));
  return asked;
}

std::optional<ApiError> takeGrammar(const std::optional<AskedGrammar> &asked,
                                    Generation &generation) {
  if (!asked)
    return std::nullopt;
  auto compiled = compileGrammar(*generation.model, *asked);
  if (!compiled)
    return compiled.error();
  generation.request.grammar = std::move(*compiled);
  return std::nullopt;
}

Outcome<std::shared_ptr<const text::Grammar>> compileGrammar(service::ServedModel &model,
                                                             const AskedGrammar &asked) {
  auto grammar = model.grammar(asked.kind, asked.source);
  if (grammar)
    return *grammar;
  const Error &why = grammar.error();
  ApiError error = apiError(why, asked.field);
  error.message = asked.field + ": " + why.what + (why.why.empty() ? "" : ": " + why.why);
  return error;
}

} // namespace ingot::api
