//===- EventStream.h - Server-sent events, as they arrive ------------------===//
//
// Follows the parsing rules of the HTML standard (section 9.2.6). Lines end with CR, LF or CR LF. The CR and the LF of
// one line end may arrive in different reads. A byte order mark is skipped. Lines of data are joined by a line feed.
// Comments, ids and retry times are ignored. An event without its closing blank line is dropped.
//===----------------------------------------------------------------------===//
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ingot::http {

class EventStream {
public:
  /// Receives an event's name ("" if it has none) and its data.
  using Take = std::function<void(std::string_view name, std::string_view data)>;
  /// Parses bytes and calls `take` for each complete event. Returns false if an event is longer than
  /// 16 MiB. The rest of the stream cannot be read then.
  bool put(std::string_view bytes, const Take &take);

private:
  void endLine(const Take &take);
  std::string line, name, data;
  bool hasData = false, afterCr = false, begun = false;
};

} // namespace ingot::http
