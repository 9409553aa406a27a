//===- HeaderRules.cpp - Refusing ambiguous headers -----------------------===//
#include "runtime/server/http/HeaderRules.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <optional>

namespace ingot::http {

const char *whyBlockIsBad(std::string_view block) {
  for (size_t i = 0; i < block.size(); ++i) {
    const auto c = static_cast<unsigned char>(block[i]);
    if (c == '\r') {
      if (i + 1 == block.size() || block[i + 1] != '\n')
        return "a carriage return without a line feed";
      ++i;
      if (i + 1 < block.size() && (block[i + 1] == ' ' || block[i + 1] == '\t'))
        return "a header line is folded";
    } else if (c == '\n') {
      return "a line ends without a carriage return";
    } else if ((c < 0x20 && c != '\t') || c == 0x7f) {
      return "the header has a control byte";
    }
  }
  return nullptr;
}

static bool isVisible(char c) { return c > 0x20 && c < 0x7f; }

static int hexDigit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static std::optional<std::string> decodePath(std::string_view text) {
  std::string path;
  path.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size())
        return std::nullopt;
      const int high = hexDigit(text[i + 1]), low = hexDigit(text[i + 2]);
      if (high < 0 || low < 0)
        return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        return std::nullopt;
      i += 2;
    }
    path += c;
  }
  return path;
}

std::optional<Target> parseTarget(std::string_view text) {
  if (!std::all_of(text.begin(), text.end(), isVisible) || text.find('#') != std::string::npos)
    return std::nullopt;
  Target target;
  if (text == "*") {
    target.path = "*";
    return target;
  }
  for (std::string_view scheme : {"http://", "https://"})
    if (equalsIgnoringCase(text.substr(0, scheme.size()), scheme)) {
      text.remove_prefix(scheme.size());
      const size_t end = std::min(text.find_first_of("/?"), text.size());
      target.authority = text.substr(0, end);
      text.remove_prefix(end);
      if (!isAuthority(target.authority))
        return std::nullopt;
      if (text.empty() || text.front() == '?') { // the path of http://host?query is the root
        target.path = "/";
        target.query = text.substr(std::min<size_t>(1, text.size()));
        return target;
      }
      break;
    }
  const size_t question = text.find('?');
  auto path = decodePath(text.substr(0, question));
  if (!path || !path->starts_with('/'))
    return std::nullopt;
  target.path = std::move(*path);
  if (question != std::string::npos)
    target.query = text.substr(question + 1);
  return target;
}

/// Splits "HOST:PORT" or "[V6]:PORT" into the host, without brackets, and the port.
static std::optional<std::pair<std::string_view, std::string_view>>
splitAuthority(std::string_view text) {
  std::string_view host, port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string::npos)
      return std::nullopt;
    host = text.substr(1, end - 1);
    if (host.find_first_not_of("0123456789abcdefABCDEF:.") != std::string::npos)
      return std::nullopt;
    text.remove_prefix(end + 1);
  } else {
    const size_t end = std::min(text.find(':'), text.size());
    host = text.substr(0, end);
    text.remove_prefix(end);
    constexpr std::string_view inNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789-._~%!$&'()*+,;=";
    if (host.find_first_not_of(inNames) != std::string::npos)
      return std::nullopt;
  }
  if (!text.empty()) {
    if (text.front() != ':')
      return std::nullopt;
    port = text.substr(1);
    if (port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos)
      return std::nullopt;
  }
  return std::pair(host, port);
}

bool isAuthority(std::string_view text) { return splitAuthority(text).has_value(); }

bool isCleanId(std::string_view id) {
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), isVisible);
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool equalsIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string lowerCase(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

bool isLoopbackName(std::string_view host) {
  const std::string name(host);
  if (in_addr v4; inet_pton(AF_INET, name.c_str(), &v4) == 1)
    return ntohl(v4.s_addr) >> 24 == 127;
  if (in6_addr v6; inet_pton(AF_INET6, name.c_str(), &v6) == 1) {
    if (IN6_IS_ADDR_V4MAPPED(&v6))
      return v6.s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(&v6);
  }
  return equalsIgnoringCase(host, "localhost") || equalsIgnoringCase(host, "localhost.");
}

HostRules::HostRules(std::string_view host, const std::vector<std::string> &allowed, bool any)
    : any(any) {
  names.push_back(lowerCase(host));
  for (const std::string &name : allowed)
    names.push_back(lowerCase(name));
}

bool HostRules::allows(std::string_view authority) const {
  if (any)
    return true;
  auto parts = splitAuthority(authority);
  if (!parts || parts->first.empty())
    return false;
  if (isLoopbackName(parts->first))
    return true;
  // A name may be listed with or without a port.
  return std::any_of(names.begin(), names.end(), [&](const std::string &name) {
    return equalsIgnoringCase(name, parts->first) || equalsIgnoringCase(name, authority);
  });
}

/// Returns the part of an origin after the scheme, and the scheme's default port.
static std::optional<std::pair<std::string_view, std::string_view>>
placeOf(std::string_view origin) {
  for (auto [scheme, port] : {std::pair("http://", "80"), std::pair("https://", "443")})
    if (origin.starts_with(scheme))
      return std::pair(origin.substr(std::strlen(scheme)), std::string_view(port));
  return std::nullopt;
}

static bool isLoopbackOrigin(std::string_view origin) {
  const auto place = placeOf(origin);
  const auto authority = place ? splitAuthority(place->first) : std::nullopt;
  return authority && isLoopbackName(authority->first);
}

std::string OriginRules::answerTo(std::string_view origin) const {
  if (origin.empty())
    return {};
  for (const std::string &one : allowed) {
    if (one == "*")
      return one;
    if (equalsIgnoringCase(one, origin) || (one == "localhost" && isLoopbackOrigin(origin)))
      return std::string(origin);
  }
  return {};
}

bool OriginRules::isOurs(std::string_view origin, std::string_view authority) {
  const auto place = placeOf(origin);
  auto a = place ? splitAuthority(place->first) : std::nullopt, b = splitAuthority(authority);
  if (!a || !b)
    return false;
  auto port = [&](std::string_view given) { return given.empty() ? place->second : given; };
  return equalsIgnoringCase(a->first, b->first) && port(a->second) == port(b->second);
}

} // namespace ingot::http
