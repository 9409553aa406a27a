//===- Connection.cpp - Reading and checking requests ---------------------===//
#include "runtime/server/http/Connection.h"

#include "runtime/server/http/ConnectionGuard.h"
#include "runtime/server/http/ServerCore.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <utility>

namespace ingot::http {

Connection::Connection(ServerCore &core, std::unique_ptr<Wire> wire, std::string client)
    : core(core), wire(std::move(wire)), client(std::move(client)),
      reader(core.options.maxHeaderBytes, core.options.maxBodyBytes) {}

void Connection::setPhase(Phase next, std::chrono::milliseconds limit) {
  phase = next;
  phaseBegan = Clock::now();
  deadline = limit.count() > 0 ? phaseBegan + limit : Clock::time_point::max();
  if (evictablePlace) {
    core.evictable.erase(*evictablePlace);
    evictablePlace.reset();
  }
  const bool idle = next == Phase::Handshake || next == Phase::Waiting || next == Phase::Header ||
                    next == Phase::Delayed || next == Phase::Lingering;
  if (idle && !overLimit) { // closing a connection over the limit would make no room for another
    core.evictable.push_back(this);
    evictablePlace = std::prev(core.evictable.end());
  }
}

void Connection::start() {
  guarded([&] {
    if (wire->needsHandshake()) {
      setPhase(Phase::Handshake, core.options.headerTimeout);
      wire->handshake(shared_from_this());
      return;
    }
    setPhase(Phase::Waiting, core.options.headerTimeout);
    readMore();
  });
}

void Connection::startRefused(const Refusal &refusal) {
  guarded([&] {
    frame.requestId = core.newId();
    refuse(refusal, false);
    readMore();
  });
}

void Connection::onHandshake(ErrorCode ec) {
  guarded([&] {
    if (phase == Phase::Closed)
      return;
    if (ec) {
      if (ec.category() == boost::asio::error::get_ssl_category() &&
          ERR_GET_REASON(static_cast<unsigned long>(ec.value())) == SSL_R_HTTP_REQUEST) {
        frame.keepAlive = false;
        frame.requestId = core.newId();
        std::string body = errorBody("this port speaks HTTPS", errorType(400), "", "https_needed");
        std::string text = responseHead(400, "application/json", {}, frame, body.size()) + body;
        (void)::send(wire->socket().native_handle(), text.data(), text.size(),
                     MSG_NOSIGNAL | MSG_DONTWAIT);
        ++core.badRequests;
      }
      close();
      return;
    }
    setPhase(Phase::Waiting, core.options.headerTimeout);
    readMore();
  });
}

void Connection::readMore() {
  if (reading || ended || phase == Phase::Closed || phase == Phase::Handshake)
    return;
  paused = (phase == Phase::Answering || phase == Phase::Delayed) && input.size() >= kMostInput;
  if (paused)
    return; // tick() checks whether the client is still there
  const size_t wanted = phase == Phase::Body ? 64 << 10 : 4 << 10;
  if (landingSize != wanted) {
    landing = std::make_unique_for_overwrite<char[]>(wanted);
    landingSize = wanted;
  }
  reading = true;
  wire->read(shared_from_this(), landing.get(), landingSize);
}

void Connection::onRead(ErrorCode ec, size_t bytes) {
  guarded([&] {
    reading = false;
    if (phase == Phase::Closed)
      return;
    if (ec) {
      ended = true;
      lost();
      return;
    }
    if (phase == Phase::Flushing || phase == Phase::Lingering) {
      readMore(); // the input is discarded
      return;
    }
    input.append(landing.get(), bytes);
    process();
  });
}

/// Called when the client has gone or has closed its sending side. The server treats both in the same way.
void Connection::lost() {
  if (phase == Phase::Flushing && !output.empty())
    return; // a refusal may still reach the client
  close();
}

bool Connection::hasLeft() {
  pollfd look{wire->socket().native_handle(), POLLRDHUP, 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

void Connection::process() {
  while (processOnce()) {
  }
  if (phase == Phase::Flushing || phase == Phase::Lingering)
    input.clear();
  if (input.empty() && input.capacity() > kMostInput)
    input.shrink_to_fit();
  readMore();
}

/// Performs one step of parsing. Returns true if another may follow.
bool Connection::processOnce() {
  if (phase == Phase::Waiting && !input.empty())
    setPhase(Phase::Header, core.options.headerTimeout);
  if (phase != Phase::Header && phase != Phase::Body)
    return false;
  const bool bodyIsHere = reader.state() == ReadState::Done;
  if (input.empty() && !bodyIsHere)
    return false;
  const size_t taken = reader.read(input);
  input.erase(0, taken);
  switch (reader.state()) {
  case ReadState::Header:
    return false;
  case ReadState::Examine:
    judge();
    return true;
  case ReadState::Body:
    if (!reader.head().contentLength)
      holdBody(reader.body().size());
    return false;
  case ReadState::Done:
    dispatch();
    return true;
  case ReadState::Refused:
    frame = {};
    frame.requestId = core.newId();
    refuse(reader.refusal(), false);
    return false;
  }
  return false;
}

/// Counts `bytes` of this connection's body towards the limit for the bodies of all connections.
void Connection::holdBody(size_t bytes) {
  core.bodyBytes += bytes - heldBody;
  heldBody = bytes;
  if (core.bodyBytes > core.mostBodyBytes())
    refuse({503, "too many large requests are being read", "overloaded"}, false);
}

/// Decides, once the header is complete, whether and how the request is answered.
void Connection::judge() {
  const RequestHead &head = reader.head();
  frame = {};
  const std::string_view id = head.header("x-request-id");
  frame.requestId = isCleanId(id) ? std::string(id) : core.newId();
  frame.allowOrigin = core.origins.answerTo(head.header("origin"));
  frame.http11 = head.http11;
  frame.keepAlive = head.keepAlive && !core.draining;
  frame.headOnly = head.method == "HEAD";
  apiKey = -1;

  const auto refusal = whyRefused(head);
  if (!refusal && answerPreflight(head))
    return;
  if (refusal) {
    std::chrono::milliseconds wait{};
    if (refusal->guessed)
      wait = core.wrongKeys.note(client, Clock::now());
    if (wait.count() > 0)
      refuseLater(*refusal, !head.hasBody, wait);
    else
      refuse(*refusal, !head.hasBody);
    return;
  }
  setPhase(Phase::Body, core.options.bodyTimeout);
  holdBody(head.contentLength);
  if (phase != Phase::Body)
    return; // holdBody() has refused the request
  reader.acceptBody();
  if (head.expectsContinue && input.empty()) {
    append("HTTP/1.1 100 Continue\r\n\r\n");
    flush();
  }
}

std::optional<Refusal> Connection::whyRefused(const RequestHead &head) {
  if ((head.http11 || !head.authority.empty()) && !core.hosts.allows(head.authority))
    return Refusal{403,
                   "this server does not answer to the name \"" + head.authority.substr(0, 80) +
                       "\"; allow it with --allowed-host",
                   "host_not_allowed"};
  const std::string_view origin = head.header("origin");
  const bool foreign =
      !origin.empty() && frame.allowOrigin.empty() && !OriginRules::isOurs(origin, head.authority);
  const bool preflight = head.method == "OPTIONS" &&
                         !head.header("access-control-request-method").empty() && !origin.empty();
  if (preflight) {
    if (!foreign)
      return std::nullopt;
    return Refusal{403, "pages of this origin may not use this server", "origin_not_allowed"};
  }
  const auto &open = core.options.openPaths;
  const bool isOpen = std::find(open.begin(), open.end(), head.path) != open.end();
  // A page of another site can send a POST without a preflight request. It cannot read the answer,
  // but on a server without keys it could keep the machine busy.
  const bool reads = head.method == "GET" || head.method == "HEAD";
  if (foreign && core.keys.empty() && !reads)
    return Refusal{403, "pages of this origin may not use this server", "origin_not_allowed"};
  if (!core.keys.empty() && !isOpen) {
    std::string_view authorization = head.header("authorization");
    bool given = false, byBrowser = false;
    if (authorization.size() > 7 && equalsIgnoringCase(authorization.substr(0, 7), "Bearer ")) {
      given = true;
      apiKey = core.keys.find(authorization.substr(7));
    } else if (authorization.size() > 6 &&
               equalsIgnoringCase(authorization.substr(0, 6), "Basic ")) {
      given = true;
      apiKey = core.keys.find(basicPassword(authorization.substr(6)));
      byBrowser = apiKey >= 0;
    }
    if (apiKey < 0 && !head.header("x-api-key").empty()) {
      given = true;
      apiKey = core.keys.find(head.header("x-api-key"));
    }
    if (apiKey < 0)
      return Refusal{401,
                     given ? "Incorrect API key provided."
                           : "No API key was given: send \"Authorization: Bearer KEY\".",
                     "invalid_api_key", given};
    // A browser sends a stored password with every request, whichever page makes the request.
    if (foreign && byBrowser && !reads)
      return Refusal{403, "pages of this origin may not use this server", "origin_not_allowed"};
  }
  if (core.draining && !isOpen)
    return Refusal{core.drainStatus, "", ""}; // refuse() fills in the body
  return std::nullopt;
}

/// Answers browsers' preflight requests and OPTIONS *, which need no key.
bool Connection::answerPreflight(const RequestHead &head) {
  const bool preflight =
      !head.header("access-control-request-method").empty() && !head.header("origin").empty();
  if (head.method != "OPTIONS" || !(preflight || head.path == "*"))
    return false;
  Headers headers;
  if (preflight && !frame.allowOrigin.empty()) {
    headers = {{"Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS"},
               {"Access-Control-Max-Age", "600"}};
    const std::string_view asked = head.header("access-control-request-headers");
    if (!asked.empty())
      headers.emplace_back("Access-Control-Allow-Headers", asked);
  } else {
    headers = {{"Allow", "GET, HEAD, POST, OPTIONS"}};
  }
  const bool goesOn = !head.hasBody && frame.keepAlive;
  frame.keepAlive = goesOn;
  append(responseHead(200, "", headers, frame, 0)); // some clients do not accept 204
  responseDone = true;
  setPhase(goesOn ? Phase::Answering : Phase::Flushing, {});
  flush();
  return true;
}

/// `mayContinue`: the request has been read completely, so another may follow.
void Connection::refuse(const Refusal &refusal, bool mayContinue) {
  ++(refusal.status < 500 ? core.badRequests : core.refused);
  if (core.options.onRefusal)
    core.options.onRefusal({refusal.status, refusal.code, frame.requestId, client});
  core.bodyBytes -= std::exchange(heldBody, 0);
  const bool drained = refusal.message.empty();
  std::string body = drained
                         ? core.drainBody
                         : errorBody(refusal.message, errorType(refusal.status), "", refusal.code);
  Headers headers;
  if (refusal.status == 503)
    headers.emplace_back("Retry-After", "1");
  if (refusal.status == 401) {
    // When a user opens a page, the browser prompts for the key.
    const bool page = reader.head().header("accept").find("text/html") != std::string_view::npos;
    headers.emplace_back(
        "WWW-Authenticate",
        page ? "Basic realm=\"ingot: any name, the API key as password\", charset=\"UTF-8\""
             : "Bearer");
  }
  frame.keepAlive = frame.keepAlive && mayContinue;
  append(responseHead(refusal.status, "application/json", headers, frame, body.size()));
  if (!frame.headOnly)
    append(std::move(body));
  responseDone = true;
  setPhase(frame.keepAlive ? Phase::Answering : Phase::Flushing, {});
  flush();
}

/// Delays a refusal. Only this client waits. Input that it sends meanwhile is kept, up to kMostInput.
void Connection::refuseLater(const Refusal &refusal, bool mayContinue,
                             std::chrono::milliseconds wait) {
  setPhase(Phase::Delayed, {});
  delay = std::make_unique<boost::asio::steady_timer>(core.io, wait);
  delay->async_wait([self = shared_from_this(), refusal, mayContinue](ErrorCode ec) {
    self->guarded([&] {
      if (ec || self->phase != Phase::Delayed)
        return;
      self->delay.reset();
      self->refuse(refusal, mayContinue);
      self->readMore();
    });
  });
}

void Connection::dispatch() {
  RequestHead &head = reader.head();
  core.bodyBytes -= std::exchange(heldBody, 0);
  HttpRequest request;
  // A HEAD is handled as a GET, but the body is not sent.
  request.method = frame.headOnly ? "GET" : std::move(head.method);
  request.path = std::move(head.path);
  request.query = std::move(head.query);
  request.headers = std::move(head.headers);
  request.body = std::move(reader.body());
  request.id = frame.requestId;
  request.client = client;
  request.apiKey = apiKey;
  reader.reset();
  bodyless = events = responseDone = breaksOff = false;
  betweenEvents = true;
  exchange = std::make_shared<Exchange>(core.mailbox, core.options.maxBacklogBytes);
  exchange->connection = this;
  setPhase(Phase::Answering, {});
  ++core.requests;
  core.responseBegins();
  auto responder = std::make_shared<ExchangeResponder>(exchange);
  try {
    core.handler(std::move(request), std::move(responder));
  } catch (...) {
    // The exception destroyed the responder without an answer, which sends a 500.
  }
}

void Connection::drain() {
  guarded([&] {
    if (phase == Phase::Waiting)
      close();
  });
}

void Connection::close(bool reset) {
  if (phase == Phase::Closed)
    return;
  auto self = shared_from_this();
  setPhase(Phase::Closed, {});
  delay.reset();
  core.bodyBytes -= std::exchange(heldBody, 0);
  wire->close(reset);
  core.remove(this);
  if (auto left = std::exchange(exchange, nullptr)) {
    left->connection = nullptr;
    try {
      left->clientLeft();
    } catch (...) {
      // The handler's callback threw; there is nowhere to report it.
    }
    core.responseEnds();
  }
}

void Connection::tick(Clock::time_point now) {
  guarded([&] {
    if (now >= sendDeadline && !output.empty()) {
      ++core.droppedSlow;
      close(true);
      return;
    }
    if (now >= deadline) {
      switch (phase) {
      case Phase::Header:
      case Phase::Body:
        if (phase == Phase::Header) { // no request has been parsed yet
          frame = {};
          frame.requestId = core.newId();
        }
        refuse({408,
                phase == Phase::Header ? "the header did not arrive in time"
                                       : "the body did not arrive in time",
                "request_timeout"},
               false);
        readMore();
        return;
      default:
        close();
        return;
      }
    }
    if (paused && (phase == Phase::Answering || phase == Phase::Delayed) && hasLeft()) {
      close();
      return;
    }
    if (phase == Phase::Answering && events && !responseDone)
      pingIfSilent(now);
  });
}

} // namespace ingot::http
