#include "held_out.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>

namespace {

using namespace dooly::profiling;

using Sets = std::map<dooly::oracle::Signature, std::vector<dooly::oracle::Sample>>;

void print(const OperationReport& each, const std::vector<dooly::oracle::Sample>& samples, const SweepLimits& limits) {
  const HeldOut error = held_out(each.operation, samples, limits);
  std::printf(
      "%-12s%-18s%4zu of%7zu points  %6.1f of%8.1f s  held out: median %5.2f %%, mean %5.2f %%, p90 %5.2f %%, by time "
      "%5.2f %%\n",
      each.operation.key.kind.c_str(), each.operation.key.family.c_str(), each.points, each.dense_points, each.spent_s,
      each.dense_s, 100 * error.median, 100 * error.mean, 100 * error.p90, 100 * error.by_time);
}

}  // namespace

int main(int argc, char** argv) {
  SyntheticMeasurer device;
  MemoryArchive archive;
  SweepSettings settings;
  if (argc > 1) settings.refine.target = std::atof(argv[1]);
  settings.refine.both_regimes = true;
  settings.now = [&] { return device.now(); };
  const SweepReport report =
      Sweep(device, archive, settings)
          .run({linear(4096, 6144), linear(4096, 4096), linear(4096, 28672), linear(14336, 4096), norm(4096),
                norm(8192), attention(), attention(4096), attention(0, "flashinfer"), experts()});
  Sets sets;
  for (auto& set : archive.measured()) sets[set.signature] = set.samples;
  for (const OperationReport& each : report.operations)
    print(each, sets[each.operation.signature], settings.refine.limits);
  std::printf("%zu of %zu points, %.1f of %.1f s: %.1f %% saved\n", report.own_points(), report.dense_points(),
              report.paid_s(), report.dense_s(), 100 * (1 - report.paid_s() / report.dense_s()));
}
