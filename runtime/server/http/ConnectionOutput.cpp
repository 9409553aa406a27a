//===- ConnectionOutput.cpp - Sending responses ---------------------------===//
//
// Nothing here waits for a client. Bytes that the client does not accept stay in `output`. The
// connection is dropped if a stream has more than maxBacklogBytes of them, or if none is accepted
// for sendTimeout. The kernel accepts more bytes only when half of kMostUnsentBytes (Wire.cpp) has
// been sent, so a client that reads a byte now and then does not keep its connection alive.
//===----------------------------------------------------------------------===//
#include "runtime/server/http/Connection.h"
#include "runtime/server/http/ConnectionGuard.h"
#include "runtime/server/http/ServerCore.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace ingot::http {

/// Pieces up to this size are joined, because separate writes would cost more than the copy.
constexpr size_t kSmall = 16 << 10;

void Connection::append(std::string bytes) {
  if (bytes.empty())
    return;
  const bool backIsFree = !output.empty() && !(writing && output.size() == 1);
  if (backIsFree && output.back().size() + bytes.size() <= kSmall)
    output.back() += bytes;
  else
    output.push_back(std::move(bytes));
}

/// Appends bytes of a stream, framed for the client's version of HTTP.
void Connection::appendData(std::string_view data) {
  if (!frame.http11) {
    append(std::string(data));
    return;
  }
  std::string chunk;
  chunk.reserve(data.size() + 16);
  appendChunk(chunk, data);
  append(std::move(chunk));
}

void Connection::pump() {
  guarded([&] {
    Outgoing out = exchange->take();
    if (out.overflowed) {
      ++core.droppedSlow;
      close(true);
      return;
    }
    if (out.head) {
      if (core.draining || (!out.whole && !frame.http11))
        frame.keepAlive = false;
      bodyless = frame.headOnly || hasNoBody(out.status);
      events = out.contentType.starts_with("text/event-stream");
      append(responseHead(out.status, out.contentType, out.headers, frame,
                          out.whole ? std::optional(out.data.size()) : std::nullopt));
      if (out.whole && !bodyless)
        append(std::move(out.data));
    }
    if (!out.whole && !out.data.empty()) {
      if (bodyless) {
        exchange->taken(out.data.size());
      } else {
        unsentPayload += out.data.size();
        appendData(out.data);
        betweenEvents = out.data.ends_with("\n\n") || out.data.ends_with("\r\n\r\n");
      }
    }
    if (out.finished && !out.whole && !bodyless && frame.http11)
      append(std::string(kLastChunk));
    breaksOff = out.broken;
    responseDone = out.finished || out.broken;
    flush();
  });
}

void Connection::pingIfSilent(Clock::time_point now) {
  if (output.empty() && betweenEvents && !bodyless && now - lastSent >= core.options.pingInterval) {
    appendData(": ping\n\n");
    flush();
  }
}

void Connection::flush() {
  while (!writing && !output.empty()) {
    const std::string_view next = std::string_view(output.front()).substr(outputOffset);
    ErrorCode ec;
    const size_t sent = wire->writeNow(next, ec);
    if (ec) {
      close();
      return;
    }
    if (sent == 0) {
      writing = true;
      if (sendDeadline == Clock::time_point::max())
        sendDeadline = Clock::now() + core.options.sendTimeout;
      wire->write(shared_from_this(), next);
      return;
    }
    took(sent);
  }
  if (!writing)
    onDrained();
}

void Connection::onWritten(ErrorCode ec, size_t bytes) {
  guarded([&] {
    writing = false;
    if (phase == Phase::Closed)
      return;
    if (ec) {
      close();
      return;
    }
    took(bytes);
    sendDeadline = Clock::now() + core.options.sendTimeout;
    flush();
  });
}

void Connection::took(size_t bytes) {
  outputOffset += bytes;
  if (outputOffset == output.front().size()) {
    output.pop_front();
    outputOffset = 0;
  }
  size_t payload = std::min(bytes, unsentPayload);
  if (output.empty())
    payload = unsentPayload; // the other bytes were framing
  unsentPayload -= payload;
  if (exchange)
    exchange->taken(payload);
}

/// Called when the kernel has accepted all output.
void Connection::onDrained() {
  sendDeadline = Clock::time_point::max();
  lastSent = Clock::now();
  if (phase == Phase::Answering && responseDone) {
    endResponse();
    return;
  }
  if (phase == Phase::Flushing) {
    if (ended) {
      close();
      return;
    }
    wire->endSending(shared_from_this());
    setPhase(Phase::Lingering, kLingerTime);
  }
}

void Connection::endResponse() {
  if (auto done = std::exchange(exchange, nullptr)) {
    done->connection = nullptr;
    done->responseIsOut();
    core.responseEnds();
  }
  if (breaksOff) {
    // In HTTP/1.1 the missing last chunk shows the client that data is missing. In HTTP/1.0 only a
    // reset does.
    close(!frame.http11);
    return;
  }
  responseDone = false;
  if (!frame.keepAlive || core.draining) {
    setPhase(Phase::Flushing, {});
    onDrained();
    return;
  }
  reader.reset();
  setPhase(Phase::Waiting, core.options.idleTimeout);
  // process() is posted, not called. Otherwise a series of pipelined requests, each refused at once,
  // would recurse ever deeper.
  boost::asio::post(core.io,
                    [self = shared_from_this()] { self->guarded([&] { self->process(); }); });
}

} // namespace ingot::http
