#pragma once

#include "scenarios/document.hpp"
#include "schema.hpp"

#include <functional>
#include <string_view>
#include <vector>

namespace dooly::scenario {

/// Brings what may be written shorter to one shape, so that merging and reading see no alternatives: plain values that
/// stand for a map, one member that stands for a list, dashes in engine arguments.
void normalise(Node& node, const Object& object, std::vector<Problem>& problems);
void normalise_value(Node& node, const Key& key, std::vector<Problem>& problems);

/// The short form's `model`, `tp`, `replicas`, `engine`, `scheduler`, `router` become pool `main`.
void expand_pools(Node& scenario, std::vector<Problem>& problems);
/// `like: OTHER` in a pool: a deep merge over a copy of the other.
void merge_likes(Node& scenario, std::vector<Problem>& problems);
/// The short form's `gpu` becomes a cluster that holds the pools.
void expand_cluster(Node& scenario, std::vector<Problem>& problems);
/// Without an oracle: the shipped store of the cluster's only kind of GPU, the roofline behind it.
void expand_oracle(Node& scenario, const std::function<std::string(const std::string& gpu)>& shipped_store);

}  // namespace dooly::scenario
