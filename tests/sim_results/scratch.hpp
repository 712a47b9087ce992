#pragma once

#include "test_support/scratch.hpp"

namespace dooly::results {

using test::message_of;
using test::Scratch;
using test::text_of;

}  // namespace dooly::results
