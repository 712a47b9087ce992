#include "archives.hpp"

#include "profiling_sweep/portable_archive.hpp"

namespace dooly::profiling {
namespace {

class PortableOpen final : public OpenArchive {
 public:
  explicit PortableOpen(const std::filesystem::path& file) : file_(file), archive_(file) {}
  void environment(const oracle::Environment& environment) override { archive_.environment(environment); }
  void sample(const oracle::OperatorKey& key, const oracle::Sample& sample) override { archive_.sample(key, sample); }
  std::vector<oracle::SampleSet> measured() const override { return archive_.measured(); }
  void links(const store::CommRecord& record) override { archive_.links(record); }
  void note(const std::string& json) override { archive_.note(json); }
  void close() override { archive_.finish(); }
  std::string where() const override { return file_.string(); }

 private:
  std::filesystem::path file_;
  PortableArchive archive_;
};

}  // namespace

std::unique_ptr<OpenArchive> open_portable(const std::filesystem::path& file) {
  return std::make_unique<PortableOpen>(file);
}

void refuse_unfillable(const std::filesystem::path& file) {
  const std::filesystem::path partial = file.string() + ".partial";
  if (!std::filesystem::exists(file) && !std::filesystem::exists(partial)) return;
  open_portable(file);
  std::error_code ignored;
  if (std::filesystem::file_size(partial, ignored) == 0) std::filesystem::remove(partial, ignored);
}

}  // namespace dooly::profiling
