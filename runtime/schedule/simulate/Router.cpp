//===- Router.cpp - See Router.h -------------------------------------------===//
#include "runtime/schedule/simulate/Router.h"

#include <algorithm>
#include <iterator>

namespace ingot::runtime {

void SentBlocks::remember(std::span<const uint64_t> chain) {
  if (most == 0)
    return;
  for (size_t i = chain.size(); i-- > 0;) {
    if (auto found = places.find(chain[i]); found != places.end()) {
      order.splice(order.begin(), order, found->second);
      continue;
    }
    if (order.size() == most) { // reuse the evicted entry
      places.erase(order.back());
      order.splice(order.begin(), order, std::prev(order.end()));
      order.front() = chain[i];
    } else {
      order.push_front(chain[i]);
    }
    places[chain[i]] = order.begin();
  }
}

void SentBlocks::clear() {
  order.clear();
  places.clear();
}

/// The hashes of a simulation are private to it, so a constant secret suffices.
static constexpr PrefixHasher::Secret kSecret = [] {
  PrefixHasher::Secret secret{};
  for (size_t i = 0; i < secret.size(); ++i)
    secret[i] = std::byte((i * 167 + 13) & 255);
  return secret;
}();

Router::Router(const RouterOptions &routerOptions, size_t count)
    : options(routerOptions), bits(routerOptions.seed), hasher(kSecret) {
  for (size_t i = 0; i < count; ++i)
    replicas.push_back({0, 0, false, SentBlocks(options.blocks)});
}

bool Router::better(const Replica &a, const Replica &b) const {
  return a.load != b.load ? a.load < b.load : a.chosen < b.chosen;
}

int64_t Router::least() const {
  size_t best = able.front();
  for (size_t one : able)
    if (better(replicas[one], replicas[best]))
      best = one;
  return int64_t(best);
}

/// Returns a uniform number in [0, bound) that does not depend on the standard library.
uint64_t Router::drawBelow(uint64_t bound) {
  return uint64_t((static_cast<unsigned __int128>(bits()) * bound) >> 64);
}

void Router::hashBlocks(std::span<const int32_t> prompt) {
  chain.clear();
  const auto size = size_t(options.blockTokens);
  PageName name = hasher.root(0);
  for (size_t at = 0; at + size <= prompt.size(); at += size) {
    name = hasher.next(name, prompt.subspan(at, size));
    chain.push_back(name.low);
  }
}

/// Returns the replica with the longest match among the replicas with a load of at most `most`; -1 if none of them has
/// the first block.
int64_t Router::longestMatch(double most) const {
  int64_t best = -1;
  size_t matched = 0;
  for (size_t one : able) {
    const Replica &replica = replicas[one];
    if (double(replica.load) > most || (matched > 0 && !replica.sent.has(chain[matched - 1])))
      continue;
    size_t own = matched;
    while (own < chain.size() && replica.sent.has(chain[own]))
      ++own;
    if (own > matched || (own > 0 && better(replica, replicas[size_t(best)]))) {
      best = int64_t(one);
      matched = own;
    }
  }
  return best;
}

int64_t Router::choose(std::span<const int32_t> prompt, int64_t session) {
  switch (options.policy) {
  case RoutePolicy::Random:
    return int64_t(able[drawBelow(able.size())]);
  case RoutePolicy::RoundRobin:
    return int64_t(
        *std::ranges::min_element(able, {}, [this](size_t i) { return replicas[i].chosen; }));
  case RoutePolicy::Least:
    return least();
  case RoutePolicy::TwoChoices: {
    if (able.size() == 1)
      return int64_t(able.front());
    const uint64_t first = drawBelow(able.size());
    uint64_t second = drawBelow(able.size() - 1);
    second += second >= first;
    const size_t a = able[first], b = able[second];
    return int64_t(better(replicas[a], replicas[b]) ? a : b);
  }
  case RoutePolicy::Prefix: {
    hashBlocks(prompt);
    const int64_t lightest = least();
    const double most =
        double(replicas[size_t(lightest)].load) * options.loadFactor + options.loadSlack;
    const int64_t match = longestMatch(most), chosen = match < 0 ? lightest : match;
    replicas[size_t(chosen)].sent.remember(chain);
    return chosen;
  }
  case RoutePolicy::Session: {
    if (session < 0)
      return least();
    const PageName own = hasher.root(uint64_t(session));
    auto weight = [&](size_t replica) { return hasher.root(own.low ^ replica).low; };
    return int64_t(*std::ranges::max_element(able, {}, weight));
  }
  }
  return -1;
}

int64_t Router::send(std::span<const int32_t> prompt, int64_t session) {
  able.clear();
  for (size_t i = 0; i < replicas.size(); ++i)
    if (replicas[i].takes)
      able.push_back(i);
  if (able.empty())
    return -1;
  const int64_t chosen = choose(prompt, session);
  Replica &replica = replicas[size_t(chosen)];
  ++replica.load;
  replica.chosen = ++sends;
  return chosen;
}

} // namespace ingot::runtime
