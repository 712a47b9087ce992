#pragma once

#include "scenarios/workload.hpp"
#include "workload/random_stream.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dooly::workload {

/// Times of an open-loop arrival process, one after another.
class OpenArrivals {
 public:
  /// `name` names the random stream and errors. Throws WorkloadError; ClosedLoop is not open.
  OpenArrivals(const scenario::Arrivals& arrivals, std::uint64_t seed, const std::string& name);

  /// Never descending; kNever after the last (replay).
  double next();
  const std::vector<std::filesystem::path>& files() const { return files_; }

 private:
  enum class Kind { kPoisson, kGamma, kConstant, kBursts, kReplay, kAtOnce };
  void set_up(const scenario::Arrivals::Poisson& poisson);
  void set_up(const scenario::Arrivals::Gamma& gamma);
  void set_up(const scenario::Arrivals::Constant& constant);
  void set_up(const scenario::Arrivals::Bursts& bursts);
  void set_up(const scenario::Arrivals::ClosedLoop& closed);
  void set_up(const scenario::Arrivals::Replay& replay);
  void set_up(const scenario::Arrivals::AtOnce& at_once);
  double rate(double per_s) const;

  std::string name_;
  RandomStream random_;
  Kind kind_ = Kind::kAtOnce;
  double gap_s_ = 0;          ///< mean, of bursts between bursts
  double shape_ = 1;
  double now_s_ = 0;
  std::uint64_t size_ = 1;    ///< of a burst
  std::uint64_t count_ = 0;   ///< given so far
  std::vector<double> times_;
  std::vector<std::filesystem::path> files_;
};

}  // namespace dooly::workload
