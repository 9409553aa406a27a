//===- Run.cpp - ingot run: a prompt, or a file of prompts -----------------===//
#include "runtime/engine/EngineFile.h"
#include "runtime/text/Text.h"
#include "tools/files/Files.h"
#include "tools/files/Json.h"
#include "tools/ingot/chat/ChatPrompt.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/engines/EngineOptions.h"
#include "tools/terminal/Console.h"

#include <algorithm>
#include <unistd.h>

namespace ingot::cli {

namespace {

using runtime::Completion;
using runtime::Request;
using runtime::Session;

constexpr int64_t kDefaultNewIds = 256; ///< for a plain completion, which seldom ends by itself
constexpr int64_t kMostSeqs = 64;       ///< for a prompts file, unless --max-seqs allows more

struct RunOptions {
  EngineOptions engine;
  SamplingOptions sampling;
  std::optional<std::string> text;
  std::string promptsFile, system, chatTemplate, chatTemplateName;
  std::vector<std::string> prompts; ///< values of -p; at most one
  std::vector<int32_t> promptIds;   ///< given instead of text
  int64_t newIds = 0;               ///< 0: not given
  int32_t logprobs = -1;
  int32_t choices = 1; ///< answers to each prompt of a file
  bool chat = false, trustContent = false, verbose = false;

  int64_t maxTokens() const { return newIds ? newIds : chat ? -1 : kDefaultNewIds; }
};

std::string logprobsJson(const Completion &answer) {
  std::string text = "[";
  for (const auto &row : answer.logprobs) {
    text += text.size() > 1 ? ",[" : "[";
    for (size_t i = 0; i < row.size(); ++i)
      text += (i ? ",[" : "[") + jsonValue(row[i].id) + "," + jsonValue(row[i].logprob) + "]";
    text += "]";
  }
  return text + "]";
}

std::string completionJson(const Completion &answer) {
  const runtime::Timings &t = answer.timings;
  JsonObject object;
  object.field("prompt_ids", answer.promptIds)
      .field("ids", answer.ids)
      .field("text", answer.text)
      .field("finish_reason", runtime::finishReasonName(answer.finishReason));
  if (!answer.logprobs.empty())
    object.raw("logprobs", logprobsJson(answer));
  if (answer.cachedTokens)
    object.field("cached_tokens", answer.cachedTokens);
  object.raw("timings", JsonObject()
                            .field("load_ms", t.loadMs)
                            .field("ttft_ms", t.ttftMs)
                            .field("prompt_tps", t.promptTps)
                            .field("decode_tps", t.decodeTps)
                            .str());
  return object.str();
}

/// Returns the ids of a prompt: with --chat the rendered template, otherwise BOS and the text.
Result<std::vector<int32_t>> promptIds(const Session &session, const ChatPrompt *chat,
                                       const RunOptions &options, const std::string &text) {
  if (text.empty()) // an error, also if BOS alone would make one token
    return Error{ExitCode::Usage, "E0503", "the prompt is empty",
                 "0 characters, at least 1 is needed",
                 "ingot run MODEL \"The capital of France is\""};
  if (!chat)
    return session.encodePrompt(text);
  std::vector<ChatMessage> messages;
  if (!options.system.empty())
    messages.push_back({"system", options.system});
  messages.push_back({"user", text});
  return chat->ids(messages);
}

Result<Request> makeRequest(const Session &session, const RunOptions &options,
                            std::vector<int32_t> promptIds) {
  Request request;
  auto asked = options.sampling.asked();
  if (!asked)
    return asked.error();
  request.sampling = asked->over(session.defaultSampling());
  request.sampling.topLogprobs = options.logprobs;
  request.maxTokens = options.maxTokens();
  if (!options.newIds && request.maxTokens > 0) // the default must not exceed the context
    request.maxTokens =
        std::min(request.maxTokens, session.mostNewIds(static_cast<int64_t>(promptIds.size())));
  request.promptIds = std::move(promptIds);
  request.ignoreEos = options.sampling.ignoreEos;
  request.stopStrings = options.sampling.stopStrings;
  return request;
}

/// Opens the chat prompt; nullptr without --chat.
Result<std::unique_ptr<ChatPrompt>> openChat(const Session &session, const RunOptions &options) {
  if (!options.chat)
    return std::unique_ptr<ChatPrompt>();
  auto prompt = ChatPrompt::open(session, options.chatTemplate, options.chatTemplateName);
  if (prompt)
    (*prompt)->trustContent = options.trustContent;
  return prompt;
}

/// Returns the token ids separated by spaces: the answer of an engine without a tokenizer.
std::string idsText(const std::vector<int32_t> &ids) {
  std::string text;
  for (int32_t id : ids)
    text += (text.empty() ? "" : " ") + std::to_string(id);
  return text;
}

/// Runs one prompt. `text` is ignored if token ids are given.
Result<int> runOne(const RunOptions &options, const std::string &text) {
  auto session = options.engine.open();
  if (!session)
    return session.error();
  auto chat = openChat(**session, options);
  if (!chat)
    return chat.error();
  auto ids = options.promptIds.empty() ? promptIds(**session, chat->get(), options, text)
                                       : Result<std::vector<int32_t>>(options.promptIds);
  if (!ids)
    return ids.error();
  auto request = makeRequest(**session, options, std::move(*ids));
  if (!request)
    return request.error();
  const bool json = options.engine.common.json;
  const bool idsOnly = (*session)->tokenizer() == nullptr;
  if (!json)
    request->onToken = [idsOnly, first = true](const runtime::TokenEvent &event) mutable {
      const bool id = idsOnly && event.id >= 0;
      emit(id ? (first ? "" : " ") + std::to_string(event.id) : std::string(event.text));
      first = first && !id;
    };
  auto id = (*session)->submit(std::move(*request));
  if (!id)
    return id.error();
  (*session)->runUntilDone();
  Completion answer = (*session)->take(*id);
  if (json) {
    emit(completionJson(answer) + "\n");
    return options.engine.close(**session);
  }
  emit("\n");
  const runtime::Timings &t = answer.timings;
  if (options.verbose || isTerminal(STDERR_FILENO))
    options.engine.common.say("[" + grouped(answer.promptIds.size()) +
                              " prompt tokens, first token after " + shortNumber(t.ttftMs) +
                              " ms; " + grouped(answer.ids.size()) + " tokens at " +
                              shortNumber(t.decodeTps) + " per second; " +
                              std::string(runtime::finishReasonName(answer.finishReason)) + "]");
  return options.engine.close(**session);
}

Result<std::vector<PromptLine>> readPrompts(const std::string &path) {
  auto text = readFile(path);
  if (!text)
    return text.error();
  std::vector<PromptLine> prompts;
  size_t number = 0;
  for (size_t at = 0; at < text->size();) {
    size_t end = std::min(text->find('\n', at), text->size());
    std::string_view line(text->data() + at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos)
      continue;
    auto prompt = parsePromptLine(line, path + ", line " + std::to_string(number));
    if (!prompt)
      return prompt.error();
    prompts.push_back(std::move(*prompt));
  }
  if (prompts.empty())
    return Error{ExitCode::Usage, "E0503", path + " has no prompts", "",
                 "one {\"prompt\": \"…\"} per line"};
  return prompts;
}

/// Returns the limits for a file of prompts: as many sequences as there are prompts, and the
/// context that the longest may need (a text has no more tokens than bytes). KV memory therefore
/// does not exceed the need.
runtime::SessionOptions limitsFor(const std::vector<PromptLine> &prompts,
                                  const RunOptions &options) {
  runtime::SessionOptions limits;
  limits.maxSeqs =
      std::min<int64_t>(kMostSeqs, static_cast<int64_t>(prompts.size()) * options.choices);
  int64_t longest = 0;
  for (const PromptLine &prompt : prompts)
    longest =
        std::max<int64_t>(longest, static_cast<int64_t>(prompt.hasIds ? prompt.ids.size()
                                                                      : prompt.prompt.size() + 1));
  if (options.maxTokens() > 0 && !options.chat)
    limits.context = std::min<int64_t>(4096, longest + options.maxTokens() + 1);
  return limits;
}

Result<int> runFile(const RunOptions &options) {
  auto prompts = readPrompts(options.promptsFile);
  if (!prompts)
    return prompts.error();
  auto path = options.engine.enginePath();
  if (!path)
    return path.error();
  runtime::SessionOptions limits = limitsFor(*prompts, options);
  if (limits.context) {
    auto engine = runtime::EngineFile::open(*path);
    if (!engine)
      return engine.error();
    limits.context = std::min<int64_t>(limits.context, (*engine)->table().model()->context());
  }
  auto session = options.engine.open(*path, limits);
  if (!session)
    return session.error();
  auto chat = openChat(**session, options);
  if (!chat)
    return chat.error();
  std::vector<runtime::RequestId> ids;
  for (size_t i = 0; i < prompts->size(); ++i) {
    PromptLine &prompt = (*prompts)[i];
    auto promptIdsOfLine = prompt.hasIds
                               ? Result<std::vector<int32_t>>(std::move(prompt.ids))
                               : promptIds(**session, chat->get(), options, prompt.prompt);
    if (!promptIdsOfLine)
      return promptIdsOfLine.error();
    auto request = makeRequest(**session, options, std::move(*promptIdsOfLine));
    if (!request)
      return request.error();
    auto answers = (*session)->submit(std::move(*request), options.choices);
    if (!answers) {
      answers.error().what +=
          " (prompt " + std::to_string(i + 1) + " of " + options.promptsFile + ")";
      return answers.error();
    }
    ids.insert(ids.end(), answers->begin(), answers->end());
  }
  // Answers are printed in order, each as soon as all earlier ones are printed.
  const bool idsOnly = (*session)->tokenizer() == nullptr;
  size_t next = 0;
  auto flush = [&] {
    for (; next < ids.size() && (*session)->finished(ids[next]); ++next) {
      Completion answer = (*session)->take(ids[next]);
      emit((options.engine.common.json ? completionJson(answer)
            : idsOnly                  ? idsText(answer.ids)
                                       : answer.text) +
           "\n");
    }
  };
  while ((*session)->step())
    flush();
  flush();
  return options.engine.close(**session);
}

Result<int> run(const RunOptions &options) {
  if (!options.promptsFile.empty())
    return runFile(options);
  if (!options.promptIds.empty())
    return runOne(options, "");
  if (!options.prompts.empty())
    return runOne(options, options.prompts[0]);
  if (options.text)
    return runOne(options, *options.text);
  if (isTerminal(STDIN_FILENO))
    return Error{ExitCode::Usage, "E0503", "there is no prompt", "",
                 "ingot run MODEL \"The capital of France is\""};
  auto text = readFile("-");
  if (!text)
    return text.error();
  if (text->ends_with('\n')) // drop the newline that echo adds
    text->pop_back();
  return runOne(options, *text);
}

} // namespace

Action defineRun(CommandLine &command) {
  auto options = std::make_shared<RunOptions>();
  options->engine.define(command);
  options->sampling.define(command);
  auto text = command.option("TEXT", options->text, "the prompt (default: stdin)");
  auto prompt =
      command.option("-p,--prompt", options->prompts, "the prompt").onlyOnce().excludes(text);
  auto file =
      command
          .option(
              "--prompts-file", options->promptsFile,
              "one {\"prompt\": …} or {\"prompt_ids\": …} per line, run as one batch; - is stdin")
          .excludes(text);
  auto ids = command
                 .option("--prompt-ids", options->promptIds,
                         "the prompt as ids, used unchanged: 504,3575,282")
                 .separatedBy(',')
                 .takesOne()
                 .excludes(text)
                 .excludes(prompt)
                 .excludes(file);
  command
      .option(
          "-n,--max-tokens", options->newIds,
          "maximum of new tokens (default: 256 or what fits; with --chat until the answer ends)")
      .range(int64_t{1}, int64_t{1} << 30);
  auto chat =
      command
          .flag("--chat", options->chat, "the prompt is a user's message: apply the chat template")
          .excludes(ids);
  command.option("--system", options->system, "a system message before it (with --chat)")
      .needs(chat);
  Option templateFile = command
                            .option("--chat-template", options->chatTemplate,
                                    "a Jinja file instead of the engine's template (with --chat)")
                            .needs(chat);
  command
      .option("--chat-template-name", options->chatTemplateName,
              "one of the engine's several templates (with --chat; default: the main one)")
      .typeName("NAME")
      .excludes(templateFile)
      .needs(chat);
  command
      .flag("--trust-content", options->trustContent,
            "treat control tokens in messages (<|im_end|>) as control tokens, not as text (with "
            "--chat)")
      .needs(chat);
  command
      .option("--choices", options->choices,
              "answers to each prompt of a file, one after the other")
      .range(1, Session::kMostChoices)
      .needs(file);
  command
      .option("--logprobs", options->logprobs,
              "log-probabilities of each id and the k likeliest (with --json)")
      .range(0, runtime::kMaxTopLogprobs)
      .needs(command.find("--json"));
  command.flag("--verbose", options->verbose,
               "print the speed after the answer, also without a terminal");
  command.examples(
      "  ingot run smollm2.gguf --chat \"What is the capital of Japan?\"\n"
      "  ingot run smollm2.ingot --chat \"What is a compiler?\" --temp 0.7 --seed 1\n"
      "  ingot run smollm2.ingot --prompts-file prompts.jsonl -n 64 --json > answers.jsonl\n");
  return [options] { return run(*options); };
}

} // namespace ingot::cli
