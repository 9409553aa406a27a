#include "tools/ingot/chat/ChatSettings.h"

#include "runtime/error/Suggest.h"
#include "tools/terminal/Console.h"

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

/// Returns the row that has the name among its flags; nullptr if there is none.
static const runtime::SamplingField *fieldCalled(std::string_view name) {
  for (const runtime::SamplingField &field : runtime::kSamplingFields)
    if (field.isCalled(name))
      return &field;
  return nullptr;
}

static Error noSetting(std::string_view name) {
  std::vector<std::string> names;
  for (const runtime::SamplingField &field : runtime::kSamplingFields)
    if (!field.apart())
      names.push_back(field.dashed());
  names.insert(names.end(), {"max-tokens", "system", "verbose"});
  std::string list;
  for (const std::string &one : names)
    list += (list.empty() ? "" : ", ") + one;
  return {ExitCode::Usage, "E0108", "unknown setting " + std::string(name), didYouMean(name, names),
          list};
}

Result<void> ChatSettings::set(std::string_view text) {
  const size_t space = std::min(text.find(' '), text.size());
  const std::string_view name = text.substr(0, space);
  const size_t at = text.find_first_not_of(' ', space);
  const std::string_view value = at == std::string_view::npos ? "" : text.substr(at);

  ChatSettings changed = *this;
  const runtime::SamplingField *field = fieldCalled(name);
  bool fine = true;
  if (field) {
    auto parse = [&]<typename T>(T runtime::SamplingParams::*member) {
      T number{};
      fine = parseInto(number, value);
      changed.asked.set(member, number);
    };
    std::visit(parse, field->member);
  } else if (name == "max-tokens")
    fine = parseInto(changed.maxTokens, value) && changed.maxTokens > 0;
  else if (name == "system")
    changed.system = value;
  else if (name == "verbose")
    changed.verbose = value != "off";
  else
    return noSetting(name);
  if (!fine)
    return Error{ExitCode::Usage, "E0109",
                 std::string(name) + " cannot be " +
                     (value.empty() ? "nothing" : std::string(value)),
                 "", "give a number: /set temperature 0.7"};
  if (field) {
    if (auto allowed = field->check(changed.asked.values, std::string(name)); !allowed)
      return allowed;
    changed.sampling = changed.asked.over(defaults);
  }
  *this = std::move(changed);
  return {};
}

std::string ChatSettings::text() const {
  auto line = [](std::string name, const std::string &value) {
    name.resize(20, ' ');
    return "  " + name + value + "\n";
  };
  std::string all;
  for (const runtime::SamplingField &field : runtime::kSamplingFields) {
    if (field.apart())
      continue;
    auto write = [&]<typename T>(T runtime::SamplingParams::*member) {
      const T value = sampling.*member;
      if constexpr (std::is_floating_point_v<T>)
        return shortNumber(value);
      else
        return std::to_string(value);
    };
    const bool greedy = field.dashed() == "temperature" && sampling.greedy();
    all += line(field.dashed(), std::visit(write, field.member) + (greedy ? " (greedy)" : ""));
  }
  return all +
         line("max-tokens", maxTokens < 0 ? "the rest of the context" : std::to_string(maxTokens)) +
         line("system", system.empty() ? "(none)" : system) +
         line("verbose", verbose ? "on" : "off");
}

} // namespace ingot::cli
