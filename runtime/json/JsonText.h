//===- JsonText.h - Writes JSON, compactly and always valid ---------------===//
//
//   JsonText j;
//   j.open('{').key("name").value("q\"1").key("sizes").open('[').value(1).close().close();
//   j.text()   {"name":"q\"1","sizes":[1]}
//
// Commas are inserted automatically; strings are escaped, bytes that are not UTF-8
// become U+FFFD, and numbers that JSON cannot hold become null.
//===----------------------------------------------------------------------===//
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace ingot::runtime {

class JsonText {
public:
  JsonText &open(char bracket); ///< '{' or '['
  JsonText &close();
  JsonText &key(std::string_view name);
  JsonText &value(std::string_view text);
  JsonText &value(const char *text) { return value(std::string_view(text)); }
  JsonText &value(bool truth) { return raw(truth ? "true" : "false"); }
  JsonText &value(double number);
  template <std::integral T> JsonText &value(T number) { return raw(std::to_string(number)); }
  /// Appends text that is already JSON.
  JsonText &raw(std::string_view json);

  const std::string &text() const { return out; }

private:
  void separate();
  void quote(std::string_view text);

  std::string out;
  std::string closers;
  bool first = true, afterKey = false;
};

} // namespace ingot::runtime
