#pragma once

#include "oracle_store/record.hpp"

#include <string>
#include <string_view>

namespace dooly::store {

void append_portable_line(std::string& out, const Record& record);
/// As the function that returns a record; reuses the memory of `record`.
void parse_portable_line(std::string_view line, Record& record);

}  // namespace dooly::store
