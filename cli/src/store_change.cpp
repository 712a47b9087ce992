#include "store_change.hpp"

#include "cli_error.hpp"
#include "removed_on_signal.hpp"
#include "stored_fits.hpp"
#include "text.hpp"
#include "whole_output.hpp"

#include "oracle_store/compare.hpp"
#include "oracle_store/portable_file.hpp"
#include "oracle_store/signature_store.hpp"
#include "oracle_store/sources.hpp"
#include "oracle_store/store_error.hpp"

#include <charconv>

namespace dooly::cli {
namespace {

using store::SignatureStore;
constexpr std::uint64_t kShown = 20;  // conflicts
constexpr std::uint64_t kFitted = 20'000;  // records: of more, fits are left to dooly store fit, as they take longer

using Streams = std::vector<std::unique_ptr<store::RecordStream>>;

std::vector<store::RecordStream*> pointers(const Streams& streams) {
  std::vector<store::RecordStream*> all;
  for (const auto& stream : streams) all.push_back(stream.get());
  return all;
}

void nothing(const store::Difference&) {}

/// Into a directory: only what it does not hold so already.
std::uint64_t fill(const std::filesystem::path& directory, const StoreChange& change, store::Prefer prefer,
                   const GoOn& go_on) {
  SignatureStore target = SignatureStore::open(directory, SignatureStore::Mode::kCreate);
  Streams streams;
  if (change.adds) streams.push_back(target.records());
  for (const RecordOpener& open : change.inputs) streams.push_back(open());
  store::BatchedWriter writer(target);
  std::uint64_t written = 0;
  const auto take = [&](const store::Record& record, std::size_t input) {
    if (change.adds && input == 0) return;
    go_on();
    writer.put(record);
    ++written;
  };
  store::merge(pointers(streams), prefer, take, nothing);
  writer.finish();
  streams.clear();
  if (written <= kFitted) store_fits(target);
  target.close();
  return written;
}

/// One that is added to keeps what got there before a failure, as the same command goes on; a new one is whole or
/// absent.
std::uint64_t write_directory(const StoreChange& change, store::Prefer prefer) {
  if (change.adds) return fill(change.target, change, prefer, [] {});
  std::uint64_t written = 0;
  write_whole_directory(change.target, [&](const auto& directory, const GoOn& go_on) {
    written = fill(directory, change, prefer, go_on);
  });
  return written;
}

/// Not an empty directory, or one in which a writer was killed before its first record: those are filled.
bool holds_records(const std::filesystem::path& target) {
  if (!std::filesystem::is_directory(target)) return std::filesystem::exists(target);
  if (!std::filesystem::exists(target / "CURRENT")) return false;  // if it is something else, the writer refuses it
  try {
    SignatureStore::open(target, SignatureStore::Mode::kRead);
    return true;
  } catch (const store::StoreUnfinished&) {
    return false;
  }
}

Streams open_all(const StoreChange& change) {
  Streams streams;
  if (change.adds && holds_records(change.target)) streams.push_back(store::open_records(change.target));
  for (const RecordOpener& open : change.inputs) streams.push_back(open());
  return streams;
}

/// The writer comes first: from then on no other process changes the target, which may be an input, too.
std::uint64_t write_file(const StoreChange& change, store::Prefer prefer) {
  store::PortableWriter writer(change.target);
  const RemovedOnSignal guard(writer.temporary());
  const Streams streams = open_all(change);
  store::merge(
      pointers(streams), prefer, [&](const store::Record& record, std::size_t) { writer.write(record); }, nothing);
  return writer.finish();
}

}  // namespace

bool is_portable(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) return false;
  return std::filesystem::is_regular_file(path) || path.extension() == ".zst" || path.extension() == ".jsonl";
}

bool is_taken(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return std::filesystem::exists(path);
  return !std::filesystem::is_empty(path, ignored);
}

std::optional<std::uint32_t> positive_number(const std::optional<std::string>& text, std::string_view option) {
  if (!text) return std::nullopt;
  std::uint32_t value = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error == std::errc() && stop == end && value > 0) return value;
  throw UsageError(std::string(option) + ": must be a positive number, got '" + *text + "'");
}

OnConflict parse_preference(const std::optional<std::string>& word, std::string_view first) {
  if (!word) return OnConflict::kRefuse;
  return *word == first ? OnConflict::kFirst : OnConflict::kLast;
}

ExitCode carry_out(const StoreChange& change, Terminal& terminal) {
  const store::Prefer prefer = change.on_conflict == OnConflict::kLast ? store::Prefer::kLast : store::Prefer::kFirst;
  std::uint64_t shown = 0;
  const auto report = [&](const store::Difference& conflict) {
    if (++shown <= kShown) terminal.print("conflict " + store::difference_text(conflict) + "\n");
  };
  const auto ignore = [](const store::Record&, std::size_t) {};
  const store::MergeCounts counts = [&] {
    const Streams streams = open_all(change);
    return store::merge(pointers(streams), prefer, ignore, report);
  }();
  if (shown > kShown) terminal.print("... and " + with_commas(shown - kShown) + " more\n");
  if (counts.conflicts > 0 && change.on_conflict == OnConflict::kRefuse) {
    terminal.error(with_commas(counts.conflicts) + " conflicts, nothing was written; " + change.remedy);
    return ExitCode::kJudgedBad;
  }
  const std::uint64_t written =
      is_portable(change.target) ? write_file(change, prefer) : write_directory(change, prefer);
  std::string text = change.target.string() + ": " + with_commas(written) + " records written";
  if (counts.shared > 0) text += ", " + with_commas(counts.shared) + " were there already, equal";
  if (counts.conflicts > 0) text += ", " + with_commas(counts.conflicts) + " conflicts resolved";
  terminal.note(text);
  return ExitCode::kDone;
}

}  // namespace dooly::cli
