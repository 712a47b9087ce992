#pragma once

#include "command.hpp"

namespace dooly::cli {

// Subcommands of `dooly store`.
Command store_ls_command();
Command store_show_command();
Command store_fit_command();
Command store_stat_command();
Command store_import_command();
Command store_export_command();
Command store_merge_command();
Command store_diff_command();
Command store_verify_command();

}  // namespace dooly::cli
