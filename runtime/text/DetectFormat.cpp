//===- DetectFormat.cpp - Detects the format from a chat template ----------===//
//
// A template contains the marks that the model was trained to write: in the assistant turns that it
// renders, or in its instructions. Fine-tunes keep the template of their base, so it is more
// reliable than the architecture.
//===----------------------------------------------------------------------===//

#include "runtime/text/ChatOutput.h"
#include "runtime/text/OutputFormats.h"

#include <algorithm>

namespace ingot::text {

namespace {

/// A format, and the strings by which it is recognised: a template contains `spells` and `also`, and
/// does not contain `butNot`.
struct Sign {
  std::string_view format;
  std::string_view spells, also{}, butNot{};
};

/// The first match wins, so distinctive marks precede marks that many families share.
constexpr Sign kToolSigns[] = {
    {"harmony", "<|channel|>", "<|message|>"},
    {"atem", "<atem:"},
    {"minimax-m3", "]<]minimax[>["},
    {"minimax-m2", "<minimax:tool_call>"},
    {"minimax-m1", "<tool_calls>", "<end_of_sentence>"},
    {"dsml", "DSML", "function_calls"},
    {"dsml-v4", "DSML"},
    {"kimi-k3", "<|open|>", "<|sep|>"},
    {"kimi-k2", "<|tool_calls_section_begin|>"},
    {"deepseek-v3", "<｜tool▁calls▁begin｜>", "```json"},
    {"deepseek-v31", "<｜tool▁calls▁begin｜>"},
    {"mistral-args", "[TOOL_CALLS]", "[ARGS]"},
    {"mistral", "[TOOL_CALLS]"},
    {"gemma4", "<|tool_call>"},
    {"functiongemma", "<start_function_call>"},
    {"lfm2", "<|tool_call_start|>"},
    {"lfm2", "<|tool_list_start|>"},
    {"lfm2", "List of tools: [", "<|im_start|>"},
    {"minicpm5", "<function name="},
    {"hy3", "<tool_sep", "arg_key"},
    {"glm45", "</arg_key>\\n<arg_value>"},
    {"glm45", "</arg_key>\n<arg_value>"},
    {"glm45", "</arg_key>\\n"},
    {"glm47", "<arg_key>"},
    {"seed-oss", "<seed:tool_call>"},
    {"qwen3-coder", "<function=", "<parameter="},
    {"functionary-v3.2", ">>>all"},
    {"functionary-v3.1", "<function="},
    {"cohere", "<|START_ACTION|>"},
    {"command-r", "directly_answer", "Action:"},
    {"solar", "<|tool_call:begin|>"},
    {"apertus", "<|tools_prefix|>"},
    {"nemotron", "<TOOLCALL>"},
    {"phi4-mini", "<|tool|>", "<|/tool|>"},
    {"phi4-mini", "<|/tool_call|>"},
    {"granite", "<|tool_call|>", "<|start_of_role|>"},
    {"gigachat31", "<|function_call|>"},
    {"gigachat3", "function call<|role_sep|>"},
    {"internlm", "<|action_start|>"},
    {"olmo3", "<function_calls>"},
    {"tool-calls", "<tool_calls>"},
    {"hermes", "<tool_call>"},
    {"gemma3", "func_name1(params_name1", "<start_of_turn>"},
    {"llama3-pythonic", "<|python_start|>"},
    {"llama3-pythonic", "func_name1(params_name1"},
    {"llama3-json", "<|start_header_id|>", "\"parameters\""},
    {"gemma3", "<start_of_turn>"},
};

constexpr Sign kAnswerSigns[] = {
    {"harmony", "<|channel|>", "<|message|>"},
    {"atem", "<atem:"},
    {"solar", "<|tool_call:begin|>"},
    {"solar", "<|begin|>", "<|think|>"},
    {"kimi-k3", "<|open|>", "<|sep|>"},
    {"cohere", "<|START_THINKING|>"},
    {"cohere", "<|START_RESPONSE|>"},
    {"cohere", "<|START_TEXT|>"},
    {"gemma4", "<|channel>"},
    {"functionary", ">>>all"},
    {"minimax-m3", "</mm:think>"},
    {"minimax-m3", "mm:think"},
    {"seed-oss", "</seed:think>"},
    {"hy3", "<think{}>"},
    {"hy3", "</think:opensource>"},
    {"apertus", "<|inner_prefix|>"},
    {"magistral", "[/THINK]"},
    {"apriel", "[BEGIN FINAL RESPONSE]"},
    {"kimi-vl", "◁/think▷"},
    {"exaone-deep", "</thought>"},
    {"think-answer", "</think>", "</answer>"},
    {"think-answer", "</think>", "<answer>"},
    {"think-response", "</think>", "<response>"},
    {"think-response", "<think>", "<response>"},
    {"think", "</think>"},
    {"think", "<think>"},
};

std::string_view firstSign(std::span<const Sign> signs, std::string_view chatTemplate) {
  auto has = [&](std::string_view text) {
    return chatTemplate.find(text) != std::string_view::npos;
  };
  for (const Sign &sign : signs)
    if (has(sign.spells) && has(sign.also) && (sign.butNot.empty() || !has(sign.butNot)))
      return sign.format;
  return "";
}

} // namespace

OutputFormat detectOutputFormat(std::string_view chatTemplate) {
  OutputFormat format;
  format.tools = firstSign(kToolSigns, chatTemplate);
  format.reasoning = firstSign(kAnswerSigns, chatTemplate);
  if (const AnswerMarks *row = answerMarks(format.reasoning); row && !row->hasHeaders()) {
    // Reasoning is open in every answer if the prompt's tail opens it and does not close it again.
    size_t prompt = chatTemplate.rfind("add_generation_prompt");
    std::string_view tail = prompt == std::string_view::npos ? "" : chatTemplate.substr(prompt);
    std::string_view open = markToFind(row->reasoning.open);
    format.reasoningOpen = tail.find(open) != std::string_view::npos &&
                           tail.find(row->reasoning.close) == std::string_view::npos;
  }
  return format;
}

std::string describeFormat(const OutputFormat &format) {
  auto named = [](const std::string &name) { return name.empty() ? "none known" : name; };
  return "tools: " + named(format.tools) + "; reasoning: " + named(format.reasoning);
}

OutputFormat formatBehind(OutputFormat format, std::string_view prompt) {
  const AnswerMarks *row = answerMarks(format.reasoning);
  format.reasoningOpen = format.answerOpen = false;
  if (!row || row->hasHeaders())
    return format;
  while (!prompt.empty() &&
         std::string_view(" \n\r\t").find(prompt.back()) != std::string_view::npos)
    prompt.remove_suffix(1);
  format.reasoningOpen = prompt.ends_with(markToFind(row->reasoning.open));
  for (const MarkPair &pair : row->answer)
    format.answerOpen |= !pair.open.empty() && prompt.ends_with(pair.open);
  return format;
}

} // namespace ingot::text
