#pragma once

#include "oracle/operator_key.hpp"
#include "oracle/sample.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace dooly::store {

// Bytes of records in the database. A value is an 8-byte checksum (of column family, key and payload, so that a record
// in another's place is found) and the payload.

inline constexpr std::size_t kSampleKeySize = 32 + 32 + 1 + 7 * 8;

/// Environment and signature, the prefix that all samples of one series share. `environment_id` is 64 hex digits.
std::string series_prefix(std::string_view environment_id, const oracle::Signature& signature);
void append_point(std::string& key, oracle::ClockRegime regime, const oracle::SamplePoint& point);
/// What a sample's key says; false if it is no such key.
bool decode_sample_key(std::string_view key, std::string& environment_id, oracle::Signature& signature,
                       oracle::Sample& sample);

/// Writes `payload` and its checksum to `value`.
void seal_value(std::string& value, std::string_view family, std::string_view key, std::string_view payload);
/// The payload of a sound value; false if the checksum differs.
bool open_value(std::string_view value, std::string_view family, std::string_view key, std::string_view& payload);

void encode_sample(std::string& payload, const oracle::Sample& sample);
/// Fills all but regime and point; false if the bytes are no sample.
bool decode_sample(std::string_view payload, oracle::Sample& sample);

std::string hex_of(std::string_view bytes);
/// False unless `hex` is 64 lower-case hex digits.
bool is_id(std::string_view hex);

}  // namespace dooly::store
