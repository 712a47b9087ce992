#include "oracle/gpu.hpp"

#include "oracle/oracle_error.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace dooly::oracle {

namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kGiB = 1024.0 * kMiB;
constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

// Peaks: the vendor's data sheet named in `source`, dense. Memory: what programs are told (cudaMemGetInfo, as engines
// print it at start-up), a little less than nvidia-smi's total. H200's is measured (0.92 of it is 128.62 GiB), the
// others are from start-up logs and out-of-memory messages in public issue trackers and may differ by some MiB between
// drivers.
constexpr std::array kGpus{
    Gpu{"A100-PCIe-80GB", 79.15 * kGiB, 1935 * kGiga, 312 * kTera, 0, 19.5 * kTera, 32 * kGiga, false, true, 108, 300,
        "NVIDIA A100 data sheet, June 2021; PCIe 4.0 x16"},
    Gpu{"A100-SXM-40GB", 39.39 * kGiB, 1555 * kGiga, 312 * kTera, 0, 19.5 * kTera, 300 * kGiga, true, true, 108, 400,
        "NVIDIA A100 data sheet, 2020; NVLink 3: 600 GB/s both directions"},
    Gpu{"A100-SXM-80GB", 79.15 * kGiB, 2039 * kGiga, 312 * kTera, 0, 19.5 * kTera, 300 * kGiga, true, true, 108, 400,
        "NVIDIA A100 data sheet, June 2021; NVLink 3: 600 GB/s both directions"},
    Gpu{"A30", 23.50 * kGiB, 933 * kGiga, 165 * kTera, 0, 10.3 * kTera, 32 * kGiga, false, true, 56, 165,
        "NVIDIA A30 data sheet, 2022; PCIe 4.0 x16, no NVLink bridge"},
    Gpu{"A40", 44.34 * kGiB, 696 * kGiga, 149.7 * kTera, 0, 37.4 * kTera, 32 * kGiga, false, true, 84, 300,
        "NVIDIA A40 data sheet, 2022; PCIe 4.0 x16, no NVLink bridge"},
    Gpu{"A800-SXM-80GB", 79.15 * kGiB, 2039 * kGiga, 312 * kTera, 0, 19.5 * kTera, 200 * kGiga, true, true, 108, 400,
        "NVIDIA A800: an A100-SXM-80GB with NVLink 3 at 400 GB/s both directions"},
    Gpu{"Arc-Pro-B60", 22.67 * kGiB, 456 * kGiga, 98.3 * kTera, 0, 12.28 * kTera, 32 * kGiga, false, true, 20, 200,
        "Intel Arc Pro B60 product page, 2025: 20 Xe cores, 197 TOPS of int8, halved for 16 bits, no fp8; PCIe 5.0 x8; "
        "memory: 17/18 of 24 GiB, the share that drivers of Arc cards offer (11.33 GiB of a B580)"},
    Gpu{"B200", 178.35 * kGiB, 7700 * kGiga, 2250 * kTera, 4500 * kTera, 75 * kTera, 900 * kGiga, true, true, 148, 1000,
        "NVIDIA Blackwell data sheet, HGX B200, halved for dense; NVLink 5: 1,800 GB/s both directions"},
    Gpu{"B300", 267.7 * kGiB, 7750 * kGiga, 2250 * kTera, 4500 * kTera, 75 * kTera, 900 * kGiga, true, true, 148, 1100,
        "NVIDIA HGX B300 data sheet, halved for dense; memory: 275,040 MiB less driver share"},
    Gpu{"CPU", 16 * kGiB, 40 * kGiga, 1 * kTera, 0, 1 * kTera, 10 * kGiga, false, true, 1, 100,
        "any processor: round figures, no data sheet; profile your own (dooly profile --help)"},
    Gpu{"GB200", 184.3 * kGiB, 8000 * kGiga, 2500 * kTera, 5000 * kTera, 80 * kTera, 900 * kGiga, true, true, 152, 1200,
        "NVIDIA GB200 NVL72 data sheet, per GPU, halved for dense; memory: 189,471 MiB less driver share"},
    Gpu{"GB300", 276.6 * kGiB, 8000 * kGiga, 2500 * kTera, 5000 * kTera, 80 * kTera, 900 * kGiga, true, true, 152, 1400,
        "NVIDIA GB300 NVL72 data sheet, per GPU, halved for dense; memory: 284,208 MiB less driver share"},
    Gpu{"H100-PCIe", 79.18 * kGiB, 2000 * kGiga, 756.5 * kTera, 1513 * kTera, 51 * kTera, 64 * kGiga, false, true, 114,
        350, "NVIDIA H100 data sheet, 2023; PCIe 5.0 x16, no NVLink bridge"},
    Gpu{"H100-SXM", 79.19 * kGiB, 3350 * kGiga, 989 * kTera, 1979 * kTera, 67 * kTera, 450 * kGiga, true, true, 132,
        700, "NVIDIA H100 data sheet, 2023; NVLink 4: 900 GB/s both directions"},
    Gpu{"H20", 95.22 * kGiB, 4000 * kGiga, 148 * kTera, 296 * kTera, 44 * kTera, 450 * kGiga, true, true, 78, 500,
        "NVIDIA H20 product brief, 96 GB; NVLink 4: 900 GB/s both directions"},
    Gpu{"H200-SXM", 143156 * kMiB, 4800 * kGiga, 989 * kTera, 1979 * kTera, 67 * kTera, 450 * kGiga, true, true, 132,
        700, "NVIDIA H200 data sheet, 2024; NVLink 4: 900 GB/s both directions; memory as the driver offers it"},
    Gpu{"H800-SXM", 79.19 * kGiB, 3350 * kGiga, 989 * kTera, 1979 * kTera, 67 * kTera, 200 * kGiga, true, true, 132,
        700, "NVIDIA H800: an H100-SXM with NVLink 4 at 400 GB/s both directions"},
    Gpu{"L4", 22.05 * kGiB, 300 * kGiga, 121 * kTera, 242 * kTera, 30.3 * kTera, 32 * kGiga, false, true, 58, 72,
        "NVIDIA L4 data sheet, 2023, halved for dense; PCIe 4.0 x16"},
    Gpu{"L40S", 44.40 * kGiB, 864 * kGiga, 362.05 * kTera, 733 * kTera, 91.6 * kTera, 32 * kGiga, false, true, 142, 350,
        "NVIDIA L40S data sheet, 2023; PCIe 4.0 x16"},
    Gpu{"MI300X", 191.98 * kGiB, 5300 * kGiga, 1307.4 * kTera, 2614.9 * kTera, 163.4 * kTera, 448 * kGiga, true, true,
        304, 750, "AMD Instinct MI300X data sheet, 2023; Infinity Fabric: 7 links of 64 GB/s a direction"},
    Gpu{"RTX-4090", 23.64 * kGiB, 1008 * kGiga, 165.2 * kTera, 330.3 * kTera, 82.6 * kTera, 32 * kGiga, false, true,
        128, 450, "NVIDIA Ada architecture white paper v2, FP32 accumulation, dense; PCIe 4.0 x16"},
    Gpu{"RTX-A6000", 47.53 * kGiB, 768 * kGiga, 154.8 * kTera, 0, 38.7 * kTera, 32 * kGiga, false, true, 84, 300,
        "NVIDIA RTX A6000 data sheet, 2021, dense; PCIe 4.0 x16"},
    Gpu{"RTX-PRO-6000", 97250 * kMiB, 1792 * kGiga, 467.8 * kTera, 935.6 * kTera, 117 * kTera, 64 * kGiga, false, true,
        188, 600, "NVIDIA RTX PRO 6000 Blackwell Server Edition data sheet, dense; PCIe 5.0 x16"},
    Gpu{"V100-SXM-32GB", 31.74 * kGiB, 900 * kGiga, 125 * kTera, 0, 15.7 * kTera, 150 * kGiga, true, false, 80, 300,
        "NVIDIA V100 data sheet, 2020; NVLink 2: 300 GB/s both directions; no bfloat16"},
};

constexpr std::string_view kProcessor = "CPU";

struct Alias {
  std::string_view alias;
  std::string_view name;
};
constexpr std::array kAliases{
    Alias{"A100", "A100-SXM-80GB"},
    Alias{"A100-80GB", "A100-SXM-80GB"},
    Alias{"A100-SXM", "A100-SXM-80GB"},
    Alias{"A100-40GB", "A100-SXM-40GB"},
    Alias{"A100-PCIe", "A100-PCIe-80GB"},
    Alias{"A6000", "RTX-A6000"},
    Alias{"A800", "A800-SXM-80GB"},
    Alias{"B60", "Arc-Pro-B60"},
    Alias{"B200-SXM", "B200"},
    Alias{"B300-SXM", "B300"},
    Alias{"H100", "H100-SXM"},
    Alias{"H200", "H200-SXM"},
    Alias{"H800", "H800-SXM"},
    Alias{"RTX4090", "RTX-4090"},
    Alias{"V100", "V100-SXM-32GB"},
    Alias{"RTX-PRO-6000-Server", "RTX-PRO-6000"},
};

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); };
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

double peak_flops(const Gpu& gpu, DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return gpu.flops_32;
    case DType::kFp8: return gpu.flops_8 > 0 ? gpu.flops_8 : gpu.flops_16;
    case DType::kFloat16:
    case DType::kBfloat16:
    case DType::kMxfp4: return gpu.flops_16;  // mxfp4 weights are widened before they are multiplied
  }
  throw OracleError("unknown number format");
}

std::span<const Gpu> shipped_gpus() { return kGpus; }

const Gpu& find_gpu(std::string_view name) {
  std::string_view wanted = name;
  for (const Alias& alias : kAliases) {
    if (same_name(alias.alias, name)) wanted = alias.name;
  }
  if (name.starts_with("CPU ")) wanted = kProcessor;
  std::string known;
  for (const Gpu& gpu : kGpus) {
    if (same_name(gpu.name, wanted)) return gpu;
    known += known.empty() ? "" : ", ";
    known += gpu.name;
  }
  throw OracleError(fmt::format("unknown GPU '{}'; known: {}", name, known));
}

bool is_processor(const Gpu& gpu) { return gpu.name == kProcessor; }

DType resolve_dtype(std::string_view requested, DType checkpoint, const Gpu& gpu) {
  if (requested == "auto" || requested.empty()) {
    const bool narrow = checkpoint == DType::kFloat16 || checkpoint == DType::kBfloat16;
    const DType wanted = narrow ? checkpoint : DType::kBfloat16;
    return wanted == DType::kBfloat16 && !gpu.has_bfloat16 ? DType::kFloat16 : wanted;
  }
  const DType dtype = parse_dtype(requested);
  if (dtype == DType::kFp8 || dtype == DType::kMxfp4) {
    throw OracleError(fmt::format("dtype: must be auto, bfloat16, float16 or float32, got {}", requested));
  }
  if (dtype == DType::kBfloat16 && !gpu.has_bfloat16) {
    throw OracleError(fmt::format("dtype: {} has no bfloat16; use float16", gpu.name));
  }
  return dtype;
}

DType resolve_kv_dtype(std::string_view requested, DType dtype) {
  if (requested == "auto" || requested.empty()) return dtype;
  const DType kv_dtype = parse_dtype(requested);
  if (kv_dtype == DType::kMxfp4) {
    throw OracleError("kv_cache_dtype: must be auto, bfloat16, float16, float32 or fp8, got mxfp4");
  }
  return kv_dtype;
}

}  // namespace dooly::oracle
