//===- ResponseParser.h - An HTTP/1.1 response, as it arrives --------------===//
//
// The parser is incremental: it takes bytes and returns pieces of the body. A header block is
// limited to 64 KiB and a chunk line to 1 KiB. It follows RFC 9112 and skips trailers.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace ingot::http {

class ResponseParser {
public:
  /// `toHead`: the request was HEAD, so the response has no body.
  explicit ResponseParser(bool toHead = false) : toHead(toHead) {}

  /// Parses bytes. Returns an error, or "". Bytes after the end are an error too, since no other
  /// request was sent.
  std::string put(std::string_view bytes, const std::function<void(std::string_view)> &body);

  int status() const { return code; } ///< 0 until the header is complete
  bool done() const { return stage == Stage::Done; }
  bool untouched() const { return nothingYet; }
  /// Returns whether the body ends with the connection.
  bool endsWithConnection() const { return stage == Stage::UntilClose; }
  bool keepsConnection() const { return done() && keep; }

  bool headReported = false; ///< the owner's own mark; the parser does not use it

private:
  enum class Stage { Header, Sized, ChunkSize, ChunkData, ChunkEnd, Trailer, UntilClose, Done };
  std::string readHeader();
  bool takeLine(std::string_view &bytes);

  bool toHead, nothingYet = true, keep = true;
  int code = 0;
  Stage stage = Stage::Header;
  std::string line; ///< the header block, or a line of the chunked coding
  uint64_t left = 0;
};

} // namespace ingot::http
