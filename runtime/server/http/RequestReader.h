//===- RequestReader.h - Bytes of one client into requests ----------------===//
//
// The parser without a socket: bytes go in as they come, in any pieces, and a request or a refusal
// comes out. Beast's basic_parser does the reading, HeaderRules decides what is not even shown to
// it.
//
//   Header --(block complete)--> Examine --acceptBody()--> Body --> Done
//      \______________ Refused ______________________________/
//
// It stops at Examine so that a request can be refused for its header (key, host, length) before a
// byte of its body is read or asked for (100-continue).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/http/Server.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ingot::http {

/// What a client gets instead of an answer.
struct Refusal {
  int status = 400;
  std::string message;
  std::string code;     ///< of OpenAI's error object
  bool guessed = false; ///< a key was given, and a wrong one
};

struct RequestHead {
  std::string method, path, query;
  std::string authority; ///< of the target if it has one, else the Host header
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

  /// Looks at all bytes that came and were not taken before; returns how many it took. Bytes of an
  /// incomplete header block are left with the caller, so that it is seen in one piece.
  size_t read(std::string_view bytes);
  /// After Examine: goes on to the body, or to Done if there is none.
  void acceptBody();
  /// For the next request of the connection.
  void reset();

  ReadState state() const { return current; }
  RequestHead &head();
  std::string &body();
  const Refusal &refusal() const { return why; }
  /// The least that a caller must be able to hold for read() to get on.
  size_t mostHeldBytes() const { return maxHeaderBytes + 4; }

private:
  size_t readHeader(std::string_view bytes);
  size_t readBody(std::string_view bytes);
  void refuse(int status, std::string message, std::string code);

  struct Parser; ///< Beast's
  std::unique_ptr<Parser> parser;
  size_t maxHeaderBytes, maxBodyBytes;
  size_t scanned = 0; ///< bytes of an incomplete header block that hold no end of it
  ReadState current = ReadState::Header;
  Refusal why;
};

} // namespace ingot::http
