#include "importer.hpp"

#include "csv_table.hpp"
#include "oracle/model_table.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle/oracle_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace dooly::import_ {
namespace {

constexpr std::array<std::string_view, 8> kDtypeWords{"bfloat16",  "float16", "float32", "fp8",
                                                      "fp8_block", "int8",    "int4",    "mxfp4"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::string ProfileFile::below(std::string_view name) const {
  for (std::size_t i = parts.size(); i-- > 1;)
    if (parts[i - 1] == name) return parts[i];
  return {};
}

void ImportContext::note(const std::string& text) {
  if (std::find(report.notes.begin(), report.notes.end(), text) == report.notes.end()) report.notes.push_back(text);
}

std::string dtype_word(std::string_view text) {
  std::string word = lower(text);
  if (word.starts_with("torch.")) word.erase(0, 6);
  if (word == "bf16") return "bfloat16";
  if (word == "fp16" || word == "half") return "float16";
  if (word == "fp32" || word == "float") return "float32";
  if (word == "fp8_e4m3" || word == "fp8_e5m2" || word == "float8_e4m3fn") return "fp8";
  return word;
}

bool is_dtype_word(std::string_view word) {
  return std::find(kDtypeWords.begin(), kDtypeWords.end(), word) != kDtypeWords.end();
}

void check_dtype_option(std::string_view option, std::string_view text) {
  if (text.empty() || is_dtype_word(dtype_word(text))) return;
  throw ImportError(
      fmt::format("{}: unknown number format '{}'; allowed: {}", option, text, fmt::join(kDtypeWords, ", ")));
}

std::string asked_dtype(const ImportOptions& options, std::string_view said, std::string_view otherwise) {
  if (!options.dtype.empty()) return dtype_word(options.dtype);
  return dtype_word(said.empty() ? otherwise : said);
}

std::string model_from_folder(const ProfileFile& file, std::size_t up) {
  const std::string name = file.folder(up);
  const auto dashes = name.find("--");
  if (dashes != std::string::npos) return fmt::format("{}/{}", name.substr(0, dashes), name.substr(dashes + 2));
  const std::string organisation = file.folder(up + 1);
  return organisation.empty() ? name : fmt::format("{}/{}", organisation, name);
}

std::optional<oracle::ModelConfig> model_if_known(const ImportOptions& options, const std::string& name) {
  if (!options.model.empty()) {
    try {
      return oracle::resolve_model(options.model);
    } catch (const oracle::OracleError& error) {
      throw ImportError(fmt::format("--model: {}", error.what()));
    }
  }
  for (const std::string& spelling : {name, name.substr(0, name.rfind("-Instruct"))})
    if (oracle::is_shipped_model(spelling)) return oracle::find_model(spelling);
  return std::nullopt;
}

oracle::ModelConfig model_for(const ProfileFile& file, const ImportOptions& options, const std::string& name) {
  if (auto model = model_if_known(options, name)) return *model;
  throw ImportError(
      fmt::format("{}: the shape of model '{}' is not known; give it with --model NAME or --model "
                  "path/to/config.json",
                  file.path.string(), name));
}

std::string attention_family(std::string_view gpu, const ImportOptions& options) {
  if (!options.backend.empty()) return options.backend;
  for (const std::string_view hopper : {"H100", "H200", "H20", "H800", "GH200"})
    if (gpu == hopper || gpu.starts_with(std::string(hopper) + "-")) return "fa3";
  return "fa2";
}

std::string family_word(std::string_view text, std::string_view gpu) {
  std::string word = lower(text);
  word = word.substr(word.rfind('.') == std::string::npos ? 0 : word.rfind('.') + 1);
  if (word.starts_with("vllm_")) word.erase(0, 5);
  for (const std::string_view version : {"fa2", "fa3", "fa4"})
    if (word.ends_with(version)) return std::string(version);
  if (word.find("flashinfer") != std::string::npos) return "flashinfer";
  if (word == "flash_attention" || word == "flash_attn") return attention_family(gpu, {});
  if (word.find("triton") != std::string::npos) return word.find("mla") != std::string::npos ? "triton-mla" : "triton";
  std::replace(word.begin(), word.end(), '_', '-');
  return word;
}

oracle::OperatorKey own_key(std::string kind, std::vector<std::string> dtypes, std::vector<std::uint64_t> dims,
                            std::string request, std::map<std::string, oracle::OperatorKey::Value> attributes,
                            std::string family) {
  oracle::OperatorKey key;
  key.kind = std::move(kind);
  key.dtypes = std::move(dtypes);
  key.dims = std::move(dims);
  key.request_dims = {std::move(request)};
  key.attributes = std::move(attributes);
  key.family = std::move(family);
  return key;
}

CollectiveKeys collective_keys(SampleCollector& collector, std::string_view kind, std::string_view dtype,
                               std::uint64_t ranks, std::string_view family, bool eager) {
  std::vector<std::string> types{dtype_word(dtype)};
  if (types[0] == "float16" || types[0] == "bfloat16") types = {"bfloat16", "float16"};
  CollectiveKeys out;
  for (const std::string& type : types) {
    oracle::OperatorKey key = oracle::collective_key(kind, type, ranks, family);
    if (eager) key.attributes["eager"] = true;
    out.keys.push_back(collector.key(key));
  }
  return out;
}

}  // namespace dooly::import_
