#pragma once

#include "oracle_store/record.hpp"

#include <string>
#include <string_view>

namespace dooly::store {

void append_portable_line(std::string& out, const Record& record);
/// As the function that returns a record; reuses the memory of `record`.
void parse_portable_line(std::string_view line, Record& record);
/// Reads a sample as append_portable_line() writes it, without a JSON parser and eight times as fast; reuses the memory
/// of `record`. False: it is spelled otherwise, and `record` holds anything.
bool parse_canonical_sample(std::string_view line, SampleRecord& record);
/// Throws StoreError that says what is wrong with the line.
Record parse_any_spelling(std::string_view line);

}  // namespace dooly::store
