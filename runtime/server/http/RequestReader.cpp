//===- RequestReader.cpp - Beast's parser with stricter rules -------------===//
#include "runtime/server/http/RequestReader.h"

#include "runtime/server/http/HeaderRules.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <utility>

namespace ingot::http {

namespace beast = boost::beast;
using beast::error_code;
using BeastView = beast::string_view;

/// The limit of header fields is far more than any client sends. Each field costs memory in the
/// handler.
constexpr size_t kMostFields = 128;

static std::string_view view(BeastView text) { return {text.data(), text.size()}; }

std::string_view firstHeader(const Headers &headers, std::string_view name) {
  auto it = std::find_if(headers.begin(), headers.end(),
                         [&](const auto &header) { return header.first == name; });
  return it == headers.end() ? std::string_view() : std::string_view(it->second);
}
std::string_view RequestHead::header(std::string_view name) const {
  return firstHeader(headers, name);
}
std::string_view HttpRequest::header(std::string_view name) const {
  return firstHeader(headers, name);
}

static error_code badField() { return make_error_code(beast::http::error::bad_field); }

/// Collects what Beast parses. Trailers are dropped, since they must not change a request after its header was checked.
struct RequestReader::Parser final : beast::http::basic_parser<true> {
  RequestHead head;
  std::string content;
  std::string reason; ///< why on_field_impl refuses; more exact than Beast's code
  bool headDone = false;
  bool tooManyFields = false;
  bool hasHost = false, hasLength = false, hasCoding = false;

  error_code bad(const char *text) {
    reason = text;
    return badField();
  }

  error_code keepField(std::string_view name, std::string_view value) {
    if (name == "host") {
      if (std::exchange(hasHost, true))
        return bad("more than one Host header");
      if (!isAuthority(value))
        return bad("the Host header is not a host");
      if (head.authority.empty())
        head.authority = value;
    } else if (name == "content-length") {
      if (std::exchange(hasLength, true))
        return bad("more than one Content-Length");
      if (value.empty() || value.size() > 18 ||
          value.find_first_not_of("0123456789") != std::string::npos)
        return bad("Content-Length is not a number");
    } else if (name == "transfer-encoding") {
      if (std::exchange(hasCoding, true))
        return bad("more than one Transfer-Encoding");
      if (!equalsIgnoringCase(value, "chunked"))
        return bad("Transfer-Encoding is not \"chunked\"");
      if (!head.http11)
        return bad("HTTP/1.0 has no Transfer-Encoding");
    } else if (name == "expect") {
      head.expectsContinue = equalsIgnoringCase(value, "100-continue");
      if (!head.expectsContinue)
        return bad("Expect is not \"100-continue\"");
    }
    if (hasLength && hasCoding)
      return bad("both Content-Length and Transfer-Encoding");
    head.headers.emplace_back(name, value);
    return {};
  }

  void on_request_impl(beast::http::verb, BeastView method, BeastView target, int version,
                       error_code &ec) override {
    head.method = view(method);
    head.http11 = version == 11;
    auto parsed = parseTarget(view(target));
    if (!parsed || (parsed->path == "*" && head.method != "OPTIONS")) {
      ec = make_error_code(beast::http::error::bad_target);
      return;
    }
    head.path = std::move(parsed->path);
    head.query = std::move(parsed->query);
    head.authority = std::move(parsed->authority);
  }
  void on_response_impl(int, BeastView, int, error_code &) override {}
  void on_field_impl(beast::http::field, BeastView name, BeastView value, error_code &ec) override {
    if (headDone)
      return;
    if (head.headers.size() == kMostFields) {
      tooManyFields = true;
      ec = badField();
      return;
    }
    ec = keepField(lowerCase(view(name)), view(value));
  }
  void on_header_impl(error_code &ec) override {
    headDone = true;
    if (head.http11 && !hasHost)
      ec = bad("there is no Host header");
  }
  void on_body_init_impl(const boost::optional<std::uint64_t> &, error_code &) override {}
  size_t on_body_impl(BeastView bytes, error_code &) override {
    content.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, BeastView, error_code &) override {}
  size_t on_chunk_body_impl(std::uint64_t, BeastView bytes, error_code &) override {
    content.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(error_code &) override {}
};

RequestReader::RequestReader(size_t maxHeaderBytes, size_t maxBodyBytes)
    : maxHeaderBytes(maxHeaderBytes), maxBodyBytes(maxBodyBytes) {}
RequestReader::~RequestReader() = default;

RequestHead &RequestReader::head() { return parser->head; }
std::string &RequestReader::body() { return parser->content; }

void RequestReader::reset() {
  parser.reset();
  scanned = 0;
  current = ReadState::Header;
  why = {};
}

void RequestReader::refuse(int status, std::string message, std::string code) {
  current = ReadState::Refused;
  why = {status, std::move(message), std::move(code)};
}

size_t RequestReader::read(std::string_view bytes) {
  if (current == ReadState::Header)
    return readHeader(bytes);
  if (current == ReadState::Body)
    return readBody(bytes);
  return 0;
}

size_t RequestReader::readHeader(std::string_view bytes) {
  // A client may send empty lines before a request (RFC 9112, 2.2); at most two are skipped.
  size_t blank = 0;
  while (blank < 4 && bytes.substr(blank).starts_with("\r\n"))
    blank += 2;
  std::string_view rest = bytes.substr(blank);
  size_t from = scanned > blank + 3 ? scanned - blank - 3 : 0;
  if (from > 0 && rest[from] == '\n')
    --from; // begin at the carriage return before it
  const size_t end = rest.find("\r\n\r\n", from);
  if (std::min(end, rest.size()) + 4 > maxHeaderBytes + 4) {
    refuse(431, "the header is longer than " + std::to_string(maxHeaderBytes) + " bytes",
           "header_too_large");
    return bytes.size();
  }
  if (end == std::string::npos) {
    // Refuse a malformed part at once, before the rest arrives.
    if (!rest.ends_with('\r'))
      if (const char *bad = whyBlockIsBad(rest.substr(from)))
        refuse(400, std::string("the request is malformed: ") + bad, "malformed_request");
    scanned = bytes.size();
    return current == ReadState::Refused ? bytes.size() : 0;
  }
  scanned = 0;
  const std::string_view block = rest.substr(0, end + 4);
  const size_t taken = blank + block.size();
  if (const char *bad = whyBlockIsBad(block)) {
    refuse(400, std::string("the request is malformed: ") + bad, "malformed_request");
    return taken;
  }
  parser = std::make_unique<Parser>();
  parser->header_limit(static_cast<uint32_t>(maxHeaderBytes + 8));
  parser->body_limit(maxBodyBytes);
  error_code ec;
  size_t done = 0;
  while (!ec && !parser->headDone && done < block.size())
    done += parser->put(boost::asio::buffer(block.data() + done, block.size() - done), ec);
  if (ec == beast::http::error::body_limit) {
    refuse(413, "the body is longer than " + std::to_string(maxBodyBytes) + " bytes",
           "request_too_large");
  } else if (parser->tooManyFields) {
    refuse(431, "the header has more than " + std::to_string(kMostFields) + " fields",
           "header_too_large");
  } else if (ec || !parser->headDone || done != block.size()) {
    refuse(400,
           "the request is malformed: " + (parser->reason.empty() ? ec.message() : parser->reason),
           "malformed_request");
  } else {
    RequestHead &head = parser->head;
    head.keepAlive = parser->keep_alive();
    head.hasBody = !parser->is_done();
    head.contentLength = parser->content_length().value_or(0);
    head.expectsContinue = head.expectsContinue && head.http11 && head.hasBody;
    current = ReadState::Examine;
  }
  return taken;
}

void RequestReader::acceptBody() {
  current = parser->is_done() ? ReadState::Done : ReadState::Body;
  if (current == ReadState::Body && parser->head.contentLength)
    parser->content.reserve(parser->head.contentLength);
}

size_t RequestReader::readBody(std::string_view bytes) {
  size_t taken = 0;
  error_code ec;
  while (taken < bytes.size() && !ec && !parser->is_done())
    taken += parser->put(boost::asio::buffer(bytes.data() + taken, bytes.size() - taken), ec);
  if (parser->is_done()) {
    current = ReadState::Done;
    return taken;
  }
  if (ec == beast::http::error::need_more) {
    // Only a chunk's header line and the trailer must arrive in one piece.
    if (bytes.size() - taken > maxHeaderBytes)
      refuse(431,
             "a chunk's header or the trailer is longer than " + std::to_string(maxHeaderBytes) +
                 " bytes",
             "header_too_large");
  } else if (ec == beast::http::error::body_limit) {
    refuse(413, "the body is longer than " + std::to_string(maxBodyBytes) + " bytes",
           "request_too_large");
  } else if (ec) {
    refuse(400, "the request is malformed: " + ec.message(), "malformed_request");
  }
  return taken;
}

} // namespace ingot::http
