//===- ReasoningFields.cpp - The table of switches and their effects --------===//
#include "runtime/server/api/ReasoningFields.h"

#include "runtime/json/JsonText.h"

namespace ingot::api {

namespace {

using runtime::JsonText;

/// The meaning of a switch's value.
enum class SwitchKind : uint8_t {
  Level,    ///< how much the model reasons: "none", "low", …
  Toggle,   ///< true: the model reasons, false: it does not
  Type,     ///< "enabled", "disabled", "adaptive"
  Think,    ///< Ollama's: a Toggle or a Level
  Budget,   ///< maximum tokens of reasoning; 0: the model does not reason, -1: no limit
  Show,     ///< false: the answer omits the reasoning
  Hide,     ///< true: the answer omits the reasoning
  Separate, ///< false: the reasoning stays in the content, with its marks
  Format,   ///< llama.cpp's: "none" as Separate false, "auto" and "deepseek" the default
  Display,  ///< Anthropic's: "omitted" hides the reasoning
  Streamed, ///< false: a stream sends the reasoning in one piece
  Summary,  ///< a summary of the reasoning: only "auto" is accepted, and none is made
  Absent,   ///< not supported
};

constexpr uint8_t kOnChat = 1, kOnResponses = 2, kOnMessages = 4, kOnOllama = 8;

struct Switch {
  uint8_t apis;
  const char *holder; ///< the object that the field is in; "": the body
  const char *name;
  SwitchKind kind;
};

constexpr Switch kSwitches[] = {
    // OpenAI
    {kOnChat | kOnResponses, "", "reasoning_effort", SwitchKind::Level},
    {kOnChat | kOnResponses, "reasoning", "effort", SwitchKind::Level},
    {kOnResponses, "reasoning", "summary", SwitchKind::Summary},
    {kOnResponses, "reasoning", "generate_summary", SwitchKind::Summary},
    // OpenRouter, in the same object
    {kOnChat, "reasoning", "enabled", SwitchKind::Toggle},
    {kOnChat, "reasoning", "max_tokens", SwitchKind::Budget},
    {kOnChat, "reasoning", "exclude", SwitchKind::Hide},
    // Anthropic; Z.ai and DeepSeek have the first one in their chats
    {kOnMessages | kOnChat, "thinking", "type", SwitchKind::Type},
    {kOnMessages | kOnChat, "thinking", "budget_tokens", SwitchKind::Budget},
    {kOnMessages, "thinking", "display", SwitchKind::Display},
    {kOnMessages, "output_config", "effort", SwitchKind::Level},
    // vLLM
    {kOnChat | kOnResponses, "", "include_reasoning", SwitchKind::Show},
    {kOnChat | kOnResponses, "", "thinking_token_budget", SwitchKind::Budget},
    // SGLang
    {kOnChat, "", "separate_reasoning", SwitchKind::Separate},
    {kOnChat, "", "stream_reasoning", SwitchKind::Streamed},
    // llama.cpp
    {kOnChat, "", "reasoning_format", SwitchKind::Format},
    {kOnChat | kOnMessages, "", "thinking_budget_tokens", SwitchKind::Budget},
    {kOnChat, "", "reasoning_budget_tokens", SwitchKind::Budget},
    {kOnChat, "", "reasoning_budget", SwitchKind::Budget},
    {kOnChat, "", "reasoning_budget_message", SwitchKind::Absent},
    {kOnChat, "", "reasoning_in_content", SwitchKind::Absent},
    {kOnChat, "", "reasoning_control", SwitchKind::Absent},
    {kOnChat, "", "thinking_forced_open", SwitchKind::Absent},
    // Qwen
    {kOnChat, "", "enable_thinking", SwitchKind::Toggle},
    {kOnChat, "", "thinking_budget", SwitchKind::Budget},
    // Ollama
    {kOnOllama, "", "think", SwitchKind::Think},
};

/// The combined values of all switches of a request, and the fields that set them.
struct Wish {
  std::optional<bool> reasons;
  std::string level; ///< a level above "none"
  std::optional<int64_t> budget;
  std::string reasonsField, budgetField;
  bool anthropic = false; ///< the level is Anthropic's, whose default is "high"
  bool target = false;    ///< Anthropic's "thinking": a preference, whose budget is only a target

  /// Returns whether the level is so low that a model without reasoning satisfies it. Clients send
  /// their level to every model.
  bool asksForLittle() const { return level == "minimal" || level == "low"; }
};

void readLevel(const Fields &holder, const Switch &one, Wish &wish) {
  auto level = holder.oneOf(one.name, {"none", "minimal", "low", "medium", "high", "xhigh", "max"});
  if (!level)
    return;
  wish.reasons = *level != "none";
  wish.level = *wish.reasons ? std::string(*level) : "";
  wish.reasonsField = holder.path(one.name);
  wish.anthropic = one.apis == kOnMessages;
}

void readOn(const Fields &holder, const Switch &one, std::optional<bool> on, Wish &wish) {
  if (!on)
    return;
  wish.reasons = on;
  wish.reasonsField = holder.path(one.name);
}

void readOne(const Fields &holder, const Switch &one, Wish &wish, Generation &generation) {
  using Shown = Generation::Reasoning;
  Shown &shown = generation.reasoning;
  switch (one.kind) {
  case SwitchKind::Level:
    return readLevel(holder, one, wish);
  case SwitchKind::Toggle:
    return readOn(holder, one, holder.boolean(one.name), wish);
  case SwitchKind::Type:
    if (auto type = holder.oneOf(one.name, {"enabled", "disabled", "adaptive", "auto"});
        type == "enabled" || type == "disabled")
      readOn(holder, one, type == "enabled", wish);
    wish.target = one.apis & kOnMessages;
    return;
  case SwitchKind::Think:
    if (auto think = holder.element(one.name); think && think->is_bool())
      return readOn(holder, one, holder.boolean(one.name), wish);
    return readLevel(holder, one, wish);
  case SwitchKind::Budget:
    if (auto budget = holder.integer(one.name, -1, 1 << 30)) {
      if (*budget == 0)
        readOn(holder, one, false, wish);
      if (*budget > 0)
        wish.budget = budget;
      wish.budgetField = holder.path(one.name);
      wish.target = one.apis & kOnMessages;
    }
    return;
  case SwitchKind::Show:
    shown = holder.boolean(one.name) == false ? Shown::Hidden : shown;
    return;
  case SwitchKind::Hide:
    shown = holder.boolean(one.name) == true ? Shown::Hidden : shown;
    return;
  case SwitchKind::Separate:
    shown = holder.boolean(one.name) == false ? Shown::InContent : shown;
    return;
  case SwitchKind::Format:
    shown =
        holder.oneOf(one.name, {"auto", "deepseek", "none"}) == "none" ? Shown::InContent : shown;
    return;
  case SwitchKind::Display:
    shown = holder.oneOf(one.name, {"summarized", "omitted"}) == "omitted" ? Shown::Hidden : shown;
    return;
  case SwitchKind::Streamed:
    shown = holder.boolean(one.name) == false && shown == Shown::Apart ? Shown::InOnePiece : shown;
    return;
  case SwitchKind::Summary:
    if (auto wanted = holder.oneOf(one.name, {"auto", "concise", "detailed"});
        wanted && *wanted != "auto")
      holder.fail(one.name,
                  "is " + JsonText().value(*wanted).text() +
                      ": reasoning is returned unchanged, without a summary; allowed: auto");
    return;
  case SwitchKind::Absent:
    return refuseUnsupported(holder, one.name, "is not supported", {"false", "\"\""});
  }
}

/// Which of the known reasoning variables a chat template reads.
struct Reads {
  /// `enable`: enable_thinking or thinking. `thinking`: the latter, which some templates read instead.
  bool enable, thinking, level, budget;
  bool always; ///< the model's output format includes reasoning
  bool served; ///< the server sets template variables, which a wish overrides
};

std::optional<Reads> readsOf(const service::ServedModel &model, const ChatInput &input) {
  auto found = templateOf(model, input);
  if (!found)
    return std::nullopt; // rendering reports the error
  const text::ChatTemplate &own = **found;
  const text::OutputFormat format = input.ownTemplate.empty()
                                        ? model.outputFormat()
                                        : text::detectOutputFormat(input.ownTemplate);
  const bool thinking = own.uses("thinking");
  return Reads{thinking || own.uses("enable_thinking"),
               thinking,
               own.uses("reasoning_effort"),
               own.uses("thinking_budget"),
               !format.reasoning.empty(),
               !model.templateVariables().empty()};
}

/// Adds a template variable. A variable that the request sets by its own name takes precedence.
void addVariable(ChatInput &input, std::string_view name, const std::string &json) {
  input.templateVariables =
      joinObjects("{" + JsonText().value(name).text() + ":" + json + "}", input.templateVariables);
}

void enableThinking(ChatInput &input, bool on) {
  addVariable(input, "thinking", on ? "true" : "false");
  addVariable(input, "enable_thinking", on ? "true" : "false");
}

/// Applies a wish. Returns the reason if the template cannot fulfil it, otherwise "".
std::string applyWish(const Wish &wish, const Reads &reads, ChatInput &input) {
  if (!wish.reasons)
    return "";
  if (!*wish.reasons) {
    if (reads.level && !reads.enable)
      addVariable(input, "reasoning_effort", "\"none\"");
    else
      enableThinking(input, false);
    return reads.enable || reads.level || !reads.always
               ? ""
               : "is not supported: this model always reasons; its chat template has none of "
                 "enable_thinking, thinking and reasoning_effort";
  }
  if (reads.level && !wish.level.empty()) {
    addVariable(input, "reasoning_effort", JsonText().value(wish.level).text());
    if (reads.enable && reads.served)
      enableThinking(input, true);
    else if (reads.thinking) // usually off by default
      addVariable(input, "thinking", "true");
  } else if (reads.enable)
    enableThinking(input, true);
  else if (wish.level.empty() && !reads.always && !reads.level)
    return "is not supported: this model does not reason";
  else if (!wish.level.empty() && !(wish.anthropic && wish.level == "high") &&
           !(wish.asksForLittle() && !reads.always))
    return "is not supported: this model's chat template has none of reasoning_effort, "
           "enable_thinking and thinking; omit the field";
  return "";
}

/// Applies a budget. Only the template can enforce one, but a budget that the answer cannot exceed
/// is always met. Returns the reason if the budget cannot be met, otherwise "".
std::string applyBudget(int64_t budget, const Reads &reads, const Generation &generation,
                        ChatInput &input) {
  if (reads.budget)
    addVariable(input, "thinking_budget", std::to_string(budget));
  const int64_t most = generation.request.maxTokens >= 0 ? generation.request.maxTokens - 1
                                                         : generation.model->session().context();
  if (reads.budget || !reads.always || budget >= most)
    return "";
  return "is " + std::to_string(budget) +
         ": this model's chat template has no thinking_budget, and only max_tokens ends reasoning; "
         "omit the field, or give " +
         std::to_string(most) + " or more";
}

} // namespace

void readReasoning(const Fields &body, ReasoningApi api, ChatInput &input, Generation &generation) {
  Wish wish;
  for (const Switch &one : kSwitches)
    if (one.apis & uint8_t(api)) {
      if (!*one.holder)
        readOne(body, one, wish, generation);
      else if (auto holder = body.object(one.holder))
        readOne(*holder, one, wish, generation);
    }
  if (body.failed())
    return;
  const auto reads = readsOf(*generation.model, input);
  if (!reads)
    return;
  // Claude Code requests thinking from every model, so such a request is not an error.
  auto cannot = [&](const std::string &field, const std::string &why) {
    if (wish.target && wish.reasons != false)
      body.leaveOut(field, why);
    else
      body.fail(field, why);
  };
  if (auto why = applyWish(wish, *reads, input); !why.empty())
    cannot(wish.reasonsField, why);
  else if (wish.budget && wish.reasons != false)
    if (why = applyBudget(*wish.budget, *reads, generation, input); !why.empty())
      cannot(wish.budgetField, why);
}

} // namespace ingot::api
