#include "file_seal.hpp"

#include "files/errors.hpp"
#include "files/whole_file.hpp"
#include "xxh64.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

namespace dooly::store {
namespace {

constexpr const char *kName = "SEAL", *kAside = "SEAL.aside";

/// Checksum of a file's pieces, chained; constant memory.
std::uint64_t checksum_of(const std::filesystem::path& path) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  if (!file) throw StoreError(path.string() + ": cannot be read");
  std::vector<char> buffer(1 << 20);
  std::uint64_t sum = 0;
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), file.get()))
    sum = xxh64({buffer.data(), size}, sum);
  if (std::ferror(file.get())) throw StoreError(path.string() + ": cannot be read");
  return sum;
}

/// The files that a seal covers.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && name != "LOCK" && !name.starts_with(kName)) files.push_back(entry.path());
  }
  return files;
}

}  // namespace

std::string FileSeal::text() const {
  std::string lines;
  for (const auto& [name, entry] : entries_) lines += fmt::format("{:016x} {} {}\n", entry.checksum, entry.size, name);
  return lines + fmt::format("{:016x}\n", xxh64(lines));
}

FileSeal FileSeal::read(const std::filesystem::path& directory) {
  std::ifstream file(directory / kName, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  FileSeal seal;
  std::string line;
  while (std::getline(content, line)) {
    std::istringstream words(line);
    Entry entry;
    std::string name;
    if (words >> std::hex >> entry.checksum >> std::dec >> entry.size >> name) seal.entries_[name] = entry;
  }
  return seal.text() == content.str() ? seal : FileSeal{};
}

FileSeal FileSeal::of(const std::filesystem::path& directory, const FileSeal& previous) {
  FileSeal seal;
  for (const std::filesystem::path& path : files_in(directory)) {
    const std::string name = path.filename().string();
    const std::uintmax_t size = std::filesystem::file_size(path);
    const auto known = previous.entries_.find(name);
    const bool same = known != previous.entries_.end() && name.ends_with(".sst") && known->second.size == size;
    seal.entries_[name] = {size, same ? known->second.checksum : checksum_of(path)};
  }
  return seal;
}

void FileSeal::write(const std::filesystem::path& directory) const {
  try {
    files::WholeFile file(directory / kName);
    file.write(text());
    file.sync();
    file.finish();
  } catch (const files::NameRefused& error) {
    throw StoreError(error.what());
  } catch (const files::WriteFailed& error) {
    throw StoreWriteFailed(error.what());
  }
}

bool FileSeal::is_there(const std::filesystem::path& directory) { return std::filesystem::exists(directory / kName); }

void FileSeal::set_aside(const std::filesystem::path& directory) {
  std::error_code ignored;  // where nothing can be written the writer will be told
  std::filesystem::rename(directory / kName, directory / kAside, ignored);
}

void FileSeal::put_back(const std::filesystem::path& directory) {
  std::error_code ignored;
  std::filesystem::rename(directory / kAside, directory / kName, ignored);
}

void FileSeal::remove(const std::filesystem::path& directory) {
  for (const char* name : {kAside, kName}) std::filesystem::remove(directory / name);
}

std::vector<Damage> FileSeal::check(const std::filesystem::path& directory) {
  if (!is_there(directory)) return {};
  const FileSeal sealed = read(directory);
  if (sealed.entries_.empty()) return {{"file", kName, "does not match its own checksum"}};
  std::vector<Damage> damages;
  for (const auto& [name, entry] : sealed.entries_) {
    const std::filesystem::path path = directory / name;
    if (!std::filesystem::exists(path))
      damages.push_back({"file", name, "is missing"});
    else if (const std::uintmax_t size = std::filesystem::file_size(path); size != entry.size)
      damages.push_back({"file", name, fmt::format("has {} bytes, was closed with {}", size, entry.size)});
    else if (checksum_of(path) != entry.checksum)
      damages.push_back({"file", name, "its bytes differ from those that were written"});
  }
  if (!is_there(directory)) return {};  // a writer has come
  return damages;
}

}  // namespace dooly::store
