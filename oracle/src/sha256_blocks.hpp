#pragma once

#include <cstddef>
#include <cstdint>

namespace dooly::oracle {

// The compression function of SHA-256 over blocks of 64 bytes, twice: with the processor's own instructions it is about
// eight times as fast. Both give the same state, as it is all integers.

void sha256_blocks_plainly(std::uint32_t* state, const std::uint8_t* blocks, std::size_t count);
/// Only where has_sha256_instructions().
void sha256_blocks_by_instructions(std::uint32_t* state, const std::uint8_t* blocks, std::size_t count);
bool has_sha256_instructions();

}  // namespace dooly::oracle
