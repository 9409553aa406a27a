//===- GenerationFields.h - What the routes that generate have in common ---===//
//
// Sampling, stops, limits and how the answer is wanted: the same names mean the same on all of
// OpenAI's routes, with vLLM's extras (top_k, min_p, repetition_penalty, ignore_eos, …).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/Fields.h"
#include "runtime/server/observe/RequestRecord.h"
#include "runtime/service/ServedModel.h"

#include <memory>
#include <optional>
#include <string>

namespace ingot::api {

constexpr size_t kMostStops = 64, // editors give the marks of their templates
    kMostStopBytes = 256, kMostBias = 1024, kMostBadWords = 1024;

/// One request, read and checked but for the length of its prompt.
struct Generation {
  std::shared_ptr<service::ServedModel> model;
  runtime::Request request;
  int32_t choices = 1;
  bool stream = false;
  bool includeUsage = false;    ///< stream_options.include_usage
  bool continuousUsage = false; ///< and in every chunk
  bool returnIds = false;       ///< return_token_ids: of prompt and answer
  bool llamaCpp = false;        ///< for one of its paths: in its shapes, with n_probs
  bool timingsPerToken = false; ///< llama.cpp's: each event of a stream has timings
  int64_t keepPrompt = -1;      ///< ids of the prompt that are kept, its last ones; -1: all
  /// Where a chat's reasoning comes: beside the content, there in one piece of a stream, as text of
  /// the content with its marks, or nowhere.
  enum class Reasoning : uint8_t { Apart, InOnePiece, InContent, Hidden };
  Reasoning reasoning = Reasoning::Apart;
  int apiKey = -1;                                ///< http::Request::apiKey
  std::string requestId;                          ///< X-Request-Id
  std::shared_ptr<observe::RequestRecord> record; ///< to be filled; null: nobody looks
};

/// What the runtime refuses of a prompt of so many ids, or of a text that was to be one: where it does
/// not fit, with the numbers of ApiError::overflow. Of a long text no more than kMostCountedAgain bytes
/// are counted.
ApiError promptError(const Error &error, std::string param, const Generation &generation,
                     int64_t promptIds);
ApiError promptError(const Error &error, std::string param, const Generation &generation,
                     std::string_view text);
constexpr size_t kMostCountedAgain = 256 << 10;

/// 404 that lists the models.
ApiError unknownModel(const service::ModelRegistry &models);
/// The model that "model" names, or the field that does. 404 if there is none.
std::optional<std::shared_ptr<service::ServedModel>> readModel(const Fields &body,
                                                               const service::ModelRegistry &models,
                                                               std::optional<ApiError> &notFound,
                                                               std::string_view field = "model");

/// temperature … logit_bias, stop, seed, n, max_tokens, stream; defaults are the engine's own.
/// `maxTokens`: the names that may hold the most new tokens.
void readGeneration(const Fields &body, Generation &out,
                    std::initializer_list<std::string_view> maxTokens);

/// "prompt_logprobs", of the routes that write them (promptLogprobsJson).
void readPromptLogprobs(const Fields &body, Generation &out);
/// vLLM's list of them: null, then {"ID":{"logprob","rank","decoded_token"}} for each id.
std::string promptLogprobsJson(const service::ServedModel &model,
                               const std::vector<runtime::PromptScore> &scores);
/// The most new tokens as Ollama and llama.cpp have it: no more than the context leaves.
void takeWhatFits(Generation &generation, size_t promptIds);
/// truncate_prompt_tokens: what is kept of a prompt.
void truncatePrompt(const Generation &generation, std::vector<int32_t> &ids);

/// Refuses fields that ask for what is not there, so that nobody believes they had an effect:
/// a value other than `harmless` (JSON texts) is an error.
void refuseUnsupported(const Fields &body, std::string_view name, std::string_view why,
                       std::initializer_list<std::string_view> harmless = {});

/// What an answer must match, as a request says it.
struct AskedGrammar {
  text::GrammarKind kind;
  std::string source;
  std::string field; ///< that said it, as a path
};
/// response_format of chat, structured_outputs, the guided_* fields, grammar and json_schema;
/// nullopt: any text may be given.
std::optional<AskedGrammar> readGrammar(const Fields &body);
/// A schema as Ollama, llama.cpp and vLLM read it, whose objects have no keys but those that they
/// name (text::closeObjects); one with errors stays as it is, and fails when it is compiled.
std::string withClosedObjects(std::string schema);
/// Has the request's answers match what was asked for, if anything was; errors name the field.
std::optional<ApiError> takeGrammar(const std::optional<AskedGrammar> &asked,
                                    Generation &generation);
/// Compiles it; errors name the field.
Outcome<std::shared_ptr<const text::Grammar>> compileGrammar(service::ServedModel &model,
                                                             const AskedGrammar &asked);

} // namespace ingot::api
