#include "record_opener.hpp"

#include "named_stores.hpp"

#include "oracle_store/sources.hpp"

namespace dooly::cli {

RecordOpener opener_of(const std::string& name, const std::string& option) {
  return [name, option] { return named_records(name, store::open_records, option); };
}

}  // namespace dooly::cli
