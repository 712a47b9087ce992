#include "schema_keys.hpp"

namespace dooly::scenario {
namespace {

Object pool_object() {
  return {
      "pool",
      "pools[]",
      "Equal replicas of an engine behind one router.",
      {
          identifier("name", "Name of the pool.").required(),
          text("like", "Another pool of which this one is a copy: maps are merged, lists and values replaced."),
          choice("role", {"mixed", "prefill", "decode"}, "What its replicas do.").def("mixed"),
          list("serves", Type::kText, "Request classes that it serves; empty: all.").def("[]").single_ok(),
          object("model", "model", "The model.").required(),
          integer("replicas", 1, 1e6, "Engine instances.").def("1"),
          list("nodes", Type::kNodeRef, "Node groups, or single nodes GROUP.INDEX, that it fills in order.")
              .def_note("the only node group")
              .single_ok()
              .items(1, 100'000),
          object("parallel", "parallel", "GPUs of a replica.").def("{}"),
          object("engine", "engine", "The engine's arguments.").def("{}"),
          object("scheduler", "scheduler", "Who decides what an iteration computes.").def("{}"),
          object("router", "router", "Who picks a request's replica.").def("{}"),
      },
  };
}

Object model_object() {
  Object made{
      "model",
      "model",
      "A plain name or path is `config`.",
      {
          text("config",
               "A shipped model (hub id, `Meta-` optional) or the path of a config.json or of the folder that holds "
               "it: it ends in .json or begins with ./, ../, / or $DOOLY_DATA/.")
              .required()
              .list_of("models"),
          choice("dtype", {"auto", "bfloat16", "float16", "float32"}, "Type of weights and activations.").def("auto"),
      },
  };
  made.shorthand = "config";
  return made;
}

Object parallel_object() {
  return {
      "parallel",
      "pools[].parallel",
      "GPUs of a replica = tp × pp × dp.",
      {
          integer("tp", 1, 1024, "Tensor parallel ranks.").def("1"),
          integer("pp", 1, 1024, "Pipeline stages.").def("1").built_up_to(1),
          integer("dp", 1, 1024, "Data parallel ranks.").def("1").built_up_to(1),
          integer("ep", 1, 1024,
                  "Ranks that experts are spread over: 1 (each expert is split over tp) or tp; adds no GPUs.")
              .def("1"),
      },
  };
}

Object engine_object() {
  Object made{
      "engine",
      "engine",
      "vLLM's arguments by vLLM's names (dashes are accepted too); defaults of `vllm serve` 0.26 on a GPU of at least "
      "70 GB.",
      {
          integer("max_model_len", 1, kMany, "Longest prompt and output together; default: from config.json.")
              .unset("default"),
          integer("max_num_batched_tokens", 1, kMany, "Token budget of an iteration.").def("8192"),
          integer("max_num_seqs", 1, 1e6,
                  "Most requests of an iteration. The default gives way to a smaller max_num_batched_tokens.")
              .def("1024"),
          integer("block_size", 1, 1024, "Tokens of a KV block.").def("16"),
          choice("kv_cache_dtype", {"auto", "bfloat16", "float16", "fp8", "fp8_e4m3", "fp8_e5m2"},
                 "Type of KV entries; auto: the model's.")
              .def("auto"),
          number("gpu_memory_utilization", 0, 1, "Share of the GPU's memory that the engine takes.")
              .above_min()
              .def("0.92"),
          integer("num_gpu_blocks_override", 1, kMany, "KV blocks of a replica instead of those that fit.")
              .unset("null"),
          boolean("enable_prefix_caching", "Reuse KV blocks of equal prefixes.").def("true"),
          path("prewarm", "A trace whose prefixes are cached at the start.").later(),
          boolean("enable_chunked_prefill", "Split prompts over iterations.").def("true"),
          integer("long_prefill_token_threshold", 0, kMany,
                  "Most prompt tokens of one request in an iteration; 0: no "
                  "limit.")
              .def("0"),
          choice("scheduling_policy", {"fcfs", "priority"}, "Order of waiting requests.").def("fcfs"),
          boolean("scheduler_reserve_full_isl", "Admit a request only if its whole prompt fits the free blocks.")
              .def("true"),
          number("watermark", 0, 1, "Share of the blocks kept free when requests are admitted.").def("0"),
          boolean("async_scheduling", "Schedule the next iteration before the last one's result is read.").def("true"),
          list("cudagraph_capture_sizes", Type::kInteger,
               "Batch sizes of CUDA graphs, ascending; default: vLLM's; "
               "empty: none (--enforce-eager).")
              .unset("default"),
          choice("attention_backend", {"default"}, "Attention kernels: those that the latency model knows.",
                 {"CUTLASS_MLA", "FLASHINFER", "FLASHINFER_MLA", "FLASHMLA", "FLASH_ATTN", "FLASH_ATTN_MLA",
                  "FLEX_ATTENTION", "ROCM_AITER_FA", "ROCM_ATTN", "TORCH_SDPA", "TRITON_ATTN", "TRITON_MLA"})
              .def("default"),
      },
  };
  for (Key& entry : made.keys)
    if (entry.name == "cudagraph_capture_sizes") entry.min = 1, entry.max = kMany;
  made.takes_dashes = true;
  return made;
}

Object scheduler_object() {
  Object made{
      "scheduler",
      "scheduler",
      "A plain name is `policy`.",
      {
          text("policy", "Scheduling policy.").def("vllm-v1").list_of("policies"),
          path("plugin", "Shared library that holds the policy; null: built in.").unset("null"),
          options("options", "The policy's own options.").def("{}"),
          boolean("grant_output_lengths",
                  "Policies and routers see how long each answer will be; else they see prompts only.")
              .def("false"),
      },
  };
  made.shorthand = "policy";
  return made;
}

Object router_object() {
  Object made{
      "router",
      "router",
      "A plain name is `policy`.",
      {
          text("policy", "Routing policy.").def("least_requests").list_of("routers"),
          path("plugin", "Shared library that holds the router; null: built in.").unset("null"),
          options("options", "The router's own options.").def("{}"),
          time("signal_delay", "Age of the load counts that the router sees; cache contents are looked up as they are.")
              .def("0s"),
      },
  };
  made.shorthand = "policy";
  return made;
}

}  // namespace

std::vector<Object> pool_objects() {
  return {pool_object(), model_object(), parallel_object(), engine_object(), scheduler_object(), router_object()};
}

}  // namespace dooly::scenario
