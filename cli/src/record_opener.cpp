#include "record_opener.hpp"

#include "named_stores.hpp"

#include "oracle_store/sources.hpp"

namespace dooly::cli {

RecordOpener opener_of(const std::string& name, const std::string& option) {
  return [name, option] { return named_records(name, store::open_records, option); };
}

std::vector<RecordOpener> openers_of(const std::vector<std::string>& names) {
  std::vector<RecordOpener> openers;
  for (const std::string& name : names)
    for (const std::filesystem::path& path : named_stores(name))
      openers.push_back([path] { return store::open_records(path); });
  return openers;
}

}  // namespace dooly::cli
