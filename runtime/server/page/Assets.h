//===- Assets.h - The files of the page, inside this program --------------===//
//
// web/ is built by Vite and turned into one C++ file (web/embed.js), so that a server is one file
// and nothing is read at run time.
//===----------------------------------------------------------------------===//
#pragma once

#include <span>
#include <string_view>

namespace ingot::page {

struct Asset {
  std::string_view path; ///< as requested: "/", "/live", "/assets/…"
  std::string_view type; ///< Content-Type
  std::string_view tag;  ///< of the content
  bool immutable;        ///< the path names the content
  std::string_view plain, gzip;
};

/// Empty in a build without the page.
std::span<const Asset> assets();
/// Why there are none; "" if there are.
const char *whyNoAssets();

} // namespace ingot::page
