#pragma once

#include "exit_code.hpp"
#include "record_opener.hpp"
#include "terminal.hpp"

#include "oracle_store/record.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::cli {

/// By its name, or what is there already: a file in portable form, else a directory.
bool is_portable(const std::filesystem::path& path);

/// Whether something is there that a new output would replace: a file, even an empty one, or a folder that holds any.
bool is_taken(const std::filesystem::path& path);

/// An option's value; throws UsageError that names the option.
std::optional<std::uint32_t> positive_number(const std::optional<std::string>& text, std::string_view option);

/// What to do where two inputs hold different records of one identity.
enum class OnConflict { kRefuse, kFirst, kLast };
/// `word`: of --prefer, `first` or another.
OnConflict parse_preference(const std::optional<std::string>& word, std::string_view first);

/// Writes the union of all records to `target`: what it holds already (`adds`: the first of the inputs) and `inputs`.
/// Everything is read and checked before a byte is written. Conflicts are listed; unless a side is preferred nothing is
/// written then, and the exit status is kJudgedBad.
struct StoreChange {
  std::filesystem::path target;
  bool adds = false;
  std::vector<RecordOpener> inputs = {};
  OnConflict on_conflict = OnConflict::kRefuse;
  std::string remedy = {};  ///< told after conflicts: which options resolve them
};
ExitCode carry_out(const StoreChange& change, Terminal& terminal);

}  // namespace dooly::cli
