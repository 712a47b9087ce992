#include "collective_listing.hpp"

#include "stored_fits.hpp"
#include "text.hpp"

#include "oracle_profiled/fit_figures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace dooly::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;
using Samples = std::vector<oracle::Sample>;

const std::vector<std::string> kHeading = {"OPERATOR", "KIND",  "DTYPE",    "RANKS", "LAUNCH", "FAMILY",
                                           "POINTS",   "BYTES", "LEAST us", "GB/s",  "ERROR"};

std::vector<std::string> row_of(const oracle::Signature& signature, const oracle::OperatorKey& key,
                                const Samples& samples, const SeriesFit& fit) {
  Samples good = samples;
  std::erase_if(good, [](const oracle::Sample& s) { return s.status != oracle::SampleStatus::kOk; });
  std::vector<std::string> row = {signature.hex().substr(0, 12),
                                  store::printable(key.kind),
                                  store::printable(fmt::format("{}", fmt::join(key.dtypes, ","))),
                                  key.dims.empty() ? "-" : std::to_string(key.dims.front()),
                                  key.attributes.contains("eager") ? "isolated" : "back-to-back",
                                  store::printable(key.family),
                                  with_commas(good.size())};
  if (good.empty()) {
    row.insert(row.end(), {"-", "-", "-", "-"});
    return row;
  }
  const auto [least, largest] =
      std::minmax_element(good.begin(), good.end(),
                          [](const oracle::Sample& a, const oracle::Sample& b) { return a.point[0] < b.point[0]; });
  row.push_back(fmt::format("{}..{}", least->point[0], largest->point[0]));
  row.push_back(fmt::format("{:.3f}", least->median_s * 1e6));
  row.push_back(fmt::format("{:.2f}", static_cast<double>(largest->point[0]) / largest->median_s / 1e9));
  row.push_back(fit.trouble.empty() && fit.fit.fold_error > 0 ? fmt::format("{:.1f} %", 100 * fit.fit.fold_error)
                                                              : "-");
  return row;
}

}  // namespace

void CollectiveListing::take(const store::Record& record) {
  if (const auto* environment = std::get_if<store::EnvironmentRecord>(&record)) {
    environments_.emplace(environment->id, environment->environment);
  } else if (const auto* key = std::get_if<store::KeyRecord>(&record)) {
    if (oracle::binding_of(key->key) == oracle::Binding::kCollective) keys_.emplace(key->signature, key->key);
  } else if (const auto* sample = std::get_if<store::SampleRecord>(&record)) {
    if (keys_.contains(sample->signature))
      series_[{sample->environment_id, sample->signature}].push_back(sample->sample);
  } else if (const auto* comm = std::get_if<store::CommRecord>(&record)) {
    tables_.push_back(comm->name);
  }
}

std::string CollectiveListing::text() const {
  std::string text;
  for (const auto& [id, environment] : environments_) {
    Rows rows = {kHeading};
    for (const auto& [of, samples] : series_) {
      if (of.first != id) continue;
      const oracle::OperatorKey& key = keys_.at(of.second);
      rows.push_back(row_of(of.second, key, samples, fit_in(store_, id, key, samples, environment.gpu)));
    }
    if (rows.size() == 1) continue;
    std::sort(rows.begin() + 1, rows.end(), [](const auto& a, const auto& b) {
      return std::tie(a[1], a[2], a[4], a[0]) < std::tie(b[1], b[2], b[4], b[0]);
    });
    text +=
        fmt::format("{}environment {} ({})\n", text.empty() ? "" : "\n", id.substr(0, 12), store::title(environment));
    text += table(rows, 2);
  }
  for (const std::string& name : tables_) text += "links " + store::printable(name) + "\n";
  return text;
}

}  // namespace dooly::cli
