#include "oracle_store/compare.hpp"

#include "oracle/canonical_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace dooly::store {
namespace {

/// A stream with its next record at hand.
class Head {
 public:
  explicit Head(RecordStream& stream) : stream_(stream) { advance(); }
  bool at_end() const { return at_end_; }
  const Record& record() const { return record_; }
  void advance() { at_end_ = !stream_.next(record_); }

 private:
  RecordStream& stream_;
  Record record_;
  bool at_end_ = false;
};

/// Keys seen so far: they come before the samples.
class Keys {
 public:
  void see(const Record& record) {
    if (const auto* key = std::get_if<KeyRecord>(&record)) keys_.emplace(key->signature, key->key);
  }
  const oracle::OperatorKey* of(const Record& record) const {
    const auto* sample = std::get_if<SampleRecord>(&record);
    if (sample == nullptr) return nullptr;
    const auto found = keys_.find(sample->signature);
    return found == keys_.end() ? nullptr : &found->second;
  }

 private:
  std::map<oracle::Signature, oracle::OperatorKey> keys_;
};

std::string number_text(double value) {
  std::string out;
  oracle::append_json(out, value);
  return out;
}

std::string sample_changes(const oracle::Sample& left, const oracle::Sample& right) {
  std::vector<std::string> changes;
  const auto figure = [&](const char* name, double before, double after) {
    if (before == after) return;
    std::string text = fmt::format("{} {} -> {}", name, number_text(before), number_text(after));
    if (before != 0) text += fmt::format(" ({:+.1f} %)", (after / before - 1) * 100);
    changes.push_back(std::move(text));
  };
  const auto word = [&](const char* name, std::string_view before, std::string_view after) {
    if (before != after) changes.push_back(fmt::format("{} '{}' -> '{}'", name, before, after));
  };
  word("status", status_name(left.status), status_name(right.status));
  figure("median_s", left.median_s, right.median_s);
  figure("mean_s", left.mean_s, right.mean_s);
  figure("std_s", left.std_s, right.std_s);
  figure("min_s", left.min_s, right.min_s);
  figure("p10_s", left.p10_s, right.p10_s);
  figure("p90_s", left.p90_s, right.p90_s);
  figure("count", left.count, right.count);
  figure("processes", left.processes, right.processes);
  word("kernel_family", left.kernel_family, right.kernel_family);
  word("kernels", fmt::format("{}", fmt::join(left.kernels, " ")), fmt::format("{}", fmt::join(right.kernels, " ")));
  figure("sm_clock_mhz", left.sm_clock_mhz, right.sm_clock_mhz);
  figure("power_w", left.power_w, right.power_w);
  figure("temperature_c", left.temperature_c, right.temperature_c);
  word("note", left.note, right.note);
  return fmt::format("{}", fmt::join(changes, ", "));
}

}  // namespace

std::string difference_text(const Difference& difference) {
  if (difference.right == nullptr) return "- " + title(*difference.left, difference.key);
  if (difference.left == nullptr) return "+ " + title(*difference.right, difference.key);
  const std::string head = "~ " + title(*difference.left, difference.key) + ": ";
  const auto* left = std::get_if<SampleRecord>(difference.left);
  const auto* right = std::get_if<SampleRecord>(difference.right);
  return head + (left != nullptr && right != nullptr ? sample_changes(left->sample, right->sample) : "contents differ");
}

DiffCounts diff(RecordStream& left, RecordStream& right, const std::function<void(const Difference&)>& report) {
  DiffCounts counts;
  Keys keys;
  Head l(left), r(right);
  while (!l.at_end() || !r.at_end()) {
    const auto order = l.at_end()   ? std::strong_ordering::greater
                       : r.at_end() ? std::strong_ordering::less
                                    : compare_identity(l.record(), r.record());
    const bool in_left = std::is_lteq(order), in_right = std::is_gteq(order);
    if (in_left) keys.see(l.record());
    if (in_right) keys.see(r.record());
    if (in_left && in_right && l.record() == r.record()) {
      ++counts.equal;
    } else {
      ++(!in_right ? counts.only_left : !in_left ? counts.only_right : counts.differ);
      const Record* const on_left = in_left ? &l.record() : nullptr;
      const Record* const on_right = in_right ? &r.record() : nullptr;
      report({on_left, on_right, keys.of(on_left != nullptr ? *on_left : *on_right)});
    }
    if (in_left) l.advance();
    if (in_right) r.advance();
  }
  return counts;
}

MergeCounts merge(const std::vector<RecordStream*>& inputs, Prefer prefer,
                  const std::function<void(const Record&, std::size_t input)>& take,
                  const std::function<void(const Difference&)>& report) {
  MergeCounts counts;
  Keys keys;
  std::vector<Head> heads;
  for (RecordStream* input : inputs) heads.emplace_back(*input);
  for (;;) {
    const Head* first = nullptr;  // of the heads with the least identity, the earliest
    for (const Head& head : heads)
      if (!head.at_end() && (first == nullptr || std::is_lt(compare_identity(head.record(), first->record()))))
        first = &head;
    if (first == nullptr) return counts;
    keys.see(first->record());
    std::vector<Head*> same;
    bool conflict = false;
    for (Head& head : heads) {
      if (head.at_end() || std::is_neq(compare_identity(head.record(), first->record()))) continue;
      same.push_back(&head);
      if (head.record() == first->record()) continue;
      conflict = true;
      report({&first->record(), &head.record(), keys.of(first->record())});
    }
    const Head* const preferred = prefer == Prefer::kFirst ? first : same.back();
    const auto equal = [&](const Head* head) { return head->record() == preferred->record(); };
    const Head* const chosen = *std::find_if(same.begin(), same.end(), equal);
    ++counts.records;
    counts.shared += same.size() > 1 && !conflict;
    counts.conflicts += conflict;
    take(chosen->record(), static_cast<std::size_t>(chosen - heads.data()));
    for (Head* head : same) head->advance();
  }
}

}  // namespace dooly::store
