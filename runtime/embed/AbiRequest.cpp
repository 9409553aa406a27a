//===- AbiRequest.cpp - ingot.h: reading and checking a request --------------===//
#include "runtime/embed/Abi.h"
#include "runtime/embed/RowRules.h"
#include "runtime/sample/SamplingFields.h"

#include <cmath>
#include <limits>

namespace ingot::embed {

namespace {

constexpr size_t kRequest1 = 264; // size of the structure in version 1
static_assert(offsetof(ingot_request, beam_width) == kRequest1);
static_assert(offsetof(ingot_request, trust_content) == 280);  // version 2
static_assert(offsetof(ingot_request, penalty_window) == 288); // version 4
static_assert(sizeof(ingot_request) == 296);                   // version 6

// A sampling field that is not given is NaN or -1. A seed is always given.
void unset(float &field) { field = std::numeric_limits<float>::quiet_NaN(); }
void unset(int32_t &field) { field = -1; }
void unset(uint64_t &field) { field = 0; }
bool isGiven(float value) { return !std::isnan(value); }
bool isGiven(int32_t value) { return value != -1; }
bool isGiven(uint64_t) { return true; }

ingot_request defaultRequest() {
  ingot_request request{};
#define INGOT_SAMPLING_FIELD(name, ...) unset(request.name);
#include "runtime/sample/SamplingFields.def"
  request.max_tokens = -1;
  request.choices = 1;
  request.length_penalty = 1;
  return request;
}

Result<std::vector<int32_t>> promptOf(const service::ServedModel &model,
                                      const ingot_request &given) {
  const int ways =
      (given.prompt_ids != nullptr) + (given.prompt != nullptr) + (given.messages != nullptr);
  if (ways > 1)
    return Error{ExitCode::Usage, "E0572", "the prompt is given more than once",
                 std::to_string(ways) + " of prompt_ids, prompt and messages are set",
                 "set one of them"};
  if (given.messages)
    return encodeChat(model, given.messages, given.template_variables, given.trust_content != 0);
  if (given.prompt && given.prompt_size) // an empty prompt is E0503, also if the engine adds BOS
    return model.session().encodePrompt({given.prompt, given.prompt_size});
  return std::vector<int32_t>(given.prompt_ids, given.prompt_ids + given.prompt_id_count);
}

/// Returns the engine's defaults, overridden by the fields that are set.
runtime::SamplingParams samplingOf(const runtime::Session &session, const ingot_request &given) {
  runtime::AskedSampling asked;
#define INGOT_SAMPLING_FIELD(name, member, ...)                                                    \
  if (isGiven(given.name))                                                                         \
    asked.set(&runtime::SamplingParams::member, given.name);
#include "runtime/sample/SamplingFields.def"
  for (size_t i = 0; i < given.logit_bias_count; ++i)
    asked.values.logitBias.emplace_back(given.logit_bias[i].id, given.logit_bias[i].bias);
  return asked.over(session.defaultSampling());
}

Result<std::shared_ptr<const text::Grammar>> grammarOf(service::ServedModel &model,
                                                       const ingot_request &given) {
  static constexpr text::GrammarKind kKinds[] = {
      text::GrammarKind::JsonObject, text::GrammarKind::JsonSchema, text::GrammarKind::Regex,
      text::GrammarKind::Lark,       text::GrammarKind::Gbnf,       text::GrammarKind::Choice};
  if (given.grammar_kind == INGOT_GRAMMAR_NONE)
    return std::shared_ptr<const text::Grammar>();
  if (given.grammar_kind < 0 || size_t(given.grammar_kind) > std::size(kKinds))
    return Error{ExitCode::Usage, "E0576", "unknown kind of grammar",
                 "grammar_kind is " + std::to_string(given.grammar_kind) + ", known: 1 to " +
                     std::to_string(std::size(kKinds)),
                 "give one of INGOT_GRAMMAR_…"};
  return model.grammar(kKinds[given.grammar_kind - 1], given.grammar ? given.grammar : "");
}

Result<void> readSearch(const ingot_request &given, runtime::Request &what) {
  using runtime::EarlyStopping;
  if (given.beam_width != 0) {
    static constexpr EarlyStopping kStops[] = {EarlyStopping::No, EarlyStopping::Yes,
                                               EarlyStopping::Never};
    if (given.stop_beams < 0 || size_t(given.stop_beams) >= std::size(kStops))
      return Error{ExitCode::Usage, "E0530", "a value of the beam search is out of range",
                   "stop_beams is " + std::to_string(given.stop_beams) + ", allowed: 0 to 2",
                   "give one of INGOT_STOP_…"};
    what.beams = {given.beam_width, double(given.length_penalty), kStops[given.stop_beams]};
    if (auto fine = what.beams->check(); !fine) // checked before `choices` is compared with it
      return fine;
  }
  if (given.penalty_alpha != 0) { // true for NaN, which is refused later with other bad values
    what.contrastive.emplace();
    what.contrastive->alpha = double(given.penalty_alpha);
    if (given.top_k != -1)
      what.contrastive->topK = given.top_k;
  }
  const int32_t most = what.beams ? given.beam_width : 1;
  if ((what.beams || what.contrastive) && given.choices > most)
    return Error{ExitCode::Usage, "E0535", "the search cannot return that many answers",
                 "choices is " + std::to_string(given.choices) + ", the search returns at most " +
                     std::to_string(most),
                 "request fewer, or a wider beam search"};
  return {};
}

Result<RowRules> rulesOf(const ingot_executor &executor, const ingot_request &given,
                         const std::vector<int32_t> &prompt) {
  RowRules rules;
  for (size_t i = 0; i < given.bad_word_count; ++i) {
    const ingot_id_list &word = given.bad_words[i];
    if (word.count == 0)
      return runtime::emptyWord(i, given.bad_word_count);
    rules.badWords.emplace_back(word.ids, word.ids + word.count);
  }
  rules.minTokens = given.min_tokens;
  rules.noRepeatNgram = given.no_repeat_ngram;
  if (!given.ignore_eos)
    rules.endIds = executor.eos;
  rules.endIds.insert(rules.endIds.end(), given.stop_ids, given.stop_ids + given.stop_id_count);
  if (rules.any())
    rules.prompt = prompt;
  return rules;
}

} // namespace

Result<AwaitableRequest> readRequest(const ingot_executor &executor, const ingot_request &caller,
                                     RequestId id) {
  auto read = readStruct(caller, defaultRequest(), kRequest1, "ingot_request");
  if (!read)
    return read.error();
  const ingot_request &given = *read;
  constexpr int32_t kMostChoices = runtime::Session::kMostChoices;
  if (given.choices < 1 || given.choices > kMostChoices)
    return Error{ExitCode::Usage, "E0577", "the number of choices is out of range",
                 "requested: " + std::to_string(given.choices) + ", allowed: 1 to " +
                     std::to_string(kMostChoices),
                 "give another number, or send more requests with different seeds"};
  service::ServedModel &model = executor.impl->model();
  AwaitableRequest request;
  runtime::Request &what = request.what;
  auto prompt = promptOf(model, given);
  if (!prompt)
    return prompt.error();
  what.promptIds = std::move(*prompt);
  what.sampling = samplingOf(model.session(), given);
  what.maxTokens = given.max_tokens;
  what.stopIds.assign(given.stop_ids, given.stop_ids + given.stop_id_count);
  what.stopStrings.assign(given.stop_strings, given.stop_strings + given.stop_string_count);
  what.ignoreEos = given.ignore_eos != 0;
  what.showSpecial = given.show_special != 0;
  what.priority = given.priority;
  what.user = given.share;
  what.cachePrefix = given.no_prefix_cache == 0;
  what.cacheSalt = given.cache_salt;
  auto grammar = grammarOf(model, given);
  if (!grammar)
    return grammar.error();
  what.grammar = std::move(*grammar);
  if (auto search = readSearch(given, what); !search)
    return search.error();
  auto rules = rulesOf(executor, given, what.promptIds);
  if (!rules)
    return rules.error();
  if (given.on_logits || rules->any())
    what.onLogits = [id, hook = given.on_logits, user = given.user,
                     rules = std::make_shared<const RowRules>(std::move(*rules))](
                        const runtime::LogitsRow &row) {
      if (hook) {
        const ingot_logits_row seen{sizeof(ingot_logits_row), id,
                                    int32_t(row.choice),      0,
                                    row.ids.data(),           row.ids.size(),
                                    row.logits.data(),        row.logits.size()};
        hook(user, &seen);
      }
      rules->apply(row.ids, row.logits);
    };
  request.choices = given.choices;
  request.streaming = given.streaming != 0;
  if (given.on_output)
    request.onOutput = [callback = given.on_output,
                        user = given.user](const AwaitableOutput &output) {
      const auto error = errorOf(output);
      const ingot_output seen = describe(output, error.get());
      callback(user, &seen);
    };
  return request;
}

} // namespace ingot::embed

void ingot_request_init(ingot_request *request, size_t size) {
  ingot::embed::initStruct(ingot::embed::defaultRequest(), request, size);
}
