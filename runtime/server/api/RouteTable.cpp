//===- RouteTable.cpp - The rows, and what no engine has --------------------===//
#include "runtime/server/api/RouteTable.h"

#include "runtime/server/api/Live.h"
#include "runtime/server/api/Prompts.h"

#include "runtime/json/JsonText.h"

namespace ingot::api {

namespace {

/// Rerankers and classifiers have another head: none of the engines that there are has one.
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
                     " writes text and embeddings; it has no head that scores",
                 "model", "unsupported_model"};
  return error;
}

constexpr Dialect kOpenAI = Dialect::OpenAI, kAnthropic = Dialect::Anthropic,
                  kOllama = Dialect::Ollama, kCohere = Dialect::Cohere;
constexpr const char *kChat = "OpenAI's chat", *kCompletions = "text that goes on",
                     *kEmbeddings = "embeddings", *kResponses = "OpenAI's responses, stateless",
                     *kScores = "needs a model that scores: refused";

constexpr PostRoute kPosts[] = {
    {"/v1/chat/completions", chatCompletions, true, kOpenAI, kChat},
    {"/chat/completions", chatCompletions, true, kOpenAI, kChat},
    {"/v1/completions", completions, true, kOpenAI, kCompletions},
    {"/completions", completions, true, kOpenAI, kCompletions},
    {"/v1/fim/completions", fillMiddle, true, kOpenAI, "Mistral's: what stands between two texts"},
    {"/v1/embeddings", embeddings, true, kOpenAI, kEmbeddings},
    {"/embeddings", embeddings, true, kOpenAI, kEmbeddings},
    {"/v1/responses", responses, true, kOpenAI, kResponses},
    {"/responses", responses, true, kOpenAI, kResponses},
    {"/v1/messages", messages, true, kAnthropic, "Anthropic's messages"},
    {"/v1/messages/count_tokens", countTokens, false, kAnthropic, "ids that messages take"},
    {"/api/chat", ollamaChat, true, kOllama, "Ollama's chat"},
    {"/api/generate", ollamaGenerate, true, kOllama, "Ollama's completion"},
    {"/api/embed", ollamaEmbed, true, kOllama, "Ollama's embeddings"},
    {"/api/embeddings", ollamaEmbed, true, kOllama, "Ollama's older embeddings"},
    {"/api/show", ollamaShow, false, kOllama, "a model, as Ollama describes it"},
    {"/completion", llamaCompletion, true, kOpenAI, "llama.cpp's completion"},
    {"/infill", llamaInfill, true, kOpenAI, "llama.cpp's: what stands between two texts"},
    {"/tokenize", tokenize, false, kOpenAI, "ids of a text or of messages"},
    {"/detokenize", detokenize, false, kOpenAI, "the text of ids"},
    {"/apply-template", applyTemplate, false, kOpenAI, "messages as the model reads them"},
    {"/live/cancel", cancelRequest, false, kOpenAI, "ends a request that is under way"},
    {"/v1/rerank", scoring, false, kCohere, kScores},
    {"/v2/rerank", scoring, false, kCohere, kScores},
    {"/rerank", scoring, false, kCohere, kScores},
    {"/v1/score", scoring, false, kOpenAI, kScores},
    {"/score", scoring, false, kOpenAI, kScores},
    {"/classify", scoring, false, kOpenAI, kScores},
    {"/pooling", scoring, false, kOpenAI, kScores},
};

constexpr const char *kHealth = "200 while all is well", *kModels = "the models";

constexpr GetRoute kGets[] = {
    {"/health", nullptr, kHealth},
    {"/v1/health", nullptr, kHealth},
    {"/ping", nullptr, kHealth},
    {"/v1/models", listModels, kModels},
    {"/models", listModels, kModels},
    {"/tokenizer_info", tokenizerInfo, "control tokens and chat template"},
    {"/metrics", nullptr, "figures for Prometheus"},
    {"/version", nullptr, "of this program"},
    {"/live.json", nullptr, "what the server does"},
    {"/props", llamaProps, "the first model, as llama.cpp describes it"},
    {"/slots", llamaSlots, "requests under way, as llama.cpp describes them"},
    {"/api/tags", ollamaTags, "the models, as Ollama lists them"},
    {"/api/ps", ollamaRunning, "the models, all of which are loaded"},
    {"/api/version", nullptr, "of this program"},
    {"/openapi.json", openApi, "this"},
    {"/docs", openApiPage, "the same, to read"},
};

} // namespace

std::span<const PostRoute> postRoutes() { return kPosts; }
std::span<const GetRoute> getRoutes() { return kGets; }

std::string errorText(const ApiError &error, Dialect dialect) {
  switch (dialect) {
  case Dialect::Anthropic:
    return error.anthropicBody();
  case Dialect::Ollama: {
    const bool named = error.param.empty() || error.message.starts_with(error.param);
    return runtime::JsonText()
        .open('{')
        .key("error")
        .value(named ? error.message : error.param + ": " + error.message)
        .close()
        .text();
  }
  case Dialect::Cohere: {
    runtime::JsonText json;
    json.open('{').key("message").value(error.message).close();
    return json.text().substr(0, json.text().size() - 1) + "," + error.body().substr(1);
  }
  case Dialect::OpenAI:
    break;
  }
  return error.body();
}

} // namespace ingot::api
