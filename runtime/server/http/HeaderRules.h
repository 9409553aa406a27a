//===- HeaderRules.h - Validation of request headers ----------------------===//
//
// Beast's parser is lenient: it unfolds folded lines, accepts a list of equal lengths as one, and
// treats a body of unknown coding as no body. Request smuggling relies on two programs that read
// such a header differently. Every ambiguous header is therefore refused here, before and in
// addition to Beast's checks. These functions take text and use no sockets.
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::http {

/// Checks the bytes of a header block, including its empty line: every line must end in CRLF, none
/// may be folded, and tabs are the only control bytes allowed. Returns why the block is refused, or
/// null.
const char *whyBlockIsBad(std::string_view block);

struct Target {
  std::string path;      ///< percent-decoded, begins with '/'; "*" for OPTIONS *
  std::string query;     ///< as sent
  std::string authority; ///< from an absolute target (http://HOST/…), else empty
};
/// Splits and decodes the target of a request line. Returns nullopt if the target has bytes other
/// than visible ASCII, or a %XX that is malformed or encodes a control byte, or if its form is not
/// one of origin, absolute and asterisk.
std::optional<Target> parseTarget(std::string_view target);

/// Returns whether the text can be "HOST", "HOST:PORT" or "[V6]:PORT".
bool isAuthority(std::string_view text);

/// Returns whether a client's X-Request-Id may be echoed and logged: 1 to 128 visible ASCII
/// characters.
bool isCleanId(std::string_view id);

bool equalsIgnoringCase(std::string_view a, std::string_view b);
std::string lowerCase(std::string_view text);

/// Decides which Host headers are served. This protects against DNS rebinding, in which a page's host name is made to
/// resolve to a loopback address.
class HostRules {
public:
  /// `any`: allows all names.
  HostRules(std::string_view host, const std::vector<std::string> &allowed, bool any);
  bool allows(std::string_view authority) const;

private:
  std::vector<std::string> names;
  bool any;
};

/// Decides which sites' pages may use the service.
class OriginRules {
public:
  explicit OriginRules(const std::vector<std::string> &allowed) : allowed(allowed) {}
  /// Returns the value of Access-Control-Allow-Origin for this origin; empty: no header.
  std::string answerTo(std::string_view origin) const;
  /// Returns whether `origin` is this server itself, reached as `authority`.
  static bool isOurs(std::string_view origin, std::string_view authority);

private:
  std::vector<std::string> allowed;
};

/// Returns whether the host is in 127.0.0.0/8, is ::1 or "localhost".
bool isLoopbackName(std::string_view host);

} // namespace ingot::http
