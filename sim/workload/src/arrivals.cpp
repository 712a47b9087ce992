#include "arrivals.hpp"

#include "number_file.hpp"
#include "workload/request_source.hpp"
#include "workload/workload_error.hpp"

#include <fmt/format.h>

#include <variant>

namespace dooly::workload {

OpenArrivals::OpenArrivals(const scenario::Arrivals& arrivals, std::uint64_t seed, const std::string& name)
    : name_(name),
      random_(seed, name) {
  std::visit([this](const auto& process) { set_up(process); }, arrivals.process);
}

double OpenArrivals::rate(double per_s) const {
  if (!(per_s >= 1e-9 && per_s <= 1e9))
    throw WorkloadError(fmt::format("{}: rate must be from 1e-9 to 1e9 a second, got {}", name_, per_s));
  return per_s;
}

void OpenArrivals::set_up(const scenario::Arrivals::Poisson& poisson) {
  kind_ = Kind::kPoisson;
  gap_s_ = 1 / rate(poisson.rate_per_s);
}

void OpenArrivals::set_up(const scenario::Arrivals::Gamma& gamma) {
  if (!(gamma.cv >= 0.01 && gamma.cv <= 100))
    throw WorkloadError(fmt::format("{}: cv must be from 0.01 to 100, got {}", name_, gamma.cv));
  kind_ = Kind::kGamma;
  shape_ = 1 / (gamma.cv * gamma.cv);
  gap_s_ = 1 / rate(gamma.rate_per_s);
}

void OpenArrivals::set_up(const scenario::Arrivals::Constant& constant) {
  kind_ = Kind::kConstant;
  gap_s_ = rate(constant.rate_per_s);  // kept as the rate: n / rate does not drift as a sum of gaps would
}

void OpenArrivals::set_up(const scenario::Arrivals::Bursts& bursts) {
  if (bursts.size == 0) throw WorkloadError(name_ + ": bursts of size 0");
  kind_ = Kind::kBursts;
  size_ = bursts.size;
  gap_s_ = static_cast<double>(size_) / rate(bursts.rate_per_s);
}

void OpenArrivals::set_up(const scenario::Arrivals::ClosedLoop&) {
  throw WorkloadError(name_ + ": a closed loop has no fixed times");
}

void OpenArrivals::set_up(const scenario::Arrivals::Replay& replay) {
  kind_ = Kind::kReplay;
  double last = 0;
  times_ = read_numbers(replay.path, "arrival_s", [&](double time) {
    if (!(time >= 0 && time <= 1e10))
      throw WorkloadError(fmt::format("arrival_s: want a time from 0 to 1e10 s, got {}", time));
    if (time < last) throw WorkloadError(fmt::format("arrival_s: {} is before the previous time {}", time, last));
    last = time;
  });
  files_.push_back(replay.path);
}

void OpenArrivals::set_up(const scenario::Arrivals::AtOnce&) { kind_ = Kind::kAtOnce; }

double OpenArrivals::next() {
  const std::uint64_t n = count_++;
  switch (kind_) {
    case Kind::kAtOnce: return 0;
    case Kind::kReplay: return n < times_.size() ? times_[n] : kNever;
    case Kind::kConstant: return static_cast<double>(n) / gap_s_;
    case Kind::kPoisson: return now_s_ += random_.exponential() * gap_s_;
    case Kind::kGamma: return now_s_ += random_.gamma(shape_) / shape_ * gap_s_;
    case Kind::kBursts: break;
  }
  if (n % size_ == 0) now_s_ += random_.exponential() * gap_s_;
  return now_s_;
}

}  // namespace dooly::workload
