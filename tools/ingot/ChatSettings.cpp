#include "tools/ingot/ChatSettings.h"

#include "runtime/error/Suggest.h"
#include "tools/ingot/Console.h"

#include <charconv>

namespace ingot::cli {

template <typename T> static bool parseInto(T &to, std::string_view text) {
  T value{};
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size())
    return false;
  to = value;
  return true;
}

Result<void> ChatSettings::set(std::string_view text) {
  const size_t space = std::min(text.find(' '), text.size());
  const std::string_view name = text.substr(0, space);
  const size_t at = text.find_first_not_of(' ', space);
  const std::string_view value = at == std::string_view::npos ? "" : text.substr(at);

  ChatSettings changed = *this;
  runtime::SamplingParams &s = changed.sampling;
  bool fine = true;
  if (name == "temperature" || name == "temp")
    fine = parseInto(s.temperature, value);
  else if (name == "top-k")
    fine = parseInto(s.topK, value);
  else if (name == "top-p")
    fine = parseInto(s.topP, value);
  else if (name == "min-p")
    fine = parseInto(s.minP, value);
  else if (name == "repetition-penalty")
    fine = parseInto(s.repetitionPenalty, value);
  else if (name == "seed")
    fine = parseInto(s.seed, value);
  else if (name == "max-tokens")
    fine = parseInto(changed.maxTokens, value) && changed.maxTokens > 0;
  else if (name == "system")
    changed.system = value;
  else if (name == "verbose")
    changed.verbose = value != "off";
  else
    return Error{
        ExitCode::Usage, "E0108", "unknown setting " + std::string(name),
        didYouMean(name, {"temperature", "top-k", "top-p", "min-p", "repetition-penalty", "seed",
                          "max-tokens", "system", "verbose"}),
        "temperature, top-k, top-p, min-p, repetition-penalty, seed, max-tokens, system, verbose"};
  if (!fine)
    return Error{ExitCode::Usage, "E0108",
                 std::string(name) + " cannot be " +
                     (value.empty() ? "nothing" : std::string(value)),
                 "", "give a number: /set temperature 0.7"};
  if (auto allowed = s.check(vocab); !allowed)
    return allowed;
  *this = std::move(changed);
  return {};
}

std::string ChatSettings::text() const {
  const runtime::SamplingParams &s = sampling;
  auto line = [](std::string name, const std::string &value) {
    name.resize(20, ' ');
    return "  " + name + value + "\n";
  };
  return line("temperature", shortNumber(s.temperature) + (s.greedy() ? " (greedy)" : "")) +
         line("top-k", std::to_string(s.topK)) + line("top-p", shortNumber(s.topP)) +
         line("min-p", shortNumber(s.minP)) +
         line("repetition-penalty", shortNumber(s.repetitionPenalty)) +
         line("seed", std::to_string(s.seed)) +
         line("max-tokens", maxTokens < 0 ? "the rest of the context" : std::to_string(maxTokens)) +
         line("system", system.empty() ? "(none)" : system) +
         line("verbose", verbose ? "on" : "off");
}

} // namespace ingot::cli
