//===- ModelLists.cpp - /v1/models and /tokenizer_info -----------------------===//
//
// OpenAI's and Anthropic's lists have the same path. Anthropic's clients are recognised by a
// header.
//===----------------------------------------------------------------------===//
#include "runtime/server/api/RouteTable.h"

#include "runtime/engine/EngineFile.h"
#include "runtime/json/JsonText.h"

#include <ctime>

namespace ingot::api {

using runtime::JsonText;

/// Formats seconds since the epoch as RFC 3339.
std::string timeText(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

static void modelJson(JsonText &json, const service::ServedModel &model, bool anthropic) {
  json.open('{');
  if (anthropic) {
    json.key("type").value("model").key("id").value(model.name());
    json.key("display_name").value(model.name()).key("created_at").value(timeText(model.created()));
  } else {
    json.key("id").value(model.name()).key("object").value("model");
    json.key("created").value(model.created()).key("owned_by").value("ingot");
    json.key("max_model_len").value(model.session().context());
  }
  json.close();
}

void listModels(const Looked &at, http::Responder &responder) {
  const bool anthropic = !at.request.header("anthropic-version").empty();
  JsonText json;
  std::string_view path = at.request.path;
  path.remove_prefix(path.find("/models") + std::string_view("/models").size());
  if (path.size() > 1) {
    auto model = at.models.find(path.substr(1));
    if (!model) {
      const ApiError error = unknownModel(at.models);
      return responder.send(404, "application/json",
                            errorText(error, anthropic ? Dialect::Anthropic : Dialect::OpenAI));
    }
    modelJson(json, *model, anthropic);
    return responder.send(200, "application/json", json.text());
  }
  const auto models = at.models.all();
  json.open('{');
  if (!anthropic)
    json.key("object").value("list");
  json.key("data").open('[');
  for (const auto &model : models)
    modelJson(json, *model, anthropic);
  json.close();
  if (anthropic && !models.empty())
    json.key("has_more")
        .value(false)
        .key("first_id")
        .value(models.front()->name())
        .key("last_id")
        .value(models.back()->name());
  responder.send(200, "application/json", json.close().text());
}

/// Answers GET /tokenizer_info, a route of vLLM that lm-eval's remote tokenizer reads.
void tokenizerInfo(const Looked &at, http::Responder &responder) {
  const auto model = at.models.find("");
  JsonText json;
  json.open('{').key("tokenizer_class").value("ingot");
  auto token = [&](const char *name, int32_t id) {
    json.key(name);
    if (id < 0)
      json.raw("null");
    else
      json.value(model->tokenizer()->tokenBytes(id));
  };
  const auto *text = model->session().engine().table().text();
  if (const auto *special = text ? text->special() : nullptr; special && model->tokenizer()) {
    const auto *eos = special->eos();
    token("bos_token", special->bos());
    token("eos_token", eos && eos->size() ? eos->Get(0) : -1);
    token("pad_token", special->pad());
    token("unk_token", special->unknown());
    json.key("add_bos_token").value(special->add_bos());
  }
  json.key("model_max_length").value(model->session().context()).key("chat_template");
  if (model->templateSource().empty())
    json.raw("null");
  else
    json.value(model->templateSource());
  responder.send(200, "application/json", json.close().text());
}

} // namespace ingot::api
