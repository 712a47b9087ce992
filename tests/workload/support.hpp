#pragma once

#include "scenarios/workload.hpp"
#include "workload/request_source.hpp"
#include "workload/workload.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace dooly::workload::test {

/// A file that lives as long as the object.
class TempFile {
 public:
  TempFile(const std::string& name, const std::string& bytes)
      : directory_(std::filesystem::temp_directory_path() /
                   ("dooly-workload-" + std::to_string(getpid()) + "-" + std::to_string(next_++))) {
    std::filesystem::create_directories(directory_);
    path_ = directory_ / name;
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  static inline int next_ = 0;
  std::filesystem::path directory_, path_;
};

/// A request that owns all it says.
struct Taken {
  Request request;
  std::vector<std::uint64_t> block_ids;
  std::string class_name;
};

inline bool same_content(const Request& a, const Request& b) {
  if (a.content.size() != b.content.size()) return false;
  for (std::size_t i = 0; i < a.content.size(); ++i) {
    const auto &x = a.content[i], &y = b.content[i];
    if (x.key != y.key || x.end_token != y.end_token || x.exclusive != y.exclusive) return false;
  }
  return true;
}

inline Taken take(RequestSource& source) {
  Taken taken;
  const double expected_s = source.next_arrival_s();
  source.take(taken.request);
  EXPECT_EQ(taken.request.arrival_s, expected_s);
  taken.block_ids.assign(taken.request.block_ids.begin(), taken.request.block_ids.end());
  taken.request.block_ids = {};
  taken.class_name = source.classes()[taken.request.request_class];
  return taken;
}

/// Takes everything; each request is answered `service_s` after it was sent, in the order of the answers.
inline std::vector<Taken> take_all(RequestSource& source, double service_s = 0.5) {
  struct Answer {
    double time_s;
    Ticket ticket;
  };
  std::vector<Taken> all;
  std::vector<Answer> answers;  // first in, first out: every service takes equally long
  std::size_t answered = 0;
  double now_s = 0;
  for (;;) {
    const bool answer_first = answered < answers.size() && answers[answered].time_s <= source.next_arrival_s();
    if (answer_first) {
      source.finished(answers[answered].ticket, answers[answered].time_s, Outcome::kCompleted);
      ++answered;
      continue;
    }
    if (source.next_arrival_s() == kNever) break;
    all.push_back(take(source));
    const Request& request = all.back().request;
    EXPECT_GE(request.arrival_s, now_s);
    now_s = request.arrival_s;
    if (request.ticket != kNoTicket) answers.push_back({now_s + service_s, request.ticket});
  }
  EXPECT_TRUE(source.exhausted());
  return all;
}

inline scenario::WorkloadSpec named(
    const std::string& name,
    std::variant<scenario::TraceSpec, scenario::SyntheticSpec, scenario::SessionsSpec> source) {
  scenario::WorkloadSpec spec;
  spec.name = name;
  spec.source = std::move(source);
  return spec;
}

inline scenario::TraceSpec trace_of(const std::filesystem::path& path, const std::string& format) {
  scenario::TraceSpec trace;
  trace.path = path;
  trace.format = format;
  return trace;
}

/// What `call` throws, as text; empty if nothing.
template <typename Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace dooly::workload::test
