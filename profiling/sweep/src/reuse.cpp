#include "profiling_sweep/reuse.hpp"

namespace dooly::profiling {

ReuseTable reuse_table(const std::vector<Demand>& demands, const std::set<oracle::Signature>& measured) {
  ReuseTable table;
  std::set<oracle::Signature> seen, found;
  for (const Demand& demand : demands) {
    ReuseTable::Row row{demand.model, demand.backend, demand.tensor_parallel};
    std::set<oracle::Signature> own;
    for (const Operation& operation : demand.operations) {
      if (operation.binding == oracle::Binding::kCollective || !own.insert(operation.signature).second) continue;
      const bool is_new = seen.insert(operation.signature).second;
      if (measured.contains(operation.signature)) {
        ++row.measured;
        found.insert(operation.signature);
      } else if (is_new) {
        ++row.fresh;
        table.missing.push_back(operation);
      } else {
        ++row.shared;
      }
    }
    row.signatures = own.size();
    table.signatures += own.size();
    table.rows.push_back(std::move(row));
  }
  table.unique = seen.size();
  table.measured = found.size();
  return table;
}

}  // namespace dooly::profiling
