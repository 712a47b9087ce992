#include "schema_keys.hpp"

namespace dooly::scenario {
namespace {

Object workload_object() {
  Object made{
      "workload",
      "workload",
      "Exactly one of `trace`, `synthetic` and `sessions`.",
      {
          identifier("name",
                     "Names this stream and its random draws; required in a list of several. The class of its "
                     "requests unless something else names one.")
              .def("default"),
          object("trace", "trace", "Requests read from a file."),
          object("synthetic", "synthetic", "Independent requests drawn from distributions."),
          object("sessions", "sessions", "Conversations of several turns."),
          object("slo", "slo", "Limits that count towards goodput, for all classes or per class."),
      },
  };
  made.one_of = {"trace", "synthetic", "sessions"};
  return made;
}

Key class_key() {
  return text("class",
              "Class of every request. Without it a trace's rows may carry their own; else it is the "
              "workload's name.")
      .unset("null");
}
Key priority_key() {
  return integer(
             "priority", -1e6, 1e6,
             "Priority of requests without their own; smaller is more urgent. Refused where the pool schedules fcfs, "
             "which knows none; priorities in a trace's rows are passed over there.")
      .def("0");
}
Key arrivals_key() { return object("arrivals", "arrivals", "When requests arrive."); }
Key duration_key(std::string_view help) { return time("duration", help).above_min().unset("null"); }
Key prefix_key(std::string_view help) { return object("prefix", "prefix", help); }

Object trace_object() {
  return {
      "trace",
      "workload.trace",
      "A request trace, plain, gzip or zstd. `servegen` is no trace but statistics of clients, from which requests are "
      "drawn.",
      {
          choice("format",
                 {"azure", "mooncake", "burstgpt", "vidur", "llmservingsim", "sharegpt", "apex", "vllm-bench",
                  "servegen", "dooly"},
                 "Format of the file; `dooly list formats` describes them.")
              .required(),
          path("path", "The file (servegen: the clients' rates).").required(),
          path("lengths", "The clients' length distributions.").required().only("format", {"servegen"}),
          number("speedup", 1e-6, 1e6, "Divides every gap between arrivals.").def("1"),
          integer("limit", 1, kLargestInteger, "At most so many requests of the file.").unset("null"),
          integer("loop", 1, 16777216, "How many times the trace is played, one after another.").def("1"),
          duration_key("Arrivals stop there."),
          choice("too_long", {"reject", "truncate"}, "A request beyond `max_model_len`: reject it or cut its prompt.")
              .def("reject"),
          object("arrivals", "arrivals", "Replaces the file's own times; required where it has none (sharegpt)."),
          class_key(),
          priority_key(),
      },
  };
}

Object synthetic_object() {
  return {
      "synthetic",
      "workload.synthetic",
      "Independent requests. `requests` or `duration` (or both) must end the arrivals.",
      {
          integer("requests", 1, kLargestInteger, "How many.").unset("null"),
          duration_key("Arrivals stop there."),
          arrivals_key().required(),
          tokens("prompt_tokens", "Prompt length.").required(),
          tokens("output_tokens", "Output length.").required(),
          prefix_key("Prompts that begin alike."),
          class_key(),
          priority_key(),
      },
  };
}

Object sessions_object() {
  return {
      "sessions",
      "workload.sessions",
      "Conversations: a turn's prompt is the whole conversation so far and its new text; it arrives `think_time` after "
      "the answer before.",
      {
          integer("sessions", 1, kLargestInteger, "How many.").unset("null"),
          duration_key("New sessions stop there."),
          arrivals_key().required(),
          tokens("turns", "Turns of a session.").required(),
          object("think_time", "times", "From an answer to the next turn.").def("{fixed: 0s}"),
          tokens("first_prompt", "Prompt length of the first turn.").required(),
          tokens("turn_prompt", "New prompt tokens of every later turn.").required(),
          tokens("output_tokens", "Output length of a turn.").required(),
          prefix_key("First prompts that begin alike."),
          class_key(),
          priority_key(),
      },
  };
}

Object arrivals_object() {
  return {
      "arrivals",
      "arrivals",
      "The arrival process of requests (of sessions: of their first turns).",
      {
          choice("process", {"poisson", "gamma", "constant", "bursts", "closed_loop", "replay", "at_once"},
                 "`at_once`: all at time 0.")
              .required(),
          rate("rate", "Mean arrival rate.").required().only("process", {"poisson", "gamma", "constant", "bursts"}),
          number("cv", 0.01, 100, "Coefficient of variation of the gaps; 1 is Poisson.")
              .required()
              .only("process", {"gamma"}),
          integer("size", 1, kMany, "Requests of a burst.").required().only("process", {"bursts"}),
          integer("concurrency", 1, 1e7, "Clients, each with one request at a time.")
              .required()
              .only("process", {"closed_loop"}),
          object("think_time", "times", "From a client's answer to its next request.")
              .def("{fixed: 0s}")
              .only("process", {"closed_loop"}),
          path("path", "File of arrival times in seconds, one a line, or CSV with a column `arrival_s`.")
              .required()
              .only("process", {"replay"}),
      },
  };
}

Object lengths_object() {
  Object made{
      "lengths",
      "Lengths",
      "A distribution of whole numbers, at least 1 (tokens, turns). A plain number is `fixed`.",
      {
          integer("fixed", 1, kMostTokens, "Always this."),
          list("uniform", Type::kInteger, "[least, most], both included.").items(2, 2),
          object("lognormal", "lognormal_lengths", "Lognormal, by its mean and 99th percentile."),
          object("zipf", "zipf", "P(k) ∝ (k − min + 1)^−exponent for min ≤ k ≤ max."),
          object("empirical", "empirical", "Drawn from the values of a file."),
      },
  };
  made.keys[1].min = 1;
  made.keys[1].max = kMostTokens;
  made.shorthand = "fixed";
  made.one_of = {"fixed", "uniform", "lognormal", "zipf", "empirical"};
  return made;
}

Object times_object() {
  Object made{
      "times",
      "Times",
      "A distribution of times. A plain quantity is `fixed`.",
      {
          time("fixed", "Always this."),
          list("uniform", Type::kQuantity, "[least, most].").items(2, 2),
          object("lognormal", "lognormal_times", "Lognormal, by its mean and 99th percentile."),
          object("empirical", "empirical", "Drawn from the values of a file, in seconds."),
      },
  };
  made.keys[1].max = kLongest;
  made.keys[1].dimension = Dimension::kTime;
  made.shorthand = "fixed";
  made.one_of = {"fixed", "uniform", "lognormal", "empirical"};
  return made;
}

Object lognormal_lengths_object() {
  return {
      "lognormal_lengths",
      "Lengths: lognormal",
      "`mean` and `p99` are of the untruncated law; of two solutions the one with the smaller σ is meant.",
      {
          number("mean", 0, kMostTokens, "Mean.").above_min().required(),
          number("p99", 0, kMostTokens, "99th percentile.").above_min().required(),
          integer("max", 1, kMostTokens, "Larger draws are drawn again.").required(),
      },
  };
}

Object lognormal_times_object() {
  return {
      "lognormal_times",
      "Times: lognormal",
      "As for lengths.",
      {
          time("mean", "Mean.").above_min().required(),
          time("p99", "99th percentile.").above_min().required(),
          time("max", "Larger draws are drawn again.").above_min().required(),
      },
  };
}

Object zipf_object() {
  return {
      "zipf",
      "Lengths: zipf",
      "Short lengths are the frequent ones.",
      {
          number("exponent", 0, 20, "The larger, the more skewed.").above_min().required(),
          integer("min", 1, kMostTokens, "Least value.").def("1"),
          integer("max", 1, kMostTokens, "Largest value.").required(),
      },
  };
}

Object empirical_object() {
  Object made{
      "empirical",
      "Lengths and times: empirical",
      "One number a line, or CSV with a header; plain, gzip or zstd. A plain path is enough for a file of one column.",
      {
          path("path", "The file.").required(),
          text("column", "Column to read.").unset("null"),
      },
  };
  made.shorthand = "path";
  return made;
}

Object prefix_object() {
  return {
      "prefix",
      "prefix",
      "A share of the requests begins with the prefix of one of some groups; it counts inside the prompt length.",
      {
          integer("groups", 1, kMany, "Different prefixes, each equally likely.").required(),
          integer("tokens", 1, kMostTokens, "Length of a prefix.").required(),
          number("share", 0, 1, "Share of the requests that have one.").def("1"),
      },
  };
}

std::vector<Key> slo_keys() {
  return {
      time("ttft", "Time to first token.").above_min().unset("null"),
      time("tpot", "Time per output token after the first.").above_min().unset("null"),
      time("e2e", "Arrival to last token.").above_min().unset("null"),
  };
}

Object slo_object() {
  Object made{"slo", "workload.slo",
              "Limits for all classes of the workload; any other key is a class with limits of its own.", slo_keys()};
  made.extra = "slo_class";
  return made;
}
Object slo_class_object() { return {"slo_class", "workload.slo.CLASS", "Limits of one class.", slo_keys()}; }

}  // namespace

std::vector<Object> workload_objects() {
  return {workload_object(),  trace_object(),    synthetic_object(),         sessions_object(),
          arrivals_object(),  lengths_object(),  lognormal_lengths_object(), zipf_object(),
          empirical_object(), times_object(),    lognormal_times_object(),   prefix_object(),
          slo_object(),       slo_class_object()};
}

}  // namespace dooly::scenario
