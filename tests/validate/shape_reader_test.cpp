#include "engine_log_checks.hpp"

#include <gtest/gtest.h>

namespace dooly::validate {
namespace {

LoggedRequest request(std::uint32_t prompt, std::uint64_t group, std::uint32_t prefix) {
  LoggedRequest request;
  request.prompt = prompt;
  request.prefix_group = group;
  request.prefix_tokens = prefix;
  return request;
}

LoggedIteration iteration(std::vector<LoggedEntry> batch) {
  LoggedIteration iteration;
  iteration.batch = std::move(batch);
  return iteration;
}

/// Requests 0, 1 and 2 begin with the same 40 tokens, 3 with others, 4 with nothing that is known.
EngineLog log_of_groups() {
  EngineLog log;
  log.requests = {request(50, 1, 40), request(60, 1, 40), request(70, 1, 40), request(50, 2, 40), request(50, 3, 0)};
  return log;
}

// Of 40 tokens two blocks of 16 are whole. Request 2 has still to compute them: 0 and 1 hold 32 tokens once.
TEST(ShapeReader, WholeBlocksOfAPrefixAreSharedByWhoComputedThem) {
  const EngineLog log = log_of_groups();
  ShapeReader reader(log);
  const LoggedIteration prompts = iteration({{0, 50, 0}, {1, 60, 0}, {3, 50, 0}, {4, 50, 0}});
  EXPECT_EQ(reader.next(prompts).shape.shared_tokens, 0U);
  const oracle::BatchShape& shape =
      reader.next(iteration({{0, 1, 50}, {1, 1, 60}, {2, 16, 16}, {3, 1, 50}, {4, 1, 50}})).shape;
  EXPECT_EQ(shape.decodes, 4U);
  EXPECT_EQ(shape.prefill_tokens, 16U);
  EXPECT_EQ(shape.shared_tokens, 32U);
  EXPECT_EQ(shape.repeated_tokens, 32U);
}

TEST(ShapeReader, EveryFurtherHolderRepeatsThem) {
  const EngineLog log = log_of_groups();
  ShapeReader reader(log);
  const oracle::BatchShape& shape = reader.next(iteration({{0, 18, 32}, {1, 28, 32}, {2, 38, 32}})).shape;
  EXPECT_EQ(shape.shared_tokens, 32U);
  EXPECT_EQ(shape.repeated_tokens, 64U);
}

TEST(ShapeReader, NobodySharesAlone) {
  const EngineLog log = log_of_groups();
  ShapeReader reader(log);
  const oracle::BatchShape& shape = reader.next(iteration({{0, 18, 32}, {3, 18, 32}, {4, 18, 32}})).shape;
  EXPECT_EQ(shape.shared_tokens, 0U);
  EXPECT_EQ(shape.repeated_tokens, 0U);
}

}  // namespace
}  // namespace dooly::validate
