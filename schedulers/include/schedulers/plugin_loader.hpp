#pragma once

#include "dooly/sdk/plugin.hpp"

#include <filesystem>

namespace dooly::schedulers {

/// Loads a plug-in library, or finds it loaded already, and checks it: the file, its exported function, ABI number,
/// compiler tag, names and option schemas. Throws ComponentError that names the path and what is wrong.
/// A library that passed stays loaded until the process ends, so that what it created may live as long as it likes; its
/// symbols are its own (RTLD_LOCAL).
const sdk::DoolyPlugin& load_plugin(const std::filesystem::path& path);

}  // namespace dooly::schedulers
