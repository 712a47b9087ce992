#pragma once

#include "workload/trace_reader.hpp"

#include <span>
#include <string_view>

namespace dooly::workload {

/// What a field of a file says about a request.
enum class Meaning : std::uint8_t {
  kNothing,
  kArrival,
  kPrompt,
  kOutput,
  kId,
  kClass,
  kPriority,
  kSession,
  kTurn,
  kAfter,
  kDeadline,
  kPrefixId,
  kPrefixTokens,
  kBlockIds,
  kBlockSize
};

struct FieldRule {
  std::string_view name;
  Meaning meaning;
  bool required = false;
  double per_second = 1;  ///< times: units of the file in a second; 0: date and time of day
};

/// Everything in which one row format differs from another.
struct TraceFormat {
  enum class Encoding { kCsv, kJsonLines, kEither };
  enum class BlockCount { kNone, kCeil, kFloorOrCeil };  ///< how many block ids a prompt has
  std::string_view name;
  Encoding encoding;
  std::span<const FieldRule> fields;
  std::uint32_t block_size = 0;
  BlockCount block_count = BlockCount::kNone;
  bool skip_empty_outputs = false;    ///< a row without output tokens is a failed request, not an error
  bool refuse_unknown_fields = false;
  bool from_first_row = false;        ///< times count from the first row's

  const FieldRule* find(std::string_view field) const;
  /// "; did you mean 'prompt_tokens'; known: arrival_s …" for a field that it does not have.
  std::string known_fields(std::string_view unknown) const;
};

/// The row formats (all but vllm-bench and servegen); null if there is none of that name.
const TraceFormat* row_format(std::string_view name);

/// Puts the text of one field into a row. Throws what `reader.refuse` does.
class FieldSetter {
 public:
  FieldSetter(const TraceFormat& format, const TraceReader& reader) : format_(format), reader_(reader) {}
  void set(TraceRow& row, const FieldRule& rule, std::string_view text);
  /// Checks that fields agree once all are set.
  void check(const TraceRow& row) const;

 private:
  double time(const TraceRow& row, const FieldRule& rule, std::string_view text);
  void check_blocks(const TraceRow& row) const;
  const TraceFormat& format_;
  const TraceReader& reader_;
  std::optional<std::int64_t> first_ns_;   ///< of times that are dates
};

/// Nanoseconds since 1970 of `2023-11-16 18:17:03.9799600`, `2024-05-10T00:00:00.009930+00:00` or `…Z`.
std::optional<std::int64_t> parse_date_time(std::string_view text);

}  // namespace dooly::workload
