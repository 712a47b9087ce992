#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace dooly::workload {

/// Numbers of a file (plain, gzip or zstd): one a line, or CSV with a header whose column `column` is read (empty: the
/// file has a single column, with or without a header). `check` may throw WorkloadError; file and line are put in
/// front. Throws WorkloadError if a number is malformed or there is none.
std::vector<double> read_numbers(const std::filesystem::path& path, const std::string& column,
                                 const std::function<void(double)>& check);

}  // namespace dooly::workload
