#include "results/iteration_log.hpp"

#include <cstring>
#include <utility>

#include "results/csv_field.hpp"
#include "results/number_text.hpp"

namespace dooly::results {

const std::string_view IterationLog::kHeader =
    "pool,replica,iteration,start_s,end_s,requests,decodes,tokens,prefill_tokens,context_tokens,running,waiting,"
    "kv_blocks,preempted,token_ops_s,attention_s,collective_s,other_s,schedule_s,launch_s,sample_s,update_s,"
    "delivery_s\n";

IterationLog::IterationLog(std::filesystem::path path, std::vector<std::string> pools)
    : sink_(std::move(path)),
      pools_(std::move(pools)) {
  for (std::string& pool : pools_) pool = csv_field(pool);
  sink_.append(kHeader);
}

void IterationLog::add(const IterationRow& row) {
  const std::string& pool = pools_.at(row.pool);
  char* at = sink_.reserve(pool.size() + 24 * kNumberRoom);
  std::memcpy(at, pool.data(), pool.size());
  at += pool.size();
  const auto number = [&](auto value) {
    *at++ = ',';
    at = write_number(at, value);
  };
  number(std::uint64_t{row.replica}), number(row.iteration), number(row.start_s), number(row.end_s);
  for (const std::uint64_t count :
       {std::uint64_t{row.requests}, std::uint64_t{row.decodes}, std::uint64_t{row.tokens},
        std::uint64_t{row.prefill_tokens}, row.context_tokens, std::uint64_t{row.running}, std::uint64_t{row.waiting},
        std::uint64_t{row.kv_blocks}, std::uint64_t{row.preempted}}) {
    number(count);
  }
  for (const double time : {row.token_ops_s, row.attention_s, row.collective_s, row.other_s, row.schedule_s,
                            row.launch_s, row.sample_s, row.update_s, row.delivery_s}) {
    number(time);
  }
  *at++ = '\n';
  sink_.commit(at);
}

}  // namespace dooly::results
