#pragma once

#include "part.hpp"
#include "scenarios/workload.hpp"
#include "trace_rows.hpp"
#include "workload/sampler.hpp"

#include <optional>

namespace dooly::workload {

/// What requests look like, one after another; when they come is another's business.
class Shapes {
 public:
  virtual ~Shapes() = default;
  virtual bool has_next() const = 0;
  /// Fills all but arrival and ticket (and id, unless has_own_ids).
  virtual void next(Request& into) = 0;
  virtual bool has_own_ids() const { return false; }
  virtual std::uint64_t expected() const = 0;  ///< 0: not known
  virtual TraceColumns columns() const = 0;
  virtual std::vector<std::filesystem::path> files() const = 0;
};

/// Which requests begin with which common prefix.
class PrefixChooser {
 public:
  explicit PrefixChooser(const std::optional<scenario::PrefixGroups>& groups, const std::string& what);
  bool is_set() const { return groups_ > 0; }
  /// Clears the content and, if the draw says so, begins it with a prefix.
  void choose(Request& into, RandomStream& random, const Namespace& numbers) const;

 private:
  std::uint64_t groups_ = 0;
  std::uint32_t tokens_ = 0;
  double share_ = 0;
};

/// Drawn from a scenario's distributions; prompt, output and prefix each have a random stream of their own.
class SyntheticShapes : public Shapes {
 public:
  SyntheticShapes(const scenario::SyntheticSpec& spec, const PartContext& context);
  bool has_next() const override { return left_ > 0; }
  void next(Request& into) override;
  std::uint64_t expected() const override { return expected_; }
  TraceColumns columns() const override;
  std::vector<std::filesystem::path> files() const override { return files_; }

 private:
  PartContext context_;
  std::uint16_t class_;
  std::uint64_t left_, expected_;
  Sampler prompt_, output_;
  RandomStream prompt_random_, output_random_, prefix_random_;
  PrefixChooser prefix_;
  std::vector<std::filesystem::path> files_;
};

/// The rows of a trace, their times left out.
class TraceShapes : public Shapes {
 public:
  TraceShapes(const TraceRows::Options& options, const PartContext& context) : rows_(options, context) {}
  bool has_next() const override { return rows_.head().has_value(); }
  void next(Request& into) override {
    if (rows_.has_own_ids()) into.id = rows_.id(*rows_.head());
    rows_.fill(into, *rows_.head());
    rows_.advance();
  }
  bool has_own_ids() const override { return rows_.has_own_ids(); }
  std::uint64_t expected() const override { return rows_.rows_in_all(); }
  TraceColumns columns() const override { return rows_.columns(); }
  std::vector<std::filesystem::path> files() const override { return {rows_.path()}; }

 private:
  TraceRows rows_;
};

/// Adds the file of an empirical law to `files`.
void note_file(const scenario::Distribution& law, std::vector<std::filesystem::path>& files);

}  // namespace dooly::workload
