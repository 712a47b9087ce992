#include "llmservingsim_writer.hpp"

#include "numbers.hpp"

#include <fmt/format.h>

namespace dooly::import_ {
namespace {

using oracle::Sample;

bool is_bare(const Sample& sample) {
  return sample.mean_s == sample.median_s && sample.std_s == 0 && sample.min_s == 0 && sample.p10_s == 0 &&
         sample.p90_s == 0;
}

}  // namespace

std::string us(double seconds) { return scaled_text(seconds, kMicroseconds); }

MoreColumns::MoreColumns(const std::vector<Sample>& samples, std::uint32_t usual_count, bool has_predictions)
    : has_predictions_(has_predictions) {
  for (const Sample& sample : samples) wanted_ = wanted_ || !is_bare(sample) || sample.count != usual_count;
}

std::string MoreColumns::header() const {
  return fmt::format("{}{}\n", wanted_ ? ",count,mean_us,std_us,min_us,p10_us,p90_us" : "",
                     has_predictions_ ? ",predicted_operators" : "");
}

std::string MoreColumns::cells(const Sample& s, const char* predicted) const {
  std::string out;
  if (wanted_)
    out = fmt::format(",{},{},{},{},{},{}", s.count, us(s.mean_s), us(s.std_s), us(s.min_s), us(s.p10_s), us(s.p90_s));
  if (has_predictions_) out.append(",").append(predicted);
  return out + "\n";
}

Sample prediction(const oracle::SamplePoint& point, double seconds) {
  Sample sample;
  sample.point = point;
  sample.median_s = sample.mean_s = seconds;
  return sample;
}

}  // namespace dooly::import_
