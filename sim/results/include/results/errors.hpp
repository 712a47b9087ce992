#pragma once

#include "files/errors.hpp"

namespace dooly::results {

using files::NameRefused;
using files::WriteFailed;

}  // namespace dooly::results
