#pragma once

#include "oracle_store/portable_file.hpp"
#include "oracle_store/record.hpp"
#include "oracle_store/signature_store.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace dooly::store {

oracle::Environment test_environment(const std::string& gpu = "H200-SXM");
oracle::OperatorKey test_key(std::uint64_t k = 4096, std::uint64_t n = 6144);
oracle::Sample test_sample(std::uint64_t tokens, double median_s = 1.25e-5);

/// A sample with anything that one may hold.
oracle::Sample random_sample(std::mt19937_64& random);
/// Records in order, links included: a few environments, operators, series, plans.
std::vector<Record> random_records(std::mt19937_64& random, std::size_t samples);

void fill(const std::filesystem::path& store, const std::vector<Record>& records);
void write_portable(const std::filesystem::path& file, const std::vector<Record>& records);
std::vector<Record> all_records(RecordStream& stream);

}  // namespace dooly::store
