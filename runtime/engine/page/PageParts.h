//===- PageParts.h - The parts of the `ingot inspect --html` page ----------===//
#pragma once

#include <string_view>

namespace ingot::runtime::page {

/// Text of the files in this folder, assembled by EmbedPage.cmake: head.html, the style sheets, body.html,
/// and the scripts in the order of the list in runtime/engine/CMakeLists.txt.
extern const std::string_view kHead, kStyle, kBody, kScript;

} // namespace ingot::runtime::page
