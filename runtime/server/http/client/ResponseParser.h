//===- ResponseParser.h - An HTTP/1.1 response, as it arrives --------------===//
//
// Incremental: bytes in, pieces of the body out. Bounded: a header block of 64 KiB, chunk lines of
// 1 KiB. RFC 9112; trailers are skipped.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace ingot::http {

class ResponseParser {
public:
  /// `toHead`: the response to HEAD, which has no body.
  explicit ResponseParser(bool toHead = false) : toHead(toHead) {}

  /// What is wrong with the response, or "". Bytes after its end are wrong too: nothing was asked.
  std::string put(std::string_view bytes, const std::function<void(std::string_view)> &body);

  int status() const { return code; } ///< 0 until the header is whole
  bool done() const { return stage == Stage::Done; }
  bool untouched() const { return nothingYet; }
  /// The end of the connection is the end of the body.
  bool endsWithConnection() const { return stage == Stage::UntilClose; }
  bool keepsConnection() const { return done() && keep; }

  bool headTold = false; ///< the owner's note

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
