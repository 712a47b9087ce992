#include "dooly_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;

fs::path new_file() {
  std::string name = (fs::temp_directory_path() / "dooly-output-XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file < 0) throw std::runtime_error("cannot make a temporary file");
  ::close(file);
  return name;
}

/// Between fork and exec: only system calls.
[[noreturn]] void become(char* const* arguments, const char* out, const char* err, const ProcessSetup& setup) {
  const int out_file = ::open(out, O_WRONLY | O_TRUNC);
  const int err_file = ::open(err, O_WRONLY | O_TRUNC);
  const int in_file = ::open("/dev/null", O_RDONLY);
  if (out_file < 0 || err_file < 0 || in_file < 0) ::_exit(126);
  ::dup2(in_file, STDIN_FILENO);
  ::dup2(out_file, STDOUT_FILENO);
  ::dup2(err_file, STDERR_FILENO);
  if (!setup.directory.empty() && ::chdir(setup.directory.c_str()) != 0) ::_exit(126);
  if (setup.file_size) {
    const rlimit limit{*setup.file_size, *setup.file_size};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);  // an error of the write instead of a signal
  }
  ::execv(arguments[0], arguments);
  ::_exit(127);
}

}  // namespace

DoolyProcess::DoolyProcess(const std::vector<std::string>& arguments, const ProcessSetup& setup)
    : out_(setup.out.empty() ? new_file() : setup.out),
      err_(new_file()),
      catches_out_(setup.out.empty()) {
  std::vector<std::string> words{DOOLY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) become(pointers.data(), out_.c_str(), err_.c_str(), setup);
  if (pid_ < 0) throw std::runtime_error("cannot fork");
}

DoolyProcess::~DoolyProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  if (catches_out_) fs::remove(out_, ignored);
  fs::remove(err_, ignored);
}

void DoolyProcess::send(int signal) { ::kill(pid_, signal); }

ProcessResult DoolyProcess::wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  ProcessResult result;
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (catches_out_) result.out = read_file(out_);
  result.err = read_file(err_);
  return result;
}

ProcessResult dooly(const std::vector<std::string>& arguments, const ProcessSetup& setup) {
  return DoolyProcess(arguments, setup).wait();
}

Scratch::Scratch() {
  std::string name = (fs::temp_directory_path() / "dooly-cli-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
  path_ = name;
}
Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string Scratch::file(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
  return (path_ / name).string();
}

std::vector<std::filesystem::path> unfinished_files(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().extension() == ".dooly-tmp") found.push_back(entry.path());
  return found;
}

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string small_scenario() {
  return "dooly: 1\n"
         "name: small\n"
         "model: meta-llama/Llama-3.1-8B\n"
         "gpu: H200-SXM\n"
         "tp: 1\n"
         "replicas: 2\n"
         "workload:\n"
         "  synthetic:\n"
         "    requests: 200\n"
         "    arrivals: {process: poisson, rate: 30/s}\n"
         "    prompt_tokens: {uniform: [20, 900]}\n"
         "    output_tokens: {uniform: [1, 60]}\n";
}

}  // namespace dooly::cli
