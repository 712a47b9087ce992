#pragma once

#include "profiling_taint/operator_record.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace dooly::profiling {

/// What signing reads from a recorded call. Names are those of the schema; "input|x" is the first that is there. Throws
/// ProfilingError naming operator and argument.
class CallReader {
 public:
  explicit CallReader(const OperatorRecord& record) : record_(record) {}

  bool has(std::string_view names) const;
  const TensorRecord& tensor(std::string_view names) const;
  std::size_t list_size(std::string_view name) const;
  const TensorRecord& list_item(std::string_view name, std::size_t index) const;
  /// Size of a dimension that the model decides; negative ones count from the end.
  std::uint64_t model_size(std::string_view names, int dim) const { return model_size(tensor(names), dim); }
  std::uint64_t model_size(const TensorRecord& tensor, int dim) const;
  const Expression& label(const TensorRecord& tensor, int dim) const;
  void check_rows(std::string_view names) const;  ///< the first dimension is one that a request decides
  void check_rows(const TensorRecord& tensor) const;
  std::string dtype(std::string_view names) const { return dtype_of(tensor(names)); }
  static std::string dtype_of(const TensorRecord& tensor);  ///< as keys write it
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;  ///< an integer too
  bool flag(std::string_view name) const;
  std::string text(std::string_view name) const;

 private:
  const Argument* argument(std::string_view names) const;
  const Dim& dim(const TensorRecord& tensor, int at) const;
  [[noreturn]] void fail(const std::string& what) const;
  const OperatorRecord& record_;
};

}  // namespace dooly::profiling
