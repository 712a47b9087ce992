#include "csv_table.hpp"

#include "oracle/text_file.hpp"
#include "oracle_import/import_error.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <memory>

namespace dooly::import_ {
namespace {

constexpr std::uint64_t kLargestTable = std::uint64_t{1} << 30;  ///< decompressed; the public ones have some 10 MiB

}  // namespace

std::string file_bytes(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))  // a device has no end, a pipe perhaps no writer
    throw ImportError(fmt::format("{}: cannot be opened as a file", path.string()));
  // gzread passes plain files through.
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw ImportError(fmt::format("{}: cannot be opened", path.string()));
  gzbuffer(file.get(), 1u << 17);
  std::string bytes;
  std::size_t used = 0;
  for (;;) {
    bytes.resize(std::max<std::size_t>(bytes.size() * 2, 1u << 18));
    const int got = gzread(file.get(), bytes.data() + used,
                           static_cast<unsigned>(std::min<std::size_t>(bytes.size() - used, 1u << 30)));
    if (got < 0) {
      int error = 0;
      throw ImportError(fmt::format("{}: {}", path.string(), gzerror(file.get(), &error)));
    }
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used > kLargestTable)
      throw ImportError(
          fmt::format("{}: larger than {}, the most that is read", path.string(), oracle::size_text(kLargestTable)));
  }
  int error = 0;
  gzerror(file.get(), &error);
  if (error == Z_BUF_ERROR) throw ImportError(fmt::format("{}: gzip stream ends early", path.string()));
  bytes.resize(used);
  return bytes;
}

CsvTable::CsvTable(const std::filesystem::path& path) : name_(path.string()), text_(file_bytes(path)) { read_header(); }

CsvTable::CsvTable(std::string text, std::string name) : name_(std::move(name)), text_(std::move(text)) {
  read_header();
}

void CsvTable::read_header() {
  if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  if (at_ >= text_.size()) throw ImportError(name_ + ": empty, expected a header line");
  line_ = 1;
  read_cells();
  for (const std::string_view cell : cells_) header_.emplace_back(cell);
}

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
  const auto found = std::find(header_.begin(), header_.end(), column);
  if (found == header_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header_.begin());
}

std::size_t CsvTable::column(std::string_view name) const {
  if (const auto found = find(name)) return *found;
  throw ImportError(fmt::format("{}:1: no column '{}'; the header has: {}", name_, name, fmt::join(header_, ", ")));
}

bool CsvTable::next() {
  while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) {
    if (text_[at_] == '\n') ++lines_passed_;
    ++at_;
  }
  if (at_ >= text_.size()) return false;
  line_ = lines_passed_ + 1;
  read_cells();
  if (cells_.size() != header_.size())
    throw ImportError(fmt::format("{}:{}: {} cells, the header has {}", name_, line_, cells_.size(), header_.size()));
  return true;
}

void CsvTable::read_cells() {
  cells_.clear();
  quoted_ = 0;
  const char* const data = text_.data();
  const std::size_t size = text_.size();
  for (;;) {
    if (at_ < size && data[at_] == '"') {
      cells_.push_back(read_quoted());
    } else {
      std::size_t end = at_;
      while (end < size && data[end] != ',' && data[end] != '\n') ++end;
      std::size_t last = end;
      if (last > at_ && data[last - 1] == '\r' && (end == size || data[end] == '\n')) --last;
      cells_.emplace_back(data + at_, last - at_);
      at_ = end;
    }
    if (at_ < size && data[at_] == '\r') ++at_;
    if (at_ >= size) return;
    const char stop = data[at_++];
    if (stop == '\n') {
      ++lines_passed_;
      return;
    }
    if (stop != ',') throw ImportError(fmt::format("{}:{}: text after a closing quote", name_, line_));
  }
}

std::string_view CsvTable::read_quoted() {
  const std::size_t first = ++at_;
  bool escaped = false;
  for (;; ++at_) {
    if (at_ >= text_.size()) throw ImportError(fmt::format("{}:{}: a quote is not closed", name_, line_));
    if (text_[at_] == '\n') ++lines_passed_;
    if (text_[at_] != '"') continue;
    if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
    escaped = true;
    ++at_;
  }
  const std::string_view raw(text_.data() + first, at_ - first);
  ++at_;
  if (!escaped) return raw;
  // A view into a string of this row: capacity is kept so that earlier cells stay where they are.
  if (unquoted_.capacity() == 0) unquoted_.reserve(4096);
  if (quoted_ >= 4096) throw ImportError(fmt::format("{}:{}: too many quoted cells", name_, line_));
  if (quoted_ == unquoted_.size()) unquoted_.emplace_back();
  std::string& cell = unquoted_[quoted_++];
  cell.clear();
  for (std::size_t i = 0; i < raw.size(); ++i) {
    cell += raw[i];
    if (raw[i] == '"') ++i;
  }
  return cell;
}

}  // namespace dooly::import_
