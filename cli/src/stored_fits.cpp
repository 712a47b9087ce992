#include "stored_fits.hpp"

#include "oracle/gpu.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle_profiled/fit_figures.hpp"

#include <map>

namespace dooly::cli {

SeriesFit fit_of(const oracle::OperatorKey& key, const std::vector<oracle::Sample>& samples, const std::string& gpu) {
  try {
    const oracle::FitFigures figures = oracle::fit_figures(key, samples, oracle::find_gpu(gpu));
    return {{figures.points, figures.fold_error, oracle::kFitVersion, store::series_digest(samples)}, {}};
  } catch (const oracle::OracleError& error) {
    return {{}, error.what()};
  }
}

SeriesFit fit_in(const store::SignatureStore* store, const std::string& environment_id, const oracle::OperatorKey& key,
                 const std::vector<oracle::Sample>& samples, const std::string& gpu) {
  if (store != nullptr) {
    const auto kept = store->fit(environment_id, oracle::signature_of(key));
    if (kept && kept->version == oracle::kFitVersion && kept->samples == store::series_digest(samples))
      return {*kept, {}};
  }
  return fit_of(key, samples, gpu);
}

FitCounts store_fits(store::SignatureStore& store) {
  FitCounts counts;
  std::map<oracle::Signature, oracle::OperatorKey> keys;
  for (auto& [signature, key] : store.keys()) keys.emplace(signature, std::move(key));
  for (const auto& [id, environment] : store.environments()) {
    for (const oracle::Signature& signature : store.signatures(id)) {
      const std::vector<oracle::Sample> samples = store.samples(id, signature);
      const auto kept = store.fit(id, signature);
      const SeriesFit fit = fit_in(&store, id, keys.at(signature), samples, environment.gpu);
      if (fit.fit.fold_error > 0) counts.errors.push_back(fit.fit.fold_error);
      if (!fit.trouble.empty()) {
        ++counts.none;
      } else if (kept == fit.fit) {
        ++counts.kept;
      } else {
        store.put_fit(id, signature, fit.fit);
        ++counts.made;
      }
    }
  }
  return counts;
}

}  // namespace dooly::cli
