// A process that works on a store, for tests of several processes.
//   store_process sweep DIR N     measures points 1 to N that DIR lacks; prints each when it is safe
//   store_process read DIR UNTIL  opens and reads DIR until it holds UNTIL points; fails if it ever sees a gap
#include "random_store.hpp"

#include <unistd.h>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

using namespace dooly;
using store::SignatureStore;

int run_sweep(const char* directory, std::uint64_t points) {
  SignatureStore store = SignatureStore::open(directory, SignatureStore::Mode::kCreate);
  const std::string environment = store.put_environment(store::test_environment());
  const oracle::Signature signature = store.put_key(store::test_key());
  for (std::uint64_t i = 1; i <= points; ++i) {
    if (store.sample(environment, signature, oracle::ClockRegime::kCool, {i})) continue;
    store.put(environment, signature, store::test_sample(i, 1e-6 * static_cast<double>(i)));
    char line[32];
    const int size = std::snprintf(line, sizeof line, "%llu\n", static_cast<unsigned long long>(i));
    if (::write(STDOUT_FILENO, line, static_cast<std::size_t>(size)) != size) return 1;
  }
  store.close();
  return 0;
}

int run_reader(const char* directory, std::uint64_t until) {
  const std::string environment = oracle::environment_id(store::test_environment());
  const oracle::Signature signature = oracle::signature_of(store::test_key());
  for (std::size_t seen = 0; seen < until;) {
    const SignatureStore store = SignatureStore::open(directory, SignatureStore::Mode::kRead);
    const std::vector<oracle::Sample> samples = store.samples(environment, signature);
    for (std::size_t i = 0; i < samples.size(); ++i)
      if (samples[i] != store::test_sample(i + 1, 1e-6 * static_cast<double>(i + 1))) return 3;
    if (samples.size() < seen) return 4;
    seen = samples.size();
    ::usleep(1000);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    return (std::strcmp(argv[1], "sweep") == 0 ? run_sweep : run_reader)(argv[2], std::stoull(argv[3]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
