#include "exported.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

namespace dooly::import_::test {
namespace {

/// Samples that are not suspect, without their notes.
std::map<std::string, std::vector<oracle::Sample>> sound(const MemorySamples& samples) {
  std::map<std::string, std::vector<oracle::Sample>> out;
  for (const auto& set : samples.sets())
    for (const oracle::Sample& sample : set.samples)
      if (sample.status == oracle::SampleStatus::kOk) out[operation(set.key)].push_back(sample);
  return out;
}

}  // namespace

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> column(const std::string& csv, const std::string& name) {
  const auto cells = [](const std::string& line) {
    std::vector<std::string> out(1);
    for (const char c : line) c == ',' ? (void)out.emplace_back() : out.back().push_back(c);
    return out;
  };
  std::istringstream in(csv);
  std::string line;
  std::getline(in, line);
  const auto header = cells(line);
  const auto at = std::find(header.begin(), header.end(), name);
  std::vector<std::string> out;
  if (at == header.end()) return out;
  while (std::getline(in, line)) out.push_back(cells(line).at(static_cast<std::size_t>(at - header.begin())));
  return out;
}

oracle::Sample sample_at(const oracle::SamplePoint& point, double seconds) {
  oracle::Sample sample;
  sample.point = point;
  sample.regime = oracle::ClockRegime::kCool;
  sample.count = 5;
  sample.median_s = sample.mean_s = sample.min_s = seconds;
  return sample;
}

void expect_round_trip(const std::string& format, const MemorySamples& first, const ExportOptions& options) {
  const ProfileFolder folder;
  const ExportReport report = export_profile(format, first, options, folder.path());
  EXPECT_GT(report.rows, 0u);
  MemorySamples again;
  import_profile(format, folder.path(), {}, again);
  std::map<std::string, std::vector<oracle::Sample>> second;
  for (const auto& set : again.sets())
    for (oracle::Sample sample : set.samples) {
      sample.status = oracle::SampleStatus::kOk;
      sample.note.clear();
      second[operation(set.key)].push_back(sample);
    }
  const auto expected = sound(first);
  ASSERT_EQ(second.size(), expected.size());
  for (const auto& [operation, samples] : expected) {
    const auto found = second.find(operation);
    ASSERT_NE(found, second.end()) << operation;
    ASSERT_EQ(found->second.size(), samples.size()) << operation;
    for (std::size_t i = 0; i < samples.size(); ++i)
      ASSERT_EQ(found->second[i], samples[i]) << operation << " sample " << i;
  }
}

}  // namespace dooly::import_::test
