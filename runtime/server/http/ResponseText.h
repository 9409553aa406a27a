//===- ResponseText.h - Header blocks and error bodies --------------------===//
#pragma once

#include "runtime/server/http/Server.h"

#include <optional>
#include <string>
#include <string_view>

namespace ingot::http {

/// Properties of a response that its request determines.
struct ResponseFrame {
  std::string requestId;
  std::string allowOrigin; ///< Access-Control-Allow-Origin; empty: none
  bool http11 = true;
  bool keepAlive = true; ///< the connection stays open afterwards
  bool headOnly = false; ///< HEAD: no body is sent
};

/// Returns the status line, the headers of the handler and of the transport, and the empty line.
/// Without `length` the body is chunked or, in HTTP/1.0, ends with the connection. Headers with names that are not
/// valid tokens are left out. Control bytes in values become spaces, so that a handler's value cannot start another
/// header.
std::string responseHead(int status, std::string_view contentType, const Headers &headers,
                         const ResponseFrame &frame, std::optional<size_t> length);

/// Returns a status with its reason phrase, such as "400 Bad Request".
std::string_view statusLine(int status);

/// Returns the type of OpenAI's errors with this status.
std::string_view errorType(int status);

/// Returns whether responses with this status have no body (204, 304).
bool hasNoBody(int status);

/// Appends `data` as one chunk.
void appendChunk(std::string &out, std::string_view data);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

} // namespace ingot::http
