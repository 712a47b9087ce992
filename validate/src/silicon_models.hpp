#pragma once

#include "silicon_rows.hpp"

#include "oracle/model_config.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace dooly::validate {

/// config.json of the models that rows name, with the weight format that they were served in. Files are made in a
/// temporary directory that goes with the object.
class SiliconModels {
 public:
  struct Entry {
    std::filesystem::path config;  ///< empty: nobody has a configuration of that model
    oracle::ModelConfig model;
  };

  /// `folder` holds one folder a model, `ORG--NAME/config.json`.
  explicit SiliconModels(std::filesystem::path folder) : folder_(std::move(folder)) {}
  SiliconModels(const SiliconModels&) = delete;
  SiliconModels& operator=(const SiliconModels&) = delete;
  ~SiliconModels();

  /// `NAME-FP8` has the shape of `NAME` and weights of fp8 in blocks of 128 × 128. A plain checkpoint that was served
  /// in fp8 has one scale a tensor, as the engine's own quantisation while loading. One that is quantised already
  /// stays as it is. Valid until the object goes.
  const Entry& of(const SiliconRow& row);

 private:
  Entry make(const SiliconRow& row);

  std::filesystem::path folder_, made_;
  std::map<std::string, Entry> known_;
};

}  // namespace dooly::validate
