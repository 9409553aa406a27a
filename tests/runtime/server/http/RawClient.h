//===- RawClient.h - A client that can misbehave in every way -------------===//
//
// A socket and the bytes received from it. It uses no HTTP library, since libraries refuse to
// misbehave. Every wait has a limit far above the needs of a busy machine, so tests are slow only
// when they fail.
//===----------------------------------------------------------------------===//
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::http {

inline constexpr std::chrono::milliseconds kPatience{15'000};

struct Answer {
  int status = 0; ///< 0: no response
  std::string head;
  std::map<std::string, std::string> headers; ///< names in lower case
  std::string body;                           ///< unchunked
  bool whole = false; ///< the announced length or the last chunk has arrived
  std::string header(const std::string &name) const {
    auto it = headers.find(name);
    return it == headers.end() ? std::string() : it->second;
  }
};

class RawClient {
public:
  /// Connects to 127.0.0.1. `receiveBuffer` is the kernel's buffer size in bytes; 0 for the default.
  explicit RawClient(uint16_t port, int receiveBuffer = 0);
  ~RawClient() { close(); }
  RawClient(RawClient &&other) noexcept;
  RawClient(const RawClient &) = delete;

  bool connected() const { return fd >= 0; }
  int descriptor() const { return fd; }
  /// Sends all bytes. Returns false if the server has closed or accepts no more.
  bool send(std::string_view bytes);
  /// Reads the next response. With `headRequest` it has no body.
  Answer answer(bool headRequest = false);
  Answer ask(std::string_view request) {
    send(request);
    return answer();
  }
  /// Reads until `received` has at least `bytes` bytes. Returns false if the connection ends or the limit
  /// passes first.
  bool receive(size_t bytes, std::chrono::milliseconds limit = kPatience);
  bool receiveUntil(std::string_view text, std::chrono::milliseconds limit = kPatience);
  /// Returns whether the server closes (or resets) within the limit. Bytes received before are kept.
  bool sawEnd(std::chrono::milliseconds limit = kPatience);
  /// Sends FIN, which closes the client's direction.
  void endSending();
  /// Closes the socket; with `reset` it sends RST instead of FIN.
  void close(bool reset = false);

  std::string received; ///< bytes not yet consumed by answer()

private:
  enum class Read { Some, End, Nothing };
  Read readSome(std::chrono::milliseconds limit);
  int fd = -1;
};

/// Removes a response from the front of `bytes` and returns it, if it is complete.
std::optional<Answer> takeAnswer(std::string &bytes, bool headRequest, bool ended);

/// Returns a GET request for `path` with the Host that the server accepts and further header `lines`
/// ("a: b\r\n").
std::string get(std::string_view path, std::string_view lines = "");
std::string post(std::string_view path, std::string_view body, std::string_view lines = "");

} // namespace ingot::http
