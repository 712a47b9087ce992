#pragma once

#include "oracle/sample.hpp"
#include "oracle_import/export_profile.hpp"
#include "profile_folder.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace dooly::import_::test {

std::string read_text(const std::filesystem::path& path);

/// Column `name` of each row, by header; empty where the file has no such column.
std::vector<std::string> column(const std::string& csv, const std::string& name);

/// At the cool clock, repeated five times.
oracle::Sample sample_at(const oracle::SamplePoint& point, double seconds);

/// Import of what was exported equals the import. Neighbours of samples that were left out may become suspect
/// themselves, so the second import is compared with all of its samples, suspicion aside.
void expect_round_trip(const std::string& format, const MemorySamples& first, const ExportOptions& options);

}  // namespace dooly::import_::test
