#include "quantities.hpp"

#include "cli_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace dooly::profiling {
namespace {

constexpr std::string_view kPortable = ".jsonl.zst";

/// The number that `text` begins with; `unit` gets the rest. False: it does not begin with one.
bool number_of(const std::string& text, double& number, std::string_view& unit) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  unit = std::string_view(stop, static_cast<std::size_t>(end - stop));
  return error == std::errc{};
}

[[noreturn]] void refuse(std::string_view option, std::string_view wanted, const std::string& text) {
  throw cli::UsageError(fmt::format("{}: must be {}, got '{}'", option, wanted, text));
}

}  // namespace

double percentage(std::string_view option, const std::string& text) {
  double number = 0;
  std::string_view unit;
  if (!number_of(text, number, unit) || unit != "%" || number < 0.1 || number > 50)
    refuse(option, "a percentage from 0.1% to 50%", text);
  return number / 100;
}

double duration_s(std::string_view option, const std::string& text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{{{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}}};
  double number = 0;
  std::string_view unit;
  if (number_of(text, number, unit) && number > 0)
    for (const auto& [name, seconds] : kUnits)
      if (unit == name) return number * seconds;
  refuse(option, "a duration with its unit (ms, s, m, h)", text);
}

std::uint64_t whole(std::string_view option, const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || number < least || number > most)
    refuse(option, fmt::format("a whole number from {} to {}", least, most), text);
  return number;
}

std::vector<std::string> list_of(std::string_view option, const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    words.push_back(text.substr(from, comma - from));
    if (words.back().empty()) refuse(option, "words with a comma between them", text);
    if (std::count(words.begin(), words.end(), words.back()) > 1)
      throw cli::UsageError(fmt::format("{}: '{}' comes twice", option, words.back()));
    from = comma + 1;
  }
  return words;
}

std::filesystem::path portable_name(std::string_view option, const std::string& text) {
  const std::string name = std::filesystem::path(text).filename().string();
  if (!name.ends_with(kPortable) || name.size() == kPortable.size())
    throw cli::UsageError(fmt::format("{}: must be a file NAME{}, got '{}'", option, kPortable, text));
  return text;
}

std::filesystem::path held_out_beside(const std::filesystem::path& store) {
  std::filesystem::path path = store.lexically_normal();
  if (path == "." || path.filename() == "..") path = std::filesystem::absolute(path).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();  // "DIR/"
  std::string name = "held-out-" + path.filename().string();
  if (!name.ends_with(kPortable)) name += kPortable;
  return path.parent_path() / name;
}

std::string kernel_folder(const std::string& text, std::string_view device) {
  if (device == "cpu" || device == "meta")
    throw cli::UsageError(fmt::format(
        "--kernels: the engine's libraries run on --device cuda alone, got '{}' with --device {}", text, device));
  std::error_code ignored;
  if (!std::filesystem::is_directory(text, ignored))
    throw cli::UsageError(fmt::format("--kernels: no such folder, got '{}'", text));
  return text;
}

std::string kernels_of(const std::optional<std::string>& asked, std::string_view device,
                       const std::vector<std::string>& backends) {
  if (asked) return kernel_folder(*asked, device);
  if (device != "cpu" && device != "cuda") return {};
  const auto other =
      std::find_if(backends.begin(), backends.end(), [](const std::string& each) { return each != "torch"; });
  if (other == backends.end()) return {};
  if (device == "cpu")
    throw cli::UsageError(fmt::format(
        "--backend: on a processor LibTorch's own kernels alone run, so --backend torch, got '{}'", *other));
  if (const char* set = std::getenv("DOOLY_VLLM_KERNELS"); set != nullptr && *set != 0)
    return kernel_folder(set, device);
  throw cli::UsageError(
      fmt::format("--kernels: needed for the kernels of --backend {}: the folder of the engine's libraries "
                  "(scripts/vllm-kernels fetches them; $DOOLY_VLLM_KERNELS may name it); --backend torch measures "
                  "LibTorch's own",
                  *other));
}

}  // namespace dooly::profiling
