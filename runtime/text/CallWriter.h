//===- CallWriter.h - Lark rules of whole calls -----------------------------===//
#pragma once

#include "runtime/text/ChatOutput.h"
#include "runtime/text/ToolValues.h"

namespace ingot::text {

/// A tool that the model may call.
struct Callable {
  std::string name;
  std::string arguments;  ///< the Lark rule of its arguments
  std::string asObject{}; ///< the same as a JSON object, if the format accepts either
};

class CallWriter : public ToolValues {
public:
  CallWriter(const OutputFormat &format, const Tokenizer *tokenizer);

  bool hasCalls() const { return marks != nullptr; }
  Callable callable(std::string_view name, element parameters, bool given, bool bound);
  /// Returns the rule of calls with all their marks: one call, or several if `parallel`.
  std::string calls(const std::vector<Callable> &tools, bool parallel);
  /// Returns the rule of the reasoning that a model may write first; "" if the model does not reason.
  std::string thought();
  /// Returns the rule of an answer with the given body, and the marks around it.
  std::string shaped(const std::string &body);
  /// Returns the rule of a whole answer that is arbitrary text with calls in it.
  std::string anyText(const std::vector<Callable> &tools, bool parallel);

private:
  struct Opening;

  std::string call(const Callable &tool) const;
  std::string sectionOf(const std::string &call) const;
  std::string listed(const std::vector<Callable> &tools, bool parallel);
  std::string ends() const;
  std::string jsonPieces(std::string_view text) const;

  std::string plainText();
  std::string specials(const std::vector<int32_t> &but) const;
  std::vector<Opening> openings() const;
  std::string opened(const Opening &one, const std::vector<Callable> &tools, bool parallel);
  std::string namedCalls(const std::vector<Callable> &tools, bool first);
  std::string inMessages(const std::vector<Callable> &tools);
  std::string aroundReasoning(const std::string &items, const std::vector<int32_t> &openers);

  const OutputFormat &format;
  const AnswerMarks *answer; ///< null: the answer is plain text
};

} // namespace ingot::text
