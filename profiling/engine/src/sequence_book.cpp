#include "profiling_engine/sequence_book.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace dooly::profiling {

void SequenceBook::open(std::uint32_t tag, std::vector<std::int64_t> prompt) {
  Sequence& sequence = sequences_[tag];
  sequence.prompt = prompt.size();
  sequence.tokens = std::move(prompt);
  sequence.blocks.assign(groups_, {});
}

std::vector<ScheduledPart> SequenceBook::apply(const replica::CallRecord& call) {
  for (const auto& lost : call.preempted) sequences_.at(lost.tag).blocks.assign(groups_, {});
  std::vector<ScheduledPart> parts;
  for (const auto& run : call.running) {
    Sequence& sequence = sequences_.at(run.tag);
    for (std::size_t group = 0; group < run.ids.size(); ++group) {
      std::vector<std::uint32_t>& table = sequence.blocks[group];
      table.insert(table.end(), run.ids[group].begin(), run.ids[group].end());
    }
    parts.push_back(part(run.tag, run.tokens, run.computed));
  }
  for (const auto& admission : call.admitted) {
    sequences_.at(admission.tag).blocks = admission.ids;
    parts.push_back(part(admission.tag, admission.tokens, admission.computed));
  }
  return parts;
}

ScheduledPart SequenceBook::part(std::uint32_t tag, std::uint32_t tokens, std::uint32_t computed) {
  Sequence& sequence = sequences_.at(tag);
  const std::size_t end = std::size_t{computed} + tokens, known = sequence.tokens.size();
  if (end > known + sequence.pending || end > known + 1 || sequence.blocks.size() != groups_) {
    throw std::logic_error(
        fmt::format("request {}: tokens {} to {} are scheduled in {} block tables, but {} are known "
                    "and {} sampled, in {}",
                    tag, computed, end, sequence.blocks.size(), known, sequence.pending, groups_));
  }
  ScheduledPart out{.tag = tag, .sequence = {}, .last_is_pending = end > known};
  out.sequence.computed = computed;
  out.sequence.samples = end == known + sequence.pending;
  out.sequence.blocks = sequence.blocks;
  for (std::size_t i = computed; i < end; ++i) out.sequence.tokens.push_back(i < known ? sequence.tokens[i] : 0);
  if (out.sequence.samples) ++sequence.pending;
  return out;
}

void SequenceBook::add_token(std::uint32_t tag, std::int64_t id) {
  Sequence& sequence = sequences_.at(tag);
  if (sequence.pending == 0) throw std::logic_error(fmt::format("request {}: a token that nobody sampled", tag));
  --sequence.pending;
  sequence.tokens.push_back(id);
}

}  // namespace dooly::profiling
