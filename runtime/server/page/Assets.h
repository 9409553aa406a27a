//===- Assets.h - The files of the page, embedded in the program ----------===//
//
// Vite builds web/, and web/embed.js turns the result into one C++ file. The server program is
// therefore a single file and reads no other files for the page at run time.
//===----------------------------------------------------------------------===//
#pragma once

#include <span>
#include <string_view>

namespace ingot::page {

struct Asset {
  std::string_view path; ///< the request's path: "/", "/live", "/assets/…"
  std::string_view type; ///< Content-Type
  std::string_view tag;  ///< hash of the content, for ETag
  bool immutable;        ///< the path contains a hash of the content
  std::string_view plain, gzip;
};

/// Returns the assets; empty in a build without the page.
std::span<const Asset> assets();
/// Returns the reason if there are no assets, otherwise "".
const char *whyNoAssets();

} // namespace ingot::page
