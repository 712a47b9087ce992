#pragma once

#include <array>
#include <cstddef>
#include <streambuf>

namespace dooly::cli {

/// Lets a std::ostream write to an open file and remembers why it failed, which std::ofstream does not tell. Does not
/// own the file.
class FdBuffer final : public std::streambuf {
 public:
  explicit FdBuffer(int file);
  int error() const { return error_; }  ///< errno of the first failure; 0: none

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  std::array<char, 1 << 16> bytes_;
  int file_;
  int error_ = 0;
};

}  // namespace dooly::cli
