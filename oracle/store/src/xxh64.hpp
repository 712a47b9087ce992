#pragma once

#include <cstdint>
#include <string_view>

namespace dooly::store {

/// XXH64 (xxHash specification 0.1.1), little-endian machines: a fast checksum, no protection against forgery.
std::uint64_t xxh64(std::string_view bytes, std::uint64_t seed = 0);

}  // namespace dooly::store
