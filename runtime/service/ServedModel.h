//===- ServedModel.h - A named engine with chat templates and grammars -----===//
#pragma once

#include "runtime/service/Service.h"
#include "runtime/service/WorkQueue.h"
#include "runtime/text/ChatOutput.h"
#include "runtime/text/Grammar.h"
#include "runtime/text/Text.h"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace ingot::service {

/// Limits and permissions of requests to a model.
struct RequestRules {
  int32_t mostChoices = runtime::Session::kMostChoices; ///< "n"
  size_t mostPrompts = 1024;                            ///< prompts in one request
  bool ownTemplates = false; ///< a request may bring its own chat template
  bool trustContent = false; ///< control tokens in messages are not escaped to text
  bool anyName = false;      ///< if this is the only model, every name refers to it
};

struct ModelOptions {
  std::string name;         ///< "model" in requests; empty: the model's name in the engine
  std::string alias;        ///< a second name, valid unless another model has it
  std::string chatTemplate; ///< source of a template; empty: the engine's template
  /// Name of the engine's template for all requests; empty: chosen as transformers does.
  std::string chatTemplateName;
  std::string templateVariables; ///< JSON object of template variables; a request may override them
  std::string toolFormat, reasoningFormat; ///< empty: detected from the template
  ServiceOptions service;
  RequestRules rules;
};

/// A model that is served under a name. It may be used from any thread. A request keeps the model with which it began,
/// also if another model takes over the name. The old model is destroyed after its last request.
class ServedModel {
public:
  /// Fails with E0610 or E0611 if a template is invalid, E0627 if there is no template of that name,
  /// and E0630 if a format is unknown.
  static Result<std::shared_ptr<ServedModel>> create(std::unique_ptr<runtime::Session> session,
                                                     ModelOptions options);
  ~ServedModel(); ///< leaks the service if its engine hangs

  const std::string &name() const { return options.name; }
  const std::string &alias() const { return options.alias; }
  const RequestRules &rules() const { return options.rules; }
  int64_t created() const { return since; }                ///< seconds since the epoch
  const std::string &fingerprint() const { return print; } ///< hash of engine and code: "fp_…"
  Service &service() { return *serving; }
  const runtime::Session &session() const { return serving->session(); }
  const text::Tokenizer *tokenizer() const { return session().tokenizer(); }
  /// Returns the template for requests with or without tools; null if there is none.
  const text::ChatTemplate *chatTemplate(bool tools = false) const {
    return of(tools).parsed.get();
  }
  const text::ChatTemplate::Options &templateTokens() const { return tokens; }
  /// Returns a JSON object of template variables, which a request's own override; "": none.
  const std::string &templateVariables() const { return options.templateVariables; }
  const text::OutputFormat &outputFormat(bool tools = false) const { return of(tools).format; }
  /// Returns a detected format, in which the parts that the server's options set are replaced.
  text::OutputFormat asNamed(text::OutputFormat found) const;
  /// Returns whether --tool-format sets the format of calls.
  bool toolFormatIsNamed() const { return !options.toolFormat.empty(); }
  const std::string &templateSource(bool tools = false) const { return of(tools).source; }
  /// Compiles a grammar over the engine's vocabulary. The first call builds the vocabulary. Fails with
  /// E0520 without a tokenizer, and with E062x as Grammar::compile does.
  Result<std::shared_ptr<const text::Grammar>> grammar(text::GrammarKind kind,
                                                       std::string_view source);
  /// Builds the vocabulary on a separate thread, so that later requests need not wait for it (Gemma's
  /// 262,144 tokens take 2 s). A request that needs a grammar before it is built waits. Call this function
  /// at most once.
  void prepareGrammars();

private:
  /// A chat template and the output format of models trained with it.
  struct Chat {
    std::string source;
    std::unique_ptr<text::ChatTemplate> parsed;
    text::OutputFormat format;
  };
  const Chat &of(bool tools) const { return tools && withTools.parsed ? withTools : plain; }
  Result<void> openTemplates();
  Result<void> chooseFormats();
  Result<const text::Vocabulary *> vocabulary();

  ModelOptions options;
  std::unique_ptr<Service> serving;
  Chat plain, withTools; ///< withTools is empty if one template serves all requests
  text::ChatTemplate::Options tokens;
  std::string print;
  int64_t since = 0;
  std::mutex mutex; ///< guards `words`
  std::unique_ptr<text::Vocabulary> words;
  std::jthread preparing; ///< declared last: it uses the other fields
};

/// The models of one process, by name. Models are destroyed on a thread of the registry. The last
/// reference may be dropped on the model's own engine thread, which cannot wait for itself to end.
class ModelRegistry {
public:
  ModelRegistry() : ends(std::make_shared<WorkQueue>(1)) {}
  /// Adds a model, or replaces the one with the same name. Requests of the old model continue on it.
  /// Requests without a model name get the first model.
  void add(std::shared_ptr<ServedModel> model);
  /// Finds a model by name, or by alias if exactly one model has it; null if there is none. An
  /// empty name finds the first model.
  std::shared_ptr<ServedModel> find(std::string_view name) const;
  std::vector<std::shared_ptr<ServedModel>> all() const;
  /// Returns the failure of the first model that has failed; null if none has.
  std::shared_ptr<const Error> failure() const;
  /// Calls Service::stop() on all models, including replaced ones that still run. Returns false if a
  /// model's step has not ended after kStopSeconds plus twice the length of its longest step.
  bool stopAll();
  static constexpr double kStopSeconds = 5;

private:
  mutable std::shared_mutex mutex;
  std::vector<std::shared_ptr<ServedModel>> models;
  std::vector<std::weak_ptr<ServedModel>> replaced;
  std::shared_ptr<WorkQueue> ends;
};

} // namespace ingot::service
