//===- EventStream.h - Server-sent events, as they arrive ------------------===//
//
// The parsing rules of the HTML standard (section 9.2.6): lines end with CR, LF or both, also where
// a CR and its LF come in different reads; a byte order mark is skipped; lines of data are joined
// by a line feed; comments, ids and retry times are passed over; an event that its blank line does
// not end is none.
//===----------------------------------------------------------------------===//
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ingot::http {

class EventStream {
public:
  /// `take`: an event's name ("" if none was given) and its data.
  using Take = std::function<void(std::string_view name, std::string_view data)>;
  /// False if an event is longer than 16 MiB: the rest cannot be read.
  bool put(std::string_view bytes, const Take &take);

private:
  void endLine(const Take &take);
  std::string line, name, data;
  bool hasData = false, afterCr = false, begun = false;
};

} // namespace ingot::http
