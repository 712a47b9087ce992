#include "oracle/sha256.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <vector>

#include "sha256_blocks.hpp"
#include "test_support/scratch.hpp"

namespace dooly::oracle {
namespace {

using test::message_of;
using test::Scratch;

// vectors of FIPS 180-2, appendix B, and of the empty message
constexpr const char* kOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kOfTwoBlocks = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
constexpr const char* kOfAMillionAs = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, KnownVectors) {
  EXPECT_EQ(sha256_hex(""), kOfNothing);
  EXPECT_EQ(sha256_hex("abc"), kOfAbc);
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), kOfTwoBlocks);
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')), kOfAMillionAs);
}

TEST(Sha256, PiecesOfAnySizeGiveTheSameDigest) {
  const std::string text(1000, 'x');
  const std::string whole = sha256_hex(text);
  for (std::size_t piece = 1; piece <= 130; ++piece) {
    Sha256 hash;
    for (std::size_t at = 0; at < text.size(); at += piece) hash.update(std::string_view(text).substr(at, piece));
    EXPECT_EQ(hash.finish_hex(), whole) << piece;
  }
}

TEST(Sha256, ProcessorsInstructionsGiveTheSame) {
  if (!has_sha256_instructions()) GTEST_SKIP() << "this processor has no SHA instructions";
  std::mt19937 random(1);
  std::vector<std::uint8_t> blocks(64 * 50);
  for (std::uint8_t& byte : blocks) byte = static_cast<std::uint8_t>(random());
  for (std::size_t count = 0; count <= 50; ++count) {
    std::array<std::uint32_t, 8> plain = {1, 2, 3, 4, 5, 6, 7, 0xffffffff}, fast = plain;
    sha256_blocks_plainly(plain.data(), blocks.data(), count);
    sha256_blocks_by_instructions(fast.data(), blocks.data(), count);
    ASSERT_EQ(plain, fast) << count;
  }
}

TEST(Sha256, StartsAnewAfterADigest) {
  Sha256 hash;
  EXPECT_EQ(hash.update("abc").finish_hex(), kOfAbc);
  EXPECT_EQ(hash.finish_hex(), kOfNothing);
}

TEST(Sha256, HashesFiles) {
  const Scratch scratch;
  std::ofstream(scratch / "a") << std::string(1'000'000, 'a');
  EXPECT_EQ(sha256_file(scratch / "a"), kOfAMillionAs);
  EXPECT_NE(message_of<std::runtime_error>([&] { sha256_file(scratch / "absent"); }).find("absent: cannot read"),
            std::string::npos);
}

}  // namespace
}  // namespace dooly::oracle
