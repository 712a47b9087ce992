#include "file_reader.hpp"

#include "oracle/oracle_error.hpp"
#include "oracle/platform.hpp"
#include "oracle/text_file.hpp"
#include "oracle_import/import_profile.hpp"
#include "scenarios/document.hpp"
#include "scenarios/nearest.hpp"
#include "validate/error_figures.hpp"
#include "validate/measurement_format.hpp"
#include "validate/validation.hpp"

#include <algorithm>
#include <sstream>

namespace dooly::validate {
namespace {

using scenario::Node;

constexpr std::string_view kDifferences = "differences";
constexpr std::string_view kPairs = "pairs";
constexpr std::string_view kKernels = "kernels";

std::string read_text(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path) || !std::filesystem::exists(path))
    throw ValidationError(path.string() + ": no such file");
  try {
    return oracle::read_text_file(path);
  } catch (const oracle::OracleError& error) {
    throw ValidationError(error.what());
  }
}

std::vector<std::string_view> names_of(std::span<const Named> list) {
  std::vector<std::string_view> names;
  for (const Named& each : list) names.push_back(each.name);
  return names;
}

class Loader {
 public:
  Loader(const std::string& text, const std::filesystem::path& path) : text_(text), path_(path), reader_(path) {}

  Validation load() {
    validation_.file = path_;
    validation_.name = path_.stem().string();
    const Node root = parse();
    const std::vector<std::string_view> keys = {"scenario", "measurement", "checks", "clock",
                                                "profiles", "fit",         "bounds"};
    if (reader_.is_map_of(root, "", keys)) {
      if (const Node* node = reader_.required(root, "", "measurement")) read_measurement(*node);
      if (const Node* node = reader_.required(root, "", "scenario")) read_scenario(*node);
      read_checks(root.find("checks"));
      if (const Node* node = root.find("clock"))
        if (reader_.one_of(*node, "clock", {"client", "engine"}) == "engine") validation_.clock = Clock::kEngine;
      if (const Node* node = root.find("profiles")) read_profiles(*node);
      if (const Node* node = root.find("fit")) read_fit(*node);
      if (const Node* node = root.find("bounds")) read_bounds(*node);
    }
    reader_.finish();
    return std::move(validation_);
  }

 private:
  Node parse() {
    std::vector<scenario::Problem> problems;
    Node root;
    try {
      root = scenario::parse_yaml(text_, 0, problems);
    } catch (const scenario::Problem& problem) {
      reader_.add(problem);
    }
    for (const scenario::Problem& problem : problems) reader_.add(problem);
    reader_.finish();
    return root;
  }

  void read_measurement(const Node& node) {
    std::vector<std::string_view> formats;
    for (const MeasurementFormat& format : measurement_formats()) formats.push_back(format.name);
    std::vector<std::string_view> keys = {"format", "path"};
    const Node* name = node.is_map() ? node.find("format") : nullptr;
    if (name != nullptr) format_ = find_measurement_format(name->text);
    if (format_ != nullptr)
      for (const Named& option : format_->options) keys.push_back(option.name);
    if (!reader_.is_map_of(node, "measurement", keys)) return;
    if (const Node* each = reader_.required(node, "measurement", "format"))
      validation_.format = reader_.one_of(*each, "measurement.format", formats);
    if (const Node* each = reader_.required(node, "measurement", "path")) {
      validation_.measurement = reader_.path(*each, "measurement.path");
      validation_.measurement_written = each->text;
    }
    for (const Node::Member& member : node.members)
      if (member.key != "format" && member.key != "path")
        validation_.options[member.key] = reader_.text(member.value, "measurement." + member.key);
  }

  /// A path, or the scenario itself. Of an inline one everything before and after is blanked out, so that its lines and
  /// columns stay those of this file.
  void read_scenario(const Node& node) {
    if (node.is_scalar()) {
      validation_.scenario.file = reader_.path(node, "scenario");
      if (!std::filesystem::is_regular_file(validation_.scenario.file)) {
        reader_.refuse(node, "scenario", "no such file");
        return;
      }
      validation_.scenario.text = read_text(validation_.scenario.file);
      return;
    }
    if (!node.is_map() || node.members.empty()) return reader_.refuse(node, "scenario", "must be a path or a scenario");
    validation_.scenario.file = path_;
    const auto first = static_cast<std::size_t>(node.members.front().mark.line);
    if (character_at(node.mark) == '{')
      return reader_.refuse(node, "scenario", "must be written over several lines, one key each");
    validation_.scenario.text = block_from(first, static_cast<std::size_t>(node.members.front().mark.column - 1));
  }

  char character_at(const scenario::Mark& mark) const {
    std::size_t line = 0;
    for (int number = 1; number < mark.line; ++number) line = text_.find('\n', line) + 1;
    const std::size_t at = line + static_cast<std::size_t>(mark.column - 1);
    return at < text_.size() ? text_[at] : '\0';
  }

  /// The lines from `first` on that are indented by at least `indent`, at their places.
  std::string block_from(std::size_t first, std::size_t indent) const {
    std::istringstream lines(text_);
    std::string kept;
    bool inside = true;
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
      const std::size_t start = line.find_first_not_of(" \r");
      const bool is_text = start != std::string::npos;
      if (number >= first && is_text && start < indent && line[start] != '#') inside = false;
      kept += (number >= first && inside && is_text && start >= indent ? line : "") + "\n";
    }
    return kept;
  }

  void read_checks(const Node* node) {
    if (format_ == nullptr) return;
    const std::vector<std::string_view> known = names_of(format_->checks);
    std::vector<std::string> wanted;
    if (node != nullptr)
      for (const Node* word : reader_.words(*node, "checks")) wanted.push_back(reader_.one_of(*word, "checks", known));
    for (const std::string_view check : known)
      if (node == nullptr || std::find(wanted.begin(), wanted.end(), check) != wanted.end())
        validation_.checks.emplace_back(check);
  }

  void read_profiles(const Node& node) {
    if (!node.is_map()) return reader_.refuse(node, "profiles", "must be a map of names");
    for (const Node::Member& member : node.members) read_profile(member);
  }

  void read_profile(const Node::Member& member) {
    const std::string key = "profiles." + member.key;
    const std::vector<std::string_view> options = {"gpu",     "engine",   "model",    "dtype",
                                                   "backend", "kv_dtype", "topology", "cuda"};
    std::vector<std::string_view> keys = {"format", "path"};
    keys.insert(keys.end(), options.begin(), options.end());
    if (member.key.empty() || member.key.find('/') != std::string::npos)
      return reader_.report(member.mark, key, "must be a plain name");
    if (!reader_.is_map_of(member.value, key, keys)) return;
    std::vector<std::string_view> formats;
    for (const import_::ImportFormat& format : import_::import_formats()) formats.push_back(format.name);
    ProfileImport profile{.name = member.key};
    if (const Node* each = reader_.required(member.value, key, "format"))
      profile.format = reader_.one_of(*each, key + ".format", formats);
    if (const Node* each = reader_.required(member.value, key, "path"))
      profile.path = reader_.path(*each, key + ".path");
    for (const std::string_view option : options)
      if (const Node* each = member.value.find(option))
        profile.options[std::string(option)] = reader_.text(*each, joined(key, option));
    validation_.profiles.push_back(std::move(profile));
  }

  void read_fit(const Node& node) {
    if (!node.is_list()) return reader_.refuse(node, "fit", "must be a list of {measurement, terms}");
    for (std::size_t i = 0; i < node.items.size(); ++i) read_fit_source(node.items[i], "fit." + std::to_string(i));
  }

  void read_fit_source(const Node& node, const std::string& key) {
    if (!reader_.is_map_of(node, key, {"measurement", "terms", "first_requests"})) return;
    FitSource source;
    const Node* measurement = reader_.required(node, key, "measurement");
    if (measurement != nullptr) {
      source.measurement = reader_.path(*measurement, key + ".measurement");
      source.written = measurement->text;
    }
    if (const Node* terms = reader_.required(node, key, "terms"))
      for (const Node* word : reader_.words(*terms, key + ".terms"))
        source.terms.push_back(reader_.one_of(*word, key + ".terms", fit_terms()));
    if (const Node* first = node.find("first_requests"))
      source.first_requests = reader_.count(*first, key + ".first_requests");
    if (measurement != nullptr && !source.first_requests && source.measurement == validation_.measurement)
      reader_.refuse(*measurement, key + ".measurement",
                     "is the measurement that is judged, and not only a part of it");
    validation_.fit.push_back(std::move(source));
  }

  /// Terms of a platform by their first word (launch, schedule, …), clock, and kernels.
  static std::vector<std::string_view> fit_terms() {
    std::vector<std::string_view> terms;
    for (const oracle::PlatformTerm& term : oracle::platform_terms()) {
      const std::string_view word = term.key.substr(0, term.key.find('_'));
      if (std::find(terms.begin(), terms.end(), word) == terms.end()) terms.push_back(word);
    }
    terms.push_back(kKernels);
    return terms;
  }

  void read_bounds(const Node& node) {
    if (!node.is_map()) return reader_.refuse(node, "bounds", "must be a map of GROUP.QUANTITY");
    std::vector<std::string_view> errors(error_names().begin(), error_names().end());
    errors.push_back(kDifferences);
    errors.push_back(kPairs);
    for (const Node::Member& member : node.members) {
      const std::string key = "bounds." + member.key;
      const Quantity* quantity = quantity_of(member, key);
      if (!reader_.is_map_of(member.value, key, errors)) continue;
      const Node* least = member.value.find(kPairs);
      const std::size_t pairs = least == nullptr ? 0 : reader_.count(*least, joined(key, kPairs)).value_or(0);
      for (const Node::Member& error : member.value.members) {
        if (error.key == kPairs) continue;
        if (quantity != nullptr && quantity->is_tally != (error.key == kDifferences)) {
          reader_.report(error.mark, joined(key, error.key),
                         quantity->is_tally
                             ? "is a tally; allowed: differences, pairs"
                             : "is no tally; allowed: mean, p50, p90, p99, mape, median, pair_p90, pairs");
          continue;
        }
        const auto limit = error.key == kDifferences ? as_number(reader_.count(error.value, joined(key, error.key)))
                                                     : reader_.percentage(error.value, joined(key, error.key));
        if (limit) validation_.bounds.push_back({member.key, error.key, *limit, pairs, reader_.where(error.mark)});
      }
    }
  }

  /// What the bound is of; null, and reported, if the checks that run compare nothing of that name.
  const Quantity* quantity_of(const Node::Member& member, const std::string& key) {
    if (format_ == nullptr) return nullptr;
    std::vector<std::string_view> names;
    for (const Quantity& quantity : format_->quantities) {
      if (!quantity.check.empty() && !validation_.wants(std::string(quantity.check))) continue;
      if (is_named(quantity, member.key)) return &quantity;
      names.push_back(quantity.name);
    }
    const std::string_view meant = scenario::nearest(member.key, names);
    reader_.report(member.mark, key,
                   "nothing of that name is compared" +
                       (meant.empty() ? "" : ", did you mean '" + std::string(meant) + "'?") +
                       "; allowed: " + scenario::listed(names));
    return nullptr;
  }

  static std::optional<double> as_number(std::optional<std::uint64_t> count) {
    if (!count) return std::nullopt;
    return static_cast<double>(*count);
  }

  const std::string& text_;
  const std::filesystem::path& path_;
  FileReader reader_;
  Validation validation_;
  const MeasurementFormat* format_ = nullptr;
};

}  // namespace

bool Validation::wants(const std::string& check) const {
  return std::find(checks.begin(), checks.end(), check) != checks.end();
}

Validation parse_validation(const std::string& text, const std::filesystem::path& path) {
  return Loader(text, path).load();
}

Validation load_validation(const std::filesystem::path& path) { return parse_validation(read_text(path), path); }

}  // namespace dooly::validate
