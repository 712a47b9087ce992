#pragma once

#include "oracle_store/record.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dooly::cli {

/// Records that can be read from the start as often as needed.
using RecordOpener = std::function<std::unique_ptr<store::RecordStream>()>;
/// Of all stores called `name` as one, looked for when they are opened; it throws as named_records() does.
RecordOpener opener_of(const std::string& name, const std::string& option = {});

/// One for each store behind each name, in order, for who decides between stores that contradict each other. Throws as
/// named_stores() does.
std::vector<RecordOpener> openers_of(const std::vector<std::string>& names);

}  // namespace dooly::cli
