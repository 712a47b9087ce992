#include "whole_output.hpp"

#include "interrupts.hpp"

#include "files/errors.hpp"
#include "files/whole_directory.hpp"
#include "oracle_store/store_error.hpp"

#include <string>

namespace dooly::cli {
namespace {

struct Stopped {};

}  // namespace

void write_whole_directory(const std::filesystem::path& path,
                           const std::function<void(const std::filesystem::path&, const GoOn&)>& fill) {
  const Interrupts interrupts;
  const GoOn go_on = [&] {
    if (interrupts.flag()) throw Stopped();
  };
  const auto nothing_was = [&](const std::exception& error) {
    return files::WriteFailed(path.string() + ": nothing was written: " + error.what());
  };
  try {
    files::WholeDirectory whole(path);
    fill(whole.temporary(), go_on);
    go_on();
    whole.finish();
  } catch (const Stopped&) {
    interrupts.end_process();
  } catch (const store::StoreWriteFailed& error) {
    throw nothing_was(error);
  } catch (const files::WriteFailed& error) {
    throw nothing_was(error);
  }
}

}  // namespace dooly::cli
