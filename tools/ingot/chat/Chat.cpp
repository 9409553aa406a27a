//===- Chat.cpp - ingot chat: a conversation in the terminal ---------------===//
//
// Lines that start with '/' are commands for ingot; all others go to the model. """ opens and
// closes a message of several lines. Ctrl-C ends the current answer, never the program; Ctrl-D or
// /bye leaves. A conversation that no longer fits the context causes an error; it is not truncated.
//===----------------------------------------------------------------------===//
#include "runtime/engine/EngineFile.h"
#include "runtime/error/Suggest.h"
#include "tools/files/Files.h"
#include "tools/ingot/chat/ChatPrompt.h"
#include "tools/ingot/chat/ChatSettings.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/engines/EngineOptions.h"
#include "tools/terminal/Console.h"
#include "tools/terminal/LineEditor.h"
#include "tools/terminal/WordWrap.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

namespace ingot::cli {

namespace {

/// Set by Ctrl-C; every request checks it once per step.
std::atomic<bool> interrupted = false;

/// Set when a signal asks the program to end. The program then leaves the prompt, which restores
/// the terminal's modes.
std::atomic<bool> terminated = false;

void onInterrupt(int signal) {
  interrupted = true;
  terminated = terminated || signal != SIGINT;
  LineEditor::wake();
}

void catchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = onInterrupt;
  sigaction(SIGINT, &action, nullptr);
  if (!isTerminal(STDIN_FILENO))
    return; // std::getline, which reads a pipe, would continue after the signal
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
}

struct ChatOptions {
  EngineOptions engine;
  SamplingOptions sampling;
  std::string chatTemplate, chatTemplateName, system;
  int64_t newIds = -1;
  bool verbose = false, trustContent = false;
};

constexpr const char *kHelp = R"(  /help              this text
  /clear             forget the conversation
  /set NAME VALUE    change a setting, as /set temperature 0.7
  /show              the settings, the model and how full the context is
  /save FILE         write the conversation as JSON
  /load FILE         go on with a conversation from such a file
  /bye               leave (or Ctrl-D)
  """                opens and closes a message of several lines
  Ctrl-C             stops the answer
)";

class Chat {
public:
  Chat(runtime::Session &session, const ChatPrompt &prompt, ChatSettings settings, bool json)
      : session(session), prompt(prompt), settings(std::move(settings)), json(json) {}

  /// Returns the exit code. If the input is a pipe, this is the exit code of the first error, since no user could react
  /// to the error. Otherwise it is 0.
  int loop() {
    for (;;) {
      interrupted = false; // the Ctrl-C that stopped an answer must not end the next line
      if (terminated)
        break;
      LineEditor::Input input = editor.read(">>> ");
      if (input.event == LineEditor::Event::End || terminated)
        break;
      if (input.event == LineEditor::Event::Interrupted) {
        interrupted = false;
        emit("\n(Ctrl-D or /bye ends the chat)\n");
        continue;
      }
      if (input.line.rfind("\"\"\"", 0) == 0 && !readBlock(input.line))
        continue;
      if (input.line.find_first_not_of(" \t") == std::string::npos)
        continue;
      if (input.line[0] == '/') {
        if (!command(input.line))
          return code;
      } else if (auto fine = turn(input.line); !fine) {
        report(fine.error());
      }
    }
    if (editor.interactive())
      emit("\n");
    return code;
  }

private:
  void report(const Error &error) {
    const int exit = printError(error);
    if (!code && !isTerminal(STDIN_FILENO))
      code = exit;
  }

  /// Reads the rest of a """ message. Returns false if the user abandons it.
  bool readBlock(std::string &text) {
    text.erase(0, 3);
    for (;;) {
      if (size_t end = text.find("\"\"\""); end != std::string::npos) {
        text.erase(end);
        return true;
      }
      LineEditor::Input input = editor.read("... ");
      if (input.event == LineEditor::Event::Interrupted) {
        interrupted = false;
        emit("\n");
        return false;
      }
      if (input.event == LineEditor::Event::End)
        return true;
      text += "\n" + input.line;
    }
  }

  std::vector<ChatMessage> withSystem() const {
    std::vector<ChatMessage> all;
    if (!settings.system.empty())
      all.push_back({"system", settings.system});
    all.insert(all.end(), history.begin(), history.end());
    return all;
  }

  Result<void> turn(const std::string &text) {
    history.push_back({"user", text});
    auto answer = generate();
    if (!answer) {
      history.pop_back(); // the user may shorten it and try again
      return answer.error();
    }
    history.push_back({"assistant", answer->text});
    return {};
  }

  Result<runtime::Completion> generate() {
    auto ids = prompt.ids(withSystem());
    if (!ids)
      return ids.error();
    if (static_cast<int64_t>(ids->size()) >= session.context())
      return Error{ExitCode::Usage, errors::kBeyondContext,
                   "the conversation no longer fits the context",
                   grouped(ids->size()) + " tokens, the context is " +
                       grouped(static_cast<uint64_t>(session.context())),
                   "/clear starts a new conversation; ingot chat E --context N allows more"};
    contextUsed = static_cast<int64_t>(ids->size());
    runtime::Request request;
    request.promptIds = std::move(*ids);
    request.sampling = settings.sampling;
    request.sampling.choice = static_cast<uint32_t>(history.size()); // each turn samples with a
                                                                     // different seed
    request.maxTokens = settings.maxTokens;
    request.stopStrings = settings.stopStrings;
    request.ignoreEos = settings.ignoreEos;
    if (terminated) // `interrupted` is not cleared here: a Ctrl-C after the line was typed also counts
      interrupted = true;
    request.cancel = &interrupted;
    if (!json)
      request.onToken = [wrap = WordWrap(terminalColumns())](
                            const runtime::TokenEvent &event) mutable { emit(wrap(event.text)); };
    auto id = session.submit(std::move(request));
    if (!id)
      return id.error();
    session.runUntilDone();
    runtime::Completion answer = session.take(*id);
    contextUsed += static_cast<int64_t>(answer.ids.size());
    finish(answer);
    return answer;
  }

  void finish(const runtime::Completion &answer) {
    if (json) {
      emit(JsonObject()
               .field("role", std::string_view("assistant"))
               .field("content", answer.text)
               .field("finish_reason", runtime::finishReasonName(answer.finishReason))
               .str() +
           "\n");
      return;
    }
    emit("\n");
    if (answer.finishReason == runtime::FinishReason::Cancelled)
      note("[stopped]");
    else if (answer.finishReason == runtime::FinishReason::Length)
      note(contextUsed >= session.context()
               ? "[the context is full: /clear starts a new conversation]"
               : "[max-tokens reached]");
    if (settings.verbose)
      note("[" + grouped(answer.promptIds.size()) + " prompt tokens, first token after " +
           shortNumber(answer.timings.ttftMs) + " ms; " + grouped(answer.ids.size()) +
           " tokens at " + shortNumber(answer.timings.decodeTps) + " per second]");
    if (editor.interactive())
      emit("\n");
  }

  /// Runs a command. Returns false to leave the program.
  bool command(const std::string &line) {
    const size_t space = line.find(' ');
    const std::string name = line.substr(0, space);
    const size_t rest = line.find_first_not_of(' ', space);
    const std::string argument =
        space == std::string::npos || rest == std::string::npos ? "" : line.substr(rest);
    Result<void> done;
    if (name == "/bye" || name == "/exit" || name == "/quit")
      return false;
    if (name == "/help" || name == "/?")
      emit(kHelp);
    else if (name == "/clear") {
      history.clear();
      contextUsed = 0;
      emit("the conversation is cleared\n");
    } else if (name == "/set")
      done = settings.set(argument);
    else if (name == "/show")
      show();
    else if (name == "/save")
      done = save(argument);
    else if (name == "/load")
      done = load(argument);
    else
      done = Error{ExitCode::Usage, "E0106", "unknown command " + name,
                   didYouMean(name, {"/help", "/clear", "/set", "/show", "/save", "/load", "/bye"}),
                   "/help lists the commands"};
    if (!done)
      report(done.error());
    return true;
  }

  void show() {
    const auto *model = session.engine().table().model();
    emit(settings.text());
    emit("  model               " + model->name()->str() + " (" + model->family()->str() + ", " +
         grouped(model->parameters()) + " parameters)\n  engine              " +
         session.engine().path() + "\n  memory              " + memoryLine(session) +
         "\n  context             " + grouped(static_cast<uint64_t>(contextUsed)) + " of " +
         grouped(static_cast<uint64_t>(session.context())) + " tokens, " +
         std::to_string(history.size()) + " messages\n");
  }

  Result<void> save(const std::string &path) {
    if (path.empty())
      return Error{ExitCode::Usage, "E0107", "/save needs a file", "", "/save talk.json"};
    if (auto written = writeFile(path, messagesJson(withSystem()) + "\n"); !written)
      return written;
    emit("wrote " + path + "\n");
    return {};
  }

  Result<void> load(const std::string &path) {
    if (path.empty())
      return Error{ExitCode::Usage, "E0107", "/load needs a file", "", "/load talk.json"};
    auto text = readFile(path);
    if (!text)
      return text.error();
    auto messages = parseMessages(*text, path);
    if (!messages)
      return messages.error();
    settings.system.clear();
    if (!messages->empty() && messages->front().role == "system") {
      settings.system = messages->front().content;
      messages->erase(messages->begin());
    }
    history = std::move(*messages);
    emit("loaded " + std::to_string(history.size()) + " messages\n");
    return {};
  }

  runtime::Session &session;
  const ChatPrompt &prompt;
  ChatSettings settings;
  bool json;
  LineEditor editor{interrupted};
  std::vector<ChatMessage> history;
  int64_t contextUsed = 0;
  int code = 0;
};

Result<int> chat(const ChatOptions &options) {
  auto session = options.engine.open();
  if (!session)
    return session.error();
  auto prompt = ChatPrompt::open(**session, options.chatTemplate, options.chatTemplateName);
  if (!prompt)
    return prompt.error();
  (*prompt)->trustContent = options.trustContent;
  auto asked = options.sampling.asked();
  if (!asked)
    return asked.error();
  ChatSettings settings;
  settings.asked = *asked;
  settings.defaults = (*session)->defaultSampling();
  settings.sampling = asked->over(settings.defaults);
  if (auto fine = settings.sampling.check((*session)->vocab()); !fine)
    return fine.error();
  settings.maxTokens = options.newIds;
  settings.system = options.system;
  settings.stopStrings = options.sampling.stopStrings;
  settings.ignoreEos = options.sampling.ignoreEos;
  settings.verbose = options.verbose;
  catchInterrupts();
  if (isTerminal(STDIN_FILENO))
    options.engine.common.say(
        "/help lists the commands, Ctrl-C stops an answer, /bye ends the chat, /set verbose on "
        "shows tokens per second");
  const int code =
      Chat(**session, **prompt, std::move(settings), options.engine.common.json).loop();
  auto closed = options.engine.close(**session);
  return closed && code ? code : closed;
}

} // namespace

Action defineChat(CommandLine &command) {
  auto options = std::make_shared<ChatOptions>();
  options->engine.define(command);
  options->sampling.define(command);
  Option templateFile = command.option("--chat-template", options->chatTemplate,
                                       "a Jinja file instead of the engine's template");
  command
      .option("--chat-template-name", options->chatTemplateName,
              "one of the engine's several templates (default: the main one)")
      .typeName("NAME")
      .excludes(templateFile);
  command.flag("--trust-content", options->trustContent,
               "treat control tokens in messages (<|im_end|>) as control tokens, not as text");
  command.option("--system", options->system, "the system message");
  command.option("-n,--max-tokens", options->newIds, "maximum of new tokens in one answer")
      .range(int64_t{1}, int64_t{1} << 30);
  command.flag("--verbose", options->verbose, "speed after each answer");
  command.examples(
      "  ingot chat smollm2.ingot\n"
      "  ingot chat gemma3.ingot --chat-template gemma.jinja --temp 0.7 --context 8192\n"
      "  echo \"What is a compiler?\" | ingot chat smollm2.ingot --quiet\n");
  return [options] { return chat(*options); };
}

} // namespace ingot::cli
