//===- RooflineSvg.cpp - See RooflineSvg.h --------------------------------===//
#include "tools/ingot/measure/roofline/RooflineSvg.h"

#include "tools/terminal/Console.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ingot::cli {

namespace {

constexpr double kWidth = 960, kHeight = 560, kLeft = 80, kRight = 30, kTop = 50, kBottom = 60;
constexpr double kLabelHeight = 13, kCharacter = 7.2; ///< upper bounds for 12 px text

constexpr const char *kStyle = R"(<style>
svg { background: #fff; color: #1a1a1a; font: 12px system-ui, sans-serif }
.grid { stroke: #1a1a1a; stroke-opacity: .12 }
.roof { stroke: #1a1a1a; fill: none; stroke-width: 2 }
.lower { stroke-dasharray: 6 4; stroke-width: 1.5 }
.decode { fill: #0b63c4 } .prompt { fill: #c2410c }
.lead { stroke: #1a1a1a; stroke-opacity: .35 }
text { fill: #1a1a1a } text.decode { fill: #0b63c4 } text.prompt { fill: #c2410c }
@media (prefers-color-scheme: dark) {
svg { background: #16181d; color: #e6e6e6 }
.grid, .roof, .lead { stroke: #e6e6e6 }
.decode { fill: #6db3ff } .prompt { fill: #ff9d5c }
text { fill: #e6e6e6 } text.decode { fill: #6db3ff } text.prompt { fill: #ff9d5c }
}
</style>
)";

std::string escaped(const std::string &text) {
  std::string out;
  for (char c : text)
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '"' ? "&quot;" : std::string(1, c);
  return out;
}

/// Formats an axis label: "0.25", "16", "2k", "1M".
std::string tick(double value) {
  return value >= 1e6   ? formatted("%gM", value / 1e6)
         : value >= 1e3 ? formatted("%gk", value / 1e3)
                        : formatted("%g", value);
}

/// An axis. It maps a range of powers of ten to pixels.
struct Axis {
  double low, high, from, to; ///< low, high: exponents of ten
  double at(double value) const {
    return from + (std::log10(value) - low) / (high - low) * (to - from);
  }
};

Axis axisOver(double least, double most, double from, double to) {
  double low = std::floor(std::log10(least)), high = std::ceil(std::log10(most));
  return {low, std::max(high, low + 1), from, to};
}

class Picture {
public:
  Picture(const std::vector<RooflinePoint> &points, const MachineLimits &limits) : limits(limits) {
    double leastX = 0.1, mostX = 1000, leastY = 1, mostY = std::max(limits.highest(), 10.0);
    for (const RooflinePoint &p : points)
      if (p.operations > 0 && p.bytes > 0 && p.seconds > 0) {
        shown.push_back(p);
        leastX = std::min(leastX, intensity(p)), mostX = std::max(mostX, intensity(p));
        leastY = std::min(leastY, gops(p)), mostY = std::max(mostY, gops(p));
      }
    x = axisOver(leastX, mostX, kLeft, kWidth - kRight);
    y = axisOver(leastY, mostY, kHeight - kBottom, kTop);
  }

  std::string draw(const std::string &title) {
    std::string svg = formatted("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
                                "role=\"img\">\n",
                                kWidth, kHeight);
    svg += "<title>" + escaped(title) + "</title>\n" + kStyle;
    svg += text(kLeft, 26, "", title) + grid() + roofs();
    placeLabels();
    for (size_t i = 0; i < shown.size(); ++i)
      svg += point(i);
    return svg + "</svg>\n";
  }

private:
  static double intensity(const RooflinePoint &p) { return p.operations / p.bytes; }
  static double gops(const RooflinePoint &p) { return p.operations / p.seconds / 1e9; }

  static std::string text(double atX, double atY, const char *attributes, const std::string &what) {
    return formatted("<text x=\"%.1f\" y=\"%.1f\" %s>", atX, atY, attributes) + escaped(what) +
           "</text>\n";
  }
  static std::string line(const char *name, double x1, double y1, double x2, double y2) {
    return formatted("<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", name,
                     x1, y1, x2, y2);
  }

  std::string grid() const {
    std::string svg;
    for (double e = x.low; e <= x.high; ++e) {
      double at = x.at(std::pow(10, e));
      svg += line("grid", at, kTop, at, kHeight - kBottom);
      svg += text(at, kHeight - kBottom + 18, "text-anchor=\"middle\"", tick(std::pow(10, e)));
    }
    for (double e = y.low; e <= y.high; ++e) {
      double at = y.at(std::pow(10, e));
      svg += line("grid", kLeft, at, kWidth - kRight, at);
      svg += text(kLeft - 8, at + 4, "text-anchor=\"end\"", tick(std::pow(10, e)));
    }
    svg += text((kLeft + kWidth - kRight) / 2, kHeight - 16, "text-anchor=\"middle\"",
                "operations per byte");
    svg += text(18, (kTop + kHeight - kBottom) / 2,
                formatted("text-anchor=\"middle\" transform=\"rotate(-90 18 %g)\"",
                          (kTop + kHeight - kBottom) / 2)
                    .c_str(),
                "giga-operations per second");
    svg += text(kWidth - kRight, 26, "text-anchor=\"end\" class=\"prompt\"", "■ prompt of 512");
    svg += text(kWidth - kRight - 120, 26, "text-anchor=\"end\" class=\"decode\"", "● decode");
    return svg;
  }

  /// Draws the memory slope up to the fastest unit, and a horizontal roof for each unit.
  std::string roofs() {
    std::string svg;
    if (limits.readGbPerS <= 0)
      return svg;
    const double right = std::pow(10, x.high), left = std::pow(10, x.low),
                 floor = std::pow(10, y.low);
    double from = std::max(left, floor / limits.readGbPerS);
    double ridge = limits.highest() / limits.readGbPerS;
    svg += line("roof", x.at(from), y.at(from * limits.readGbPerS), x.at(ridge),
                y.at(limits.highest()));
    // The label goes where no kernel can be: few operations per byte and many per second.
    svg += text(kLeft + 8, kTop + 18, "", formatted("slope: %.1f GB/s read", limits.readGbPerS));
    auto level = [&](const char *name, const char *unit, double rate) {
      if (rate <= 0)
        return;
      svg += line(name, x.at(rate / limits.readGbPerS), y.at(rate), x.at(right), y.at(rate));
      const std::string rateText = std::string(unit) + formatted(" %.2f T/s", rate / 1e3);
      const Label label =
          freeBelow({x.at(right) - 4 - width(rateText), y.at(rate) - 6, width(rateText)});
      svg += text(label.x, label.y, "", rateText);
      taken.push_back(label);
    };
    level("roof", "int8", limits.int8Gops);
    if (limits.bf16Gflops > 1.2 * limits.f32Gflops)
      level("roof lower", "bf16", limits.bf16Gflops);
    level("roof lower", "f32", limits.f32Gflops);
    return svg;
  }

  struct Label {
    double x, y, width;
  };
  static double width(const std::string &text) { return kCharacter * double(text.size()); }

  /// Returns the label's own place, or the next one below that is free.
  Label freeBelow(Label label) const {
    for (bool moved = true; moved;) {
      moved = false;
      for (const Label &other : taken)
        if (label.x < other.x + other.width && other.x < label.x + label.width &&
            std::abs(other.y - label.y) < kLabelHeight - 0.01)
          label.y = other.y + kLabelHeight, moved = true;
    }
    return label;
  }

  /// Places labels to the right of their points, or to the left at the right edge.
  void placeLabels() {
    std::sort(shown.begin(), shown.end(),
              [](const RooflinePoint &a, const RooflinePoint &b) { return gops(a) > gops(b); });
    for (const RooflinePoint &p : shown) // no label covers a point
      taken.push_back({x.at(intensity(p)) - 5, y.at(gops(p)) + 4, 10});
    for (const RooflinePoint &p : shown) {
      const double atX = x.at(intensity(p)), wide = width(p.kernel);
      const bool fits = atX + 9 + wide < kWidth - kRight;
      labels.push_back(freeBelow({fits ? atX + 9 : atX - 9 - wide, y.at(gops(p)) + 4, wide}));
      taken.push_back(labels.back());
    }
  }

  std::string point(size_t i) const {
    const RooflinePoint &p = shown[i];
    const double atX = x.at(intensity(p)), atY = y.at(gops(p));
    const char *name = p.prompt ? "prompt" : "decode";
    std::string svg;
    const Label &label = labels[i];
    if (label.y > atY + kLabelHeight)
      svg +=
          line("lead", atX, atY, label.x > atX ? label.x - 2 : label.x + label.width, label.y - 4);
    std::string mark =
        p.prompt
            ? formatted("<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"8\" height=\"8\">", name,
                        atX - 4, atY - 4)
            : formatted("<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\">", name, atX, atY);
    svg += mark + "<title>" + escaped(p.kernel) +
           formatted(" (%s): %.2f operations per byte, %.1f G/s, %.1f us</title>", name,
                     intensity(p), gops(p), p.seconds * 1e6) +
           (p.prompt ? "</rect>\n" : "</circle>\n");
    return svg + text(label.x, label.y, formatted("class=\"%s\"", name).c_str(), p.kernel);
  }

  MachineLimits limits;
  std::vector<RooflinePoint> shown;
  std::vector<Label> labels; ///< of `shown`, in the same order
  std::vector<Label> taken;  ///< occupied places
  Axis x{}, y{};
};

} // namespace

std::string rooflineSvg(const std::vector<RooflinePoint> &points, const MachineLimits &limits,
                        const std::string &title) {
  return Picture(points, limits).draw(title);
}

} // namespace ingot::cli
