#pragma once

#include "oracle/batch_shape.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dooly::cli {

/// A batch with its chunks.
struct BatchOnPaper {
  oracle::BatchShape shape;  ///< without `prefills`: see batch()
  std::vector<oracle::PrefillChunk> chunks;

  oracle::BatchShape batch() const;
  /// False, and nothing is added: the squares of the contexts would not fit 64 bits.
  [[nodiscard]] bool add_decodes(std::uint64_t count, std::uint64_t context);
  void add_prefill(std::uint32_t query, std::uint32_t context);  ///< samples: its prompt is then done
  /// `count` of the requests, two or more, have `tokens` of their contexts in the same KV blocks. Each group adds its
  /// own: of a prefix that all have and a longer one that some have, the longer one's further tokens.
  void add_shared(std::uint64_t count, std::uint64_t tokens);
  /// What the groups say that the requests cannot do; empty: nothing. To be asked when all is added.
  std::string shared_fault() const;

 private:
  struct Tokens {
    std::uint64_t tokens, requests;
  };
  std::vector<Tokens> contexts_, shared_;
  std::uint64_t most_holders_ = 0;
};

/// Reads '2x512@0 + 32x1@1024 + 8 share 512': COUNTxQUERY@CONTEXT terms. A query of 1 on a context is a decode, all
/// else a prefill chunk that ends its prompt. COUNT share TOKENS: add_shared(). Throws UsageError naming the term.
BatchOnPaper parse_batch(std::string_view text);

}  // namespace dooly::cli
