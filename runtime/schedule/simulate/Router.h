//===- Router.h - Which replica gets a request -----------------------------===//
//
// The policies of routers that stand in front of replicas, with what such a router knows: what it
// has sent where, what has ended, and what prompts begin with. Names of pages are secret to each
// process, so it remembers prefixes by hashes of its own:
//
//   prompt  [ 16 ids | 16 ids | 16 ids | rest ]     block k's hash covers all before it
//              h0       h1       h2
//   sent    replica 0: h0 h1      replica 1: h0 h1 h2       so many per replica, the one that was
//                                 ^ longest match           sent longest ago is forgotten first
//
// A replica is overloaded if its load, requests that were sent there and have not ended, is above
//
//   least load * loadFactor + loadSlack
//
// since a queue costs more than a prefix. Of the others the one with the longest match gets the
// request; where nothing matches, the least loaded does.
// Who sends the first blocks of a prompt sends those behind them later or never, and they are
// remembered last to first; so whoever has block k has all before it.
//
// Ties go to whoever was chosen longest ago: the spread of round-robin, without chance.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kv/PrefixHash.h"

#include <cstdint>
#include <list>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

namespace ingot::runtime {

enum class RoutePolicy : uint8_t {
  Random,
  RoundRobin,
  Least,      ///< fewest requests that have not ended
  TwoChoices, ///< the less loaded of two at random
  Prefix,
  Session, ///< a conversation stays where it is; rendezvous hashing (Thaler and Ravishankar 1998)
};

struct RouterOptions {
  RoutePolicy policy = RoutePolicy::Least;
  int64_t blockTokens = 16;
  int64_t blocks = 32768; ///< remembered for each replica
  double loadFactor = 1.25, loadSlack = 4;
  uint64_t seed = 1;
};

/// Blocks that were sent to one replica.
class SentBlocks {
public:
  explicit SentBlocks(int64_t most) : most(size_t(most)) {}

  bool has(uint64_t block) const { return places.contains(block); }
  /// Hashes of a prompt's blocks, from its beginning.
  void remember(std::span<const uint64_t> chain);
  void clear();
  size_t size() const { return places.size(); }

private:
  size_t most;
  std::list<uint64_t> order; ///< the last that was sent first
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> places;
};

class Router {
public:
  Router(const RouterOptions &options, size_t replicas);

  /// Whether prompts matter: others may be empty.
  bool readsPrompts() const { return options.policy == RoutePolicy::Prefix; }

  /// Where the request goes, which then counts as sent; -1: no replica takes any.
  int64_t send(std::span<const int32_t> prompt, int64_t session);
  /// A request that was sent there has ended, in whatever way.
  void ended(size_t replica) { --replicas[replica].load; }
  /// Whether requests go there. None do at first.
  void take(size_t replica, bool takes) { replicas[replica].takes = takes; }
  /// It begins anew, and has nothing.
  void forget(size_t replica) { replicas[replica].sent.clear(); }

  int64_t load(size_t replica) const { return replicas[replica].load; }

private:
  struct Replica {
    int64_t load = 0;
    uint64_t chosen = 0; ///< when, last
    bool takes = false;
    SentBlocks sent;
  };

  int64_t choose(std::span<const int32_t> prompt, int64_t session);
  int64_t least() const;
  int64_t longestMatch(double most) const;
  bool better(const Replica &a, const Replica &b) const;
  uint64_t drawBelow(uint64_t bound);
  void hashBlocks(std::span<const int32_t> prompt);

  RouterOptions options;
  std::vector<Replica> replicas;
  std::mt19937_64 bits;
  PrefixHasher hasher;
  uint64_t sends = 0;
  std::vector<uint64_t> chain; ///< of the prompt that is sent
  std::vector<size_t> able;    ///< replicas that take requests
};

} // namespace ingot::runtime
