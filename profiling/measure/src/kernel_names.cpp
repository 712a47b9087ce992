#include "kernel_names.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace dooly::profiling {

namespace {

// CUPTI 13: cupti_callbacks.h, cupti_driver_cbid.h.
constexpr int kDriverCalls = 1;  // CUPTI_CB_DOMAIN_DRIVER_API
constexpr std::array kLaunches = {307U, 442U, 477U, 478U, 652U, 653U};  // cuLaunch{Kernel,CooperativeKernel,KernelEx}

/// Head of CUpti_CallbackData.
struct CallbackData {
  int site;  // 0: on entry
  const char* function;
  const void* parameters;
  void* result;
  const char* symbol;
};

}  // namespace

KernelNames::KernelNames() : library_("libcupti.so.13") {
  using Callback = void (*)(void*, int, unsigned, const void*);
  auto* subscribe = library_.find<int(void**, Callback, void*)>("cuptiSubscribe");
  if (subscribe == nullptr || subscribe(&subscriber_, &KernelNames::heard, this) != 0) {
    subscriber_ = nullptr;
  }
}

KernelNames::~KernelNames() {
  auto* unsubscribe = library_.find<int(void*)>("cuptiUnsubscribe");
  if (subscriber_ != nullptr && unsubscribe != nullptr) {
    unsubscribe(subscriber_);
  }
}

void KernelNames::heard(void* self, int domain, unsigned call, const void* data) {
  const auto* info = static_cast<const CallbackData*>(data);
  if (domain != kDriverCalls || std::find(kLaunches.begin(), kLaunches.end(), call) == kLaunches.end() ||
      info->site != 0 || info->symbol == nullptr) {
    return;
  }
  auto& names = static_cast<KernelNames*>(self)->names_;
  if (std::find(names.begin(), names.end(), info->symbol) == names.end()) {
    names.emplace_back(info->symbol);
  }
}

void KernelNames::listen(bool on) {
  auto* enable = library_.find<int(std::uint32_t, void*, int, unsigned)>("cuptiEnableCallback");
  if (enable == nullptr) {
    return;
  }
  for (const unsigned call : kLaunches) {
    enable(on ? 1 : 0, subscriber_, kDriverCalls, call);
  }
}

std::vector<std::string> KernelNames::of(const std::function<void()>& launch) {
  names_.clear();
  if (subscriber_ == nullptr) {
    return {};
  }
  listen(true);
  try {
    launch();
  } catch (...) {
    listen(false);
    throw;
  }
  listen(false);
  return std::move(names_);
}

}  // namespace dooly::profiling
