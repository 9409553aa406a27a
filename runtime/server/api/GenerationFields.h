//===- GenerationFields.h - Fields shared by all routes that generate ------===//
//
// Sampling, stops, limits and options of the answer. The same names mean the same on all of
// OpenAI's routes, including vLLM's extensions (top_k, min_p, repetition_penalty, ignore_eos, …).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/Fields.h"
#include "runtime/server/observe/RequestRecord.h"
#include "runtime/service/ServedModel.h"

#include <memory>
#include <optional>
#include <string>

namespace ingot::api {

constexpr size_t kMostStops = 64, // editors send the marks of their templates
    kMostStopBytes = 256, kMostBias = 1024, kMostBadWords = 1024;

/// A request whose fields are read and checked, without its prompts.
struct Generation {
  std::shared_ptr<service::ServedModel> model;
  runtime::RequestSettings request;
  int32_t choices = 1;
  bool stream = false;
  bool includeUsage = false;    ///< stream_options.include_usage
  bool continuousUsage = false; ///< usage in every chunk
  bool returnIds = false;       ///< return_token_ids: ids of prompt and answer
  bool llamaCpp = false;        ///< a path of llama.cpp: its formats, with n_probs
  bool timingsPerToken = false; ///< llama.cpp's: timings in each event of a stream
  int64_t keepPrompt = -1;      ///< number of ids to keep, from the end of the prompt; -1: all
  /// Where a chat's reasoning goes: into a field of its own (InOnePiece: sent whole, even in a
  /// stream); into the content, with its marks; or nowhere.
  enum class Reasoning : uint8_t { Apart, InOnePiece, InContent, Hidden };
  Reasoning reasoning = Reasoning::Apart;
  int apiKey = -1;                                ///< http::HttpRequest::apiKey
  std::string requestId;                          ///< X-Request-Id
  std::shared_ptr<observe::RequestRecord> record; ///< to be filled in; null: none is kept
};

/// Converts an error about a prompt of `promptIds` ids, or about a prompt's text. If the prompt
/// does not fit, the error has ApiError::overflow. No more than kMostCountedAgain bytes of a long
/// text are counted.
ApiError promptError(const Error &error, std::string param, const Generation &generation,
                     int64_t promptIds);
ApiError promptError(const Error &error, std::string param, const Generation &generation,
                     std::string_view text);
constexpr size_t kMostCountedAgain = 256 << 10;

/// Returns a 404 that lists the models.
ApiError unknownModel(const service::ModelRegistry &models);
/// Finds the model that `field` names. `notFound` receives a 404 if there is none.
std::optional<std::shared_ptr<service::ServedModel>> readModel(const Fields &body,
                                                               const service::ModelRegistry &models,
                                                               std::optional<ApiError> &notFound,
                                                               std::string_view field = "model");

/// Reads temperature … logit_bias, stop, seed, n, max_tokens, stream. Defaults are the engine's
/// own. `maxTokens`: names of the fields that may limit the new tokens.
void readGeneration(const Fields &body, Generation &out,
                    std::initializer_list<std::string_view> maxTokens);

/// Reads "prompt_logprobs", for routes that write them (promptLogprobsJson).
void readPromptLogprobs(const Fields &body, Generation &out);
/// Returns vLLM's list of prompt_logprobs: null, then {"ID":{"logprob","rank","decoded_token"}} per
/// id.
std::string promptLogprobsJson(const service::ServedModel &model,
                               const std::vector<runtime::PromptScore> &scores);
/// Reduces the limit of new tokens to what the context leaves, as Ollama and llama.cpp do.
void takeWhatFits(Generation &generation, size_t promptIds);
/// Applies truncate_prompt_tokens: keeps only the last ids of a prompt.
void truncatePrompt(const Generation &generation, std::vector<int32_t> &ids);

/// Refuses fields for unsupported features, so that clients do not assume that they work. A value
/// that is not in `harmless` (JSON texts) is an error.
void refuseUnsupported(const Fields &body, std::string_view name, std::string_view why,
                       std::initializer_list<std::string_view> harmless = {});

/// The grammar that a request demands of its answers.
struct AskedGrammar {
  text::GrammarKind kind;
  std::string source;
  std::string field; ///< path of the field that demands it
};
/// Reads response_format of chat, structured_outputs, the guided_* fields, grammar and json_schema.
/// Returns nullopt if any text is allowed.
std::optional<AskedGrammar> readGrammar(const Fields &body);
/// Closes the objects of a schema as Ollama, llama.cpp and vLLM do: they allow only the keys that
/// they name (text::closeObjects). An invalid schema stays unchanged and fails when it is compiled.
std::string withClosedObjects(std::string schema);
/// Applies the grammar that the request asks for, if any. Errors name the field.
std::optional<ApiError> takeGrammar(const std::optional<AskedGrammar> &asked,
                                    Generation &generation);
/// Compiles a grammar. Errors name the field.
Outcome<std::shared_ptr<const text::Grammar>> compileGrammar(service::ServedModel &model,
                                                             const AskedGrammar &asked);

} // namespace ingot::api
