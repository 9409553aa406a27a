//===- GenerationFields.h - Fields shared by all routes that generate ------===//
//
// Reads the fields for sampling, stops, limits and options of the answer. A name means the same on
// all of OpenAI's routes, including vLLM's extensions (top_k, min_p, repetition_penalty,
// ignore_eos, …).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/Fields.h"
#include "runtime/server/observe/RequestRecord.h"
#include "runtime/service/ServedModel.h"

#include <memory>
#include <optional>
#include <string>

namespace ingot::api {

constexpr size_t kMostStops = 64, // editors send all marks of their templates as stops
    kMostStopBytes = 256, kMostBias = 1024, kMostBadWords = 1024;

/// A request, without its prompts, after its fields were read and checked.
struct Generation {
  std::shared_ptr<service::ServedModel> model;
  runtime::RequestSettings request;
  int32_t choices = 1;
  bool stream = false;
  bool includeUsage = false;    ///< stream_options.include_usage
  bool continuousUsage = false; ///< usage in every chunk
  bool returnIds = false;       ///< return_token_ids: token ids of prompt and answer
  bool llamaCpp = false;        ///< the path is llama.cpp's, with its formats and n_probs
  bool timingsPerToken = false; ///< llama.cpp's field: every event of a stream has timings
  int64_t keepPrompt = -1;      ///< number of tokens to keep, from the end of the prompt; -1: all
  /// Where a chat's reasoning goes: into a field of its own (Apart), into that field as one piece even
  /// in a stream (InOnePiece), into the content with its marks (InContent), or nowhere (Hidden).
  enum class Reasoning : uint8_t { Apart, InOnePiece, InContent, Hidden };
  Reasoning reasoning = Reasoning::Apart;
  int apiKey = -1;                                ///< http::HttpRequest::apiKey
  std::string requestId;                          ///< X-Request-Id
  std::shared_ptr<observe::RequestRecord> record; ///< filled in during the request; null: not kept
};

/// Converts an error about a prompt of `promptIds` tokens, or about a prompt's text. If the prompt
/// does not fit, the error has ApiError::overflow. Its token count covers at most
/// kMostCountedAgain bytes of a long text.
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

/// Reads temperature … logit_bias, stop, seed, n, max_tokens, stream. The engine supplies the
/// defaults. `maxTokens`: names of the fields that may limit the new tokens.
void readGeneration(const Fields &body, Generation &out,
                    std::initializer_list<std::string_view> maxTokens);

/// Reads "prompt_logprobs", for routes that return them in answers (promptLogprobsJson).
void readPromptLogprobs(const Fields &body, Generation &out);
/// Returns vLLM's list of prompt_logprobs: null, then {"ID":{"logprob","rank","decoded_token"}} per
/// token.
std::string promptLogprobsJson(const service::ServedModel &model,
                               const std::vector<runtime::PromptScore> &scores);
/// Reduces the limit of new tokens to the room that the prompt leaves in the context, as Ollama and
/// llama.cpp do.
void takeWhatFits(Generation &generation, size_t promptIds);
/// Applies truncate_prompt_tokens: keeps only the last tokens of a prompt.
void truncatePrompt(const Generation &generation, std::vector<int32_t> &ids);

/// Refuses a field of an unsupported feature, so that clients do not assume that it works. Values in
/// `harmless` (JSON texts) are accepted, all others are an error.
void refuseUnsupported(const Fields &body, std::string_view name, std::string_view why,
                       std::initializer_list<std::string_view> harmless = {});

/// The grammar that a request sets for its answers.
struct AskedGrammar {
  text::GrammarKind kind;
  std::string source;
  std::string field; ///< path of the field that sets it
};
/// Reads response_format of chat, structured_outputs, the guided_* fields, grammar and json_schema.
/// Returns nullopt if any text is allowed.
std::optional<AskedGrammar> readGrammar(const Fields &body);
/// Closes the objects of a schema as Ollama, llama.cpp and vLLM do: an object may have only the keys
/// that its schema names (text::closeObjects). An invalid schema stays unchanged and fails when it is
/// compiled.
std::string withClosedObjects(std::string schema);
/// Compiles the request's grammar, if there is one, for the generation. Errors name the field.
std::optional<ApiError> takeGrammar(const std::optional<AskedGrammar> &asked,
                                    Generation &generation);
/// Compiles a grammar. Errors name the field.
Outcome<std::shared_ptr<const text::Grammar>> compileGrammar(service::ServedModel &model,
                                                             const AskedGrammar &asked);

} // namespace ingot::api
