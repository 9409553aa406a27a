//===- HeaderRules.h - What a header of a request may look like -----------===//
//
// Beast's parser is made to get on with everybody: it unfolds folded lines, takes a list of equal
// lengths for one, and reads a body of unknown coding as none. Two programs that read such a header
// differently are what request smuggling lives on, so everything that has two readings is refused
// here, before and beside Beast. Text in, verdicts out: no sockets.
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::http {

/// Looks at the bytes of a header block, up to and with its empty line: every line ends in CRLF,
/// none is folded, no control bytes but tabs. Why it is refused, or null.
const char *whyBlockIsBad(std::string_view block);

struct Target {
  std::string path;      ///< percent-decoded, begins with '/'; "*" for OPTIONS *
  std::string query;     ///< as sent
  std::string authority; ///< of an absolute target (http://HOST/…), else empty
};
/// Splits and decodes the target of a request line; nothing if it is malformed: bytes that are not
/// visible ASCII, a bad %XX, a control byte behind one, or none of origin, absolute, asterisk form.
std::optional<Target> parseTarget(std::string_view target);

/// "HOST", "HOST:PORT", "[V6]:PORT": whether it can be one at all.
bool isAuthority(std::string_view text);

/// A client's X-Request-Id that is echoed and logged: 1 to 128 visible ASCII characters.
bool isCleanId(std::string_view id);

bool equalsIgnoringCase(std::string_view a, std::string_view b);
std::string lowerCase(std::string_view text);

/// Which Host headers are served: against pages whose name was rebound to a loopback address.
class HostRules {
public:
  /// `any`: all of them.
  HostRules(std::string_view host, const std::vector<std::string> &allowed, bool any);
  bool allows(std::string_view authority) const;

private:
  std::vector<std::string> names;
  bool any;
};

/// Which sites' pages may use the service.
class OriginRules {
public:
  explicit OriginRules(const std::vector<std::string> &allowed) : allowed(allowed) {}
  /// What Access-Control-Allow-Origin says to this origin; empty: nothing is said.
  std::string answerTo(std::string_view origin) const;
  /// Whether a page of `origin` is one that this server, reached as `authority`, served itself.
  static bool isOurs(std::string_view origin, std::string_view authority);

private:
  std::vector<std::string> allowed;
};

/// 127.0.0.0/8, ::1 or "localhost".
bool isLoopbackName(std::string_view host);

} // namespace ingot::http
