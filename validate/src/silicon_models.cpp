#include "silicon_models.hpp"

#include "files/whole_file.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/text_file.hpp"
#include "validate/validation.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <string_view>
#include <system_error>

namespace dooly::validate {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kBlockQuantised = "-FP8";

fs::path config_of(const fs::path& folder, std::string name) {
  if (const std::size_t slash = name.find('/'); slash != std::string::npos) name.replace(slash, 1, "--");
  return folder / name / "config.json";
}

json read_json(const fs::path& path) {
  std::string text;
  try {
    text = oracle::read_text_file(path);
  } catch (const oracle::OracleError& error) {
    throw ValidationError(error.what());
  }
  json config = json::parse(text, nullptr, false);
  if (!config.is_object()) throw ValidationError(path.string() + ": is no JSON object");
  return config;
}

}  // namespace

SiliconModels::~SiliconModels() {
  std::error_code ignored;
  if (!made_.empty()) fs::remove_all(made_, ignored);
}

const SiliconModels::Entry& SiliconModels::of(const SiliconRow& row) {
  const auto [place, is_new] = known_.try_emplace(row.model + ' ' + row.weights);
  if (is_new) place->second = make(row);
  return place->second;
}

SiliconModels::Entry SiliconModels::make(const SiliconRow& row) {
  const bool is_block_quantised = row.model.ends_with(kBlockQuantised);
  fs::path path = config_of(folder_, row.model);
  if (!fs::exists(path) && is_block_quantised)
    path = config_of(folder_, row.model.substr(0, row.model.size() - kBlockQuantised.size()));
  if (!fs::exists(path)) return {};
  json config = read_json(path);
  if (!config.contains("quantization_config")) {
    if (is_block_quantised) {
      config["quantization_config"] = {{"quant_method", "fp8"},
                                       {"activation_scheme", "dynamic"},
                                       {"fmt", "e4m3"},
                                       {"weight_block_size", json::array({128, 128})}};
    } else if (row.weights == "fp8") {
      config["quantization_config"] = {{"quant_method", "fp8"}, {"activation_scheme", "dynamic"}};
    }
  }
  if (made_.empty()) {
    std::string pattern = (fs::temp_directory_path() / "dooly-models-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "cannot make a directory " + pattern);
    made_ = pattern;
  }
  const fs::path made = made_ / fmt::format("{}.json", known_.size());
  files::write_whole_file(made, config.dump());
  return {made, oracle::parse_model(config.dump(), row.model)};
}

}  // namespace dooly::validate
