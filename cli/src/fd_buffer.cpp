#include "fd_buffer.hpp"

#include <unistd.h>
#include <cerrno>

namespace dooly::cli {

FdBuffer::FdBuffer(int file) : file_(file) { setp(bytes_.data(), bytes_.data() + bytes_.size()); }

FdBuffer::int_type FdBuffer::overflow(int_type c) {
  if (sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(c, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(c);
    pbump(1);
  }
  return traits_type::not_eof(c);
}

int FdBuffer::sync() {
  for (const char* from = pbase(); error_ == 0 && from < pptr();) {
    const ssize_t written = ::write(file_, from, static_cast<std::size_t>(pptr() - from));
    if (written > 0)
      from += written;
    else if (errno != EINTR)
      error_ = errno;
  }
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  return error_ == 0 ? 0 : -1;
}

}  // namespace dooly::cli
