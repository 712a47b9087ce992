#pragma once

#include "schema.hpp"

#include <utility>

namespace dooly::scenario {

/// Shorthand for the tables: one function per kind of value.

inline constexpr double kMany = 1e9;        // no count in a scenario is larger
inline constexpr double kMostTokens = 1e8;  // of one request
inline constexpr double kLongest = 1e9;     // seconds, some thirty years
inline constexpr double kSlowestRate = 1e-9;
inline constexpr double kFastestRate = 1e9;
inline constexpr double kFastestLink = 1e15;
inline constexpr double kLargestInteger = 9007199254740992.0;  // 2^53: exact in every reader of JSON and YAML

inline Key key(std::string_view name, Type type, std::string_view help) {
  Key made;
  made.name = name;
  made.type = type;
  made.help = help;
  return made;
}
inline Key text(std::string_view name, std::string_view help) { return key(name, Type::kText, help); }
inline Key identifier(std::string_view name, std::string_view help) { return key(name, Type::kIdentifier, help); }
inline Key path(std::string_view name, std::string_view help) { return key(name, Type::kPath, help); }
inline Key boolean(std::string_view name, std::string_view help) { return key(name, Type::kBool, help); }
inline Key options(std::string_view name, std::string_view help) { return key(name, Type::kOptions, help); }
inline Key integer(std::string_view name, double min, double max, std::string_view help) {
  Key made = key(name, Type::kInteger, help);
  made.min = min;
  made.max = max;
  return made;
}
inline Key number(std::string_view name, double min, double max, std::string_view help) {
  Key made = integer(name, min, max, help);
  made.type = Type::kNumber;
  return made;
}
inline Key quantity(std::string_view name, Dimension dimension, double min, double max, std::string_view help) {
  Key made = integer(name, min, max, help);
  made.type = Type::kQuantity;
  made.dimension = dimension;
  return made;
}
inline Key time(std::string_view name, std::string_view help) {
  return quantity(name, Dimension::kTime, 0, kLongest, help);
}
inline Key rate(std::string_view name, std::string_view help) {
  return quantity(name, Dimension::kRate, kSlowestRate, kFastestRate, help);
}
inline Key bandwidth(std::string_view name, std::string_view help) {
  return quantity(name, Dimension::kBandwidth, 0, kFastestLink, help).above_min();
}
inline Key choice(std::string_view name, std::vector<std::string_view> allowed, std::string_view help,
                  std::vector<std::string_view> not_built = {}) {
  Key made = key(name, Type::kEnum, help);
  made.allowed = std::move(allowed);
  made.not_built = std::move(not_built);
  return made;
}
inline Key object(std::string_view name, std::string_view of, std::string_view help) {
  Key made = key(name, Type::kObject, help);
  made.object = of;
  return made;
}
inline Key list(std::string_view name, Type item, std::string_view help) {
  Key made = key(name, Type::kList, help);
  made.item = item;
  return made;
}
inline Key objects(std::string_view name, std::string_view of, std::string_view help) {
  Key made = list(name, Type::kObject, help);
  made.object = of;
  return made;
}
inline Key tokens(std::string_view name, std::string_view help) { return object(name, "lengths", help); }

// The tables, by theme; schema() strings them together.
std::vector<Object> workload_objects();
std::vector<Object> cluster_objects();
std::vector<Object> pool_objects();

}  // namespace dooly::scenario
