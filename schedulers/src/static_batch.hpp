#pragma once

#include "dooly/sdk/options.hpp"
#include "dooly/sdk/policy.hpp"

#include <cstdint>

namespace dooly::schedulers {

/// Static batches, as FasterTransformer served them: when nothing runs, the first `batch_size` waiting requests become
/// the batch, and nobody else is admitted until all of them have finished, however few are left.
///
/// Where prompts exceed the token budget the batch fills over several iterations; its members decode meanwhile. A
/// member that is preempted for want of KV blocks keeps its place in the batch.
class StaticBatch final : public sdk::SchedulerPolicy {
 public:
  static constexpr sdk::OptionSpec kOptions[] = {{.name = "batch_size",
                                                  .type = sdk::OptionType::kInteger,
                                                  .fallback = "8",
                                                  .min = 1,
                                                  .max = 1e6,
                                                  .help = "most requests in a batch"}};

  explicit StaticBatch(const sdk::Options& options)
      : batch_size_(static_cast<std::uint32_t>(options.integer("batch_size"))) {}

  void schedule(sdk::Plan& plan) override;
  /// While places are open, each call tries to admit; a full batch only runs on.
  std::uint32_t horizon(const sdk::Plan& plan) const override;

 private:
  bool serve_running(sdk::Plan& plan);
  void fill(sdk::Plan& plan);
  bool admit(sdk::Plan& plan, sdk::RequestView request);

  std::uint32_t batch_size_;
  std::uint32_t open_places_ = 0;  ///< members of the batch that do not run (yet, or any more)
};

}  // namespace dooly::schedulers
