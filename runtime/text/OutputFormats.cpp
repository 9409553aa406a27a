//===- OutputFormats.cpp - The table, and what a template says of itself --===//

#include "runtime/text/OutputFormats.h"
#include "runtime/text/ChatOutput.h"

#include <algorithm>
#include <array>

namespace ingot::text {

namespace {

constexpr Mark kHermesOpen[] = {{"<tool_call>"}};
constexpr Mark kHermesClose[] = {{"</tool_call>"}};
constexpr Mark kLlamaOpen[] = {{"<|python_tag|>"}};
constexpr Mark kLlamaClose[] = {{"<|eom_id|>"}, {"<|eot_id|>"}};
constexpr Mark kPythonOpen[] = {{"<|python_start|>"}, {"<|python_tag|>"}};
constexpr Mark kPythonClose[] = {{"<|python_end|>"}, {"<|eom_id|>"}, {"<|eot_id|>"}};
constexpr Mark kMistralOpen[] = {{"[TOOL_CALLS]"}};
constexpr Mark kGemmaOpen[] = {
    {"```tool_code", false}, {"```tool_call", false}, {"```json", false}};
constexpr Mark kGemmaClose[] = {{"```", false}};
constexpr Mark kFunctionGemmaOpen[] = {{"<start_function_call>"}};
constexpr Mark kFunctionGemmaClose[] = {{"<end_function_call>"}};

constexpr std::array kTools = {
    // Qwen 2.5 and 3, SmolLM2 and 3, Hermes: one object in each pair of marks.
    ToolMarks{.name = "hermes",
              .openers = kHermesOpen,
              .closers = kHermesClose,
              .json = true,
              .shape = CallShape::Json,
              .before = {"<tool_call>"},
              .after = {"</tool_call>"},
              .separator = "\n"},
    // Llama 3.1 to 3.3: the answer is the object; several with ';' or a new line between them.
    ToolMarks{.name = "llama3-json",
              .openers = kLlamaOpen,
              .closers = kLlamaClose,
              .bare = "{",
              .json = true,
              .shape = CallShape::Json,
              .argumentsKey = "parameters",
              .separator = "; "},
    // Llama 3.2 small models and Llama 4: [f(a=1), g()].
    ToolMarks{.name = "llama3-pythonic",
              .openers = kPythonOpen,
              .closers = kPythonClose,
              .bare = "[",
              .python = true,
              .shape = CallShape::Python,
              .prefix = {"[", false},
              .suffix = {"]", false},
              .separator = ", "},
    // Mistral until its 10th tokenizer: an array of objects.
    ToolMarks{.name = "mistral",
              .openers = kMistralOpen,
              .json = true,
              .named = true,
              .shape = CallShape::Json,
              .prefix = {"[TOOL_CALLS]"},
              .suffix = {"]", false},
              .separator = ", "},
    // From the 11th on: each call has its mark.
    ToolMarks{.name = "mistral-args",
              .openers = kMistralOpen,
              .json = true,
              .named = true,
              .shape = CallShape::Named,
              .before = {"[TOOL_CALLS]"}},
    // Gemma 3 has no marks of its own: its documentation prompts for either of these.
    ToolMarks{.name = "gemma3",
              .openers = kGemmaOpen,
              .closers = kGemmaClose,
              .bare = "{[",
              .json = true,
              .python = true,
              .shape = CallShape::Python,
              .prefix = {"```tool_code", false},
              .suffix = {"```", false},
              .separator = "\n"},
    ToolMarks{.name = "functiongemma",
              .openers = kFunctionGemmaOpen,
              .closers = kFunctionGemmaClose,
              .gemma = true},
};

constexpr std::array kReasoning = {
    ReasoningMarks{"think", "<think>", "</think>"},
    ReasoningMarks{"magistral", "[THINK]", "[/THINK]"},
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

} // namespace

const ToolMarks *toolMarks(std::string_view name) { return find(kTools, name); }
const ReasoningMarks *reasoningMarks(std::string_view name) { return find(kReasoning, name); }
std::span<const std::string_view> toolFormatNames() { return kNames; }

OutputFormat detectOutputFormat(std::string_view chatTemplate) {
  auto has = [&](std::string_view text) {
    return chatTemplate.find(text) != std::string_view::npos;
  };
  OutputFormat format;
  if (has("[TOOL_CALLS]"))
    format.tools = has("[ARGS]") ? "mistral-args" : "mistral";
  else if (has("<start_function_call>"))
    format.tools = "functiongemma";
  else if (has("<tool_call>") &&
           !has("<function=")) // Qwen3-Coder writes XML inside of the same marks
    format.tools = "hermes";
  else if (has("<|python_start|>") || has("func_name1(params_name1"))
    format.tools = has("<start_of_turn>") ? "gemma3" : "llama3-pythonic";
  else if (has("<|start_header_id|>") && has("tools") && has("\"parameters\""))
    format.tools = "llama3-json";
  else if (has("<start_of_turn>"))
    format.tools = "gemma3";

  for (const ReasoningMarks &row : kReasoning)
    if (format.reasoning.empty() && has(row.close))
      format.reasoning = row.name;
  if (const ReasoningMarks *row = reasoningMarks(format.reasoning)) {
    // Opened for every answer: written after the last word of the prompt, and not closed there.
    size_t prompt = chatTemplate.rfind("add_generation_prompt");
    std::string_view tail = prompt == std::string_view::npos ? "" : chatTemplate.substr(prompt);
    format.reasoningOpen = tail.find(row->open) != std::string_view::npos &&
                           tail.find(row->close) == std::string_view::npos;
  }
  return format;
}

bool endsInReasoning(const OutputFormat &format, std::string_view prompt) {
  const ReasoningMarks *row = reasoningMarks(format.reasoning);
  if (!row)
    return false;
  while (!prompt.empty() &&
         std::string_view(" \n\r\t").find(prompt.back()) != std::string_view::npos)
    prompt.remove_suffix(1);
  return prompt.ends_with(row->open);
}

} // namespace ingot::text
