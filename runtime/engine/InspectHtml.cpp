//===- InspectHtml.cpp - `ingot inspect --html`: an engine as a page -------===//
//
// The result is one self-contained file: the page of runtime/engine/page, and its data as JSON. Names and
// texts of an engine come unchecked from its checkpoint. None of them is written as HTML: the page inserts
// them as text, and in JSON `<` is escaped, so that no name can end the element that contains it.
//===----------------------------------------------------------------------===//
#include "runtime/engine/Inspect.h"
#include "runtime/engine/page/PageParts.h"

namespace ingot::runtime {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

/// Returns a data element, which the page parses.
std::string data(std::string_view id, std::string_view json) {
  std::string out = "<script type=\"application/json\" id=\"" + std::string(id) + "\">";
  for (char c : json)
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out + "</script>\n";
}

/// Returns the segment of kind Ir (compiler/driver/emit/Listing.h); empty if the compiler stored none.
std::string_view listing(const EngineFile &engine) {
  const auto &segments = *engine.table().segments();
  for (unsigned i = 0; i < segments.size(); ++i)
    if (segments[i]->kind() == fb::SegmentKind::Ir) {
      const auto bytes = engine.segment(i);
      return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
    }
  return {};
}

} // namespace

std::string engineListing(const EngineFile &engine) { return std::string(listing(engine)); }

std::string inspectHtml(const EngineFile &engine, const MemoryLimits &limits,
                        std::string_view more) {
  const std::string title = escaped(engine.table().model()->name()->string_view());
  return std::string(page::kHead) + "<title>" + (title.empty() ? "engine" : title) +
         "</title>\n<style>\n" + std::string(page::kStyle) + "</style>\n</head>\n" +
         std::string(page::kBody) + data("engine", inspectJson(engine, limits)) +
         data("listing", listing(engine)) + data("more", more) + "<script>\n" +
         std::string(page::kScript) + "</script>\n</body>\n</html>\n";
}

} // namespace ingot::runtime
