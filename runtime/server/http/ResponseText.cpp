//===- ResponseText.cpp - Header blocks and error bodies ------------------===//
#include "runtime/server/http/ResponseText.h"

#include "runtime/server/http/HeaderRules.h"

#include <algorithm>
#include <charconv>
#include <ctime>

namespace ingot::http {

std::string_view statusLine(int status) {
  struct Line {
    int status;
    std::string_view text;
  };
  static constexpr Line lines[] = {
      {200, "200 OK"},
      {201, "201 Created"},
      {202, "202 Accepted"},
      {204, "204 No Content"},
      {301, "301 Moved Permanently"},
      {302, "302 Found"},
      {303, "303 See Other"},
      {304, "304 Not Modified"},
      {307, "307 Temporary Redirect"},
      {308, "308 Permanent Redirect"},
      {400, "400 Bad Request"},
      {401, "401 Unauthorized"},
      {403, "403 Forbidden"},
      {404, "404 Not Found"},
      {405, "405 Method Not Allowed"},
      {406, "406 Not Acceptable"},
      {408, "408 Request Timeout"},
      {409, "409 Conflict"},
      {413, "413 Content Too Large"},
      {415, "415 Unsupported Media Type"},
      {422, "422 Unprocessable Content"},
      {429, "429 Too Many Requests"},
      {431, "431 Request Header Fields Too Large"},
      {499, "499 Client Closed Request"},
      {500, "500 Internal Server Error"},
      {501, "501 Not Implemented"},
      {503, "503 Service Unavailable"},
      {504, "504 Gateway Timeout"},
      {507, "507 Insufficient Storage"},
      {529, "529 Overloaded"},
  };
  for (const Line &line : lines)
    if (line.status == status)
      return line.text;
  return {};
}

std::string_view errorType(int status) {
  if (status == 401)
    return "authentication_error";
  if (status == 403)
    return "permission_error";
  if (status == 429)
    return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

bool hasNoBody(int status) { return status == 204 || status == 304 || status < 200; }

/// Returns the date in RFC 9110's format, formatted once per second. Only called on the server's
/// thread.
static std::string_view dateNow() {
  static thread_local std::time_t last = 0;
  static thread_local char text[40];
  const std::time_t now = std::time(nullptr);
  if (now != last) {
    std::tm parts{};
    gmtime_r(&now, &parts);
    static constexpr const char *days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr const char *months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    char rest[24];
    std::strftime(rest, sizeof rest, "%Y %H:%M:%S GMT", &parts); // names depend on the locale
    std::snprintf(text, sizeof text, "%s, %02d %s %s", days[parts.tm_wday], parts.tm_mday,
                  months[parts.tm_mon], rest);
    last = now;
  }
  return text;
}

static bool isTokenCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c != 0 && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

static void appendHeader(std::string &out, std::string_view name, std::string_view value) {
  if (name.empty() || !std::all_of(name.begin(), name.end(), isTokenCharacter))
    return;
  out.append(name).append(": ");
  for (char c : value)
    out += (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f ? ' ' : c;
  out += "\r\n";
}

/// Returns whether a header is reserved for the transport, for example because it frames the message.
static bool isOurs(std::string_view name) {
  for (std::string_view ours : {"content-length", "transfer-encoding", "connection", "keep-alive",
                                "date", "x-request-id", "upgrade", "trailer"})
    if (equalsIgnoringCase(name, ours))
      return true;
  return false;
}

std::string responseHead(int status, std::string_view contentType, const Headers &headers,
                         const ResponseFrame &frame, std::optional<size_t> length) {
  std::string out;
  out.reserve(384);
  std::string_view line = statusLine(status);
  out += "HTTP/1.1 ";
  if (line.empty())
    out += std::to_string(status >= 100 && status <= 999 ? status : 500) + " Status";
  else
    out += line;
  out += "\r\n";
  bool cacheControl = false;
  for (const auto &[name, value] : headers) {
    cacheControl = cacheControl || equalsIgnoringCase(name, "cache-control");
    if (!isOurs(name))
      appendHeader(out, name, value);
  }
  if (!contentType.empty())
    appendHeader(out, "Content-Type", contentType);
  if (!hasNoBody(status)) {
    if (length)
      appendHeader(out, "Content-Length", std::to_string(*length));
    else if (frame.http11)
      out += "Transfer-Encoding: chunked\r\n";
  }
  if (contentType.starts_with("text/event-stream")) {
    if (!cacheControl)
      out += "Cache-Control: no-cache\r\n";
    out += "X-Accel-Buffering: no\r\n"; // proxies such as nginx would buffer tokens
  }
  if (!frame.allowOrigin.empty()) {
    appendHeader(out, "Access-Control-Allow-Origin", frame.allowOrigin);
    out += "Access-Control-Expose-Headers: X-Request-Id, Retry-After\r\nVary: Origin\r\n";
  }
  appendHeader(out, "X-Request-Id", frame.requestId);
  out += "X-Content-Type-Options: nosniff\r\n";
  appendHeader(out, "Date", dateNow());
  if (!frame.keepAlive)
    out += "Connection: close\r\n";
  else if (!frame.http11)
    out += "Connection: keep-alive\r\n";
  out += "\r\n";
  return out;
}

void appendChunk(std::string &out, std::string_view data) {
  if (data.empty())
    return; // an empty chunk would be the last one
  char digits[20];
  char *end = std::to_chars(digits, digits + sizeof digits, data.size(), 16).ptr;
  out.append(digits, end).append("\r\n").append(data).append("\r\n");
}

static void appendJsonString(std::string &out, std::string_view text) {
  out += '"';
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      out += escape;
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string errorBody(std::string_view message, std::string_view type, std::string_view param,
                      std::string_view code) {
  std::string out = "{\"error\":{\"message\":";
  auto orNull = [&](std::string_view text) {
    if (text.empty())
      out += "null";
    else
      appendJsonString(out, text);
  };
  appendJsonString(out, message);
  out += ",\"type\":";
  appendJsonString(out, type);
  out += ",\"param\":";
  orNull(param);
  out += ",\"code\":";
  orNull(code);
  out += "}}";
  return out;
}

} // namespace ingot::http
