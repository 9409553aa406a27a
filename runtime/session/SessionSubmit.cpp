//===- SessionSubmit.cpp - Validates and queues requests ------------------===//
#include "runtime/session/SessionImpl.h"
#include "runtime/session/search/ContrastiveSearch.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

/// Adds the engine's prefix (BOS or other tokens) to a plain prompt, unless it already begins with it.
static void addPrefix(const EngineFile &engine, std::vector<int32_t> &ids) {
  const std::vector<int32_t> prefix = engine.textPrefix();
  if (ids.size() < prefix.size() || !std::equal(prefix.begin(), prefix.end(), ids.begin()))
    ids.insert(ids.begin(), prefix.begin(), prefix.end());
}

text::ChatTemplate::Options Session::templateTokens() const {
  text::ChatTemplate::Options options;
  const fb::Text *text = engine().table().text();
  const fb::SpecialTokens *special = text ? text->special() : nullptr;
  if (!special || !tokenizer())
    return options;
  if (const auto *names = special->names()) {
    for (const fb::Attribute *one : *names) {
      const std::string_view name = one->key()->string_view();
      if (name == "bos_token")
        options.bosToken = one->value()->str();
      else if (name == "eos_token")
        options.eosToken = one->value()->str();
      else
        options.tokens.emplace_back(name, one->value()->str());
    }
    return options;
  }
  // Needed for a checkpoint that names no tokens, and for engines from before names were stored.
  auto spelled = [&](int32_t id) { return id < 0 ? "" : std::string(tokenizer()->tokenBytes(id)); };
  options.bosToken = spelled(special->bos());
  if (const auto *eos = special->eos(); eos && eos->size())
    options.eosToken = spelled(eos->Get(0));
  return options;
}

Result<std::vector<int32_t>> Session::encodePrompt(std::string_view text) const {
  if (!impl->tokenizer)
    return noTokenizer("a text prompt");
  auto ids = impl->tokenizer->encode(text);
  if (ids)
    addPrefix(*impl->file, *ids);
  return ids;
}

Error Session::tooLong(size_t bytes) const { return longerThanContext(bytes, impl->limits); }

Result<std::vector<int32_t>> Session::encodeToFit(std::string_view text, PromptText kind) const {
  constexpr size_t kShort = 64 << 10; // encoded completely, so that the message can state the
                                      // number of tokens
  if (!impl->tokenizer)
    return noTokenizer("a text prompt");
  auto ids = impl->tokenizer->encodeWithin(
      text, text.size() <= kShort ? SIZE_MAX : size_t(context()), kind != PromptText::Literal);
  if (!ids)
    return ids.error();
  if (!*ids)
    return tooLong(text.size());
  if (kind == PromptText::Plain || kind == PromptText::Embedded)
    addPrefix(*impl->file, **ids);
  if (kind == PromptText::Embedded)
    std::ranges::copy(impl->file->textSuffix(), std::back_inserter(**ids));
  return std::move(**ids);
}

/// Returns the sequences that a request runs in parallel.
static SequencesAsked sequencesOf(const RequestSettings &settings, size_t promptIds = 0) {
  return {settings.beams         ? int64_t(settings.beams->width)
          : settings.contrastive ? int64_t(settings.contrastive->topK)
                                 : 1,
          int64_t(promptIds), settings.contrastive.has_value()};
}

static Error noHiddenStates() {
  return {ExitCode::Usage, errors::kNoHiddenStates, "this engine cannot return hidden states",
          "it was compiled for a GPU", "compile the checkpoint again: ingot compile MODEL -o E"};
}

/// Returns the maximum number of new tokens of a request: its own limit, or as many as context and pool
/// allow. The last new token takes no position.
static int64_t mostTokens(const RequestSettings &settings, const SequencesAsked &asked,
                          const RequestLimits &limits) {
  if (settings.pooling != Pooling::None)
    return 1; // an embedding uses only the prompt's positions
  if (settings.promptOnly)
    return 0;
  if (settings.maxTokens >=
      0) // far beyond every context, so larger values are equivalent; avoids overflow of sums
    return std::min(settings.maxTokens, int64_t(1) << 40);
  return std::max<int64_t>(1, limits.mostPositions(asked) - asked.prompt + !asked.feedsAll);
}

static Result<void> checkSearch(const RequestSettings &settings, int64_t rows, int64_t hidden) {
  if (!settings.beams && !settings.contrastive)
    return {};
  if ((settings.beams && settings.contrastive) || settings.pooling != Pooling::None)
    return Error{ExitCode::Usage, "E0532", "a request cannot combine searches or embeddings",
                 "beam search, contrastive search and embeddings are mutually exclusive",
                 "request one of them"};
  if (settings.promptOnly)
    return Error{ExitCode::Usage, "E0536", "a search must generate tokens",
                 "the request only evaluates its prompt (promptOnly)", "clear promptOnly"};
  auto checked = settings.beams ? settings.beams->check() : settings.contrastive->check();
  if (!checked)
    return checked;
  if (const int64_t width = sequencesOf(settings).count; width > rows)
    return Error{ExitCode::Usage, "E0533", "the search has more sequences than can run at once",
                 "it has " + std::to_string(width) + " sequences; at most " + std::to_string(rows) +
                     (rows == 1 ? " runs" : " run") + " in one step",
                 "request fewer, or open with --max-seqs " + std::to_string(width)};
  if (settings.contrastive && hidden == 0)
    return noHiddenStates();
  return {};
}

static Result<void> checkChoices(const RequestSettings &settings, int32_t choices) {
  if (choices < 1 || choices > Session::kMostChoices)
    return badLimit("the number of choices is out of range",
                    "requested: " + std::to_string(choices) + ", allowed: 1 to " +
                        std::to_string(Session::kMostChoices),
                    "request fewer");
  const int32_t found = settings.beams ? settings.beams->width : 1;
  if ((settings.beams || settings.contrastive) && choices > found)
    return Error{ExitCode::Usage, "E0535", "the search cannot return that many answers",
                 "requested: " + std::to_string(choices) + ", it has " + std::to_string(found),
                 "request fewer, or a wider beam search"};
  return {};
}

/// Checks the settings, which do not depend on the prompt.
Result<void> Session::checkSettings(const RequestSettings &settings, int32_t choices) const {
  if (auto checked = checkIds(settings.stopIds, 0, impl->limits); !checked)
    return checked;
  if (auto checked = settings.sampling.check(vocab()); !checked)
    return checked;
  if (!settings.stopStrings.empty() && !impl->tokenizer)
    return noTokenizer("a stop string");
  const int64_t hidden = impl->executor->hiddenSize();
  if (settings.pooling != Pooling::None && !hidden)
    return noHiddenStates();
  if (settings.grammar && !impl->tokenizer)
    return noTokenizer("a grammar");
  if (auto checked = checkIds(settings.ids.allowed, 0, impl->limits); !checked)
    return checked;
  const auto &words = settings.ids.forbidden;
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i].empty())
      return emptyWord(i, words.size());
  if (settings.promptLogprobs > kMaxTopLogprobs)
    return badLimit("too many log-probabilities of the prompt",
                    "requested: " + std::to_string(settings.promptLogprobs) +
                        ", allowed: " + std::to_string(kMaxTopLogprobs),
                    "request fewer");
  if (!settings.promptOnly && (settings.maxTokens == 0 || settings.maxTokens < -1))
    return badLimit("the number of new tokens is out of range",
                    "requested: " + std::to_string(settings.maxTokens) +
                        ", allowed: 1 or more, or -1",
                    "give -n 1 or more, or -n -1 for as many as the context leaves");
  if (auto checked = checkSearch(settings, maxSeqs(), hidden); !checked)
    return checked;
  return checkChoices(settings, choices);
}

/// Checks a request's lengths, and sets the fields that depend on them.
Result<ValidatedRequest> Session::fitted(ValidatedRequest request) const {
  const RequestSettings &settings = request.settings();
  const SequencesAsked asked = sequencesOf(settings, request.prompt.size());
  request.mostNew = mostTokens(settings, asked, impl->limits);
  if (auto checked = checkLength(asked.prompt, request.mostNew, impl->limits, asked); !checked)
    return checked.error();
  if (settings.contrastive)
    request.stateBytes = ContrastiveSearch::stateBytes(
        asked.prompt, request.mostNew, *settings.contrastive, impl->executor->hiddenSize());
  if (request.stateBytes > impl->states->limit())
    return Error{ExitCode::Usage, errors::kSearchBeyondMemory,
                 "the search's hidden states exceed the memory",
                 "they need " + humanBytes(request.stateBytes) + "; the limit is " +
                     humanBytes(impl->states->limit()),
                 "request fewer new tokens, or give a shorter prompt"};
  return request;
}

Result<ValidatedRequest> Session::validate(Request request, int32_t choices) const {
  if (auto checked = checkIds(request.promptIds, 1, impl->limits); !checked)
    return checked.error();
  if (auto checked = checkSettings(request, choices); !checked)
    return checked.error();
  RequestSettings &settings = request;
  RequestHooks &hooks = request;
  auto valid = fitted({*this, std::make_shared<const RequestSettings>(std::move(settings)),
                       std::move(request.promptIds), choices});
  if (valid)
    valid->hooks = std::move(hooks);
  return valid;
}

Result<ValidatedRequest> Session::validate(const ValidatedRequest &like,
                                           std::vector<int32_t> promptIds) const {
  assert(like.session == this && "another session validated the request");
  if (auto checked = checkIds(promptIds, 1, impl->limits); !checked)
    return checked.error();
  return fitted({*this, like.shared, std::move(promptIds), like.answers});
}

Result<void> Session::validateTogether(std::span<const ValidatedRequest> requests) const {
  uint64_t bytes = 0;
  for (const ValidatedRequest &request : requests)
    bytes += request.stateBytes;
  if (bytes > impl->states->limit())
    return Error{ExitCode::Usage, errors::kSearchBeyondMemory,
                 "the searches' hidden states exceed the memory",
                 std::to_string(requests.size()) + " prompts need " + humanBytes(bytes) +
                     "; the limit is " + humanBytes(impl->states->limit()),
                 "give fewer prompts at once, or request fewer new tokens"};
  return {};
}

Result<void> Session::reserveStates(ValidatedRequest &request) const {
  if (request.stateBytes == 0 || request.states)
    return {};
  request.states = impl->states->take(request.stateBytes);
  if (!request.states)
    return Error{ExitCode::Device, errors::kQueueFull,
                 "there is no memory for the search's hidden states now",
                 "it needs " + humanBytes(request.stateBytes) + "; other requests use " +
                     humanBytes(impl->states->inUse()) + " of " + humanBytes(impl->states->limit()),
                 "try again later"};
  return {};
}

Result<RequestId> Session::submit(Request request) {
  auto ids = submit(std::move(request), 1);
  if (!ids)
    return ids.error();
  return ids->front();
}

Result<std::vector<RequestId>> Session::submit(Request request, int32_t choices) {
  auto valid = validate(std::move(request), choices);
  if (!valid)
    return valid.error();
  return submit(std::move(*valid));
}

Result<std::vector<RequestId>> Session::submit(ValidatedRequest request) {
  assert(request.session == this && "another session validated the request");
  if (impl->failure)
    return *impl->failure;
  if (auto reserved = reserveStates(request); !reserved)
    return reserved.error();
  const RequestSettings &settings = request.settings();
  const SequencesAsked asked = sequencesOf(settings);
  const bool searches = settings.beams || settings.contrastive;
  if (request.hooks.onLogits)
    impl->editedRow.resize(size_t(vocab())); // allocated here, since a step must not run out of
                                             // memory
  SequenceOptions options;
  options.maxNew = request.mostNew + asked.feedsAll;
  options.slots = asked.count;
  options.priority = settings.priority;
  options.user = settings.user;
  options.cachePrefix = settings.cachePrefix;
  options.cacheSalt = settings.cacheSalt;
  options.everyPosition =
      settings.pooling == Pooling::Mean || settings.contrastive || settings.promptLogprobs >= 0;
  options.arrival = Impl::now();
  const SequenceId first = impl->scheduler->add(request.prompt, options);
  // A plain answer has the id of its sequence. The answers of a search have ids of their own.
  std::vector<RequestId> ids{searches ? impl->scheduler->reserveId() : first};
  while (int32_t(ids.size()) < request.answers)
    ids.push_back(impl->scheduler->reserveId());
  std::vector<Answer *> answers;
  for (size_t i = 0; i < ids.size(); ++i) {
    Request own{settings, request.hooks, request.prompt};
    own.sampling.choice += uint32_t(i);
    if (i) // the prompt's scores are reported once, with the first answer
      own.onPrompt = {};
    auto answer = std::make_unique<Answer>(std::move(own), request.mostNew, impl->eos,
                                           impl->tokenizer.get(), vocab());
    answer->scheduled = ids[i] == first;
    answers.push_back(answer.get());
    impl->answers.emplace(ids[i], std::move(answer));
  }
  impl->setFlags.reserve(impl->answers.size()); // reserved here, since a step must not run out of
                                                // memory
  if (searches)
    impl->startSearch(first, {settings, std::move(request.hooks), std::move(request.prompt)},
                      request.mostNew, std::move(request.states), std::move(answers));
  else if (ids.size() > 1)
    impl->choicesOf.emplace(first, std::vector(ids.begin() + 1, ids.end()));
  return ids;
}

} // namespace ingot::runtime
