#pragma once

#include "part.hpp"
#include "scenarios/workload.hpp"
#include "workload/random_stream.hpp"

#include <map>
#include <optional>
#include <vector>

namespace dooly::workload {

/// Requests drawn from ServeGen's statistics of single clients: for each client and window of time a rate, a law of the
/// gaps (Gamma or Weibull with a shape; its scale follows from the rate), and distributions of input and output
/// lengths. Each client draws from random streams of its own. A client without lengths is left out; a window without
/// lengths takes those of the client's latest window before it that has some, else of its first one. Time 0 is the
/// start of the first window of any client that is used.
class ServegenPart : public Part {
 public:
  ServegenPart(const scenario::TraceSpec& spec, const PartContext& context);
  void take(Request& into) override;
  void finished(std::uint64_t, double, Outcome) override {}
  bool exhausted() const override { return next_arrival_s_ == kNever; }
  std::uint64_t expected_requests() const override { return 0; }
  TraceColumns columns() const override;
  std::vector<std::filesystem::path> files() const override { return files_; }

 private:
  struct Lengths {
    std::vector<double> cumulative;
    std::vector<std::uint32_t> tokens;
    std::uint32_t draw(RandomStream& random) const;
  };
  struct LengthPair {
    Lengths input, output;
  };
  struct Window {
    double start_s = 0, end_s = 0, mean_gap_s = 0, shape = 1;
    bool weibull = false;
    double unit_mean = 1;  ///< of the law with scale 1
    std::size_t lengths = 0;
  };
  struct Client {
    std::uint64_t id = 0;
    RandomStream gaps, sizes;
    std::vector<Window> windows;
    std::vector<LengthPair> lengths;
    std::size_t window = 0;
    double next_s = 0;
  };
  using LengthsByClient = std::map<std::uint64_t, std::map<double, LengthPair>>;

  LengthsByClient read_lengths(const std::filesystem::path& path) const;
  static Lengths parse_lengths(const std::string& text, const std::string& where);
  void read_rates(const LengthsByClient& lengths);
  void finish_clients(const LengthsByClient& lengths);
  bool step(Client& client) const;
  void sift();
  void advance();

  scenario::TraceSpec spec_;
  PartContext context_;
  std::uint16_t class_;
  std::vector<std::filesystem::path> files_;
  std::vector<Client> clients_;
  std::vector<std::size_t> heap_;  ///< of clients, by (next_s, index)
  std::uint64_t left_;
  double origin_s_ = 0;
  double shift_s_ = 0;  ///< of later passes
  std::uint64_t pass_ = 0;
  double span_s_ = 0;
};

}  // namespace dooly::workload
