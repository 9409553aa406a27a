//===- Prompts.h - Prompts of a load run -----------------------------------===//
//
// Prompts are random common English words. Nearly all of them are one token in every vocabulary, so
// no tokenizer is needed here. Two requests before the run show how many tokens the server counts
// for a number of words (fit()). The results use the counts that the server reports for each request.
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

/// One request to send. `body` is a JSON object without its last brace; model, stream and similar
/// members are added to it.
struct Prompt {
  std::string body;        ///< "{\"prompt\":\"…\",\"max_tokens\":64"
  int64_t inputTokens = 0; ///< 0: only the server knows it
  int64_t outputTokens = 0;
};

struct RandomShape {
  int64_t promptTokens = 128, outputTokens = 64, prefixTokens = 0;
  double rangeRatio = 0; ///< lengths are uniform in n (1 - r) … n (1 + r)
};

/// The number of tokens that the server counts for a prompt: fixed + perWord × words.
struct TokenFit {
  double fixed = 0, perWord = 1;
};
TokenFit fit(int64_t fewWords, int64_t fewTokens, int64_t manyWords, int64_t manyTokens);

class Prompts {
public:
  /// Returns an endless sequence of prompts that the seed determines.
  static Prompts random(Route route, RandomShape shape, TokenFit fit, uint64_t seed);
  /// Returns the requests of a file, in order, starting over at the end. The file is a JSON array
  /// or has one object per line, each in one of these forms:
  ///   {"conversations": [{"from": "human", "value": …}, …]}   ShareGPT's: the first turn
  ///   {"messages": […], …}  or  {"prompt": …, …}              a body of OpenAI's
  ///   {"custom_id": …, "body": {…}}                           a line of OpenAI's batch format
  /// A request without max_tokens gets `outputTokens`. Errors: E0587, exit 3: the file has no
  /// requests.
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

/// Returns a body with the prompt `text`, in the form of Prompt::body.
std::string bodyOf(Route route, std::string_view text, int64_t outputTokens);
/// Returns `count` random words.
std::string words(int64_t count, std::mt19937_64 &generator);

} // namespace ingot::load
