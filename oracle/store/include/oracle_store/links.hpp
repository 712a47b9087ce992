#pragma once

#include "oracle/environment.hpp"
#include "oracle_store/record.hpp"

#include <string>
#include <vector>

namespace dooly::store {

class RecordSet;

/// What links the GPUs of a machine, by pair: links[i][j] for i < j, as "nvlink4x18 via nvswitch" or "pcie5x16 phb".
using LinkTexts = std::vector<std::vector<std::string>>;

/// What collectives of `environment` ran over, as a record of family comm: `gpu`, `topology`, and, where they were read
/// from the machine, `gpus` and the matrix `links`. Its name is made of the first three, so that one machine gives one
/// record, whatever its driver.
CommRecord links_record(const oracle::Environment& environment, const LinkTexts& links = {});

/// The records of all environments of collectives that have none: what importers were told, or said.
void add_links(RecordSet& records);

}  // namespace dooly::store
