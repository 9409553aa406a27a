//===- RawClient.h - A client that can do everything wrong ----------------===//
//
// A socket and what came out of it; no HTTP library in between, since those refuse to misbehave.
// Every wait has a limit far above what a busy machine needs, so that tests are slow only when they
// fail.
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
  int status = 0; ///< 0: there was none
  std::string head;
  std::map<std::string, std::string> headers; ///< names in lower case
  std::string body;                           ///< unchunked
  bool whole = false; ///< its length was announced and came, or its last chunk
  std::string header(const std::string &name) const {
    auto it = headers.find(name);
    return it == headers.end() ? std::string() : it->second;
  }
};

class RawClient {
public:
  /// Connects to 127.0.0.1. `receiveBuffer`: of the kernel, in bytes; 0 for the usual.
  explicit RawClient(uint16_t port, int receiveBuffer = 0);
  ~RawClient() { close(); }
  RawClient(RawClient &&other) noexcept;
  RawClient(const RawClient &) = delete;

  bool connected() const { return fd >= 0; }
  int descriptor() const { return fd; }
  /// All of it, or false once the server has closed or takes nothing.
  bool send(std::string_view bytes);
  /// The next response. `headRequest`: it has no body.
  Answer answer(bool headRequest = false);
  Answer ask(std::string_view request) {
    send(request);
    return answer();
  }
  /// Reads until at least `bytes` are in `received`; false if the end or the limit comes first.
  bool receive(size_t bytes, std::chrono::milliseconds limit = kPatience);
  bool receiveUntil(std::string_view text, std::chrono::milliseconds limit = kPatience);
  /// Whether the server closes (or resets) within the limit; what comes before is kept.
  bool sawEnd(std::chrono::milliseconds limit = kPatience);
  /// FIN in our direction.
  void endSending();
  /// `reset`: RST instead of FIN.
  void close(bool reset = false);

  std::string received; ///< and not yet taken by answer()

private:
  enum class Read { Some, End, Nothing };
  Read readSome(std::chrono::milliseconds limit);
  int fd = -1;
};

/// Reads a response from the front of `bytes`, if one is there.
std::optional<Answer> takeAnswer(std::string &bytes, bool headRequest, bool ended);

/// GET PATH with the Host that the server knows and the given further header lines ("a: b\r\n").
std::string get(std::string_view path, std::string_view lines = "");
std::string post(std::string_view path, std::string_view body, std::string_view lines = "");

} // namespace ingot::http
