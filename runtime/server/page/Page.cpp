//===- Page.cpp - Encodings, caching and headers of the page ---------------===//
#include "runtime/server/page/Page.h"

#include <algorithm>

namespace ingot::page {

namespace {

constexpr const char *kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for "
    "'script'; trusted-types 'none'";

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

/// Calls `visit` with each item of a comma-separated list, until a call returns true. Returns whether
/// one did.
template <typename Visit> bool anyItem(std::string_view list, Visit visit) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    if (visit(trim(list.substr(0, end))))
      return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

/// Returns whether the client accepts gzip: "gzip" and "gzip;q=0.5", but not "gzip;q=0".
bool takesGzip(std::string_view accepted) {
  return anyItem(accepted, [](std::string_view item) {
    const size_t end = std::min(item.find(';'), item.size());
    if (trim(item.substr(0, end)) != "gzip")
      return false;
    const size_t quality = item.find("q=", end);
    return quality == std::string_view::npos ||
           item.find_first_of("123456789", quality) != std::string_view::npos;
  });
}

bool names(std::string_view tags, std::string_view tag) {
  return anyItem(tags, [&](std::string_view item) {
    if (item.starts_with("W/"))
      item.remove_prefix(2);
    return item == "*" || item == tag;
  });
}

} // namespace

bool answer(const http::HttpRequest &request, http::Responder &responder,
            std::span<const Asset> from) {
  const auto asset =
      std::ranges::find_if(from, [&](const Asset &one) { return one.path == request.path; });
  if (asset == from.end()) {
    if (!from.empty() || (request.path != "/" && request.path != "/live"))
      return false;
    responder.send(404, "text/plain; charset=utf-8",
                   std::string("This ingot was built without its page: ") + whyNoAssets() +
                       ". With node 18 or newer and npm (./dev setup installs them) configure with "
                       "-DINGOT_PAGE=ON and build again. The API is under /v1.\n");
    return true;
  }
  const bool gzip = takesGzip(request.header("accept-encoding"));
  // Each encoding is a separate representation (RFC 9110) and needs its own tag.
  const std::string tag = "\"" + std::string(asset->tag) + (gzip ? "-gzip\"" : "\"");
  http::Headers headers = {
      {"ETag", tag},
      {"Cache-Control", asset->immutable ? "max-age=31536000, immutable" : "no-cache"},
      {"Vary", "Accept-Encoding"},
      {"Content-Security-Policy", kPolicy},
      {"Referrer-Policy", "no-referrer"},
      {"X-Frame-Options", "DENY"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
  };
  if (names(request.header("if-none-match"), tag)) {
    responder.send(304, "", "", std::move(headers));
    return true;
  }
  if (gzip)
    headers.emplace_back("Content-Encoding", "gzip");
  responder.send(200, asset->type, std::string(gzip ? asset->gzip : asset->plain),
                 std::move(headers));
  return true;
}

} // namespace ingot::page
