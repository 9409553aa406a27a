//===- Prompts.h - What the clients of a load run ask ----------------------===//
//
// Random words: common English ones, nearly all of them one token in every vocabulary, so that no
// tokenizer is needed here. How many tokens the server really makes of them is learned from two
// requests before the run (fit()); what counts in the results is what the server says of each.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::load {

enum class Route : uint8_t { Completions, Chat };

/// One request to be made. `body` is a JSON object without its last brace; model, stream and the
/// like are added to it.
struct Prompt {
  std::string body;        ///< "{\"prompt\":\"…\",\"max_tokens\":64"
  int64_t inputTokens = 0; ///< as far as is known here; 0: not
  int64_t outputTokens = 0;
};

struct RandomShape {
  int64_t promptTokens = 128, outputTokens = 64, prefixTokens = 0;
  double rangeRatio = 0; ///< lengths are even in n (1 - r) … n (1 + r)
};

/// Tokens that the server counts for a prompt of words: fixed + perWord × words.
struct TokenFit {
  double fixed = 0, perWord = 1;
};
TokenFit fit(int64_t fewWords, int64_t fewTokens, int64_t manyWords, int64_t manyTokens);

class Prompts {
public:
  /// Endless, a function of the seed.
  static Prompts random(Route route, RandomShape shape, TokenFit fit, uint64_t seed);
  /// Requests of a file, in order, again from the start when they run out: a JSON array or one
  /// object a line, each of these:
  ///   {"conversations": [{"from": "human", "value": …}, …]}   ShareGPT's: the first turn
  ///   {"messages": […], …}  or  {"prompt": …, …}              a body of OpenAI's
  ///   {"custom_id": …, "body": {…}}                           a line of OpenAI's batch format
  /// Where a request says no max_tokens, `outputTokens`. E0587 (exit 3) for a file that has none.
  static Result<Prompts> file(const std::string &path, Route route, int64_t outputTokens);

  Prompt next();

private:
  Route route = Route::Completions;
  RandomShape shape;
  TokenFit tokens;
  std::string prefix;
  std::mt19937_64 generator;
  std::vector<Prompt> fixed;
  size_t at = 0;
};

/// A body that asks for that text, as Prompt::body.
std::string bodyOf(Route route, std::string_view text, int64_t outputTokens);
/// So many random words.
std::string words(int64_t count, std::mt19937_64 &generator);

} // namespace ingot::load
