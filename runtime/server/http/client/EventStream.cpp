//===- EventStream.cpp - See EventStream.h ----------------------------------===//
#include "runtime/server/http/client/EventStream.h"

namespace ingot::http {

namespace {
constexpr size_t kMostEvent = 16 << 20;
} // namespace

bool EventStream::put(std::string_view bytes, const Take &take) {
  while (!bytes.empty()) {
    if (afterCr && bytes[0] == '\n')
      bytes.remove_prefix(1);
    afterCr = false;
    const size_t end = bytes.find_first_of("\r\n");
    line += bytes.substr(0, end);
    if (line.size() + data.size() > kMostEvent)
      return false;
    if (end == std::string_view::npos)
      return true;
    afterCr = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    endLine(take);
  }
  return true;
}

void EventStream::endLine(const Take &take) {
  if (!begun && line.starts_with("\xEF\xBB\xBF"))
    line.erase(0, 3);
  begun = true;
  if (line.empty()) {
    if (hasData)
      take(name, data);
    name.clear();
    data.clear();
    hasData = false;
    return;
  }
  std::string_view field = line, value;
  if (const size_t colon = line.find(':'); colon != std::string::npos) {
    field = std::string_view(line).substr(0, colon);
    value = std::string_view(line).substr(colon + 1);
    if (value.starts_with(' '))
      value.remove_prefix(1);
  }
  if (field == "data") {
    if (hasData)
      data += '\n';
    data += value;
    hasData = true;
  } else if (field == "event") {
    name = value;
  }
  line.clear();
}

} // namespace ingot::http
