#include "profile_program.hpp"
#include "synthetic_measurer.hpp"

#include <chrono>
#include <thread>

namespace {

using namespace dooly::profiling;

MeasurerFactory device(std::chrono::milliseconds per_point) {
  return [per_point]() -> std::unique_ptr<Measurer> {
    auto made = std::make_unique<SyntheticMeasurer>();
    made->before = [per_point](const dooly::oracle::OperatorKey&, dooly::oracle::Sample&) {
      std::this_thread::sleep_for(per_point);
    };
    return made;
  };
}

}  // namespace

int main(int argc, char** argv) {
  return run_profile(argc, argv,
                     {{"fast", [](const MeasurerChoice&) { return device(std::chrono::milliseconds(0)); }},
                      {"slow", [](const MeasurerChoice&) { return device(std::chrono::milliseconds(20)); }}});
}
