//===- SessionSubmit.cpp - Validates and queues requests ------------------===//
#include "runtime/session/SessionImpl.h"
#include "runtime/session/search/ContrastiveSearch.h"

#include <algorithm>

namespace ingot::runtime {

/// Adds the engine's prefix (BOS or other ids) to a plain prompt, unless it already begins with it.
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
  // For a checkpoint that names no tokens, and for engines from before names were stored.
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
                                      // number of ids
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

/// The sequences that a request runs in parallel.
static SequencesAsked sequencesOf(const Request &request) {
  return {request.beams         ? int64_t(request.beams->width)
          : request.contrastive ? int64_t(request.contrastive->topK)
                                : 1,
          int64_t(request.promptIds.size()), request.contrastive.has_value()};
}

static Error noHiddenStates() {
  return {ExitCode::Usage, errors::kNoHiddenStates, "this engine cannot return hidden states",
          "it was compiled for a GPU", "compile the checkpoint again: ingot compile MODEL -o E"};
}

/// Maximum number of new ids of a request: its own limit, or as many as context and pool allow (the
/// last one takes no position).
static int64_t mostTokens(const Request &request, const RequestLimits &limits) {
  if (request.pooling != Pooling::None)
    return 1; // it uses only the prompt's positions
  if (request.promptOnly)
    return 0;
  if (request.maxTokens >=
      0) // far beyond every context, so larger values are equivalent; avoids overflow of sums
    return std::min(request.maxTokens, int64_t(1) << 40);
  const SequencesAsked asked = sequencesOf(request);
  return std::max<int64_t>(1, limits.mostPositions(asked) - asked.prompt + !asked.feedsAll);
}

static Result<void> checkSearch(const Request &request, int64_t rows, int64_t hidden) {
  if (!request.beams && !request.contrastive)
    return {};
  if ((request.beams && request.contrastive) || request.pooling != Pooling::None)
    return Error{ExitCode::Usage, "E0532", "a request can have one search",
                 "beam search, contrastive search and embeddings exclude each other",
                 "request one of them"};
  if (request.promptOnly)
    return Error{ExitCode::Usage, "E0536", "a search cannot be of a prompt alone",
                 "it chooses tokens, and this request generates none", "clear promptOnly"};
  auto checked = request.beams ? request.beams->check() : request.contrastive->check();
  if (!checked)
    return checked;
  if (const int64_t width = sequencesOf(request).count; width > rows)
    return Error{ExitCode::Usage, "E0533", "the search has more sequences than can run at once",
                 "it has " + std::to_string(width) + " sequences; at most " + std::to_string(rows) +
                     (rows == 1 ? " runs" : " run") + " in one step",
                 "request fewer, or open with --max-seqs " + std::to_string(width)};
  if (request.contrastive && hidden == 0)
    return noHiddenStates();
  return {};
}

/// Bytes of the hidden states that a request keeps.
static uint64_t stateBytesOf(const Request &request, const RequestLimits &limits, int64_t hidden) {
  if (!request.contrastive)
    return 0;
  return ContrastiveSearch::stateBytes(int64_t(request.promptIds.size()),
                                       mostTokens(request, limits), *request.contrastive, hidden);
}

Result<void> Session::validate(const Request &request) const {
  if (auto checked = checkIds(request.promptIds, 1, impl->limits); !checked)
    return checked.error();
  if (auto checked = checkIds(request.stopIds, 0, impl->limits); !checked)
    return checked.error();
  if (auto checked = request.sampling.check(vocab()); !checked)
    return checked.error();
  if (!request.stopStrings.empty() && !impl->tokenizer)
    return noTokenizer("a stop string");
  if (request.pooling != Pooling::None && !impl->executor->hiddenSize())
    return noHiddenStates();
  if (request.grammar && !impl->tokenizer)
    return noTokenizer("a grammar");
  if (auto checked = checkIds(request.ids.allowed, 0, impl->limits); !checked)
    return checked.error();
  const auto &words = request.ids.forbidden;
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i].empty())
      return emptyWord(i, words.size());
  if (request.promptLogprobs > kMaxTopLogprobs)
    return badLimit("too many log-probabilities of the prompt",
                    "requested: " + std::to_string(request.promptLogprobs) +
                        ", allowed: " + std::to_string(kMaxTopLogprobs),
                    "request fewer");
  if (!request.promptOnly && (request.maxTokens == 0 || request.maxTokens < -1))
    return badLimit("the number of new tokens is out of range",
                    "requested: " + std::to_string(request.maxTokens) +
                        ", allowed: 1 or more, or -1",
                    "give -n 1 or more, or -n -1 for as many as the context leaves");
  const int64_t hidden = impl->executor->hiddenSize();
  if (auto checked = checkSearch(request, maxSeqs(), hidden); !checked)
    return checked.error();
  if (auto checked =
          checkLength(int64_t(request.promptIds.size()), mostTokens(request, impl->limits),
                      impl->limits, sequencesOf(request));
      !checked)
    return checked.error();
  const uint64_t bytes = stateBytesOf(request, impl->limits, hidden);
  if (bytes > impl->states->limit())
    return Error{ExitCode::Usage, errors::kSearchBeyondMemory,
                 "the search's hidden states exceed the memory",
                 "they need " + humanBytes(bytes) + " of " + humanBytes(impl->states->limit()),
                 "request fewer new tokens, or give a shorter prompt"};
  return {};
}

Result<void> Session::validateTogether(const Request &request,
                                       std::span<const std::vector<int32_t>> prompts) const {
  Request one = request;
  uint64_t bytes = 0;
  for (const std::vector<int32_t> &prompt : prompts) {
    one.promptIds = prompt;
    if (auto checked = validate(one); !checked)
      return checked;
    bytes += stateBytesOf(one, impl->limits, impl->executor->hiddenSize());
  }
  if (bytes > impl->states->limit())
    return Error{ExitCode::Usage, errors::kSearchBeyondMemory,
                 "the searches' hidden states exceed the memory",
                 std::to_string(prompts.size()) + " prompts need " + humanBytes(bytes) + ", of " +
                     humanBytes(impl->states->limit()),
                 "give fewer prompts at once, or request fewer new tokens"};
  return {};
}

Result<void> Session::prepare(Request &request) const {
  if (auto checked = validate(request); !checked)
    return checked.error();
  if (!request.contrastive || request.stateMemory)
    return {};
  const uint64_t bytes = stateBytesOf(request, impl->limits, impl->executor->hiddenSize());
  request.stateMemory = impl->states->take(bytes);
  if (!request.stateMemory)
    return Error{ExitCode::Device, errors::kQueueFull,
                 "there is no memory for the search's hidden states now",
                 "it needs " + humanBytes(bytes) + "; other requests use " +
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
  if (impl->failure)
    return *impl->failure;
  if (auto prepared = prepare(request); !prepared)
    return prepared.error();
  if (choices < 1 || choices > kMostChoices)
    return badLimit("the number of choices is out of range",
                    "requested: " + std::to_string(choices) + ", allowed: 1 to " +
                        std::to_string(kMostChoices),
                    "request fewer");
  const SequencesAsked asked = sequencesOf(request);
  const bool searches = request.beams || request.contrastive;
  if (searches && choices > (request.beams ? request.beams->width : 1))
    return Error{ExitCode::Usage, "E0535", "the search cannot return that many answers",
                 "requested: " + std::to_string(choices) + ", it has " +
                     std::to_string(request.beams ? request.beams->width : 1),
                 "request fewer, or a wider beam search"};
  const int64_t maxTokens = mostTokens(request, impl->limits);
  if (request.onLogits)
    impl->editedRow.resize(size_t(vocab())); // allocated here, since a step must not run out of
                                             // memory
  SequenceOptions options;
  options.maxNew = maxTokens + asked.feedsAll;
  options.slots = asked.count;
  options.priority = request.priority;
  options.user = request.user;
  options.cachePrefix = request.cachePrefix;
  options.cacheSalt = request.cacheSalt;
  options.everyPosition =
      request.pooling == Pooling::Mean || request.contrastive || request.promptLogprobs >= 0;
  options.arrival = Impl::now();
  const SequenceId first = impl->scheduler->add(request.promptIds, options);
  // A sequence and its plain answer have the same number; the answers of a search have numbers of
  // their own.
  std::vector<RequestId> ids{searches ? impl->scheduler->reserveId() : first};
  while (int64_t(ids.size()) < choices)
    ids.push_back(impl->scheduler->reserveId());
  std::vector<Answer *> answers;
  for (size_t i = 0; i < ids.size(); ++i) {
    Request own = request;
    own.stateMemory.reset(); // it belongs to the search
    own.sampling.choice += uint32_t(i);
    if (i) // the prompt's scores are reported once, with the first answer
      own.onPrompt = {};
    auto answer = std::make_unique<Answer>(std::move(own), maxTokens, impl->eos,
                                           impl->tokenizer.get(), vocab());
    answer->scheduled = ids[i] == first;
    answers.push_back(answer.get());
    impl->answers.emplace(ids[i], std::move(answer));
  }
  impl->setFlags.reserve(impl->answers.size()); // reserved here, since a step must not run out of
                                                // memory
  if (searches)
    impl->startSearch(first, std::move(request), maxTokens, std::move(answers));
  else if (choices > 1)
    impl->choicesOf.emplace(first, std::vector(ids.begin() + 1, ids.end()));
  return ids;
}

} // namespace ingot::runtime
