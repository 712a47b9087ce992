#include "dooly/sdk/plugin.hpp"

#include "length_split.hpp"
#include "shortest_job.hpp"

namespace {

constexpr dooly::sdk::PolicyEntry kPolicies[] = {
    {.name = "shortest-job",
     .help = "shortest remaining job first within each priority, with aging",
     .options = ShortestJob::kOptions,
     .create = dooly::sdk::create_policy<ShortestJob>}};

constexpr dooly::sdk::RouterEntry kRouters[] = {{.name = "length_split",
                                                 .help = "short and long prompts on replicas of their own",
                                                 .options = LengthSplit::kOptions,
                                                 .create = dooly::sdk::create_router<LengthSplit>}};

}  // namespace

DOOLY_PLUGIN("examples", "1.0.0", .policies = kPolicies, .routers = kRouters);
