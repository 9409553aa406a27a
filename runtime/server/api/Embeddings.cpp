//===- Embeddings.cpp - /v1/embeddings --------------------------------------===//
//
// An embedding is the model's hidden state after its last norm, scaled to length 1. "pooling"
// chooses the state: "last" is the state of the last token, for which decoder embedding models are trained, and "mean"
// is the mean of the states of all tokens.
//===----------------------------------------------------------------------===//
#include "runtime/server/api/AnswerStream.h"
#include "runtime/server/api/Prompts.h"
#include "runtime/server/api/Routes.h"

#include "runtime/engine/EngineFile.h"
#include "runtime/json/JsonText.h"

#include <bit>

namespace ingot::api {

namespace {

using runtime::JsonText;

constexpr size_t kMostInputs = 2048; // OpenAI's limit

std::string base64(std::span<const float> values) {
  static_assert(std::endian::native == std::endian::little, "clients expect little-endian floats");
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto *bytes = reinterpret_cast<const unsigned char *>(values.data());
  const size_t size = values.size_bytes();
  std::string out;
  for (size_t i = 0; i < size; i += 3) {
    const size_t left = size - i;
    const uint32_t word = uint32_t(bytes[i]) << 16 | uint32_t(left > 1 ? bytes[i + 1] : 0) << 8 |
                          uint32_t(left > 2 ? bytes[i + 2] : 0);
    out += kDigits[word >> 18];
    out += kDigits[word >> 12 & 63];
    out += left > 1 ? kDigits[word >> 6 & 63] : '=';
    out += left > 2 ? kDigits[word & 63] : '=';
  }
  return out;
}

class EmbeddingStream final : public AnswerStream {
public:
  /// `llama`: answers in llama.cpp's format, [{"index","embedding":[[…]]}].
  EmbeddingStream(Generation generation, std::shared_ptr<http::Responder> responder, bool asBase64,
                  bool llama)
      : AnswerStream(std::move(generation), std::move(responder)), asBase64(asBase64),
        llama(llama) {}

private:
  void token(const service::Output &) override {}

  void ended(const service::Output &output) override {
    found.resize(size_t(choices()));
    JsonText json;
    if (asBase64) {
      json.value(base64(output.embedding));
    } else {
      json.open('[');
      for (float value : output.embedding)
        json.value(double(value));
      json.close();
    }
    found[size_t(output.choice)] = json.text();
  }

  void finished() override {
    JsonText json;
    if (llama) {
      json.open('[');
      for (size_t i = 0; i < found.size(); ++i)
        json.open('{').key("index").value(i).key("embedding").raw("[" + found[i] + "]").close();
      return response().send(200, "application/json", json.close().text());
    }
    json.open('{').key("object").value("list").key("model").value(asked().model->name());
    json.key("data").open('[');
    for (size_t i = 0; i < found.size(); ++i) {
      json.open('{').key("object").value("embedding").key("index").value(i).key("embedding");
      json.raw(found[i]);
      json.close();
    }
    json.close().key("usage").open('{').key("prompt_tokens").value(usage.prompt);
    json.key("total_tokens").value(usage.prompt).close();
    response().send(200, "application/json", json.close().text());
  }

  std::string errorText(const ApiError &error) const override {
    return llama ? error.llamaCppBody() : error.body();
  }

  bool asBase64, llama;
  /// The embeddings so far. Each is formatted when it arrives, so that the end delays no other request.
  std::vector<std::string> found;
};

} // namespace

std::optional<ApiError> embeddings(Call &call) {
  const Fields &body = *call.body;
  Generation generation = std::move(call.generation);
  auto format = body.oneOf("encoding_format", {"float", "base64"});
  auto pooling = body.oneOf("pooling", {"last", "mean"});
  const int64_t width = generation.model->session().engine().table().model()->hidden();
  (void)body.integer("dimensions", width, width);
  (void)body.text("user", 1 << 10);
  std::vector<std::vector<int32_t>> prompts;
  std::vector<std::string> texts;
  const bool llama = !call.request->path.starts_with("/v1/");
  const char *field = llama && !body.has("input") && body.has("content") ? "content" : "input";
  readPrompts(body, field, generation, prompts, texts, kMostInputs);
  if (call.document.error())
    return call.document.error();
  for (const std::string &text : texts) {
    auto ids = generation.model->session().encodeToFit(text, runtime::PromptText::Embedded);
    if (!ids)
      return promptError(ids.error(), field, generation, text);
    prompts.push_back(std::move(*ids));
  }
  generation.request.pooling = pooling == "mean" ? runtime::Pooling::Mean : runtime::Pooling::Last;
  generation.request.maxTokens = 1;
  generation.request.cachePrefix = false; // this route reads no cache_salt
  auto stream = std::make_shared<EmbeddingStream>(std::move(generation), call.responder,
                                                  format == "base64", llama);
  auto error =
      AnswerStream::submit(std::move(stream), std::move(prompts), std::move(call.place), call.post,
                           /*inTurns=*/true);
  if (error && error->param == "prompt")
    error->param = field;
  return error;
}

} // namespace ingot::api
