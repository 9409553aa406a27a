//===- Answer.cpp - Stop conditions, text, timings ------------------------===//
#include "runtime/session/Answer.h"

#include "runtime/device/Trace.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace ingot::runtime {

std::string_view finishReasonName(FinishReason reason) {
  switch (reason) {
  case FinishReason::Stop:
    return "stop";
  case FinishReason::Length:
    return "length";
  case FinishReason::Cancelled:
    break;
  }
  return "cancelled";
}

Answer::Answer(Request given, int64_t most, std::span<const int32_t> eos,
               const text::Tokenizer *tokenizer, int64_t vocab)
    : request(std::move(given)), maxTokens(most), stopIds(request.stopIds),
      submitted(nowNanoseconds()) {
  if (!request.ignoreEos)
    stopIds.insert(stopIds.end(), eos.begin(), eos.end());
  if (request.sampling.needsHistory())
    seen.emplace(request.promptIds, maxTokens, request.sampling.penaltyWindow);
  if (tokenizer)
    decoder.emplace(*tokenizer, /*skipSpecial=*/!request.showSpecial, /*continuation=*/true);
  if (!request.stopStrings.empty())
    stops.emplace(request.stopStrings);
  if (request.chat)
    chat.emplace(request.chat);
  if (request.grammar)
    constraint.emplace(request.grammar->start());
  if (request.ids.any())
    mask.emplace(std::move(request.ids), stopIds, vocab);
  minTokens = mask ? mask->minTokens() : 0;
  completion.ids.reserve(size_t(maxTokens));
  completion.promptIds = std::move(request.promptIds);
}

void Answer::start(int64_t cachedTokens) {
  assert(!started() && cachedTokens >= 0 && cachedTokens <= promptSize() &&
         "it starts once, with some of its prompt in the cache");
  begun = nowNanoseconds();
  completion.cachedTokens = cachedTokens;
}

bool Answer::take(int32_t id, std::span<const TokenLogprob> logprobs) {
  assert(!done && sampled < maxTokens && "an id after the end");
  lastId = nowNanoseconds();
  if (sampled++ == 0)
    firstId = lastId;
  if (std::find(stopIds.begin(), stopIds.end(), id) != stopIds.end()) {
    stopAt(id, logprobs);
    return false;
  }
  bool complete = false;
  if (constraint) {
    if (auto taken = constraint->accept(id); !taken) {
      fail(taken.error());
      return false;
    }
    complete = constraint->complete();
  }
  completion.ids.push_back(id);
  if (request.sampling.topLogprobs >= 0)
    completion.logprobs.emplace_back(logprobs.begin(), logprobs.end());
  if (seen)
    seen->add(id);
  report(id, decoder ? decoder->push(id) : std::string(), logprobs);
  if (complete || stopped())
    end(FinishReason::Stop);
  else if (int64_t(completion.ids.size()) == maxTokens)
    end(FinishReason::Length);
  return !done;
}

/// Handles a stop token. It is not part of the answer, and is reported only if the request sets reportStop or showStop.
void Answer::stopAt(int32_t id, std::span<const TokenLogprob> logprobs) {
  completion.stopId = id;
  if (request.reportStop || request.showStop)
    report(id, decoder && request.showStop ? decoder->push(id) : std::string(), logprobs);
  end(FinishReason::Stop);
}

void Answer::reportPrompt() {
  if (promptReported || !wantsPrompt())
    return;
  promptReported = true;
  if (request.onPrompt)
    request.onPrompt(std::move(scores));
}

void Answer::cancel() { end(FinishReason::Cancelled); }

bool Answer::pool(std::span<const float> hidden, int64_t position) {
  lastId = nowNanoseconds();
  firstId = firstId ? firstId : lastId;
  if (position < pooledPositions) // the state was recomputed after a preemption
    return true;
  assert((pooledSum.empty() || pooledSum.size() == hidden.size()) &&
         "hidden states differ in width");
  pooledPositions = position + 1;
  pooledSum.resize(hidden.size());
  for (size_t i = 0; i < hidden.size(); ++i)
    pooledSum[i] += double(hidden[i]);
  if (position + 1 < int64_t(completion.promptIds.size()))
    return true;
  // The mean is not divided by its count, because the embedding is normalised to length 1 anyway.
  double square = 0;
  for (double value : pooledSum)
    square += value * value;
  const double scale = square > 0 ? 1 / std::sqrt(square) : 0;
  completion.embedding.reserve(pooledSum.size());
  for (double value : pooledSum)
    completion.embedding.push_back(float(value * scale));
  end(FinishReason::Stop);
  return false;
}

void Answer::fail(Error error) {
  completion.failure = std::move(error);
  end(FinishReason::Cancelled);
}

std::optional<std::span<const uint32_t>> Answer::allowed() {
  std::span<const uint32_t> bits;
  if (constraint) {
    auto given = constraint->allowed();
    if (!given) {
      fail(given.error());
      return std::nullopt;
    }
    bits = *given;
  }
  if (!mask)
    return bits;
  bits = mask->after(completion.ids, bits);
  if (!bits.empty())
    return bits;
  end(FinishReason::Stop);
  return std::nullopt;
}

std::string Answer::shown(std::string piece) {
  if (!stops || piece.empty() || int64_t(completion.ids.size()) <= minTokens)
    return piece;
  piece = stops->push(piece);
  return request.showStop && stops->stopped() ? piece + stops->match() : piece;
}

void Answer::give(int32_t id, std::string_view text, std::span<const TokenLogprob> logprobs,
                  std::span<const text::OutputPiece> pieces) {
  completion.text += text;
  if (request.onToken)
    request.onToken({id, text, pieces, logprobs, request.sampling.choice, completion.cachedTokens});
}

void Answer::report(int32_t id, std::string text, std::span<const TokenLogprob> logprobs) {
  if (!chat)
    return give(id, shown(std::move(text)), logprobs);
  const auto pieces = chat->push(text, int64_t(completion.ids.size()) > minTokens);
  give(id, text, logprobs, pieces);
}

void Answer::end(FinishReason reason) {
  assert(!done && "an answer ends once");
  if (decoder && !stopped()) {
    std::string rest = shown(decoder->flush());
    if (stops)
      rest += stops->flush();
    std::vector<text::OutputPiece> pieces;
    if (chat) {
      pieces = chat->push(rest);
      std::ranges::move(chat->finish(/*cut=*/reason != FinishReason::Stop),
                        std::back_inserter(pieces));
    }
    if (!rest.empty() || !pieces.empty())
      give(-1, rest, {}, pieces);
    if (stopped()) // the held-back bytes completed a stop string
      reason = FinishReason::Stop;
  }
  completion.finishReason = reason;
  done = true;
}

Completion Answer::result(double loadMs) {
  assert(done && "it is still in progress");
  Timings &timings = completion.timings;
  timings.loadMs = loadMs;
  if (sampled > 0) {
    timings.ttftMs = double(firstId - submitted) * 1e-6;
    double promptSeconds = double(firstId - begun) * 1e-9;
    if (promptSeconds > 0)
      timings.promptTps =
          double(int64_t(completion.promptIds.size()) - completion.cachedTokens) / promptSeconds;
  }
  if (begun)
    timings.queueMs = double(begun - submitted) * 1e-6;
  if (sampled > 1 && lastId > firstId)
    timings.decodeTps = double(sampled - 1) / (double(lastId - firstId) * 1e-9);
  completion.drawn = sampled;
  if (stops && stops->stopped())
    completion.stopString = stops->match();
  if (chat) {
    completion.stopString = chat->stop();
    completion.reasoningTokens = chat->reasoningTokens();
    completion.toolCalls = chat->toolCalls();
  }
  return std::move(completion);
}

} // namespace ingot::runtime
