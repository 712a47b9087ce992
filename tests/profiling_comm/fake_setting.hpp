#pragma once

#include <cstdlib>
#include <string>

namespace dooly::profiling {

/// Sets a variable for what is started while it lives.
class FakeSetting {
 public:
  FakeSetting(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) {
      had_ = true;
      before_ = old;
    }
    ::setenv(name, value.c_str(), 1);
  }
  ~FakeSetting() {
    if (had_)
      ::setenv(name_, before_.c_str(), 1);
    else
      ::unsetenv(name_);
  }
  FakeSetting(const FakeSetting&) = delete;
  FakeSetting& operator=(const FakeSetting&) = delete;

 private:
  const char* name_;
  bool had_ = false;
  std::string before_;
};

}  // namespace dooly::profiling
