//===- ResponseText.h - Header blocks and error bodies --------------------===//
#pragma once

#include "runtime/server/http/Server.h"

#include <optional>
#include <string>
#include <string_view>

namespace ingot::http {

/// What the request decides about the form of its response.
struct ResponseFrame {
  std::string requestId;
  std::string allowOrigin; ///< Access-Control-Allow-Origin; empty: none
  bool http11 = true;
  bool keepAlive = true; ///< the connection lives on afterwards
  bool headOnly = false; ///< HEAD: all but the body
};

/// The status line, the handler's headers and ours, with the empty line. Without `length` the body
/// is chunked (HTTP/1.0: ends with the connection). Names that are no tokens are left out; control
/// bytes in values become spaces, so that nothing a handler passes on can begin a header of its
/// own.
std::string responseHead(int status, std::string_view contentType, const Headers &headers,
                         const ResponseFrame &frame, std::optional<size_t> length);

/// "400 Bad Request".
std::string_view statusLine(int status);

/// The type that OpenAI's errors of this status have.
std::string_view errorType(int status);

/// Statuses that have no body at all (204, 304).
bool hasNoBody(int status);

/// Appends `data` as one chunk.
void appendChunk(std::string &out, std::string_view data);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

} // namespace ingot::http
