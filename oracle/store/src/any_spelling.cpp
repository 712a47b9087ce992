// Lines of portable files in any spelling, by a JSON parser.
#include "oracle/canonical_json.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle_store/store_error.hpp"
#include "portable_line.hpp"
#include "sample_figures.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace dooly::store {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(std::string_view member, std::string_view what) {
  throw StoreError(fmt::format("{}: {}", member, what));
}

const std::string& text_of(const json& value, std::string_view member) {
  if (!value.is_string()) refuse(member, "must be text, got " + value.dump());
  return value.get_ref<const std::string&>();
}

std::uint64_t whole_of(const json& value, std::string_view member, std::uint64_t limit) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!(number >= 0 && number <= static_cast<double>(limit) && std::trunc(number) == number))
    refuse(member, fmt::format("must be a whole number from 0 to {}, got {}", limit, value.dump()));
  return static_cast<std::uint64_t>(number);
}

oracle::SamplePoint point_of(const json& value) {
  oracle::SamplePoint point{};
  if (!value.is_array() || value.size() > point.size()) refuse("point", "must be a list of at most 7 numbers");
  for (std::size_t i = 0; i < value.size(); ++i) point[i] = whole_of(value[i], "point", std::uint64_t{1} << 53);
  return point;
}

void set_member(SampleRecord& record, const std::string& name, const json& value) {
  oracle::Sample& sample = record.sample;
  for (const Figure& figure : kFigures) {
    if (figure.name != name) continue;
    if (!value.is_number()) refuse(name, "must be a number, got " + value.dump());
    sample.*figure.member = value.get<double>();
    return;
  }
  if (name == "count") {
    sample.count = static_cast<std::uint32_t>(whole_of(value, name, std::numeric_limits<std::uint32_t>::max()));
  } else if (name == "environment") {
    record.environment_id = text_of(value, name);
  } else if (name == "signature") {
    record.signature = oracle::Signature::from_hex(text_of(value, name));
  } else if (name == "kernel_family") {
    sample.kernel_family = text_of(value, name);
  } else if (name == "note") {
    sample.note = text_of(value, name);
  } else if (name == "point") {
    sample.point = point_of(value);
  } else if (name == "kernels") {
    if (!value.is_array()) refuse(name, "must be a list, got " + value.dump());
    for (const json& kernel : value) sample.kernels.push_back(text_of(kernel, name));
  } else if (name == "regime") {
    const auto regime = regime_named(text_of(value, name));
    if (!regime) refuse(name, "must be cool, sustained or unknown, got " + value.dump());
    sample.regime = *regime;
  } else if (name == "status") {
    const auto status = status_named(text_of(value, name));
    if (!status) refuse(name, "must be ok, out_of_memory, launch_failed, unsupported or suspect, got " + value.dump());
    sample.status = *status;
  } else if (name != "record") {
    refuse(name, "no member of a sample");
  }
}

const json& member_of(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) refuse(name, "missing");
  return *found;
}

void allow_only(const json& object, std::initializer_list<std::string_view> members) {
  for (const auto& [name, value] : object.items())
    if (std::find(members.begin(), members.end(), name) == members.end()) refuse(name, "unknown");
}

Record parse_object(const json& object) {
  const std::string& kind = text_of(member_of(object, "record"), "record");
  if (kind == "sample") {
    SampleRecord record;
    for (const char* needed : {"environment", "signature", "regime", "point"}) member_of(object, needed);
    for (const auto& [name, value] : object.items()) set_member(record, name, value);
    return record;
  }
  if (kind == "environment") {
    allow_only(object, {"record", "id", "environment"});
    return EnvironmentRecord{text_of(member_of(object, "id"), "id"),
                             oracle::parse_environment(member_of(object, "environment").dump())};
  }
  if (kind == "operator") {
    allow_only(object, {"record", "signature", "key"});
    return KeyRecord{oracle::Signature::from_hex(text_of(member_of(object, "signature"), "signature")),
                     oracle::parse_operator_key(member_of(object, "key").dump())};
  }
  if (kind != "plan" && kind != "collectives") refuse("record", "unknown kind '" + kind + "'");
  allow_only(object, {"record", "name", "json"});
  Document document{text_of(member_of(object, "name"), "name"),
                    oracle::canonical_form(member_of(object, "json").dump(), "json")};
  if (kind == "plan") return PlanRecord{std::move(document)};
  return CommRecord{std::move(document)};
}

}  // namespace

Record parse_any_spelling(std::string_view line) {
  try {
    return parse_object(json::parse(oracle::canonical_form(line, "line")));
  } catch (const StoreError&) {
    throw;
  } catch (const oracle::OracleError& error) {
    throw StoreError(error.what());
  }
}

}  // namespace dooly::store
