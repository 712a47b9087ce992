#pragma once

#include "oracle_store/record.hpp"

#include <functional>
#include <memory>
#include <string>

namespace dooly::cli {

/// Records that can be read from the start as often as needed.
using RecordOpener = std::function<std::unique_ptr<store::RecordStream>()>;
/// Of all stores called `name` as one, looked for when they are opened; it throws as named_records() does.
RecordOpener opener_of(const std::string& name, const std::string& option = {});

}  // namespace dooly::cli
