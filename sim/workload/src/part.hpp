#pragma once

#include "workload/request_source.hpp"
#include "workload/trace_reader.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::workload {

/// Names of request classes, numbered as they turn up.
class ClassTable {
 public:
  /// Throws WorkloadError beyond 4,096 classes.
  std::uint16_t index_of(std::string_view name);
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

/// Keeps the ids of merged workloads apart: number n of workload i of k becomes n k + i (modulo 2^64), which leaves
/// those of a single workload as they are.
struct Namespace {
  std::uint64_t count = 1;
  std::uint64_t index = 0;
  std::uint64_t operator()(std::uint64_t number) const { return number * count + index; }
};

/// What a part of a workload is made with.
struct PartContext {
  std::uint64_t seed = 0;
  std::string name;  ///< of the workload; names its random streams
  std::string default_class;
  bool class_is_forced = false;  ///< rows' own classes do not count
  std::int32_t priority = 0;     ///< of rows without their own
  Namespace numbers;
  ClassTable* classes = nullptr;
  std::function<std::uint32_t(const std::string&)> max_model_len;  ///< of a class; 0: no limit

  std::string stream_name(std::string_view purpose) const { return name + "/" + std::string(purpose); }
};

/// One workload of a scenario: a stream of requests without global ids.
class Part {
 public:
  virtual ~Part() = default;
  double next_arrival_s() const { return next_arrival_s_; }
  /// As RequestSource; `into.id` is left alone unless has_own_ids(). `into.ticket` may hold up to 56 bits.
  virtual void take(Request& into) = 0;
  virtual void finished(std::uint64_t ticket, double client_time_s, Outcome outcome) = 0;
  virtual bool exhausted() const = 0;
  virtual bool has_own_ids() const { return false; }
  virtual std::uint64_t expected_requests() const = 0;
  virtual TraceColumns columns() const = 0;
  virtual std::vector<std::filesystem::path> files() const = 0;

 protected:
  double next_arrival_s_ = kNever;
};

/// Cuts the prompt (an output that alone fills the model is cut first) so that both fit into `limit` tokens; 0: no
/// limit.
void truncate(Request& request, std::uint32_t limit);

// What `Request::content` says, made of identities. Each kind of identity has its own number space.

/// No shared content.
void clear_content(Request& request);
/// The first `tokens` tokens are prefix `id`; cut to the prompt.
void set_prefix(Request& request, std::uint64_t id, std::uint32_t tokens);
/// Blocks of `size` tokens; a block that the prompt does not fill is unique. `ids` stays where it is.
void set_blocks(Request& request, std::span<const std::uint64_t> ids, std::uint32_t size);
/// All that follows, outputs included, is the conversation `request.session`.
void append_conversation(Request& request, bool exclusive);

}  // namespace dooly::workload
