//===- ServedModel.cpp - Opening served models and finding them by name ----===//
#include "runtime/service/ServedModel.h"

#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Header.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace ingot::service {

/// Hashes everything that determines the bits of answers. This is the engine's table, which has
/// hashes of all segments, and the name of the target that the running code was compiled for.
static std::string fingerprintOf(const runtime::Session &session) {
  const runtime::EngineHeader &header = session.engine().header();
  std::string target(session.target());
  uint64_t mixed = header.tableHash.low;
  for (char c : target)
    mixed = (mixed ^ uint64_t(static_cast<unsigned char>(c))) * 0x100000001b3ull;
  char text[24];
  std::snprintf(text, sizeof text, "fp_%012llx", static_cast<unsigned long long>(mixed >> 16));
  return text;
}

Result<void> ServedModel::openTemplates() {
  const runtime::EngineFile &engine = session().engine();
  if (options.chatTemplate.empty()) {
    auto named = engine.chatTemplateCalled(options.chatTemplateName);
    if (!named)
      return named.error();
    plain.source = *named;
    if (options.chatTemplateName.empty())
      withTools.source = engine.chatTemplate(text::kToolTemplate);
  } else {
    plain.source = options.chatTemplate;
  }
  for (Chat *chat : {&plain, &withTools}) {
    if (chat->source.empty() || !tokenizer())
      continue;
    auto parsed = text::ChatTemplate::parse(chat->source);
    if (!parsed)
      return parsed.error();
    chat->parsed = std::move(*parsed);
    chat->format = text::detectOutputFormat(chat->source);
  }
  return {};
}

Result<void> ServedModel::chooseFormats() {
  auto check = [](std::string_view name, std::span<const std::string_view> known,
                  const char *what) -> std::optional<Error> {
    if (name.empty() || std::ranges::find(known, name) != known.end())
      return std::nullopt;
    std::string list;
    for (std::string_view one : known)
      list += (list.empty() ? "" : ", ") + std::string(one);
    return Error{ExitCode::Usage, "E0630",
                 "unknown " + std::string(what) + " format: " + std::string(name), "known: " + list,
                 "give one of them, or omit it to follow the chat template"};
  };
  if (auto error = check(options.toolFormat, text::toolFormatNames(), "tool"))
    return *error;
  if (options.reasoningFormat != "none")
    if (auto error = check(options.reasoningFormat, text::reasoningFormatNames(), "reasoning"))
      return *error;
  for (Chat *chat : {&plain, &withTools})
    chat->format = asNamed(std::move(chat->format));
  return {};
}

Result<std::shared_ptr<ServedModel>> ServedModel::create(std::unique_ptr<runtime::Session> opened,
                                                         ModelOptions options) {
  auto model = std::make_shared<ServedModel>();
  model->serving = service::Service::create(std::move(opened), options.service);
  const runtime::Session &session = model->session();
  if (options.name.empty())
    options.name = session.engine().table().model()->name()->str();
  model->options = std::move(options);
  if (auto opened = model->openTemplates(); !opened)
    return opened.error();
  if (auto chosen = model->chooseFormats(); !chosen)
    return chosen.error();
  model->tokens = session.templateTokens();
  model->print = fingerprintOf(session);
  model->since = std::time(nullptr);
  return model;
}

text::OutputFormat ServedModel::asNamed(text::OutputFormat found) const {
  if (!options.toolFormat.empty())
    found.tools = options.toolFormat;
  if (!options.reasoningFormat.empty())
    found.reasoning = options.reasoningFormat == "none" ? "" : options.reasoningFormat;
  return found;
}

ServedModel::~ServedModel() {
  if (preparing.joinable())
    preparing.join();             // this thread uses the engine
  if (serving && serving->hung()) // its thread still uses it, and the destructor would wait
    (void)serving.release();
}

Result<const text::Vocabulary *> ServedModel::vocabulary() {
  std::lock_guard lock(mutex);
  if (!words) {
    if (!tokenizer())
      return Error{ExitCode::Usage, "E0520", "this engine has no tokenizer",
                   "a grammar needs the text of tokens", "request answers without a grammar"};
    std::vector<int32_t> eos;
    if (const auto *meta = session().engine().table().text();
        meta && meta->special() && meta->special()->eos())
      eos.assign(meta->special()->eos()->begin(), meta->special()->eos()->end());
    auto made = text::Vocabulary::create(*tokenizer(), int32_t(session().vocab()), eos);
    if (!made)
      return made.error();
    words = std::move(*made);
  }
  return words.get();
}

Result<std::shared_ptr<const text::Grammar>> ServedModel::grammar(text::GrammarKind kind,
                                                                  std::string_view source) {
  auto known = vocabulary();
  if (!known)
    return known.error();
  return text::Grammar::compile(**known, kind, source);
}

void ServedModel::prepareGrammars() {
  if (!tokenizer())
    return;
  preparing = std::jthread([this] {
    try {
      // If this fails, the first request with a grammar tries again or reports the error.
      (void)vocabulary();
    } catch (const std::exception &) {
    }
  });
}

void ModelRegistry::add(std::shared_ptr<ServedModel> given) {
  ServedModel *const raw = given.get();
  std::shared_ptr<ServedModel> model(
      raw, [given, to = ends](ServedModel *) mutable { to->push([last = std::move(given)] {}); });
  given.reset();
  std::shared_ptr<ServedModel> old; // released outside the lock
  std::unique_lock lock(mutex);
  for (auto &one : models)
    if (one->name() == model->name()) {
      old = std::exchange(one, std::move(model));
      std::erase_if(replaced, [](const auto &gone) { return gone.expired(); });
      replaced.push_back(old);
      return;
    }
  models.push_back(std::move(model));
}

std::shared_ptr<const Error> ModelRegistry::failure() const {
  for (const auto &model : all())
    if (auto failed = model->service().failure())
      return failed;
  return nullptr;
}

bool ModelRegistry::stopAll() {
  std::vector<std::shared_ptr<ServedModel>> running = all();
  {
    std::shared_lock lock(mutex);
    for (const auto &one : replaced)
      if (auto model = one.lock())
        running.push_back(std::move(model));
  }
  bool ended = true;
  for (const auto &model : running) // the step under way may be a long one
    ended &= model->service().stop(kStopSeconds + 2 * model->session().longestStep());
  return ended;
}

std::shared_ptr<ServedModel> ModelRegistry::find(std::string_view name) const {
  std::shared_lock lock(mutex);
  for (const auto &one : models)
    if (name.empty() || one->name() == name)
      return one;
  auto called = [&](const auto &one) { return one->alias() == name; };
  if (std::ranges::count_if(models, called) == 1)
    return *std::ranges::find_if(models, called);
  return nullptr;
}

std::vector<std::shared_ptr<ServedModel>> ModelRegistry::all() const {
  std::shared_lock lock(mutex);
  return models;
}

} // namespace ingot::service
