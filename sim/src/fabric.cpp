#include "sim/fabric.hpp"

#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <xbt/log.h>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>
// Not self-contained in 3.32: after the others.
#include <simgrid/version.h>

namespace dooly::sim {

namespace sg = simgrid::s4u;

namespace {

/// SimGrid installs its own handlers of signals; ours come back at the end of the scope.
class SignalHandlersKept {
 public:
  SignalHandlersKept() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], nullptr, &before_[i]);
  }
  ~SignalHandlersKept() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  SignalHandlersKept(const SignalHandlersKept&) = delete;
  SignalHandlersKept& operator=(const SignalHandlersKept&) = delete;

 private:
  static constexpr int kSignals[] = {SIGINT, SIGSEGV, SIGABRT, SIGTERM};
  struct sigaction before_[std::size(kSignals)];
};

/// Full-speed sharing without TCP effects: time = size / share. Options are spelled alike in 3.32 and 4.
sg::Engine& make_engine() {
  static bool made = false;
  if (std::exchange(made, true)) throw std::logic_error("a second simulation in one process: SimGrid has one engine");
  const SignalHandlersKept kept;
  xbt_log_control_set("xbt_cfg.thres:warning");  // it would print a line for each option
  static char name[] = "dooly";
  static char* arguments[] = {name, nullptr};
  int count = 1;
  auto* engine = new sg::Engine(&count, arguments);  // lives until the process ends: it cannot be made again
  engine->set_config("network/model:CM02");
  engine->set_config("network/crosstraffic:0");
  engine->set_config("network/TCP-gamma:0");
  return *engine;
}

#if SIMGRID_VERSION >= 40000
sg::NetZone* add_star() { return sg::Engine::get_instance()->get_netzone_root()->add_netzone_star("fabric"); }
sg::Host* add_host(sg::NetZone& zone, const std::string& name) { return zone.add_host(name, 1e9); }
sg::SplitDuplexLink* add_link(sg::NetZone& zone, const std::string& name, double bytes_per_s) {
  return zone.add_split_duplex_link(name, bytes_per_s);
}
#else
sg::NetZone* add_star() { return sg::create_star_zone("fabric"); }
sg::Host* add_host(sg::NetZone& zone, const std::string& name) { return zone.create_host(name, 1e9); }
sg::SplitDuplexLink* add_link(sg::NetZone& zone, const std::string& name, double bytes_per_s) {
  return zone.create_split_duplex_link(name, bytes_per_s);
}
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // 4.x has no other form for a star's routes
void connect(sg::NetZone& zone, sg::Host& host, const std::vector<sg::LinkInRoute>& outwards) {
  zone.add_route(host.get_netpoint(), nullptr, nullptr, nullptr, outwards, true);
}
#pragma GCC diagnostic pop

}  // namespace

struct Fabric::Flow {
  sg::CommPtr comm;
  FlowListener* listener = nullptr;
  std::uint64_t tag = 0;
  std::uint64_t number = 0;  ///< flows are numbered as they are started
  std::uint64_t bytes = 0;
  double start_s = 0;
  std::uint32_t from_port = 0;
  std::uint32_t to_port = 0;
};

struct Fabric::SimGrid {
  sg::Engine& engine = make_engine();
  std::vector<sg::Host*> hosts;  ///< by port
  std::vector<simgrid::kernel::resource::Model*> models;
  simgrid::kernel::timer::Timer* timer = nullptr;

  void build(const PortPlan& plan) {
    sg::NetZone& zone = *add_star();
    std::vector<sg::SplitDuplexLink*> links;
    links.reserve(plan.links().size());
    for (const PortPlan::Link& link : plan.links()) {
      links.push_back(add_link(zone, link.name, link.bytes_per_s));
      links.back()->set_latency(0);
      links.back()->seal();
    }
    hosts.reserve(plan.ports().size());
    std::vector<sg::LinkInRoute> outwards;
    for (const PortPlan::Port& port : plan.ports()) {
      hosts.push_back(add_host(zone, port.name));
      hosts.back()->seal();
      outwards.clear();
      for (const std::uint32_t link : port.links) outwards.emplace_back(links[link], sg::LinkInRoute::Direction::UP);
      connect(zone, *hosts.back(), outwards);
    }
    zone.seal();
    engine.seal_platform();
    for (auto* model : engine.get_all_models()) models.push_back(model);
  }
};

Fabric::Fabric(PortPlan plan, EventPump& pump)
    : plan_(std::move(plan)),
      pump_(pump),
      simgrid_(std::make_unique<SimGrid>()) {
  simgrid_->build(plan_);
  sg::Comm::on_completion_cb([this](sg::Activity const& activity) {
    const auto& comm = static_cast<sg::Comm const&>(activity);  // nothing else is ever started
    left_links(reinterpret_cast<std::uintptr_t>(comm.get_data<void>()) - 1);
  });
  pump_.attach(*this);
  pump_.handle(EventKind::kFlowStart, *this);
  pump_.handle(EventKind::kFlowEnd, *this);
}

Fabric::~Fabric() = default;

void Fabric::start_flow(std::uint32_t from_replica, std::uint32_t to_replica, std::uint64_t bytes, double start_s,
                        FlowListener& listener, std::uint64_t tag) {
  const PortPlan::Route route = plan_.route(from_replica, to_replica);
  const std::uint64_t slot = free_slot();
  flows_[slot] = {.comm = nullptr,
                  .listener = &listener,
                  .tag = tag,
                  .number = started_++,
                  .bytes = bytes,
                  .start_s = start_s,
                  .from_port = route.from_port,
                  .to_port = route.to_port};
  ++stats_.in_flight;
  stats_.max_concurrent = std::max(stats_.max_concurrent, stats_.in_flight);
  const EventKind next = bytes > 0 ? EventKind::kFlowStart : EventKind::kFlowEnd;  // SimGrid cannot send nothing
  pump_.post({start_s + route.latency_s, next, flows_[slot].number, slot});
}

void Fabric::on_event(const Event& event) {
  if (event.kind == EventKind::kFlowStart)
    enter_links(event.value);
  else
    end_flow(event.value, event.time_s);
}

void Fabric::enter_links(std::uint64_t slot) {
  Flow& flow = flows_[slot];
  flow.comm = sg::Comm::sendto_init();
  flow.comm->set_payload_size(flow.bytes);
  flow.comm->set_data(reinterpret_cast<void*>(static_cast<std::uintptr_t>(slot + 1)));
  // The last setter starts it.
  flow.comm->set_source(simgrid_->hosts[flow.from_port])->set_destination(simgrid_->hosts[flow.to_port]);
}

/// Called by SimGrid, which may still hold on to the flow: the rest happens in an event of this same time.
void Fabric::left_links(std::uint64_t slot) {
  if (pump_.is_stopped()) return;
  const Flow& flow = flows_[slot];
  if (flow.comm->get_state() != sg::Activity::State::FINISHED)
    throw std::logic_error(fmt::format("flow {} failed at {} s", flow.number, now_s()));
  pump_.post({std::max(now_s(), pump_.now_s()), EventKind::kFlowEnd, flow.number, slot});
}

void Fabric::end_flow(std::uint64_t slot, double now_s) {
  const Flow flow = std::exchange(flows_[slot], {});
  free_slots_.push_back(slot);
  --stats_.in_flight;
  ++stats_.flows;
  stats_.bytes += flow.bytes;
  stats_.flow_s += now_s - flow.start_s;
  flow.listener->flow_ended(flow.tag, now_s);
}

std::uint64_t Fabric::free_slot() {
  if (free_slots_.empty()) {
    flows_.emplace_back();
    return flows_.size() - 1;
  }
  const std::uint64_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

double Fabric::now_s() const { return sg::Engine::get_clock(); }

double Fabric::next_activity_s() {
  const double now_s = sg::Engine::get_clock();
  double next_s = kNever;
  for (auto* model : simgrid_->models) {  // repeatable: shares out the links if something changed, then looks
    const double in_s = model->next_occurring_event(now_s);
    if (in_s >= 0) next_s = std::min(next_s, now_s + in_s);
  }
  return next_s;
}

bool Fabric::has_unreported_ends() const {
  return std::any_of(simgrid_->models.begin(), simgrid_->models.end(), [](auto* model) {
    return !model->get_finished_action_set()->empty() || !model->get_failed_action_set()->empty();
  });
}

void Fabric::call_at(double time_s) {
  using simgrid::kernel::timer::Timer;
  const double date = std::max(time_s, sg::Engine::get_clock());
  if (simgrid_->timer != nullptr) {
    if (simgrid_->timer->get_date() <= date) return;
    simgrid_->timer->remove();
  }
  simgrid_->timer = Timer::set(date, [this] {
    simgrid_->timer = nullptr;
    pump_.advance();
  });
}

void Fabric::run() { simgrid_->engine.run(); }

std::vector<std::string> Fabric::links_between(std::uint32_t from_replica, std::uint32_t to_replica) const {
  const PortPlan::Route route = plan_.route(from_replica, to_replica);
  std::vector<sg::Link*> links;
  double latency_s = 0;
  simgrid_->hosts[route.from_port]->route_to(simgrid_->hosts[route.to_port], links, &latency_s);
  std::vector<std::string> names;
  for (const sg::Link* link : links) names.emplace_back(link->get_name());
  return names;
}

}  // namespace dooly::sim
