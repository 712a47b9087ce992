#pragma once

#include <string>
#include <string_view>

namespace dooly::profiling {

/// The GPU table's name for what the driver calls a GPU ("NVIDIA H200": "H200-SXM"); the
/// driver's name for those that the table lacks.
std::string table_gpu_name(std::string_view driver_name);

}  // namespace dooly::profiling
