#pragma once

#include "record_opener.hpp"

#include <string>

namespace dooly::cli {

/// A kernel library and its version, for samples that were measured before environments named it.
struct NamedLibrary {
  std::string name, version;
};

/// Of "NAME=VERSION". Throws UsageError for another word, or for what is no kernel library.
NamedLibrary named_library(const std::string& text, const std::string& option);

/// The records with that version in the environment of each sample that was measured with kernels of the library and
/// whose environment does not name it; and with the kernel family that symbols tell of, where samples have none. They
/// are read into memory. Throws UsageError if there is no such sample.
RecordOpener with_library(const RecordOpener& records, const NamedLibrary& library);

}  // namespace dooly::cli
