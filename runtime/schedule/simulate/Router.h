//===- Router.h - Chooses the replica for a request ------------------------===//
//
// Implements the policies of routers in front of replicas. A router knows only which requests it has sent to each
// replica, which of them have ended, and the beginnings of prompts. Page names are private to each process, so the
// router identifies prefixes by hashes of its own:
//
//   prompt  [ 16 ids | 16 ids | 16 ids | rest ]     the hash of a block covers all blocks before
//              h0       h1       h2                 it
//   sent    replica 0: h0 h1      replica 1: h0 h1 h2       bounded per replica; the block sent
//                                 ^ longest match           longest ago is evicted first
//
// A replica is overloaded if its load, the number of its unfinished requests, exceeds
//
//   least load * loadFactor + loadSlack
//
// since queueing costs more than a prefix saves. Of the other replicas, the one with the longest match gets the
// request. Without a match, the least loaded one does. The blocks of a prompt are stored together, last to first,
// so that the last is evicted first. A replica that has block k therefore has all blocks before it.
//
// Ties go to the replica that was chosen least recently. This spreads requests like round-robin, without
// randomness.
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
  Least,      ///< fewest unfinished requests
  TwoChoices, ///< the less loaded of two random replicas
  Prefix,
  Session, ///< a conversation stays on its replica; rendezvous hashing (Thaler and Ravishankar
           ///< 1998)
};

struct RouterOptions {
  RoutePolicy policy = RoutePolicy::Least;
  int64_t blockTokens = 16;
  int64_t blocks = 32768; ///< number of blocks stored for each replica
  double loadFactor = 1.25, loadSlack = 4;
  uint64_t seed = 1;
};

/// The blocks that were sent to one replica.
class SentBlocks {
public:
  explicit SentBlocks(int64_t most) : most(size_t(most)) {}

  bool has(uint64_t block) const { return places.contains(block); }
  /// Stores the hashes of a prompt's blocks, given from its beginning.
  void remember(std::span<const uint64_t> chain);
  void clear();
  size_t size() const { return places.size(); }

private:
  size_t most;
  std::list<uint64_t> order; ///< most recently sent first
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> places;
};

class Router {
public:
  Router(const RouterOptions &options, size_t replicas);

  /// Returns whether the policy uses prompts. If not, they may be empty.
  bool readsPrompts() const { return options.policy == RoutePolicy::Prefix; }

  /// Chooses a replica and counts the request as sent; -1 if no replica accepts requests.
  int64_t send(std::span<const int32_t> prompt, int64_t session);
  /// Called when a request that was sent to `replica` has ended, successfully or not.
  void ended(size_t replica) { --replicas[replica].load; }
  /// Sets whether the replica accepts requests. Initially none does.
  void take(size_t replica, bool takes) { replicas[replica].takes = takes; }
  /// Called when the replica restarts with an empty cache.
  void forget(size_t replica) { replicas[replica].sent.clear(); }

  int64_t load(size_t replica) const { return replicas[replica].load; }

private:
  struct Replica {
    int64_t load = 0;
    uint64_t chosen = 0; ///< value of `sends` when it was last chosen
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
  std::vector<uint64_t> chain; ///< block hashes of the prompt that is being sent
  std::vector<size_t> able;    ///< replicas that accept requests
};

} // namespace ingot::runtime
