#include "input_stream.hpp"

#include "oracle/text_file.hpp"
#include "workload/workload_error.hpp"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace dooly::workload {

/// Packed bytes from a file or from memory, through one buffer.
struct InputStream::Raw {
  std::FILE* file = nullptr;
  std::string name;
  std::string memory;
  std::vector<char> buffer;
  const char* next = nullptr;
  const char* end = nullptr;

  ~Raw() {
    if (file != nullptr) std::fclose(file);
  }
  /// Makes next < end unless at the end of the input.
  bool fill() {
    if (next != end) return true;
    if (file == nullptr) return false;
    errno = 0;
    const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file);
    if (got == 0 && std::ferror(file) != 0) throw WorkloadError(fmt::format("{}: {}", name, std::strerror(errno)));
    next = buffer.data();
    end = next + got;
    return got > 0;
  }
};

struct InputStream::Codec {
  virtual ~Codec() = default;
  /// As InputStream::read.
  virtual std::size_t read(Raw& raw, char* into, std::size_t size) = 0;
};

namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;

[[noreturn]] void damaged(const std::string& name, const char* kind, const char* what) {
  throw WorkloadError(fmt::format("{}: damaged {} archive: {}", name, kind, what));
}
[[noreturn]] void truncated(const std::string& name, const char* kind) {
  throw WorkloadError(fmt::format("{}: truncated {} archive: it ends before its end marker", name, kind));
}

}  // namespace

struct GzipCodec : InputStream::Codec {
  z_stream stream{};
  bool between_members = true;
  explicit GzipCodec(const std::string& name) {
    if (inflateInit2(&stream, 15 + 16) != Z_OK) damaged(name, "gzip", "zlib did not start");
  }
  ~GzipCodec() override { inflateEnd(&stream); }

  std::size_t read(InputStream::Raw& raw, char* into, std::size_t size) override {
    stream.next_out = reinterpret_cast<Bytef*>(into);
    stream.avail_out = static_cast<uInt>(size);
    while (stream.avail_out == size) {
      if (!raw.fill()) {
        if (!between_members) truncated(raw.name, "gzip");
        return 0;
      }
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(raw.next));
      stream.avail_in = static_cast<uInt>(raw.end - raw.next);
      between_members = false;
      const int status = inflate(&stream, Z_NO_FLUSH);
      raw.next = raw.end - stream.avail_in;
      if (status == Z_STREAM_END) {
        between_members = true;
        inflateReset(&stream);
        skip_padding(raw);
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        damaged(raw.name, "gzip", stream.msg != nullptr ? stream.msg : "bad data");
      }
    }
    return size - stream.avail_out;
  }
  /// Zero bytes after a member are padding (gzip's own rule).
  static void skip_padding(InputStream::Raw& raw) {
    while (raw.fill() && *raw.next == 0) ++raw.next;
  }
};

struct ZstdCodec : InputStream::Codec {
  ZSTD_DStream* stream = ZSTD_createDStream();
  bool between_frames = true;
  explicit ZstdCodec(const std::string& name) {
    if (stream == nullptr) damaged(name, "zstd", "zstd did not start");
    ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, 27);
  }
  ~ZstdCodec() override { ZSTD_freeDStream(stream); }

  std::size_t read(InputStream::Raw& raw, char* into, std::size_t size) override {
    ZSTD_outBuffer out{into, size, 0};
    while (out.pos == 0) {
      const bool more = raw.fill();
      if (!more && between_frames) return 0;
      ZSTD_inBuffer in{raw.next, static_cast<std::size_t>(raw.end - raw.next), 0};
      const std::size_t status = ZSTD_decompressStream(stream, &out, &in);
      if (ZSTD_isError(status) != 0) damaged(raw.name, "zstd", ZSTD_getErrorName(status));
      raw.next += in.pos;
      between_frames = status == 0;
      if (!more && out.pos == 0) truncated(raw.name, "zstd");
    }
    return out.pos;
  }
};

InputStream::InputStream(InputStream&&) noexcept = default;
InputStream& InputStream::operator=(InputStream&&) noexcept = default;
InputStream::~InputStream() = default;

InputStream::InputStream(std::string name, std::unique_ptr<Raw> raw) : name_(std::move(name)), raw_(std::move(raw)) {
  raw_->name = name_;
  if (!raw_->fill()) return;
  const auto has = [this](std::string_view magic) {
    return std::string_view(raw_->next, static_cast<std::size_t>(raw_->end - raw_->next)).starts_with(magic);
  };
  if (has("\x1f\x8b")) codec_ = std::make_unique<GzipCodec>(name_);
  if (has("\x28\xb5\x2f\xfd")) codec_ = std::make_unique<ZstdCodec>(name_);
}

InputStream InputStream::open(const std::filesystem::path& path) {
  auto raw = std::make_unique<Raw>();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw WorkloadError(path.string() + ": is a directory, not a file");
  raw->name = path.string();
  raw->file = oracle::open_for_reading(path);
  if (raw->file == nullptr) throw WorkloadError(fmt::format("{}: {}", path.string(), std::strerror(errno)));
  std::setvbuf(raw->file, nullptr, _IONBF, 0);
  raw->buffer.resize(kBufferBytes);
  return InputStream(path.string(), std::move(raw));
}

InputStream InputStream::from_memory(std::string name, std::string bytes) {
  auto raw = std::make_unique<Raw>();
  raw->memory = std::move(bytes);
  raw->next = raw->memory.data();
  raw->end = raw->next + raw->memory.size();
  return InputStream(std::move(name), std::move(raw));
}

std::size_t InputStream::read(char* into, std::size_t size) {
  if (codec_ != nullptr) return codec_->read(*raw_, into, size);
  if (!raw_->fill()) return 0;
  const std::size_t count = std::min(size, static_cast<std::size_t>(raw_->end - raw_->next));
  std::memcpy(into, raw_->next, count);
  raw_->next += count;
  return count;
}

}  // namespace dooly::workload
