#include "results/output_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "files/whole_file.hpp"
#include "results/errors.hpp"
#include "results/file_sink.hpp"

namespace dooly::results {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSummary = "summary.json";
constexpr std::string_view kPartial = "PARTIAL";
constexpr std::array<std::string_view, 8> kResults = {"summary.json",    "requests.csv",  "iterations.csv",
                                                      "decisions.jsonl", "timeline.json", "timing.json",
                                                      "report.html",     "PARTIAL"};
constexpr const char* kLock = ".dooly-lock";

std::string temporary_name(std::string_view name) {
  std::string hidden;
  hidden += '.';
  hidden += name;
  hidden += ".dooly-tmp";
  return hidden;
}

[[noreturn]] void refuse(const fs::path& path, const std::string& what) {
  throw NameRefused(path.string() + ": " + what);
}

std::string system_text(int error) { return std::strerror(error); }

bool create(const fs::path& directory) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (fs::is_directory(status)) return false;
  if (fs::exists(status)) refuse(directory, "is not a directory");
  error.clear();
  fs::create_directories(directory, error);
  if (error) refuse(directory, "cannot create the output directory: " + error.message());
  return true;
}

}  // namespace

OutputDirectory OutputDirectory::claim(const fs::path& directory, bool force) {
  OutputDirectory claimed;
  claimed.path_ = directory;
  claimed.created_ = create(directory);
  claimed.lock();
  if (!force) {
    for (const std::string_view name : kResults) {
      if (fs::exists(directory / name)) {
        refuse(directory, "holds results of an earlier run (" + std::string(name) + "); --force replaces them");
      }
    }
  }
  claimed.remove_leftovers();
  return claimed;
}

void OutputDirectory::lock() {
  const fs::path name = path_ / kLock;
  for (;;) {
    lock_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0) refuse(path_, "cannot write there: " + system_text(errno));
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      ::close(std::exchange(lock_, -1));
      refuse(path_, error == EWOULDBLOCK ? "another run is writing there" : "cannot lock: " + system_text(error));
    }
    if (files::is_still_there(lock_, name)) return;
    ::close(std::exchange(lock_, -1));
  }
}

/// Temporary files of a run that was killed; nobody else writes here while we hold the lock.
void OutputDirectory::remove_leftovers() const {
  std::error_code ignored;
  for (const std::string_view name : kResults) {
    fs::remove(path_ / temporary_name(name), ignored);
  }
}

OutputDirectory::OutputDirectory(OutputDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      names_(std::move(other.names_)),
      lock_(std::exchange(other.lock_, -1)),
      created_(other.created_),
      published_(other.published_) {
  other.names_.clear();
}

OutputDirectory::~OutputDirectory() {
  if (lock_ < 0) return;
  std::error_code ignored;
  for (const std::string& name : std::exchange(names_, {})) fs::remove(temporary(name), ignored);
  fs::remove(path_ / kLock, ignored);
  ::close(lock_);
  if (created_) ::rmdir(path_.c_str());  // fails, as it should, unless the directory is empty
}

fs::path OutputDirectory::temporary(const std::string& name) {
  if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
  return path_ / temporary_name(name);
}

void OutputDirectory::write(const std::string& name, std::string_view text) {
  FileSink file(temporary(name));
  file.append(text);
  file.finish();
}

void OutputDirectory::discard(const std::string& name) {
  std::error_code ignored;
  fs::remove(temporary(name), ignored);
  std::erase(names_, name);
}

void OutputDirectory::publish(std::string_view partial) {
  if (!partial.empty()) write(std::string(kPartial), std::string(partial) + "\n");
  std::error_code error;
  for (const std::string_view name : kResults) {
    fs::remove(path_ / name, error);
    if (error) throw WriteFailed((path_ / name).string() + ": cannot replace: " + error.message());
  }
  // whoever finds a summary finds everything else, too; the mark comes before any of it
  const auto rank = [](const std::string& name) { return name == kPartial ? 0 : name == kSummary ? 2 : 1; };
  std::stable_sort(names_.begin(), names_.end(),
                   [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  while (!names_.empty()) {
    const std::string name = names_.front();
    fs::rename(temporary(name), path_ / name, error);
    if (error) throw WriteFailed((path_ / name).string() + ": cannot write: " + error.message());
    names_.erase(names_.begin());
    published_ = Published::kSome;
  }
  published_ = Published::kAll;
}

}  // namespace dooly::results
