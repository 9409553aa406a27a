//===- RequestReader.h - Parses a client's bytes into requests ------------===//
//
// A parser without a socket. It takes bytes as they arrive, in pieces of any size, and yields a
// request or a refusal. Beast's basic_parser does the parsing, and HeaderRules rejects bad headers
// before Beast gets them.
//
//   Header --(block complete)--> Examine --acceptBody()--> Body --> Done
//      \______________ Refused ______________________________/
//
// The parser stops at Examine, so that a request can be refused for its header (key, host, length)
// before a byte of its body is read or requested (100-continue).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/http/Server.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ingot::http {

/// The error that a client gets instead of an answer.
struct Refusal {
  int status = 400;
  std::string message;
  std::string code;     ///< in OpenAI's error object
  bool guessed = false; ///< the request had a wrong key, which may have been a guess
};

struct RequestHead {
  std::string method, path, query;
  std::string authority; ///< from the target if it has one, otherwise from the Host header
  Headers headers;       ///< names in lower case
  bool http11 = true;
  bool keepAlive = true;
  bool expectsContinue = false;
  bool hasBody = false;
  uint64_t contentLength = 0; ///< 0 for a chunked body
  std::string_view header(std::string_view name) const;
};

enum class ReadState { Header, Examine, Body, Done, Refused };

class RequestReader {
public:
  RequestReader(size_t maxHeaderBytes, size_t maxBodyBytes);
  ~RequestReader();

  /// Parses the bytes that have arrived and were not consumed by earlier calls. Returns the number of
  /// bytes that it consumes. Bytes of an incomplete header block stay with the caller, so that the
  /// block is parsed in one piece.
  size_t read(std::string_view bytes);
  /// Continues after Examine with the body, or with Done if there is none.
  void acceptBody();
  /// Prepares for the next request of the connection.
  void reset();

  ReadState state() const { return current; }
  RequestHead &head();
  std::string &body();
  const Refusal &refusal() const { return why; }
  /// Returns the size of the buffer that a caller needs for read() to make progress.
  size_t mostHeldBytes() const { return maxHeaderBytes + 4; }

private:
  size_t readHeader(std::string_view bytes);
  size_t readBody(std::string_view bytes);
  void refuse(int status, std::string message, std::string code);

  struct Parser; ///< derives from Beast's parser
  std::unique_ptr<Parser> parser;
  size_t maxHeaderBytes, maxBodyBytes;
  size_t scanned = 0; ///< bytes of an incomplete header block already searched for its end
  ReadState current = ReadState::Header;
  Refusal why;
};

} // namespace ingot::http
