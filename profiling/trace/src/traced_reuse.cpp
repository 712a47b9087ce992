#include "profiling_trace/traced_reuse.hpp"

#include "profiling_trace/signing.hpp"
#include "profiling_trace/trace_model.hpp"

#include "oracle/oracle_error.hpp"
#include "profiling_kernels/profiling_error.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>

namespace dooly::profiling {

namespace {

std::optional<Trace> traced(const ModelFile& file, std::uint32_t ranks, Kernels& kernels, std::string& why) {
  TraceSettings settings;
  settings.tensor_parallel = ranks;
  settings.batch = mixed_batch();
  try {
    return trace_model(file.config, file.numbers, kernels, settings);
  } catch (const ProfilingError& error) {
    why = error.what();
  } catch (const oracle::OracleError& error) {
    why = error.what();
  }
  return std::nullopt;
}

bool is_collective(const oracle::OperatorKey& key) { return key.request_dims == std::vector<std::string>{"bytes"}; }

}  // namespace

TracedReuse traced_reuse(const std::vector<std::filesystem::path>& configs, const std::vector<std::string>& backends,
                         const std::vector<std::uint32_t>& tensor_parallel) {
  TracedReuse table;
  std::set<oracle::Signature> known;
  const auto kernels = make_torch_kernels();
  for (const std::filesystem::path& config : configs) {
    const ModelFile file = load_model(config);
    const std::string name =
        (config.has_extension() && config.extension() == ".json" ? config.parent_path() : config).filename().string();
    for (const std::uint32_t ranks : tensor_parallel) {
      std::string why;
      const std::optional<Trace> trace = traced(file, ranks, *kernels, why);
      if (!trace) {
        table.left_out.push_back(fmt::format("{}, tensor parallel {}: {}", name, ranks, why));
        continue;
      }
      for (const std::string& backend : backends) {
        std::set<oracle::Signature> own;
        for (const SignedOperation& operation : sign(*trace, plan_families(file.config, backend, ranks)).operations) {
          if (!is_collective(operation.key)) own.insert(operation.signature);
        }
        std::size_t fresh = 0;
        for (const oracle::Signature& signature : own) fresh += known.insert(signature).second ? 1 : 0;
        table.rows.push_back({name, backend, ranks, own.size(), fresh});
        table.total += own.size();
      }
    }
  }
  table.unique = known.size();
  return table;
}

std::string reuse_text(const TracedReuse& table) {
  std::string text;
  for (const TracedReuse::Row& row : table.rows) {
    text += fmt::format("{:<48} {:<10} tp {:<2} {:>3} signatures, {:>3} new\n", row.model, row.backend,
                        row.tensor_parallel, row.signatures, row.fresh);
  }
  for (const std::string& line : table.left_out) text += "left out: " + line + "\n";
  const double reused = table.total == 0 ? 0 : 1 - static_cast<double>(table.unique) / static_cast<double>(table.total);
  return text + fmt::format("{} of {} unique, {:.1f} % reused\n", table.unique, table.total, 100 * reused);
}

}  // namespace dooly::profiling
