#include "shapes.hpp"

#include "workload/workload_error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dooly::workload {

void note_file(const scenario::Distribution& law, std::vector<std::filesystem::path>& files) {
  const auto* empirical = std::get_if<scenario::Empirical>(&law);
  if (empirical != nullptr && std::find(files.begin(), files.end(), empirical->path) == files.end())
    files.push_back(empirical->path);
}

PrefixChooser::PrefixChooser(const std::optional<scenario::PrefixGroups>& groups, const std::string& what) {
  if (!groups) return;
  if (groups->groups < 1 || groups->tokens < 1 || groups->tokens > kMaxTokens ||
      !(groups->share >= 0 && groups->share <= 1))
    throw WorkloadError(fmt::format("{}: prefix: want groups and tokens of at least 1 and a share from 0 to 1", what));
  groups_ = groups->groups;
  tokens_ = static_cast<std::uint32_t>(groups->tokens);
  share_ = groups->share;
}

void PrefixChooser::choose(Request& into, RandomStream& random, const Namespace& numbers) const {
  clear_content(into);
  if (groups_ == 0) return;
  const double chance = random.unit();
  const std::uint64_t group = random.below(groups_);  // drawn in any case: another share leaves the rest as it is
  if (chance < share_) set_prefix(into, numbers(group), tokens_);
}

SyntheticShapes::SyntheticShapes(const scenario::SyntheticSpec& spec, const PartContext& context)
    : context_(context),
      class_(context.classes->index_of(context.default_class)),
      left_(spec.requests.value_or(~std::uint64_t{0})),
      expected_(spec.requests.value_or(0)),
      prompt_(spec.prompt_tokens, Sampler::Kind::kWhole, context.name + ": prompt_tokens"),
      output_(spec.output_tokens, Sampler::Kind::kWhole, context.name + ": output_tokens"),
      prompt_random_(context.seed, context.stream_name("prompt_tokens")),
      output_random_(context.seed, context.stream_name("output_tokens")),
      prefix_random_(context.seed, context.stream_name("prefix")),
      prefix_(spec.prefix, context.name) {
  note_file(spec.prompt_tokens, files_);
  note_file(spec.output_tokens, files_);
}

TraceColumns SyntheticShapes::columns() const {
  TraceColumns columns;
  columns.request_class = true;
  columns.priority = context_.priority != 0;
  columns.prefix = prefix_.is_set();
  return columns;
}

void SyntheticShapes::next(Request& into) {
  --left_;
  into.prompt_tokens = prompt_.draw_whole(prompt_random_);
  into.output_tokens = output_.draw_whole(output_random_);
  into.request_class = class_;
  into.priority = context_.priority;
  into.session = kNoSession;
  into.turn = 0;
  into.after_s = -1;
  into.deadline_s = 0;
  into.truncated = false;
  prefix_.choose(into, prefix_random_, context_.numbers);
}

}  // namespace dooly::workload
