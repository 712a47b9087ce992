#include "oracle/json_fault.hpp"

#include <nlohmann/json.hpp>

#include <set>
#include <vector>

namespace dooly::oracle {
namespace {

using nlohmann::json;

/// Hears what a parser meets. The parser's own callback is no way to do this: with one it looks through an array again
/// after each object in it, for members that the callback might have dropped.
class FaultFinder final : public nlohmann::json_sax<json> {
 public:
  explicit FaultFinder(int deepest) : deepest_(deepest) {}
  std::string take() { return std::move(fault_); }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(json::number_integer_t) override { return value(); }
  bool number_unsigned(json::number_unsigned_t) override { return value(); }
  bool number_float(json::number_float_t, const std::string&) override { return value(); }
  bool string(std::string&) override { return value(); }
  bool binary(json::binary_t&) override { return value(); }
  bool start_array(std::size_t) override { return open(); }
  bool start_object(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool end_object() override { return close(); }
  bool key(std::string& name) override {
    if (open_.back().insert(name).second) return value();
    fault_ = name + ": given twice";
    return false;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override { return false; }

 private:
  bool value() {
    if (open_.size() <= static_cast<std::size_t>(deepest_)) return true;
    fault_ = "nested deeper than " + std::to_string(deepest_) + " levels";
    return false;
  }
  bool open() {
    const bool fits = value();
    open_.emplace_back();
    return fits;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  int deepest_;
  std::vector<std::set<std::string>> open_;  ///< names in each object that is open; of an array none
  std::string fault_;
};

}  // namespace

std::string json_fault(std::string_view json, int deepest) {
  FaultFinder finder(deepest);
  nlohmann::json::sax_parse(json, &finder);
  return finder.take();
}

}  // namespace dooly::oracle
