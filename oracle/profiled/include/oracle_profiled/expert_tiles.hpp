#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace dooly::oracle {

inline constexpr std::string_view kExpertTilesFamily = "triton-fused-moe";

/// How the work of vLLM's fused expert kernel (`triton-fused-moe`) grows with the tokens. Each expert's rows are
/// computed in tiles, of 128 rows where there are so many, and a tile begun costs nearly what a full one does: 514
/// tokens of Mixtral-8x7B, balanced, take a quarter longer than 512. An expert without rows has none, so its weights
/// are not read.
class ExpertTiles {
 public:
  static constexpr double kRows = 128;
  /// Tiles of one expert beyond which one more is no step worth telling: there, a random router takes what balanced
  /// tokens do.
  static constexpr double kMostTiles = 64;
  static constexpr double kMostExperts = 65536;
  /// Of all `experts`, each token chooses `per_token`.
  ExpertTiles(double experts, double per_token) : experts_(experts), per_token_(per_token) {}

  /// Whether such a layer can exist: 1 ≤ per_token ≤ experts ≤ kMostExperts. What is asked of others has no meaning.
  bool are_possible() const { return per_token_ >= 1 && per_token_ <= experts_ && experts_ <= kMostExperts; }
  /// Tiles of all experts if no two have rows that differ by more than one.
  double balanced(double tokens) const;
  /// Grows as the time of balanced tokens does, in tiles.
  double progress(double tokens) const;
  /// Time under a router that chooses at random, of what balanced tokens take: as likely as an expert has a number of
  /// tiles there, it takes what it takes at the nearest number of tokens with that many each.
  double random_seconds(double tokens, const std::function<double(double)>& balanced_seconds) const;
  /// Numbers of tokens, ascending, between which a random router's time is nearly linear: some 1,500 at most.
  std::vector<double> random_places(double most_tokens) const;
  /// Experts that a random router hits over those that balanced tokens do; 1 for experts that are not possible.
  double random_over_balanced(double tokens) const;

 private:
  double tokens_at(double rows) const { return rows * experts_ / per_token_; }

  double experts_, per_token_;
};

}  // namespace dooly::oracle
