//===- OutputFormats.cpp - The tables of formats --------------------------===//

#include "runtime/text/OutputFormats.h"
#include "runtime/text/ChatOutput.h"

#include <algorithm>
#include <array>

namespace ingot::text {

namespace {

constexpr std::string_view kLlamaOpen[] = {"<|python_tag|>"};
constexpr std::string_view kLlamaClose[] = {"<|eom_id|>", "<|eot_id|>"};
constexpr std::string_view kPythonOpen[] = {"<|python_start|>", "<|python_tag|>"};
constexpr std::string_view kPythonClose[] = {"<|python_end|>", "<|eom_id|>", "<|eot_id|>"};
constexpr std::string_view kGemmaOpen[] = {"```tool_call", "```json"};
constexpr std::string_view kCommandOpen[] = {"Action: ```json"};
constexpr std::string_view kPluginOpen[] = {"<|action_start|> <|plugin|>"};
constexpr std::string_view kFunctools[] = {"functools"};
constexpr std::string_view kDsmlCalls[] = {"<｜DSML｜tool_calls>", "<｜DSML｜function_calls>"};
constexpr std::string_view kDsmlCallsEnd[] = {"</｜DSML｜tool_calls>", "</｜DSML｜function_calls>"};
constexpr std::string_view kJsonNeck = "\", \"arguments\": ";

/// Returns the row of a version of DSML. The versions differ in the mark around all calls, and models
/// write both.
constexpr ToolMarks dsml(std::string_view name, std::string_view section,
                         std::string_view sectionEnd) {
  return {.name = name,
          .syntax = CallSyntax::Parameters,
          .section = section,
          .sectionEnd = sectionEnd,
          .open = "<｜DSML｜invoke name=\"",
          .nameEnd = "\">\n",
          .close = "</｜DSML｜invoke>",
          .separator = "\n",
          .keyOpen = "<｜DSML｜parameter name=\"",
          .keyEnd = ">",
          .valueEnd = "</｜DSML｜parameter>\n",
          .valueType = ValueType::StringFlag,
          .alsoOpen = kDsmlCalls,
          .alsoClose = kDsmlCallsEnd};
}

constexpr std::array kTools = {
    // Qwen 2.5 and 3, SmolLM3, Granite 4, EXAONE 4, ERNIE 4.5, Hermes: each pair of marks has one
    // object.
    ToolMarks{.name = "hermes",
              .syntax = CallSyntax::Object,
              .open = "<tool_call>\n",
              .nameEnd = kJsonNeck,
              .close = "\n</tool_call>",
              .separator = "\n"},
    // Llama 3.1 to 3.3: the answer is the object. Several objects are separated by ';' or a line feed.
    ToolMarks{.name = "llama3-json",
              .syntax = CallSyntax::Object,
              .nameEnd = "\", \"parameters\": ",
              .separator = "; ",
              .alsoOpen = kLlamaOpen,
              .alsoClose = kLlamaClose,
              .bare = "{"},
    // Llama 3.2 small models and Llama 4: [f(a=1), g()].
    ToolMarks{.name = "llama3-pythonic",
              .syntax = CallSyntax::Python,
              .section = "[",
              .sectionEnd = "]",
              .separator = ", ",
              .alsoOpen = kPythonOpen,
              .alsoClose = kPythonClose,
              .bare = "["},
    // LFM2 and LFM2.5.
    ToolMarks{.name = "lfm2",
              .syntax = CallSyntax::Python,
              .section = "<|tool_call_start|>[",
              .sectionEnd = "]<|tool_call_end|>",
              .separator = ", "},
    // OLMo 3: one call per line.
    ToolMarks{.name = "olmo3",
              .syntax = CallSyntax::Python,
              .section = "<function_calls>\n",
              .sectionEnd = "\n</function_calls>",
              .separator = "\n"},
    // Mistral before tokenizer version 11: an array of objects.
    ToolMarks{.name = "mistral",
              .syntax = CallSyntax::Object,
              .section = "[TOOL_CALLS][",
              .sectionEnd = "]",
              .nameEnd = kJsonNeck,
              .separator = ", ",
              .eitherShape = true},
    // Mistral since tokenizer version 11: each call has its own mark.
    ToolMarks{.name = "mistral-args",
              .syntax = CallSyntax::Json,
              .open = "[TOOL_CALLS]",
              .nameEnd = "[ARGS]",
              .eitherShape = true},
    // Gemma 3 has no marks of its own. Its documentation suggests prompts for both forms.
    ToolMarks{.name = "gemma3",
              .syntax = CallSyntax::Python,
              .section = "```tool_code\n",
              .sectionEnd = "\n```",
              .separator = "\n",
              .alsoOpen = kGemmaOpen,
              .bare = "{[",
              .fenced = true},
    ToolMarks{.name = "functiongemma",
              .syntax = CallSyntax::Gemma,
              .open = "<start_function_call>call:",
              .close = "<end_function_call>",
              .quote = "<escape>"},
    ToolMarks{.name = "gemma4",
              .syntax = CallSyntax::Gemma,
              .open = "<|tool_call>call:",
              .close = "<tool_call|>",
              .quote = "<|\"|>"},
    // gpt-oss: each call is a separate message (AnswerMarks "harmony").
    ToolMarks{.name = "harmony",
              .syntax = CallSyntax::Json,
              .open = "<|channel|>commentary to=functions.",
              .nameEnd = " <|constrain|>json<|message|>",
              .separator = "<|call|><|start|>assistant",
              .messages = "harmony"},
    // Qwen3-Coder, Qwen 3.5 and later, Nemotron 3, Step 3.5, MiMo.
    ToolMarks{.name = "qwen3-coder",
              .syntax = CallSyntax::Parameters,
              .section = "<tool_call>\n",
              .sectionEnd = "\n</tool_call>",
              .sectionEach = true,
              .open = "<function=",
              .nameEnd = ">\n",
              .close = "</function>",
              .separator = "\n",
              .keyOpen = "<parameter=",
              .keyEnd = ">\n",
              .valueEnd = "\n</parameter>\n",
              .trimLines = true},
    ToolMarks{.name = "seed-oss",
              .syntax = CallSyntax::Parameters,
              .section = "<seed:tool_call>\n",
              .sectionEnd = "\n</seed:tool_call>",
              .sectionEach = true,
              .open = "<function=",
              .nameEnd = ">\n",
              .close = "</function>",
              .separator = "\n",
              .keyOpen = "<parameter=",
              .keyEnd = ">",
              .valueEnd = "</parameter>\n"},
    // GLM 4.5 and 4.6, Laguna XS, Ling 3.
    ToolMarks{.name = "glm45",
              .syntax = CallSyntax::Parameters,
              .open = "<tool_call>",
              .nameEnd = "\n",
              .close = "</tool_call>",
              .separator = "\n",
              .keyOpen = "<arg_key>",
              .keyEnd = "</arg_key>\n<arg_value>",
              .valueEnd = "</arg_value>\n"},
    // GLM 4.7 and later, Laguna S, Spark 2.5.
    ToolMarks{.name = "glm47",
              .syntax = CallSyntax::Parameters,
              .open = "<tool_call>",
              .close = "</tool_call>",
              .keyOpen = "<arg_key>",
              .keyEnd = "</arg_key><arg_value>",
              .valueEnd = "</arg_value>"},
    ToolMarks{.name = "hy3",
              .syntax = CallSyntax::Parameters,
              .section = "<tool_calls:opensource>\n",
              .sectionEnd = "\n</tool_calls:opensource>",
              .open = "<tool_call:opensource>",
              .nameEnd = "<tool_sep:opensource>\n",
              .close = "</tool_call:opensource>",
              .separator = "\n",
              .keyOpen = "<arg_key:opensource>",
              .keyEnd = "</arg_key:opensource>\n<arg_value:opensource>",
              .valueEnd = "</arg_value:opensource>\n"},
    ToolMarks{.name = "minimax-m2",
              .syntax = CallSyntax::Parameters,
              .section = "<minimax:tool_call>\n",
              .sectionEnd = "\n</minimax:tool_call>",
              .open = "<invoke name=\"",
              .nameEnd = "\">\n",
              .close = "</invoke>",
              .separator = "\n",
              .keyOpen = "<parameter name=\"",
              .keyEnd = "\">",
              .valueEnd = "</parameter>\n"},
    ToolMarks{.name = "minimax-m3",
              .syntax = CallSyntax::Elements,
              .section = "]<]minimax[>[<tool_call>\n",
              .sectionEnd = "\n]<]minimax[>[</tool_call>",
              .open = "]<]minimax[>[<invoke name=\"",
              .nameEnd = "\">",
              .close = "]<]minimax[>[</invoke>",
              .separator = "\n",
              .keyOpen = "]<]minimax[>[<",
              .keyEnd = ">",
              .valueEnd = "]<]minimax[>[</"},
    // DeepSeek V3.2 and V4.
    dsml("dsml", "<｜DSML｜function_calls>\n", "\n</｜DSML｜function_calls>"),
    dsml("dsml-v4", "<｜DSML｜tool_calls>\n", "\n</｜DSML｜tool_calls>"),
    // Muse-Glimmer: each call is a separate message (AnswerMarks "atem").
    ToolMarks{.name = "atem",
              .syntax = CallSyntax::Parameters,
              .section = "<atem:function_calls>\n",
              .sectionEnd = "\n</atem:function_calls>",
              .sectionEach = true,
              .open = "<atem:invoke name=\"",
              .nameEnd = "\">\n",
              .close = "</atem:invoke>",
              .separator = "<|eom|><|start|>assistant",
              .keyOpen = "<atem:parameter name=\"",
              .keyEnd = "\">",
              .valueEnd = "</atem:parameter>\n"},
    ToolMarks{.name = "minicpm5",
              .syntax = CallSyntax::Parameters,
              .open = "<function name=\"",
              .nameEnd = "\">",
              .close = "</function>",
              .separator = "\n",
              .keyOpen = "<param name=\"",
              .keyEnd = "\">",
              .valueEnd = "</param>",
              .cdata = true},
    ToolMarks{.name = "kimi-k3",
              .syntax = CallSyntax::Parameters,
              .section = "<|open|>tools<|sep|>",
              .sectionEnd = "<|close|>tools<|sep|>",
              .open = "<|open|>call tool=\"",
              .nameEnd = "\" index=\"#\"<|sep|>",
              .close = "<|close|>call<|sep|>",
              .keyOpen = "<|open|>argument key=\"",
              .keyEnd = "<|sep|>",
              .valueEnd = "<|close|>argument<|sep|>",
              .valueType = ValueType::TypeName},
    ToolMarks{.name = "kimi-k2",
              .syntax = CallSyntax::Json,
              .section = "<|tool_calls_section_begin|>",
              .sectionEnd = "<|tool_calls_section_end|>",
              .open = "<|tool_call_begin|>functions.",
              .nameEnd = ":#<|tool_call_argument_begin|>",
              .close = "<|tool_call_end|>"},
    // DeepSeek V3 and R1.
    ToolMarks{.name = "deepseek-v3",
              .syntax = CallSyntax::Json,
              .section = "<｜tool▁calls▁begin｜>",
              .sectionEnd = "<｜tool▁calls▁end｜>",
              .open = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
              .nameEnd = "\n```json\n",
              .close = "\n```<｜tool▁call▁end｜>",
              .separator = "\n"},
    ToolMarks{.name = "deepseek-v31",
              .syntax = CallSyntax::Json,
              .section = "<｜tool▁calls▁begin｜>",
              .sectionEnd = "<｜tool▁calls▁end｜>",
              .open = "<｜tool▁call▁begin｜>",
              .nameEnd = "<｜tool▁sep｜>",
              .close = "<｜tool▁call▁end｜>"},
    // Solar Open (AnswerMarks "solar").
    ToolMarks{.name = "solar",
              .syntax = CallSyntax::Json,
              .section = "<|tool_calls|>",
              .sectionEnd = "<|calls|>",
              .open = "<|tool_call:begin|>#<|tool_call:name|>",
              .nameEnd = "<|tool_call:args|>",
              .close = "<|tool_call:end|>"},
    ToolMarks{.name = "functionary-v3.1",
              .syntax = CallSyntax::Json,
              .open = "<function=",
              .nameEnd = ">",
              .close = "</function>"},
    // Each call is a separate message (AnswerMarks "functionary").
    ToolMarks{.name = "functionary-v3.2",
              .syntax = CallSyntax::Json,
              .nameEnd = "\n",
              .separator = ">>>",
              .messages = "functionary"},
    // Command R7B and A.
    ToolMarks{.name = "cohere",
              .syntax = CallSyntax::Object,
              .section = "<|START_ACTION|>[\n    ",
              .sectionEnd = "\n]<|END_ACTION|>",
              .open = "{\"tool_call_id\": \"#\", \"tool_name\": \"",
              .nameEnd = "\", \"parameters\": ",
              .separator = ",\n    "},
    // Command R and R+ of 2024.
    ToolMarks{.name = "command-r",
              .syntax = CallSyntax::Object,
              .section = "Action:```json\n[\n    ",
              .sectionEnd = "\n]```",
              .open = "{\"tool_name\": \"",
              .nameEnd = "\", \"parameters\": ",
              .separator = ",\n    ",
              .alsoOpen = kCommandOpen,
              .fenced = true},
    // Granite 3.
    ToolMarks{.name = "granite",
              .syntax = CallSyntax::Object,
              .section = "<|tool_call|>[",
              .sectionEnd = "]",
              .nameEnd = kJsonNeck,
              .separator = ", "},
    // Phi-4-mini.
    ToolMarks{.name = "phi4-mini",
              .syntax = CallSyntax::Object,
              .section = "<|tool_call|>[",
              .sectionEnd = "]<|/tool_call|>",
              .nameEnd = kJsonNeck,
              .separator = ", ",
              .alsoOpen = kFunctools},
    // Hunyuan-A13B, Apriel.
    ToolMarks{.name = "tool-calls",
              .syntax = CallSyntax::Object,
              .section = "<tool_calls>[",
              .sectionEnd = "]</tool_calls>",
              .nameEnd = kJsonNeck,
              .separator = ", "},
    ToolMarks{.name = "minimax-m1",
              .syntax = CallSyntax::Object,
              .section = "<tool_calls>\n",
              .sectionEnd = "\n</tool_calls>",
              .nameEnd = kJsonNeck,
              .separator = "\n"},
    // Nemotron Nano 2.
    ToolMarks{.name = "nemotron",
              .syntax = CallSyntax::Object,
              .section = "<TOOLCALL>[",
              .sectionEnd = "]</TOOLCALL>",
              .nameEnd = kJsonNeck,
              .separator = ", "},
    ToolMarks{.name = "apertus",
              .syntax = CallSyntax::Object,
              .section = "<|tools_prefix|>[",
              .sectionEnd = "]<|tools_suffix|>",
              .open = "{\"",
              .nameEnd = "\": ",
              .separator = ", "},
    ToolMarks{.name = "gigachat3",
              .syntax = CallSyntax::Object,
              .open = "<|message_sep|>\n\nfunction call<|role_sep|>\n",
              .nameEnd = kJsonNeck,
              .oneCall = true},
    ToolMarks{.name = "gigachat31",
              .syntax = CallSyntax::Object,
              .open = "<|function_call|>",
              .nameEnd = kJsonNeck,
              .oneCall = true},
    // InternLM 2.5 and 3.
    ToolMarks{.name = "internlm",
              .syntax = CallSyntax::Object,
              .open = "<|action_start|><|plugin|>\n",
              .nameEnd = "\", \"parameters\": ",
              .close = "<|action_end|>",
              .separator = "\n",
              .alsoOpen = kPluginOpen},
};

constexpr MarkPair kCohereAnswer[] = {{"<|START_TEXT|>", "<|END_TEXT|>"},
                                      {"<|START_RESPONSE|>", "<|END_RESPONSE|>"}};
constexpr MarkPair kResponse[] = {{"<response>", "</response>"}};
constexpr MarkPair kAnswer[] = {{"<answer>", "</answer>"}};
constexpr MarkPair kFinalResponse[] = {{"", "[END FINAL RESPONSE]"}};
constexpr MarkPair kSolarAnswer[] = {{"<|content|>", "<|end|>"}};
constexpr std::string_view kSolarSkipped[] = {"<|begin|>assistant"};
constexpr MarkPair kKimiAnswer[] = {{"<|open|>response<|sep|>", "<|close|>response<|sep|>"}};
constexpr std::string_view kKimiSkipped[] = {"<|close|>message<|sep|>", "<|end_of_msg|>"};
constexpr std::string_view kHarmonyEnds[] = {"<|end|>", "<|return|>", "<|call|>"};
constexpr std::string_view kAtemEnds[] = {"<|eom|>", "<|eot|>"};

constexpr std::array kAnswers = {
    AnswerMarks{.name = "think", .reasoning = {"<think>", "</think>"}},
    AnswerMarks{.name = "magistral", .reasoning = {"[THINK]", "[/THINK]"}},
    AnswerMarks{.name = "seed-oss", .reasoning = {"<seed:think>", "</seed:think>"}},
    AnswerMarks{.name = "hy3", .reasoning = {"<think:opensource>", "</think:opensource>"}},
    AnswerMarks{.name = "minimax-m3", .reasoning = {"<mm:think>", "</mm:think>"}},
    AnswerMarks{.name = "apertus", .reasoning = {"<|inner_prefix|>", "<|inner_suffix|>"}},
    AnswerMarks{.name = "kimi-vl", .reasoning = {"◁think▷", "◁/think▷"}},
    AnswerMarks{.name = "exaone-deep", .reasoning = {"<thought>", "</thought>"}},
    // Granite 3.3, ERNIE 4.5 Thinking.
    AnswerMarks{
        .name = "think-response", .reasoning = {"<think>", "</think>"}, .answer = kResponse},
    // Hunyuan-A13B.
    AnswerMarks{.name = "think-answer", .reasoning = {"<think>", "</think>"}, .answer = kAnswer},
    AnswerMarks{.name = "apriel",
                .reasoning = {"Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"},
                .answer = kFinalResponse},
    AnswerMarks{
        .name = "gemma4", .reasoning = {"<|channel>thought\n", "<channel|>"}, .anywhere = true},
    AnswerMarks{.name = "cohere",
                .reasoning = {"<|START_THINKING|>", "<|END_THINKING|>"},
                .answer = kCohereAnswer,
                .anywhere = true},
    AnswerMarks{.name = "solar",
                .reasoning = {"<|think|>", "<|end|>"},
                .answer = kSolarAnswer,
                .skipped = kSolarSkipped,
                .anywhere = true,
                .thought = {"<|think|>", "<|end|><|begin|>assistant"}},
    AnswerMarks{.name = "kimi-k3",
                .reasoning = {"<|open|>think<|sep|>", "<|close|>think<|sep|>"},
                .answer = kKimiAnswer,
                .skipped = kKimiSkipped,
                .anywhere = true},
    AnswerMarks{.name = "harmony",
                .anywhere = true,
                .headerStart = "<|start|>",
                .headerEnd = "<|message|>",
                .messageEnds = kHarmonyEnds,
                .role = "assistant",
                .constraint = "<|constrain|>",
                .channel = "<|channel|>",
                .recipient = "to=",
                .toolPrefix = "functions.",
                .toReader = "final",
                .toSelf = "analysis",
                .bodyIsArguments = true,
                .thought = {"<|channel|>analysis<|message|>", "<|end|><|start|>assistant"},
                .answerHeader = "<|channel|>final<|message|>"},
    AnswerMarks{.name = "atem",
                .anywhere = true,
                .headerStart = "<|start|>",
                .headerEnd = "<|message|>",
                .messageEnds = kAtemEnds,
                .role = "assistant",
                .recipient = "to=",
                .toReader = "user",
                .toSelf = "self",
                .thought = {" to=self<|message|>", "<|eom|><|start|>assistant"},
                .answerHeader = " to=user<|message|>",
                .callHeader = " to="},
    AnswerMarks{.name = "functionary",
                .headerStart = ">>>",
                .headerEnd = "\n",
                .toReader = "all",
                .bodyIsArguments = true,
                .answerHeader = "all\n"},
};

template <typename Table> auto find(const Table &table, std::string_view name) {
  auto found = std::ranges::find(table, name, [](auto &row) { return row.name; });
  return found == table.end() ? nullptr : &*found;
}

constexpr auto kNames = [] {
  std::array<std::string_view, kTools.size()> names;
  std::ranges::transform(kTools, names.begin(), [](auto &row) { return row.name; });
  return names;
}();

constexpr auto kReasoningNames = [] {
  std::array<std::string_view, kAnswers.size()> names;
  std::ranges::transform(kAnswers, names.begin(), [](auto &row) { return row.name; });
  return names;
}();

} // namespace

const ToolMarks *toolMarks(std::string_view name) { return find(kTools, name); }
const AnswerMarks *answerMarks(std::string_view name) { return find(kAnswers, name); }
std::span<const std::string_view> toolFormatNames() { return kNames; }
std::span<const std::string_view> reasoningFormatNames() { return kReasoningNames; }

std::string_view markToFind(std::string_view mark) {
  constexpr std::string_view kSpace = " \n\r\t";
  auto trim = [&] {
    while (!mark.empty() && kSpace.find(mark.back()) != std::string_view::npos)
      mark.remove_suffix(1);
    while (!mark.empty() && kSpace.find(mark.front()) != std::string_view::npos)
      mark.remove_prefix(1);
  };
  mark = mark.substr(0, mark.find('#'));
  trim();
  if (mark.ends_with("["))
    mark.remove_suffix(1);
  // In "]</tool_calls>", the bracket ends a list; in "]<]minimax[>[", it is part of the mark.
  if (mark.starts_with("]") && !mark.starts_with("]<]"))
    mark.remove_prefix(1);
  trim();
  return mark;
}

} // namespace ingot::text
