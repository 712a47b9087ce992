#include "verb_store.hpp"

#include "documentation.hpp"
#include "verbs.hpp"

namespace dooly::cli {

Command store_command() {
  Command command{.name = "store", .purpose = "the store of measured operators: look, import, export, compare, check"};
  command.details =
      "A STORE is a directory (RocksDB), or a file in the portable form (.jsonl.zst) that machines exchange.\n"
      "Both are described in " +
      documentation("store-format.md") + ".\n";
  command.subcommands = {store_ls_command(),    store_show_command(),   store_stat_command(),
                         store_fit_command(),   store_import_command(), store_export_command(),
                         store_merge_command(), store_diff_command(),   store_verify_command()};
  return command;
}

}  // namespace dooly::cli
