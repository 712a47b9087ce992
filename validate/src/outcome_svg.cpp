#include "validate/error_figures.hpp"
#include "validate/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace dooly::validate {
namespace {

constexpr double kPanelWidth = 360, kPanelHeight = 280, kLeft = 62, kBottom = 40, kTop = 34, kRight = 14;
constexpr double kTitle = 36;
constexpr std::size_t kColumns = 3;
constexpr std::size_t kMostPoints = 4000;
constexpr const char* kMeasuredColour = "#1f77b4";
constexpr const char* kPredictedColour = "#d62728";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

/// Logarithmic axis over positive values.
class Axis {
 public:
  Axis(double low, double high, double from, double to) : from_(from), to_(to) {
    low_ = std::log10(low);
    high_ = std::max(std::log10(high), low_ + 0.05);
  }
  double at(double value) const { return from_ + (to_ - from_) * (std::log10(value) - low_) / (high_ - low_); }
  /// Decades, and 2 and 5 within them.
  std::vector<double> ticks() const {
    std::vector<double> found;
    for (int decade = static_cast<int>(std::floor(low_)); decade <= high_; ++decade)
      for (const double step : {1.0, 2.0, 5.0}) {
        const double tick = step * std::pow(10.0, decade);
        if (std::log10(tick) >= low_ && std::log10(tick) <= high_) found.push_back(tick);
      }
    return found;
  }

 private:
  double low_, high_, from_, to_;
};

std::string tick_text(double value, Unit unit) {
  if (unit != Unit::kSeconds) return fmt::format("{:g}", value);
  return value >= 1      ? fmt::format("{:g} s", value)
         : value >= 1e-3 ? fmt::format("{:g} ms", value * 1e3)
                         : fmt::format("{:g} us", value * 1e6);
}

/// Values that a logarithmic axis can show.
std::vector<double> positive(const std::vector<double>& values) {
  std::vector<double> kept;
  for (const double value : values)
    if (value > 0) kept.push_back(value);
  std::sort(kept.begin(), kept.end());
  return kept;
}

std::string line(double x0, double y0, double x1, double y1, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x0, y0, x1, y1, style);
}

std::string label(double x, double y, const char* anchor, const std::string& text, const char* colour = "#333") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", x, y, anchor, colour,
                     escaped(text));
}

/// One series in its frame.
class Panel {
 public:
  explicit Panel(const Series& series)
      : series_(series),
        measured_(positive(series.measured)),
        predicted_(positive(series.predicted)),
        low_(measured_.empty() || predicted_.empty() ? 1 : std::min(measured_.front(), predicted_.front())),
        high_(measured_.empty() || predicted_.empty() ? 10 : std::max(measured_.back(), predicted_.back())),
        x_(low_, high_, kLeft, kPanelWidth - kRight) {}

  std::string draw() const {
    const ErrorFigures figures = error_figures(series_);
    std::string out = label(kLeft, kTop - 18, "start", series_.name);
    out += label(kPanelWidth - kRight, kTop - 18, "end",
                 fmt::format("mean {:+.1f}%, MAPE {:.1f}%", 100 * figures.mean, 100 * figures.mape));
    out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#999\"/>\n", kLeft,
                       kTop, kPanelWidth - kRight - kLeft, kPanelHeight - kBottom - kTop);
    for (const double tick : thinned(x_.ticks())) {
      out += line(x_.at(tick), kTop, x_.at(tick), kPanelHeight - kBottom, "stroke=\"#e5e5e5\"");
      out += label(x_.at(tick), kPanelHeight - kBottom + 14, "middle", tick_text(tick, series_.unit));
    }
    return out + (series_.plot == Plot::kScatter ? scatter() : distributions());
  }

 private:
  static std::vector<double> thinned(std::vector<double> ticks) {
    if (ticks.size() <= 7) return ticks;
    std::vector<double> kept;
    for (std::size_t i = 0; i < ticks.size(); i += 1 + ticks.size() / 7) kept.push_back(ticks[i]);
    return kept;
  }

  std::string distributions() const {
    std::string out;
    for (const double share : {0.0, 0.5, 0.9, 1.0})
      out += line(kLeft, y_of(share), kPanelWidth - kRight, y_of(share), "stroke=\"#e5e5e5\"") +
             label(kLeft - 6, y_of(share) + 4, "end", fmt::format("{:g}%", 100 * share));
    out += curve(measured_, kMeasuredColour) + curve(predicted_, kPredictedColour);
    out += label(kPanelWidth - kRight - 8, kPanelHeight - kBottom - 24, "end", "measured", kMeasuredColour);
    return out + label(kPanelWidth - kRight - 8, kPanelHeight - kBottom - 8, "end", "predicted", kPredictedColour);
  }

  static double y_of(double share) { return kPanelHeight - kBottom - share * (kPanelHeight - kBottom - kTop); }

  std::string curve(const std::vector<double>& sorted, const char* colour) const {
    std::string points;
    const std::size_t stride = 1 + sorted.size() / 500;
    for (std::size_t i = 0; i < sorted.size(); i += stride)
      points += fmt::format("{:.1f},{:.1f} ", x_.at(sorted[i]),
                            y_of(static_cast<double>(i + 1) / static_cast<double>(sorted.size())));
    return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", points, colour);
  }

  /// Predicted over measured; the diagonal is right.
  std::string scatter() const {
    const Axis y(low_, high_, kPanelHeight - kBottom, kTop);
    std::string out;
    for (const double tick : thinned(y.ticks()))
      out += line(kLeft, y.at(tick), kPanelWidth - kRight, y.at(tick), "stroke=\"#e5e5e5\"") +
             label(kLeft - 6, y.at(tick) + 4, "end", tick_text(tick, series_.unit));
    out += line(x_.at(low_), y.at(low_), x_.at(high_), y.at(high_), "stroke=\"#333\" stroke-dasharray=\"4 3\"");
    const std::size_t stride = 1 + series_.measured.size() / kMostPoints;
    for (std::size_t i = 0; i < series_.measured.size(); i += stride)
      if (series_.measured[i] > 0 && series_.predicted[i] > 0)
        out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.4\" fill=\"{}\" fill-opacity=\"0.4\"/>\n",
                           x_.at(series_.measured[i]), y.at(series_.predicted[i]), kMeasuredColour);
    return out + label((kLeft + kPanelWidth - kRight) / 2, kPanelHeight - 8, "middle", "measured; predicted upwards");
  }

  const Series& series_;
  std::vector<double> measured_, predicted_;
  double low_, high_;
  Axis x_;
};

}  // namespace

std::string outcome_svg(const Outcome& outcome) {
  std::string panels;
  std::size_t count = 0;
  for (const Series& series : outcome.comparison.series) {
    if (series.plot == Plot::kNone || series.measured.empty()) continue;
    panels += fmt::format("<g transform=\"translate({:.0f},{:.0f})\">\n{}</g>\n",
                          static_cast<double>(count % kColumns) * kPanelWidth,
                          kTitle + static_cast<double>(count / kColumns) * kPanelHeight, Panel(series).draw());
    ++count;
  }
  const auto rows = static_cast<double>((count + kColumns - 1) / kColumns);
  const double width = kPanelWidth * kColumns, height = kTitle + rows * kPanelHeight;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
             "{1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
             "fill=\"white\"/>\n",
             width, height) +
         fmt::format("<text x=\"{}\" y=\"22\" font-size=\"15\">{}</text>\n", kLeft,
                     escaped(outcome.validation.name + ": " + outcome.validation.format)) +
         panels + "</svg>\n";
}

}  // namespace dooly::validate
