#include "oracle/model_table.hpp"

#include "model_table_data.hpp"
#include "oracle/oracle_error.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace dooly::oracle {

namespace {

/// Lower case, without `Meta-` after the organisation and `-hf` at the end.
std::string canonical(std::string_view name) {
  std::string out;
  for (const char c : name) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (const std::size_t at = out.find("/meta-"); at != std::string::npos) out.erase(at + 1, 5);
  if (out.ends_with("-hf")) out.erase(out.size() - 3);
  return out;
}

const ShippedModel* lookup(std::string_view name) {
  const std::string wanted = canonical(name);
  for (const ShippedModel& model : kModels) {
    if (canonical(model.name) == wanted) return &model;
  }
  return nullptr;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, corner + (a[i - 1] == b[j - 1] ? 0 : 1)});
      corner = above;
    }
  }
  return row[b.size()];
}

std::string nearest_names(std::string_view name) {
  const std::string wanted = canonical(name.substr(0, 200));
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const ShippedModel& model : kModels)
    ranked.emplace_back(edit_distance(wanted, canonical(model.name)), model.name);
  std::sort(ranked.begin(), ranked.end());
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, ranked.size()); ++i) {
    out += i == 0 ? "" : ", ";
    out += ranked[i].second;
  }
  return out;
}

}  // namespace

std::span<const ShippedModel> shipped_models() { return kModels; }

bool is_shipped_model(std::string_view name) { return lookup(name) != nullptr; }

ModelConfig find_model(std::string_view name) {
  if (const ShippedModel* model = lookup(name)) return parse_model(model->config, model->name);
  if (name.ends_with(".json") || name.starts_with('.') || name.starts_with('/'))
    throw OracleError(fmt::format("{}: no such file; a model is a shipped name or a path to a config.json", name));
  throw OracleError(fmt::format("unknown model '{}'; nearest of {} shipped ones: {}; or give a path to a config.json",
                                name, kModels.size(), nearest_names(name)));
}

ModelConfig resolve_model(std::string_view name_or_path) {
  if (is_shipped_model(name_or_path)) return find_model(name_or_path);
  const std::filesystem::path path{std::string(name_or_path)};
  std::error_code ignored;
  if (path.extension() == ".json" || std::filesystem::exists(path, ignored)) return load_model_file(path);
  return find_model(name_or_path);  // says what is known
}

}  // namespace dooly::oracle
