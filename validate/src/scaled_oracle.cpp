#include "scaled_oracle.hpp"

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace dooly::validate {
namespace {

struct Term {
  std::string_view name;
  void (*scale_step)(oracle::StepCost& cost, double factor);
  void (*scale_request)(oracle::RequestCost& cost, double factor);
};

void leave_step(oracle::StepCost&, double) {}
void leave_request(oracle::RequestCost&, double) {}

constexpr std::array kTerms{
    Term{"token operators", [](oracle::StepCost& cost, double by) { cost.device.token_ops *= by; }, leave_request},
    Term{"attention", [](oracle::StepCost& cost, double by) { cost.device.attention *= by; }, leave_request},
    Term{"collectives", [](oracle::StepCost& cost, double by) { cost.device.collective *= by; }, leave_request},
    Term{"clock and other", [](oracle::StepCost& cost, double by) { cost.device.other *= by; }, leave_request},
    Term{"gaps", [](oracle::StepCost& cost, double by) { cost.device.gaps *= by; }, leave_request},
    Term{"turn", [](oracle::StepCost& cost, double by) { cost.host.turn *= by; }, leave_request},
    Term{"schedule", [](oracle::StepCost& cost, double by) { cost.host.schedule *= by; }, leave_request},
    Term{"launch",
         [](oracle::StepCost& cost, double by) {
           cost.host.launch *= by;
           cost.host.launch_lead *= by;
           cost.host.after_prefill *= by;
         },
         leave_request},
    Term{"sample", [](oracle::StepCost& cost, double by) { cost.host.sample *= by; }, leave_request},
    Term{"update", [](oracle::StepCost& cost, double by) { cost.host.update *= by; }, leave_request},
    Term{"delivery", [](oracle::StepCost& cost, double by) { cost.host.delivery *= by; }, leave_request},
    Term{"input", leave_step, [](oracle::RequestCost& cost, double by) { cost.input *= by; }},
    Term{"hashing", leave_step, [](oracle::RequestCost& cost, double by) { cost.hashing *= by; }}};

std::size_t find_term(std::string_view name) {
  for (std::size_t i = 0; i < kTerms.size(); ++i)
    if (kTerms[i].name == name) return i;
  throw std::logic_error("no term '" + std::string(name) + "' of an oracle");
}

}  // namespace

std::vector<std::string_view> ScaledOracle::terms() {
  std::vector<std::string_view> names;
  for (const Term& term : kTerms) names.push_back(term.name);
  return names;
}

ScaledOracle::ScaledOracle(std::unique_ptr<oracle::LatencyOracle> inner, std::string_view term, double factor)
    : inner_(std::move(inner)),
      term_(find_term(term)),
      factor_(factor) {}

oracle::RequestCost ScaledOracle::request_cost(std::uint32_t prompt_tokens) const {
  oracle::RequestCost cost = inner_->request_cost(prompt_tokens);
  kTerms[term_].scale_request(cost, factor_);
  return cost;
}

void ScaledOracle::do_cost(const oracle::BatchShape& shape, oracle::DeviceState state, oracle::StepCost& answer) const {
  answer = inner_->cost(shape, state);
  kTerms[term_].scale_step(answer, factor_);
}

}  // namespace dooly::validate
