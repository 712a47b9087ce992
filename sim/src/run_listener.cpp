#include "run_listener.hpp"

namespace dooly::sim {

void RunListener::iteration(const replica::Batch& batch, double end_s) {
  if (sinks_.iterations == nullptr) return;
  results::IterationRow row;
  row.pool = pool_;
  row.replica = number_;
  row.iteration = iterations_++;
  row.start_s = batch.start_s;
  row.end_s = end_s;
  row.requests = batch.shape.requests();
  row.decodes = batch.shape.decodes;
  row.tokens = batch.tokens;
  row.prefill_tokens = batch.shape.prefill_tokens;
  row.context_tokens = batch.context_after - batch.tokens;
  row.running = batch.running;
  row.waiting = batch.waiting;
  row.kv_blocks = replica_.config().num_blocks - 1 - replica_.free_blocks();
  row.preempted = batch.preempted;
  row.token_ops_s = batch.cost.device.token_ops;
  row.attention_s = batch.cost.device.attention;
  row.collective_s = batch.cost.device.collective;
  row.other_s = batch.cost.device.other + batch.cost.device.gaps;
  row.schedule_s = batch.cost.host.until_launch();
  row.launch_s = batch.cost.host.launch;
  row.sample_s = batch.cost.host.sample;
  row.update_s = batch.cost.host.update;
  row.delivery_s = batch.cost.host.delivery;
  sinks_.iterations->add(row);
}

void RunListener::decided(const replica::Batch& batch, double now_s) {
  if (sinks_.decisions == nullptr) return;
  const replica::CallRecord& call = replica_.engine().last_call();
  const auto id = [&](replica::RequestTag tag) { return requests_[tag].request.id; };
  scheduled_.clear();
  admitted_.clear();
  preempted_.clear();
  for (const auto& run : call.running) scheduled_.push_back({id(run.tag), run.tokens, run.computed});
  for (const auto& admission : call.admitted) {
    scheduled_.push_back({id(admission.tag), admission.tokens, admission.computed});
    admitted_.push_back(id(admission.tag));
  }
  for (const auto& lost : call.preempted) preempted_.push_back(id(lost.tag));
  results::DecisionRow row;
  row.pool = pool_;
  row.replica = number_;
  row.call = call.call;
  row.time_s = now_s;
  row.scheduled = scheduled_;
  row.admitted = admitted_;
  row.preempted = preempted_;
  row.running = batch.running;
  row.waiting = batch.waiting;
  row.free_blocks = call.free_blocks;
  if (!call.why.empty()) row.why = {&call.why, 1};
  sinks_.decisions->add(row);
}

}  // namespace dooly::sim
