//===- PageParts.h - The page of `ingot inspect --html`, as text -----------===//
#pragma once

#include <string_view>

namespace ingot::runtime::page {

/// Of this folder, put together by EmbedPage.cmake: head.html, the style sheets, body.html, the scripts in the order of
/// the list in runtime/engine/CMakeLists.txt.
extern const std::string_view kHead, kStyle, kBody, kScript;

} // namespace ingot::runtime::page
