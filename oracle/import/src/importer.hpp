#pragma once

#include "oracle/model_config.hpp"
#include "oracle_import/import_profile.hpp"
#include "sample_collector.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dooly::import_ {

/// One file of a profile. Its place says what the file does not: folders name GPU, model and layout.
struct ProfileFile {
  std::filesystem::path path{};
  std::string shown{};             ///< below what was asked for
  std::string stem{};              ///< file name without .csv, .txt, .gz
  std::vector<std::string> parts{};  ///< folders from the root down, without the file

  /// The folder `up` levels above the file (0: its own); empty if there is none.
  std::string folder(std::size_t up) const { return up < parts.size() ? parts[parts.size() - 1 - up] : std::string(); }
  /// The folder below the one called `name`; empty if there is none.
  std::string below(std::string_view name) const;
};

struct ImportContext {
  const ImportOptions& options;
  SampleCollector& collector;
  ImportReport& report;

  void note(const std::string& text);  ///< once, however often it is said
  void skip(const std::string& what, const std::string& why) { report.skipped[what] = why; }
};

/// Reads one file, or says in `context.skip` why not and returns false.
using ReadFile = bool (*)(const ProfileFile& file, ImportContext& context);

bool read_aiconfigurator(const ProfileFile& file, ImportContext& context);
bool read_apex(const ProfileFile& file, ImportContext& context);
bool read_dooly_sqlite(const ProfileFile& file, ImportContext& context);
bool read_frontier(const ProfileFile& file, ImportContext& context);
bool read_infersim(const ProfileFile& file, ImportContext& context);
bool read_llmservingsim(const ProfileFile& file, ImportContext& context);
bool read_llmservingsim_v0(const ProfileFile& file, ImportContext& context);
bool read_nccl_tests(const ProfileFile& file, ImportContext& context);
bool read_splitwise(const ProfileFile& file, ImportContext& context);
bool read_vidur(const ProfileFile& file, ImportContext& context);

/// Keys by the text of the cells that decide them, so that a row costs one look-up.
class KeyCache {
 public:
  template <typename Make>
  SampleCollector::Key get(const std::string& text, Make&& make) {
    const auto found = keys_.find(text);
    if (found != keys_.end()) return found->second;
    return keys_.emplace(text, make()).first->second;
  }

 private:
  std::unordered_map<std::string, SampleCollector::Key> keys_;  // never walked
};

/// bf16, half, torch.float16 ... as docs/operator-keys.md spells it; other words stay as they are.
std::string dtype_word(std::string_view text);

/// Spelled as docs/operator-keys.md spells number formats.
bool is_dtype_word(std::string_view word);
/// An option's number format must be known: else ImportError that names the option and what is allowed. Empty passes.
void check_dtype_option(std::string_view option, std::string_view text);

/// `--dtype` if given, else `said`, else `otherwise`.
std::string asked_dtype(const ImportOptions& options, std::string_view said, std::string_view otherwise);

/// Hub id that folders spell `org--name` or `org/name`: the folder `up` levels above the file.
std::string model_from_folder(const ProfileFile& file, std::size_t up);

/// `--model` or `name`. Throws ImportError naming the file and the option if no shipped model or path is called so.
oracle::ModelConfig model_for(const ProfileFile& file, const ImportOptions& options, const std::string& name);
/// The same; empty if nobody knows it.
std::optional<oracle::ModelConfig> model_if_known(const ImportOptions& options, const std::string& name);

/// What vLLM picks for attention on a device: fa3 on Hopper, else fa2; `--backend` wins.
std::string attention_family(std::string_view gpu, const ImportOptions& options);
/// FLASH_ATTENTION, AttentionBackend.FLASHINFER, vllm_flash_attn_fa3 ... as a family.
std::string family_word(std::string_view text, std::string_view gpu);

/// A key of a kind that docs/operator-keys.md does not have: what only tables hold.
oracle::OperatorKey own_key(std::string kind, std::vector<std::string> dtypes, std::vector<std::uint64_t> dims,
                            std::string request, std::map<std::string, oracle::OperatorKey::Value> attributes,
                            std::string family);

/// Samples of one collective: 16-bit messages are stored for both 16-bit types, which move the same bytes.
struct CollectiveKeys {
  std::vector<SampleCollector::Key> keys;
};
CollectiveKeys collective_keys(SampleCollector& collector, std::string_view kind, std::string_view dtype,
                               std::uint64_t ranks, std::string_view family, bool eager = false);

}  // namespace dooly::import_
