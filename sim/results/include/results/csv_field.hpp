#pragma once

#include <string>
#include <string_view>

namespace dooly::results {

/// A text as a CSV field: quoted (RFC 4180) only where it holds a comma, a quote or a line break.
std::string csv_field(std::string_view text);

}  // namespace dooly::results
