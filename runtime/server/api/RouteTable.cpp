//===- RouteTable.cpp - The table, and unsupported routes -------------------===//
#include "runtime/server/api/RouteTable.h"

#include "runtime/server/api/Live.h"
#include "runtime/server/api/Prompts.h"

#include "runtime/json/JsonText.h"

namespace ingot::api {

namespace {

/// Refuses scoring. Rerankers and classifiers need another head, which no engine has.
std::optional<ApiError> scoring(Call &call) {
  if (call.request->path.ends_with("rerank")) {
    call.body->require("query");
    call.body->require("documents");
    (void)call.body->text("query", kMostPromptBytes);
    (void)call.body->integer("top_n", 1, 1 << 30);
    if (call.document.error())
      return call.document.error();
  }
  ApiError error{400,
                 call.request->path + ": the model " + call.generation.model->name() +
                     " generates text and embeddings; it has no scoring head",
                 "model", "unsupported_model"};
  return error;
}

constexpr Dialect kOpenAI = Dialect::OpenAI, kAnthropic = Dialect::Anthropic,
                  kOllama = Dialect::Ollama, kLlama = Dialect::LlamaCpp, kCohere = Dialect::Cohere;
constexpr const char *kChat = "OpenAI's chat", *kCompletions = "text completion",
                     *kEmbeddings = "embeddings", *kResponses = "OpenAI's responses, stateless",
                     *kLlamaEmbeddings = "embeddings in llama.cpp's format",
                     *kCounts = "number of ids in a request",
                     *kScores = "needs a scoring model: refused";

constexpr PostRoute kPosts[] = {
    {"/v1/chat/completions", chatCompletions, true, kOpenAI, kChat},
    {"/chat/completions", chatCompletions, true, kLlama, kChat},
    {"/v1/completions", completions, true, kOpenAI, kCompletions},
    {"/completions", llamaCompletion, true, kLlama, "llama.cpp's completion"},
    {"/v1/fim/completions", fillMiddle, true, kOpenAI, "Mistral's fill-in-the-middle"},
    {"/v1/embeddings", embeddings, true, kOpenAI, kEmbeddings},
    {"/embeddings", embeddings, true, kLlama, kLlamaEmbeddings},
    {"/embedding", embeddings, true, kLlama, kLlamaEmbeddings},
    {"/v1/responses", responses, true, kOpenAI, kResponses},
    {"/responses", responses, true, kLlama, kResponses},
    {"/v1/messages", messages, true, kAnthropic, "Anthropic's messages"},
    {"/v1/messages/count_tokens", countTokens, false, kAnthropic, "number of ids in messages"},
    {"/api/chat", ollamaChat, true, kOllama, "Ollama's chat"},
    {"/api/generate", ollamaGenerate, true, kOllama, "Ollama's completion"},
    {"/api/embed", ollamaEmbed, true, kOllama, "Ollama's embeddings"},
    {"/api/embeddings", ollamaEmbed, true, kOllama, "Ollama's older embeddings"},
    {"/api/show", ollamaShow, false, kOllama, "a model, as Ollama describes it"},
    {"/completion", llamaCompletion, true, kLlama, "llama.cpp's completion"},
    {"/infill", llamaInfill, true, kLlama, "llama.cpp's fill-in-the-middle"},
    {"/tokenize", tokenize, false, kOpenAI, "ids of a text or of messages"},
    {"/detokenize", detokenize, false, kOpenAI, "the text of ids"},
    {"/v1/chat/completions/input_tokens", countChat, false, kOpenAI, kCounts},
    {"/chat/completions/input_tokens", countChat, false, kLlama, kCounts},
    {"/v1/responses/input_tokens", countResponse, false, kOpenAI, kCounts},
    {"/responses/input_tokens", countResponse, false, kLlama, kCounts},
    {"/apply-template", applyTemplate, false, kLlama, "messages as the model receives them"},
    {"/live/cancel", cancelRequest, false, kOpenAI, "cancels a running request"},
    {"/v1/rerank", scoring, false, kCohere, kScores},
    {"/v2/rerank", scoring, false, kCohere, kScores},
    {"/rerank", scoring, false, kCohere, kScores},
    {"/v1/score", scoring, false, kOpenAI, kScores},
    {"/score", scoring, false, kOpenAI, kScores},
    {"/classify", scoring, false, kOpenAI, kScores},
    {"/pooling", scoring, false, kOpenAI, kScores},
};

constexpr const char *kHealth = "200 while the server is healthy", *kModels = "the models";

constexpr GetRoute kGets[] = {
    {"/health", nullptr, kHealth},
    {"/v1/health", nullptr, kHealth},
    {"/ping", nullptr, kHealth},
    {"/v1/models", listModels, kModels},
    {"/models", listModels, kModels},
    {"/tokenizer_info", tokenizerInfo, "control tokens and chat template"},
    {"/metrics", nullptr, "figures for Prometheus"},
    {"/version", nullptr, "version of this program"},
    {"/live.json", nullptr, "current activity of the server"},
    {"/props", llamaProps, "the first model, as llama.cpp describes it"},
    {"/slots", llamaSlots, "running requests, as llama.cpp describes them"},
    {"/api/tags", ollamaTags, "the models, as Ollama lists them"},
    {"/api/ps", ollamaRunning, "the models, all of which are loaded"},
    {"/api/version", nullptr, "the version of Ollama with these routes"},
    {"/openapi.json", openApi, "this document"},
    {"/docs", openApiPage, "this document as a page"},
};

} // namespace

std::span<const PostRoute> postRoutes() { return kPosts; }
std::span<const GetRoute> getRoutes() { return kGets; }

std::string errorText(const ApiError &error, Dialect dialect) {
  switch (dialect) {
  case Dialect::Anthropic:
    return error.anthropicBody();
  case Dialect::Ollama:
    return error.ollamaBody();
  case Dialect::LlamaCpp:
    return error.llamaCppBody();
  case Dialect::Cohere:
    return error.cohereBody();
  case Dialect::OpenAI:
    break;
  }
  return error.body();
}

} // namespace ingot::api
