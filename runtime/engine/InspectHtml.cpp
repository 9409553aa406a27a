//===- InspectHtml.cpp - `ingot inspect --html`: the program as a page ----===//
//
// One file without scripts or outside requests: per section a row of launches with
// what each reads and writes, and the buffers of a token as bars in the arena.
//===----------------------------------------------------------------------===//
#include "runtime/engine/Inspect.h"
#include "runtime/engine/Program.h"

#include <algorithm>
#include <string_view>

namespace ingot::runtime {
namespace {

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>
:root { color-scheme: light dark; --line: #8886; --buffer: #2a7de1; --weight: #c77a00; --kv: #2f9e5f; }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
pre { overflow-x: auto; font: 13px/1.4 ui-monospace, monospace; }
.section { display: flex; flex-wrap: wrap; gap: .6rem; margin: .6rem 0 1.6rem; }
.launch { border: 1px solid var(--line); border-radius: .4rem; padding: .4rem .6rem; }
.barrier { border-right-width: 4px; }
.arg { display: block; font: 12px ui-monospace, monospace; }
.buffer { color: var(--buffer); } .weight { color: var(--weight); } .kv { color: var(--kv); }
.bar { fill: var(--buffer); fill-opacity: .35; stroke: var(--buffer); }
text { font: 11px ui-monospace, monospace; fill: currentColor; }
</style>
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
  }
  return out;
}

std::string escaped(const flatbuffers::String *text, std::string_view otherwise) {
  return escaped(text && text->size() != 0 ? text->string_view() : otherwise);
}

/// "blk.0.ffn_down, 340 kB", and of the other layers' weights the first.
std::string weightText(const fb::Weight &weight, const char *more) {
  return escaped(weight.name(), "") + more + ", " + humanBytes(weight.size());
}

std::string operand(const fb::Program &e, const fb::Section &section, const fb::Arg &arg,
                    bool again) {
  auto span = [](const char *kind, const std::string &text) {
    return std::string("<span class=\"arg ") + kind + "\">" + text + "</span>";
  };
  switch (arg.kind()) {
  case fb::ArgKind::Buffer:
    return span("buffer", escaped(e.buffers()->Get(arg.index())->name(),
                                  "buffer " + std::to_string(arg.index())) +
                              (again ? " (in place)" : ""));
  case fb::ArgKind::Weight:
    return span("weight", weightText(*e.weights()->Get(arg.index()), ""));
  case fb::ArgKind::LayerWeight:
    for (const fb::Step *step : *generateEntry(e).steps())
      if (e.sections()->Get(step->section()) == &section)
        return span("weight",
                    weightText(*e.weights()->Get(step->weights()->Get(arg.index())), " …"));
    return span("weight", "layer weight " + std::to_string(arg.index()));
  case fb::ArgKind::State:
    return span("kv", "keys and values");
  }
  return "";
}

/// A case of a section; one without launches is not shown.
std::string caseOf(const fb::Program &e, const fb::Section &section, const fb::Case &one,
                   uint64_t runs) {
  if (one.launches()->size() == 0)
    return "";
  std::string out = "<h3>" + escaped(section.name(), "section");
  if (std::string when = conditionText(one); !when.empty())
    out += ", " + when;
  out += " &times; " + std::to_string(runs) + "</h3>\n<div class=\"section\">\n";
  for (const fb::Launch *launch : *one.launches()) {
    out += std::string("<div class=\"launch") + (launch->barrier() ? " barrier" : "") + "\"><b>" +
           escaped(e.kernels()->Get(launch->kernel())->name(), "") + "</b>";
    for (unsigned i = 0; launch->args() && i < launch->args()->size(); ++i) {
      const fb::Arg &arg = *launch->args()->Get(i);
      bool again = false;
      for (unsigned before = 0; before < i; ++before)
        again |= launch->args()->Get(before)->kind() == arg.kind() &&
                 launch->args()->Get(before)->index() == arg.index();
      out += operand(e, section, arg, again);
    }
    out += "</div>\n";
  }
  return out + "</div>\n";
}

std::string sections(const fb::Program &e) {
  std::string out;
  for (unsigned s = 0; s < e.sections()->size(); ++s) {
    const fb::Section &section = *e.sections()->Get(s);
    uint64_t runs = std::ranges::count_if(
        *generateEntry(e).steps(), [&](const fb::Step *step) { return step->section() == s; });
    for (const fb::Case *one : *section.cases())
      out += caseOf(e, section, *one, runs);
  }
  return out;
}

/// Buffers of one class by offset: what shares bytes lies on top of each other.
std::string arena(const fb::Program &e, fb::BufferClass kind, const char *unit, uint64_t total) {
  std::string rows;
  int y = 0;
  for (const fb::Buffer *b : *e.buffers()) {
    if (b->class_() != kind)
      continue;
    auto scaled = [&](uint64_t bytes) {
      return std::to_string(static_cast<uint64_t>(1000.0 * double(bytes) / double(total)));
    };
    // A label that begins far right would leave the picture: it ends at the bar's end.
    auto label = [&](const fb::Buffer &buffer) {
      const uint64_t end = buffer.offset() + buffer.per_unit();
      return buffer.offset() > total * 3 / 4 ? scaled(end) + "\" text-anchor=\"end"
                                             : scaled(buffer.offset());
    };
    rows += "<rect class=\"bar\" x=\"" + scaled(b->offset()) + "\" y=\"" + std::to_string(y) +
            "\" width=\"" + scaled(b->per_unit()) + "\" height=\"14\"/><text x=\"" + label(*b) +
            "\" y=\"" + std::to_string(y + 11) + "\">" + escaped(b->name(), "") + " " +
            std::to_string(b->per_unit()) + "</text>\n";
    y += 18;
  }
  if (rows.empty())
    return "";
  return "<h3>" + std::to_string(total) + " bytes per " + unit + "</h3>\n<svg viewBox=\"0 0 1100 " +
         std::to_string(y) + "\" width=\"100%\">\n" + rows + "</svg>\n";
}

} // namespace

std::string inspectHtml(const EngineFile &engine, const MemoryLimits &limits) {
  const fb::Engine &e = engine.table();
  std::string title = escaped(e.model()->name(), "engine"), programs;
  for (const fb::Program *program : *e.programs()) {
    const char *device = deviceKind(*program) == DeviceKind::Cuda ? " for GPUs" : "";
    programs += std::string("<h2>Program") + device + "</h2>\n" + sections(*program) + "<h2>Arena" +
                device + "</h2>\n" +
                arena(*program, fb::BufferClass::PerToken, "token", program->bytes_per_token()) +
                arena(*program, fb::BufferClass::PerRow, "logits row", program->bytes_per_row()) +
                arena(*program, fb::BufferClass::Fixed, "engine", program->bytes_fixed());
  }
  return std::string(kHead) + "<title>" + title + "</title>\n<h1>" + title +
         "</h1>\n<p>A box is a launch with its operands: <span class=\"buffer\">buffers of "
         "activations</span>, <span class=\"weight\">weights</span> with the bytes it reads, <span "
         "class=\"kv\">keys and values</span>. What stands twice is read and written. A thick right "
         "edge is a barrier: the next launch waits.</p>\n" +
         programs + "<h2>Everything</h2>\n<pre>" + escaped(inspectText(engine, limits)) +
         "</pre>\n</html>\n";
}

} // namespace ingot::runtime
