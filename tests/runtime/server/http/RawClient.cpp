//===- RawClient.cpp - A client that can misbehave in every way -----------===//
#include "RawClient.h"

#include <algorithm>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace ingot::http {

using Clock = std::chrono::steady_clock;

static int msUntil(Clock::time_point end) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::max<int64_t>(left, 0));
}

RawClient::RawClient(uint16_t port, int receiveBuffer) {
  fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return;
  if (receiveBuffer)
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, sizeof receiveBuffer);
  int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
    close();
}

RawClient::RawClient(RawClient &&other) noexcept
    : received(std::move(other.received)), fd(std::exchange(other.fd, -1)) {}

bool RawClient::send(std::string_view bytes) {
  const auto end = Clock::now() + kPatience;
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (n < 0 && errno == EAGAIN) {
      pollfd wait{fd, POLLOUT, 0};
      if (::poll(&wait, 1, msUntil(end)) <= 0)
        return false;
    } else {
      return false;
    }
  }
  return true;
}

RawClient::Read RawClient::readSome(std::chrono::milliseconds limit) {
  pollfd wait{fd, POLLIN, 0};
  if (fd < 0)
    return Read::End;
  if (::poll(&wait, 1, static_cast<int>(std::max<int64_t>(limit.count(), 0))) <= 0)
    return Read::Nothing;
  char bytes[65536];
  const ssize_t n = ::recv(fd, bytes, sizeof bytes, 0);
  if (n <= 0)
    return Read::End;
  received.append(bytes, static_cast<size_t>(n));
  return Read::Some;
}

bool RawClient::receive(size_t bytes, std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  while (received.size() < bytes)
    if (readSome(std::chrono::milliseconds(msUntil(end))) != Read::Some)
      return false;
  return true;
}

bool RawClient::receiveUntil(std::string_view text, std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  while (received.find(text) == std::string::npos)
    if (readSome(std::chrono::milliseconds(msUntil(end))) != Read::Some)
      return false;
  return true;
}

bool RawClient::sawEnd(std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  for (;;)
    switch (readSome(std::chrono::milliseconds(msUntil(end)))) {
    case Read::End:
      return true;
    case Read::Nothing:
      return false;
    case Read::Some:
      break;
    }
}

Answer RawClient::answer(bool headRequest) {
  const auto end = Clock::now() + kPatience;
  bool ended = false;
  for (;;) {
    if (auto found = takeAnswer(received, headRequest, ended))
      return *found;
    if (ended)
      return {};
    const Read read = readSome(std::chrono::milliseconds(msUntil(end)));
    if (read == Read::Nothing)
      return {};
    ended = read == Read::End;
  }
}

void RawClient::endSending() { ::shutdown(fd, SHUT_WR); }

void RawClient::close(bool reset) {
  if (fd < 0)
    return;
  if (reset) {
    linger now{1, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  ::close(std::exchange(fd, -1));
}

/// Decodes the chunked body at the front of `bytes`. Returns its number of bytes, or 0 if it is incomplete.
static size_t unchunk(std::string_view bytes, std::string &body) {
  size_t at = 0;
  for (;;) {
    const size_t line = bytes.find("\r\n", at);
    if (line == std::string::npos)
      return 0;
    const size_t size = std::stoul(std::string(bytes.substr(at, line - at)), nullptr, 16);
    at = line + 2;
    if (bytes.size() < at + size + 2)
      return 0;
    body += bytes.substr(at, size);
    at += size + 2;
    if (size == 0)
      return at;
  }
}

std::optional<Answer> takeAnswer(std::string &bytes, bool headRequest, bool ended) {
  const size_t end = bytes.find("\r\n\r\n");
  if (end == std::string::npos || !bytes.starts_with("HTTP/1.1 "))
    return std::nullopt;
  Answer answer;
  answer.head = bytes.substr(0, end + 4);
  answer.status = std::stoi(answer.head.substr(9, 3));
  for (size_t at = answer.head.find("\r\n") + 2; at < end;) {
    const size_t line = answer.head.find("\r\n", at), colon = answer.head.find(": ", at);
    std::string name = answer.head.substr(at, colon - at);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    answer.headers[name] = answer.head.substr(colon + 2, line - colon - 2);
    at = line + 2;
  }
  const std::string_view rest = std::string_view(bytes).substr(end + 4);
  size_t taken = 0;
  if (headRequest || answer.status == 204 || answer.status / 100 == 1) {
    answer.whole = true;
  } else if (answer.headers.contains("content-length")) {
    const size_t length = std::stoul(answer.header("content-length"));
    if (rest.size() < length && !ended)
      return std::nullopt;
    answer.whole = rest.size() >= length;
    taken = std::min(length, rest.size());
    answer.body = rest.substr(0, taken);
  } else if (answer.headers.contains("transfer-encoding")) {
    taken = unchunk(rest, answer.body);
    if (!taken && !ended)
      return std::nullopt;
    answer.whole = taken > 0;
  } else if (ended) {
    taken = rest.size();
    answer.body = rest;
  } else {
    return std::nullopt;
  }
  bytes.erase(0, end + 4 + taken);
  return answer;
}

std::string get(std::string_view path, std::string_view lines) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(lines) +
         "\r\n";
}

std::string post(std::string_view path, std::string_view body, std::string_view lines) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(lines) + "\r\n" + std::string(body);
}

} // namespace ingot::http
