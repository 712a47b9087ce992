#pragma once

#include <string>
#include <string_view>

namespace dooly::cli {

/// Where a page of docs/ lies, for messages and help: that of the installation or build that this program is part of;
/// of a program that was copied alone, the name that the page has in the sources.
std::string documentation(std::string_view page);

}  // namespace dooly::cli
