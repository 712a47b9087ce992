#pragma once

#include "oracle/sample.hpp"
#include "oracle_profiled/attention_model.hpp"

namespace dooly::oracle {

/// What the model says of the batch that a sample's point describes.
AttentionModel::Result attention_at(const AttentionModel& model, const SamplePoint& point);

}  // namespace dooly::oracle
