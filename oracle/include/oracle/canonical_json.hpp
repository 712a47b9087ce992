#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dooly::oracle {

// Pieces of RFC 8785 (JSON Canonicalization Scheme): the same value has the same bytes, whatever the locale.

/// A number as ECMAScript prints it (shortest digits that round-trip; -0 is 0). Throws OracleError unless finite.
void append_json(std::string& out, double value);
/// Throws OracleError for an integer that no double holds exactly: readers of JSON would change it.
void append_json(std::string& out, std::uint64_t value);
void append_json(std::string& out, std::int64_t value);
/// A string with quotes, escaped as little as JSON allows. Throws OracleError unless it is UTF-8.
void append_json(std::string& out, std::string_view text);
void append_json(std::string& out, bool value);
void append_json(std::string& out, const char* text) = delete;  // would be taken for a bool

/// The canonical form of any JSON text. `what` begins the message of the OracleError for text that is no JSON or names
/// a member twice.
std::string canonical_form(std::string_view json, std::string_view what);

/// Order of member names: by UTF-16 code units. Both must be UTF-8.
bool json_name_less(std::string_view left, std::string_view right);

}  // namespace dooly::oracle
