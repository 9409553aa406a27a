//===- Hypothesis.cpp - See Hypothesis.h -----------------------------------===//
#include "runtime/session/search/Hypothesis.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

Hypothesis::Hypothesis(const Request &request, std::span<const int32_t> eos,
                       const text::Tokenizer *tokenizer)
    : ends(request.stopIds) {
  if (!request.ignoreEos)
    ends.insert(ends.end(), eos.begin(), eos.end());
  std::ranges::sort(ends);
  ends.erase(std::ranges::unique(ends).begin(), ends.end());
  if (request.chat && (!request.chat->stops.empty() || request.chat->oneCall)) {
    reading = request.chat;
    chat.emplace(reading);
  }
  if (!request.stopStrings.empty())
    stops.emplace(request.stopStrings);
  if (chat || stops)
    decoder.emplace(*tokenizer, /*skipSpecial=*/!request.showSpecial, /*continuation=*/true);
  if (request.grammar)
    constraint.emplace(request.grammar->start());
}

Hypothesis::Hypothesis(const Hypothesis &other)
    : ends(other.ends), decoder(other.decoder), stops(other.stops), reading(other.reading),
      text(other.text), generated(other.generated), perId(other.perId), likely(other.likely),
      over(other.over) {
  if (reading) { // a parser cannot be copied, so a new one reads the text again
    chat.emplace(reading);
    (void)chat->push(text);
  }
  if (other.constraint)
    constraint.emplace(other.constraint->clone());
}

Result<std::span<const uint32_t>> Hypothesis::allowed() {
  if (!constraint)
    return std::span<const uint32_t>();
  return constraint->allowed();
}

Result<bool> Hypothesis::take(int32_t id, std::span<const TokenLogprob> logprobs) {
  assert(!over && "an id after its end");
  assert((generated.empty() || perId == logprobs.size()) && "its ids differ in log-probabilities");
  generated.push_back(id);
  perId = logprobs.size();
  likely.insert(likely.end(), logprobs.begin(), logprobs.end());
  if (std::ranges::binary_search(ends, id))
    return over = true;
  if (constraint) {
    if (auto taken = constraint->accept(id); !taken)
      return taken.error();
    over = constraint->complete();
  }
  if (decoder) {
    const std::string piece = decoder->push(id);
    if (stops && !piece.empty())
      (void)stops->push(piece);
    if (chat && !piece.empty()) {
      text += piece;
      (void)chat->push(piece);
    }
    over |= (stops && stops->stopped()) || (chat && chat->ended());
  }
  return over;
}

std::span<const TokenLogprob> Hypothesis::logprobs(size_t index) const {
  assert(index < generated.size() && (index + 1) * perId <= likely.size() && "there is no such id");
  return std::span(likely).subspan(index * perId, perId);
}

} // namespace ingot::runtime
