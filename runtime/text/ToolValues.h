//===- ToolValues.h - Lark rules of the values of calls ---------------------===//
//
// Writes the rules for the values in a grammar of calls: JSON of a schema, or the syntax that a format
// uses instead. Where values are bare text, a rule defines the text that may appear between a value's
// marks. This is one of the texts of an enum, JSON of the property's schema, or text up to the mark
// that ends it, with the pattern, format and length that the schema requires.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/OutputFormats.h"
#include "runtime/text/SchemaTypes.h"
#include "runtime/text/Text.h"

#include <optional>

namespace ingot::text {

/// Returns the text as a Lark string, which is a JSON string with DEL escaped.
std::string larkString(std::string_view text);

/// Any text, as Lark.
inline constexpr const char *kAnyText = "/(?s:.*)/";

/// Writes rules, and returns Lark expressions that refer to them.
class ToolValues {
public:
  using element = simdjson::dom::element;

  ToolValues(const ToolMarks *marks, const Tokenizer *tokenizer)
      : marks(marks), tokenizer(tokenizer) {}

  const std::string &allRules() const { return rules; }
  std::string rule(const std::string &body);
  /// Defines a rule of that name, for rules that refer to each other.
  void define(const std::string &name, const std::string &body) {
    rules += name + ": " + body + "\n";
  }
  /// Returns a rule of any text except this one.
  std::string otherText(std::string_view text);
  /// Returns a mark as Lark: its special tokens as tokens, and the rest as text. A '#' is an id, unless
  /// `ids` is false.
  std::string mark(std::string_view text, bool ids = true) const;
  /// Returns the id of the special token that the text begins with, and the size of its string.
  std::optional<std::pair<int32_t, size_t>> specialAt(std::string_view text) const;
  /// Returns a rule of text that matches a regex, followed by a mark.
  std::string textUntil(const std::string &regex, std::string_view end);
  /// Returns a rule of text that matches a regex and ends with the first `end` in it. `end` must not be a
  /// special token.
  std::string textThrough(const std::string &regex, std::string_view end);
  /// Returns "all | one"; `all` may be empty.
  static std::string either(std::string all, const std::string &one);

  /// Returns the rule of arguments according to the parameters of one tool, in a given syntax. `given`:
  /// the tool has parameters.
  std::string arguments(element parameters, bool given, CallSyntax syntax);
  /// Returns a rule of any arguments, for syntaxes with JSON or with marks around bare text.
  std::string anyArguments(CallSyntax syntax);

protected:
  const ToolMarks *marks; ///< null: the format has no calls
  const Tokenizer *tokenizer;

private:
  /// A property of a tool's parameters.
  struct Property {
    std::string_view name;
    element schema;
    bool required;
  };
  /// The Lark expressions of a property: if it is written first, and if it follows another.
  struct Written {
    bool required;
    std::string first, next;
  };

  std::string terminal(const std::string &body);
  std::string standalone(element schema) const;
  std::string json(element schema) { return rule("%json " + standalone(schema)); }
  std::string argumentsObject(element parameters, bool given);
  std::vector<Property> propertiesOf(element given) const;
  std::string inOrder(const std::vector<Written> &properties);
  std::vector<std::string> listedTexts(element schema) const;
  std::string bareText(element schema, std::string_view end);
  void branches(element given, std::vector<element> &parts, int steps = 16) const;
  std::string withoutText(element schema, uint8_t types) const;
  std::string only(element schema, uint8_t types, uint8_t wanted);
  std::string markedValue(const Property &property);
  std::string markedParameters(element parameters, bool given);
  std::string keywords(element parameters, bool given);
  std::string repeated(const std::string &item, const std::string &separator, element schema);
  std::string nestedValue(element given, const std::string &end, int depth);
  std::string nestedObject(element schema, int depth);

  std::string rules{};
  int32_t count = 0;
  element root{};       ///< the parameters of the current tool
  std::string shared{}; ///< definitions that $ref may refer to, as members of an object
};

} // namespace ingot::text
