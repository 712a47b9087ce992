#include "scenario_run.hpp"

#include "step_by_step_cache.hpp"
#include "test_policies.hpp"

#include "oracle/gpu.hpp"
#include "oracle/model_table.hpp"
#include "oracle/roofline_oracle.hpp"
#include "replica_core/replica.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <queue>
#include <sstream>
#include <utility>

namespace dooly::test {
namespace {

using replica::CallRecord;
using replica::Replica;
using replica::RequestTag;

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

/// A FixedOracle with provenance, for which what several requests hold is read faster, and, as the scenario wants, a
/// device that slows down as it warms up or answers for many decode steps at a time.
class TestOracle final : public oracle::LatencyOracle {
 public:
  explicit TestOracle(const RandomScenario& scenario)
      : fixed_(scenario.step, oracle::HostTimes(scenario.platform, 1, 0), oracle::CudaGraphs(scenario.graph_sizes)),
        times_(scenario.times) {}
  std::string_view name() const override { return "test"; }
  oracle::RequestCost request_cost(std::uint32_t prompt) const override { return fixed_.request_cost(prompt); }
  ClockModel clock_model() const override {
    if (times_ != RandomScenario::Times::kTwoRegimes && times_ != RandomScenario::Times::kWarmRuns) return {};
    return {.sustained_when_busy = 0.9, .time_constant = 0.7};
  }
  bool decode_run(const oracle::BatchShape& first, std::span<double> device_s, DecodeRun& run) const override {
    const bool warms = times_ == RandomScenario::Times::kWarmRuns;
    if (times_ != RandomScenario::Times::kDecodeRuns && !warms) return false;
    oracle::BatchShape shape = first;
    const oracle::StepCost cool = cost(shape, {});
    run = {.host = cool.host, .share = {.measured = 1}, .stated_error = 0.03};
    if (warms) {
      run.share = kMixedShare;
      run.compute_share = cool.compute_share;
      run.per_sustained_s = per_sustained(first);
      run.steps = static_cast<std::uint32_t>(1 + first.decode_context % 40);
    }
    for (double& seconds : device_s.first(std::min<std::size_t>(device_s.size(), run.steps))) {
      seconds = cost(shape, {}).device.total();
      shape.decode_context_cubes += 3 * (shape.decode_context_squares + shape.decode_context) + shape.decodes;
      shape.decode_context_squares += 2 * shape.decode_context + shape.decodes;
      shape.decode_context += shape.decodes;
    }
    return true;
  }

 private:
  void do_cost(const oracle::BatchShape& shape, oracle::DeviceState state, oracle::StepCost& answer) const override {
    answer = fixed_.cost(shape, state);
    answer.device.other *= 1 - saved_share(shape);
    answer.stated_error = 0.03;
    if (times_ == RandomScenario::Times::kWarmRuns) {
      answer.device.token_ops = std::exchange(answer.device.other, 0);
      answer.device.other = state.sustained * per_sustained(shape);
      answer.compute_share = 0.1 + 0.5 / (1 + shape.decodes);
      const double total = answer.device.total();
      answer.provenance = {kMixedShare.measured * total, kMixedShare.interpolated * total, 0,
                           kMixedShare.roofline * total};
      return;
    }
    answer.device.other *= 1 + 0.25 * state.sustained;
    if (times_ == RandomScenario::Times::kDecodeRuns) {
      answer.provenance = {.measured = answer.device.other};
    } else {
      answer.provenance = {.interpolated = answer.device.other * 0.25, .extrapolated = answer.device.other * 0.75};
    }
  }
  static constexpr oracle::Provenance kMixedShare{.measured = 0.3, .interpolated = 0.6, .roofline = 0.1};
  static double saved_share(const oracle::BatchShape& shape) {
    const auto repeated = static_cast<double>(shape.repeated_tokens);
    return 0.4 * repeated / (1 + repeated + static_cast<double>(shape.shared_tokens));
  }
  static double per_sustained(const oracle::BatchShape& shape) { return 1.7e-5 * shape.tokens(); }
  oracle::FixedOracle fixed_;
  RandomScenario::Times times_;
};

std::unique_ptr<oracle::LatencyOracle> make_oracle(const RandomScenario& scenario) {
  if (scenario.times != RandomScenario::Times::kRoofline) return std::make_unique<TestOracle>(scenario);
  oracle::RooflineSettings settings;
  settings.max_num_batched_tokens = scenario.config.max_num_batched_tokens;
  settings.max_num_seqs = scenario.config.max_num_seqs;
  settings.capture_sizes = scenario.graph_sizes;
  static const oracle::ModelConfig model = oracle::find_model("meta-llama/Llama-3.1-8B");
  return std::make_unique<oracle::RooflineOracle>(model, oracle::find_gpu("H200-SXM"), settings, scenario.platform);
}

std::unique_ptr<replica::KvCache> make_cache(const replica::EngineConfig& config, RunWay::Cache kind) {
  switch (kind) {
    case RunWay::Cache::kRun: return replica::make_run_kv_cache(config);
    case RunWay::Cache::kRunWalk: return std::make_unique<StepByStepCache>(replica::make_run_kv_cache(config));
    case RunWay::Cache::kBlock: return replica::make_block_kv_cache(config);
  }
  return nullptr;
}

std::string render(const CallRecord& call) {
  std::ostringstream out;
  out << "call " << call.call << " tokens " << call.tokens << " context " << call.context_after << " free "
      << call.free_blocks << " evicted " << call.evicted << " running(" << call.running_context << ")";
  for (const auto& run : call.running) out << ' ' << run.tag << ':' << run.tokens << '+' << run.new_blocks[0];
  for (const auto& in : call.admitted)
    out << " admit " << in.tag << (in.resumed ? "r:" : ":") << in.tokens << '@' << in.computed << " hit " << in.hit
        << " table " << in.table[0];
  for (const auto& load : call.loads) out << " load " << load.tag << ':' << load.hit << '+' << load.remote;
  for (const auto& lost : call.preempted)
    out << " preempt " << lost.tag << '@' << lost.computed << " held " << lost.held[0];
  if (!call.common_prefix.empty()) out << " common " << call.common_prefix[0];
  return out.str();
}

class Runner final : public replica::ReplicaObserver {
 public:
  Runner(const RandomScenario& scenario, RunWay way)
      : scenario_(scenario),
        way_(way),
        oracle_(make_oracle(scenario)),
        policy_(make_test_policy(scenario.policy, scenario.seed)),
        replica_(scenario.config, *policy_, *oracle_, *this, make_cache(scenario.config, way.cache)),
        life_(scenario.requests.size()) {
    replica_.set_fast_forward(way.fast_forward);
    if (way.records) replica_.engine().record(true);
  }

  Transcript run() {
    for (std::uint32_t i = 0; i < scenario_.requests.size(); ++i)
      if (scenario_.requests[i].at_s >= 0) post(scenario_.requests[i].at_s, Event::Kind::kSubmit, i);
    for (const double at_s : scenario_.probes_s) post(at_s, Event::Kind::kProbe, 0);
    while (true) {
      const double turn_s = replica_.next_turn_s();
      if (events_.empty() && turn_s == Replica::kNever) break;
      if (++turns_ > 100000) {
        out_.ended = false;
        return std::move(out_);
      }
      if (events_.empty() || turn_s < events_.top().at_s) {
        make_turn();
      } else {
        const Event event = events_.top();
        events_.pop();
        replica_.catch_up(event.at_s);
        handle(event);
      }
    }
    finish();
    return std::move(out_);
  }

 private:
  struct Event {
    enum class Kind : std::uint8_t { kSubmit, kAbort, kProbe, kLoadFinished, kReleaseHeld };
    double at_s;
    std::uint64_t number;
    Kind kind;
    std::uint32_t tag;
    bool operator>(const Event& other) const { return std::pair(at_s, number) > std::pair(other.at_s, other.number); }
  };
  struct Life {
    bool submitted = false, scheduled = false, started = false, finished = false, aborted = false;
    std::uint32_t output = 0;
  };

  void post(double at_s, Event::Kind kind, std::uint32_t tag) { events_.push({at_s, posted_++, kind, tag}); }

  void note(Note::Kind kind, std::uint32_t tag, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) {
    out_.notes.push_back({kind, tag, a, b, c});
  }

  static void expect(bool holds, const std::string& what, std::uint32_t tag = 0) {
    if (!holds) throw std::logic_error(what + " (request " + std::to_string(tag) + ")");
  }

  void make_turn() {
    out_.turns.push_back(out_.notes.size());
    const std::uint64_t calls = replica_.engine().calls();
    replica_.run_turn();
    const std::uint64_t made = replica_.engine().calls() - calls;
    if (made > 1) out_.light_steps += made - 1;
    if (!way_.records) return;
    if (made > 0) out_.decisions.push_back(render(replica_.engine().last_call()));
    record_state();
  }

  void record_state() {
    replica_.check_invariants();
    replica::Engine& engine = replica_.engine();
    engine.sync_cache_counts();
    std::ostringstream state;
    state << "free " << replica_.free_blocks() << " keys " << engine.cache().distinct_keys() << " running";
    for (const RequestTag tag : engine.running_tags()) state << ' ' << tag;
    state << " waiting";
    for (const RequestTag tag : engine.waiting_tags(~std::size_t{0})) state << ' ' << tag;
    state << " skipped";
    for (const RequestTag tag : engine.skipped_tags()) state << ' ' << tag;
    out_.decisions.push_back(state.str());
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case Event::Kind::kSubmit: submit(event); break;
      case Event::Kind::kAbort:
        if (life_[event.tag].finished) break;
        life_[event.tag].aborted = true;
        replica_.abort(event.tag, event.at_s);
        break;
      case Event::Kind::kProbe: note_state(0); break;
      case Event::Kind::kLoadFinished: replica_.load_finished(event.tag, event.at_s); break;
      case Event::Kind::kReleaseHeld: replica_.release_held(event.tag, event.at_s); break;
    }
  }

  void submit(const Event& event) {
    const PlannedRequest& planned = scenario_.requests[event.tag];
    replica::ReplicaRequest request = planned.request;
    request.content = planned.content;
    note_state(replica_.cached_prefix(request));
    life_[event.tag].submitted = true;
    replica_.submit(request, event.at_s);
    if (planned.abort_after_s >= 0) post(event.at_s + planned.abort_after_s, Event::Kind::kAbort, event.tag);
  }

  void note_state(std::uint32_t cached) {
    note(Note::Kind::kState, cached, replica_.running(), replica_.waiting(), replica_.free_blocks());
  }

  void finish() {
    expect(replica_.is_idle(),
           "stalled: " + (replica_.engine().stuck().empty() ? std::string("?") : replica_.engine().stuck()[0].second),
           replica_.engine().stuck().empty() ? 0 : replica_.engine().stuck()[0].first);
    replica_.check_invariants();
    expect(replica_.free_blocks() == scenario_.config.num_blocks - 1, "blocks are left over");
    std::uint64_t output = 0;
    for (std::uint32_t tag = 0; tag < life_.size(); ++tag) {
      const Life& life = life_[tag];
      output += life.output;
      expect(!life.submitted || life.finished || life.aborted, "never finished", tag);
      if (life.finished) expect(life.output == scenario_.requests[tag].request.output, "wrong number of outputs", tag);
    }
    const replica::ReplicaStats& s = replica_.stats();
    for (const std::uint64_t count :
         {s.iterations, s.decode_iterations, s.prefill_iterations, s.mixed_iterations, s.scheduled_tokens,
          s.scheduled_requests, s.preemptions, s.prompt_tokens, s.cached_tokens, s.output_tokens,
          std::uint64_t{s.peak_blocks}, replica_.engine().preemptions()})
      out_.stats.push_back(count);
    for (const double seconds : {s.decode_s, s.prefill_s, s.mixed_s, s.block_seconds, s.measured_s, s.interpolated_s,
                                 s.extrapolated_s, s.roofline_s, s.stated_error_s, replica_.clock_s()})
      out_.stats.push_back(bits(seconds));
    expect(s.iterations == s.decode_iterations + s.prefill_iterations + s.mixed_iterations, "iterations do not add up");
    (void)output;
  }

  // --- ReplicaObserver
  void scheduled(RequestTag tag, double now_s, std::uint32_t cached) override {
    expect(life_[tag].submitted && !life_[tag].scheduled, "scheduled for the first time twice", tag);
    life_[tag].scheduled = true;
    note(Note::Kind::kScheduled, tag, bits(now_s), cached);
  }
  void first_token(RequestTag tag, double engine_s, double client_s) override {
    expect(life_[tag].scheduled && !life_[tag].started, "first token twice or out of nowhere", tag);
    expect(client_s >= engine_s, "the client is ahead of the engine", tag);
    life_[tag].started = true;
    note(Note::Kind::kFirstToken, tag, bits(engine_s), bits(client_s));
  }
  void finished(const replica::Completion& done) override {
    Life& life = life_[done.tag];
    expect(life.started && !life.finished && !life.aborted, "finished twice or out of nowhere", done.tag);
    life.finished = true;
    life.output = done.output;
    note(Note::Kind::kFinished, done.tag, bits(done.engine_s), bits(done.client_s),
         (std::uint64_t{done.output} << 32) | done.preemptions);
    const PlannedRequest& planned = scenario_.requests[done.tag];
    if (planned.next >= 0)
      post(done.client_s + planned.think_s, Event::Kind::kSubmit, static_cast<std::uint32_t>(planned.next));
    if (planned.request.remote.hold_blocks)
      post(done.client_s + planned.transfer_s, Event::Kind::kReleaseHeld, done.tag);
  }
  void load_started(RequestTag tag, std::uint32_t local, std::uint32_t tokens, double now_s) override {
    note(Note::Kind::kLoadStarted, tag, local, tokens, bits(now_s));
    post(now_s + scenario_.requests[tag].transfer_s, Event::Kind::kLoadFinished, tag);
  }
  void token_gaps(std::uint16_t request_class, double gap_s, std::uint64_t count) override {
    expect(gap_s >= 0, "a negative gap");
    note(Note::Kind::kGaps, request_class, bits(gap_s), count);
  }

  const RandomScenario& scenario_;
  RunWay way_;
  std::unique_ptr<oracle::LatencyOracle> oracle_;
  std::unique_ptr<sdk::SchedulerPolicy> policy_;
  Replica replica_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t posted_ = 0;
  std::vector<Life> life_;
  std::uint64_t turns_ = 0;
  Transcript out_;
};

}  // namespace

std::string to_string(const Note& note) {
  static constexpr const char* kNames[] = {"scheduled", "first token", "finished", "load started", "gaps", "state"};
  const auto show = [](std::uint64_t value) {
    std::ostringstream out;
    out.precision(17);
    if (value > (1ULL << 60) && value < 0x7FF0000000000000ULL) {
      out << std::bit_cast<double>(value);
    } else {
      out << value;
    }
    return out.str();
  };
  return std::string(kNames[static_cast<int>(note.kind)]) + " " + std::to_string(note.tag) + " " + show(note.a) + " " +
         show(note.b) + " " + show(note.c);
}

std::vector<Note> Transcript::by_stream() const {
  std::vector<Note> all;
  for (const Note& note : notes)
    if (note.kind != Note::Kind::kGaps) all.push_back(note);
  for (std::uint32_t request_class = 0; request_class < 3; ++request_class)
    for (const Note& note : notes)
      if (note.kind == Note::Kind::kGaps && note.tag == request_class) all.push_back(note);
  return all;
}

std::vector<Note> Transcript::merged() const {
  std::vector<Note> all;
  for (std::size_t turn = 0; turn <= turns.size(); ++turn) {
    const std::size_t begin = turn == 0 ? 0 : turns[turn - 1];
    const std::size_t end = turn == turns.size() ? notes.size() : turns[turn];
    std::vector<Note> gaps, rest;
    for (std::size_t i = begin; i < end; ++i) (notes[i].kind == Note::Kind::kGaps ? gaps : rest).push_back(notes[i]);
    std::sort(gaps.begin(), gaps.end());
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      if (i > 0 && gaps[i].tag == gaps[i - 1].tag && gaps[i].a == gaps[i - 1].a) {
        all.back().b += gaps[i].b;
      } else {
        all.push_back(gaps[i]);
      }
    }
    all.insert(all.end(), rest.begin(), rest.end());
  }
  return all;
}

Transcript run(const RandomScenario& scenario, RunWay way) { return Runner(scenario, way).run(); }

}  // namespace dooly::test
