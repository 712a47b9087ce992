#pragma once

#include <string>
#include <string_view>

namespace dooly::oracle {

/// What is wrong with a JSON text that parsers let pass: "NAME: given twice" in one object, "nested deeper than N
/// levels". Empty: nothing, or a text that is no JSON, which a parser will tell. Linear in the length of the text.
std::string json_fault(std::string_view json, int deepest);

}  // namespace dooly::oracle
