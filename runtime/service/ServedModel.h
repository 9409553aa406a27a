//===- ServedModel.h - An engine under a name, with what its text needs ----===//
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

/// What requests to a model may ask for.
struct RequestRules {
  int32_t mostChoices = runtime::Session::kMostChoices; ///< "n"
  size_t mostPrompts = 1024;                            ///< of one request
  bool ownTemplates = false; ///< a request may bring its own chat template
  bool trustContent = false; ///< control tokens in messages are control tokens
  bool anyName = false;      ///< where this is the only model, it is what every name means
};

struct ModelOptions {
  std::string name;  ///< that requests give as "model"; empty: the model's name in the engine
  std::string alias; ///< a second name, where no other model has it
  std::string chatTemplate; ///< source; empty: the engine's
  std::string
      chatTemplateName; ///< of the engine's, the one for all requests; empty: as transformers chooses
  std::string templateVariables; ///< JSON object: of the template, unless a request says otherwise
  std::string toolFormat, reasoningFormat; ///< empty: what the template says
  ServiceOptions service;
  RequestRules rules;
};

/// Safe to use from any thread. A request keeps the model it began with, also when another takes
/// the name: the old one ends with its last request.
class ServedModel {
public:
  /// Errors: E0610, E0611 of a template; E0627 no template of that name; E0630 a format that is not known.
  static Result<std::shared_ptr<ServedModel>> create(std::unique_ptr<runtime::Session> session,
                                                     ModelOptions options);
  ~ServedModel(); ///< of an engine that hangs, the engine stays

  const std::string &name() const { return options.name; }
  const std::string &alias() const { return options.alias; }
  const RequestRules &rules() const { return options.rules; }
  int64_t created() const { return since; }                ///< seconds of the epoch
  const std::string &fingerprint() const { return print; } ///< of engine and code: "fp_…"
  Service &service() { return *serving; }
  const runtime::Session &session() const { return serving->session(); }
  const text::Tokenizer *tokenizer() const { return session().tokenizer(); }
  /// Of requests with tools or of others; null: there is none.
  const text::ChatTemplate *chatTemplate(bool tools = false) const {
    return of(tools).parsed.get();
  }
  const text::ChatTemplate::Options &templateTokens() const { return tokens; }
  /// A JSON object of variables that a request's own go before; "": none.
  const std::string &templateVariables() const { return options.templateVariables; }
  const text::OutputFormat &outputFormat(bool tools = false) const { return of(tools).format; }
  /// A format that was found, with what options of the server name instead.
  text::OutputFormat asNamed(text::OutputFormat found) const;
  /// Whether --tool-format names the format of calls.
  bool toolFormatIsNamed() const { return !options.toolFormat.empty(); }
  const std::string &templateSource(bool tools = false) const { return of(tools).source; }
  /// A grammar over the engine's vocabulary, which is made when the first is asked for. E0520
  /// without a tokenizer; E062x as Grammar::compile.
  Result<std::shared_ptr<const text::Grammar>> grammar(text::GrammarKind kind,
                                                       std::string_view source);
  /// Makes the vocabulary on a thread of its own, so that no request has to wait for it (Gemma's
  /// 262,144 ids take 2 s). Whoever wants a grammar meanwhile waits for the rest. Once, at most.
  void prepareGrammars();

private:
  /// A chat template, and how models that were trained with it write.
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
  Chat plain, withTools; ///< the latter is empty where one serves all requests
  text::ChatTemplate::Options tokens;
  std::string print;
  int64_t since = 0;
  std::mutex mutex; ///< of the vocabulary
  std::unique_ptr<text::Vocabulary> words;
  std::jthread preparing; ///< last: it uses the rest
};

/// The models of one process, by name. What leaves it ends on a thread of the registry's: the last
/// to let go of a model may be its own engine's thread, which cannot wait for itself.
class ModelRegistry {
public:
  ModelRegistry() : ends(std::make_shared<WorkQueue>(1)) {}
  /// A model takes the place of the one with its name; what runs on the old one goes on. The first
  /// is what a request without a name gets.
  void add(std::shared_ptr<ServedModel> model);
  /// Null if there is none of that name, and not one that alone has it as its alias; an empty name:
  /// the first.
  std::shared_ptr<ServedModel> find(std::string_view name) const;
  std::vector<std::shared_ptr<ServedModel>> all() const;
  /// Why the first of the models that has failed did; null: none has.
  std::shared_ptr<const Error> failure() const;
  /// Service::stop() of all models, replaced ones that still run included. False: a step of one
  /// does not end, kStopSeconds and twice its longest one later.
  bool stopAll();
  static constexpr double kStopSeconds = 5;

private:
  mutable std::shared_mutex mutex;
  std::vector<std::shared_ptr<ServedModel>> models;
  std::vector<std::weak_ptr<ServedModel>> replaced;
  std::shared_ptr<WorkQueue> ends;
};

} // namespace ingot::service
