#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dooly::cli {

/// How a process ended and what it wrote.
struct ProcessResult {
  int code = -1;    ///< exit status; -1: it was killed
  int signal = 0;   ///< that killed it
  std::string out;  ///< stdout
  std::string err;  ///< stderr
};

/// How to start it.
struct ProcessSetup {
  std::filesystem::path directory = {};         ///< working directory; empty: ours
  std::filesystem::path out = {};               ///< file for stdout instead of catching it
  std::optional<std::uint64_t> file_size = {};  ///< writing beyond fails, as on a full disk
};

/// The program, running. Its output goes to files, so that it never waits for a reader.
class DoolyProcess {
 public:
  explicit DoolyProcess(const std::vector<std::string>& arguments, const ProcessSetup& setup = {});
  ~DoolyProcess();
  DoolyProcess(const DoolyProcess&) = delete;
  DoolyProcess& operator=(const DoolyProcess&) = delete;

  void send(int signal);
  ProcessResult wait();

 private:
  pid_t pid_ = -1;
  std::filesystem::path out_, err_;
  bool catches_out_ = true;
};

ProcessResult dooly(const std::vector<std::string>& arguments, const ProcessSetup& setup = {});

/// A new directory, removed with its contents at the end.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  /// Writes a file and returns its path as text, for command lines.
  std::string file(const std::string& name, const std::string& text) const;
  std::string name(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Files in `directory` that have not got their name yet. Those of a run's results: OutputDirectory.
std::vector<std::filesystem::path> unfinished_files(const std::filesystem::path& directory);

std::string read_file(const std::filesystem::path& path);

/// A run of some milliseconds: 200 requests on two replicas.
std::string small_scenario();

}  // namespace dooly::cli
