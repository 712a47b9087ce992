#pragma once

#include "oracle/model_table.hpp"

#include <array>

namespace dooly::oracle {

// Hyper-parameters that decide shapes, retyped from the config.json (and, where a key is absent there, the
// configuration class) that the model's owner publishes; facts, not the files. Keys are the files' own, so one parser
// reads both.
// clang-format off
inline constexpr std::array kModels{
    ShippedModel{"CohereForAI/c4ai-command-r7b-12-2024", "hub config.json; technical notes of the model card", R"({
      "model_type": "cohere2", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 256000,
      "max_position_embeddings": 8192, "sliding_window": 4096, "sliding_window_pattern": 4})"},
    ShippedModel{"Qwen/Qwen-72B", "hub config.json (intermediate_size counts gate and up); Vidur's Qwen72BModelConfig", R"({
      "model_type": "qwen", "hidden_size": 8192, "intermediate_size": 49152, "num_hidden_layers": 80,
      "num_attention_heads": 64, "kv_channels": 128, "no_bias": true, "vocab_size": 152064,
      "max_position_embeddings": 32768})"},
    ShippedModel{"Qwen/Qwen2.5-72B", "hub config.json", R"({
      "model_type": "qwen2", "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80,
      "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 152064, "max_position_embeddings": 131072})"},
    ShippedModel{"Qwen/Qwen2.5-72B-Instruct", "hub config.json", R"({
      "model_type": "qwen2", "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80,
      "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 152064, "max_position_embeddings": 32768})"},
    ShippedModel{"Qwen/Qwen2.5-7B", "hub config.json", R"({
      "model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
      "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 131072})"},
    ShippedModel{"Qwen/Qwen2.5-7B-Instruct", "hub config.json", R"({
      "model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
      "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 32768})"},
    ShippedModel{"Qwen/Qwen3-0.6B", "hub config.json", R"({
      "model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
      "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
      "max_position_embeddings": 40960, "tie_word_embeddings": true})"},
    ShippedModel{"Qwen/Qwen3-1.7B", "hub config.json", R"({
      "model_type": "qwen3", "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28,
      "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
      "max_position_embeddings": 40960, "tie_word_embeddings": true})"},
    ShippedModel{"Qwen/Qwen3-14B", "hub config.json", R"({
      "model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 17408, "num_hidden_layers": 40,
      "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
      "max_position_embeddings": 40960})"},
    ShippedModel{"Qwen/Qwen3-235B-A22B", "hub config.json", R"({
      "model_type": "qwen3_moe", "hidden_size": 4096, "intermediate_size": 12288, "moe_intermediate_size": 1536,
      "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 94, "num_attention_heads": 64,
      "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 40960})"},
    ShippedModel{"Qwen/Qwen3-30B-A3B", "hub config.json", R"({
      "model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768,
      "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_attention_heads": 32,
      "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 40960})"},
    ShippedModel{"Qwen/Qwen3-32B", "hub config.json", R"({
      "model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 25600, "num_hidden_layers": 64,
      "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
      "max_position_embeddings": 40960})"},
    ShippedModel{"Qwen/Qwen3-8B", "hub config.json", R"({
      "model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
      "max_position_embeddings": 40960})"},
    ShippedModel{"codellama/CodeLlama-34b-Instruct-hf", "hub config.json; Vidur's CodeLlama34BModelConfig", R"({
      "model_type": "llama", "hidden_size": 8192, "intermediate_size": 22016, "num_hidden_layers": 48,
      "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 16384})"},
    ShippedModel{"deepseek-ai/DeepSeek-R1", "hub config.json; arXiv:2412.19437 (the shapes of V3)", R"({
      "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
      "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
      "topk_method": "noaux_tc", "num_hidden_layers": 61, "num_attention_heads": 128, "q_lora_rank": 1536,
      "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
      "max_position_embeddings": 163840, "scoring_func": "sigmoid", "n_group": 8, "topk_group": 4,
      "rope_scaling": {"type": "yarn", "factor": 40, "mscale_all_dim": 1.0},
      "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})"},
    ShippedModel{"deepseek-ai/DeepSeek-V2-Lite", "hub config.json; arXiv:2405.04434", R"({
      "model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408,
      "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1,
      "num_hidden_layers": 27, "num_attention_heads": 16, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
      "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 102400, "max_position_embeddings": 163840,
      "rope_scaling": {"type": "yarn", "factor": 40, "mscale_all_dim": 0.707}})"},
    ShippedModel{"deepseek-ai/DeepSeek-V3", "hub config.json; arXiv:2412.19437", R"({
      "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
      "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
      "topk_method": "noaux_tc", "num_hidden_layers": 61, "num_attention_heads": 128, "q_lora_rank": 1536,
      "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
      "max_position_embeddings": 163840, "scoring_func": "sigmoid", "n_group": 8, "topk_group": 4,
      "rope_scaling": {"type": "yarn", "factor": 40, "mscale_all_dim": 1.0},
      "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})"},
    ShippedModel{"facebook/opt-13b", "hub config.json; arXiv:2205.01068", R"({
      "model_type": "opt", "hidden_size": 5120, "ffn_dim": 20480, "num_hidden_layers": 40, "num_attention_heads": 40,
      "vocab_size": 50272, "max_position_embeddings": 2048, "torch_dtype": "float16"})"},
    ShippedModel{"google/gemma-2-9b", "hub config.json; arXiv:2408.00118", R"({
      "model_type": "gemma2", "hidden_size": 3584, "intermediate_size": 14336, "num_hidden_layers": 42,
      "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256, "vocab_size": 256000,
      "max_position_embeddings": 8192, "sliding_window": 4096, "attn_logit_softcapping": 50.0})"},
    ShippedModel{"google/gemma-2-9b-it", "hub config.json; arXiv:2408.00118", R"({
      "model_type": "gemma2", "hidden_size": 3584, "intermediate_size": 14336, "num_hidden_layers": 42,
      "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256, "vocab_size": 256000,
      "max_position_embeddings": 8192, "sliding_window": 4096, "attn_logit_softcapping": 50.0})"},
    ShippedModel{"google/gemma-3-27b-it", "hub config.json; arXiv:2503.19786; text part", R"({
      "model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21504, "num_hidden_layers": 62,
      "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128, "vocab_size": 262208,
      "max_position_embeddings": 131072, "sliding_window": 1024, "sliding_window_pattern": 6,
      "query_pre_attn_scalar": 168})"},
    ShippedModel{"internlm/internlm-20b", "hub config.json; Vidur's InternLM_20BModelConfig", R"({
      "model_type": "internlm", "hidden_size": 5120, "intermediate_size": 13824, "num_hidden_layers": 60,
      "num_attention_heads": 40, "num_key_value_heads": 40, "bias": false, "vocab_size": 103168,
      "max_position_embeddings": 4096, "torch_dtype": "float16"})"},
    ShippedModel{"meta-llama/Llama-2-13b-hf", "hub config.json; arXiv:2307.09288", R"({
      "model_type": "llama", "hidden_size": 5120, "intermediate_size": 13824, "num_hidden_layers": 40,
      "num_attention_heads": 40, "vocab_size": 32000, "max_position_embeddings": 4096, "torch_dtype": "float16"})"},
    ShippedModel{"meta-llama/Llama-2-70b-hf", "hub config.json; arXiv:2307.09288", R"({
      "model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
      "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 4096,
      "torch_dtype": "float16"})"},
    ShippedModel{"meta-llama/Llama-2-7b-hf", "hub config.json; arXiv:2307.09288", R"({
      "model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
      "num_attention_heads": 32, "vocab_size": 32000, "max_position_embeddings": 4096, "torch_dtype": "float16"})"},
    ShippedModel{"meta-llama/Llama-3.1-405B", "hub config.json; arXiv:2407.21783, table 3", R"({
      "model_type": "llama", "hidden_size": 16384, "intermediate_size": 53248, "num_hidden_layers": 126,
      "num_attention_heads": 128, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072})"},
    ShippedModel{"meta-llama/Llama-3.1-70B", "hub config.json; arXiv:2407.21783, table 3", R"({
      "model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
      "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072})"},
    ShippedModel{"meta-llama/Llama-3.1-70B-Instruct", "hub config.json; arXiv:2407.21783, table 3", R"({
      "model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
      "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072})"},
    ShippedModel{"meta-llama/Llama-3.1-8B", "hub config.json; arXiv:2407.21783, table 3", R"({
      "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072})"},
    ShippedModel{"meta-llama/Llama-3.1-8B-Instruct", "hub config.json; arXiv:2407.21783, table 3", R"({
      "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072})"},
    ShippedModel{"meta-llama/Llama-3.2-1B", "hub config.json", R"({
      "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 128256,
      "max_position_embeddings": 131072, "tie_word_embeddings": true})"},
    ShippedModel{"meta-llama/Llama-3.2-3B", "hub config.json", R"({
      "model_type": "llama", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 28,
      "num_attention_heads": 24, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128256,
      "max_position_embeddings": 131072, "tie_word_embeddings": true})"},
    ShippedModel{"meta-llama/Llama-3.3-70B-Instruct", "hub config.json", R"({
      "model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
      "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072})"},
    ShippedModel{"meta-llama/Meta-Llama-3-70B", "hub config.json; arXiv:2407.21783", R"({
      "model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
      "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192})"},
    ShippedModel{"meta-llama/Meta-Llama-3-8B", "hub config.json; arXiv:2407.21783", R"({
      "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192})"},
    ShippedModel{"microsoft/Phi-3-mini-4k-instruct", "hub config.json; arXiv:2404.14219", R"({
      "model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32064, "max_position_embeddings": 4096,
      "sliding_window": 2047})"},
    ShippedModel{"microsoft/phi-2", "hub config.json; Vidur's Phi2ModelConfig", R"({
      "model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 32, "partial_rotary_factor": 0.4, "vocab_size": 51200,
      "max_position_embeddings": 2048, "hidden_act": "gelu_new"})"},
    ShippedModel{"microsoft/phi-4", "hub config.json; arXiv:2412.08905", R"({
      "model_type": "phi3", "hidden_size": 5120, "intermediate_size": 17920, "num_hidden_layers": 40,
      "num_attention_heads": 40, "num_key_value_heads": 10, "vocab_size": 100352, "max_position_embeddings": 16384})"},
    ShippedModel{"mistralai/Ministral-8B-Instruct-2410", "hub config.json", R"({
      "model_type": "mistral", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 131072,
      "max_position_embeddings": 32768, "sliding_window": 32768})"},
    ShippedModel{"mistralai/Mistral-7B-Instruct-v0.3", "hub config.json", R"({
      "model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32768, "max_position_embeddings": 32768})"},
    ShippedModel{"mistralai/Mistral-7B-v0.1", "hub config.json; arXiv:2310.06825", R"({
      "model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 32768,
      "sliding_window": 4096})"},
    ShippedModel{"mistralai/Mixtral-8x22B-v0.1", "hub config.json", R"({
      "model_type": "mixtral", "hidden_size": 6144, "intermediate_size": 16384, "num_local_experts": 8,
      "num_experts_per_tok": 2, "num_hidden_layers": 56, "num_attention_heads": 48, "num_key_value_heads": 8,
      "vocab_size": 32000, "max_position_embeddings": 65536})"},
    ShippedModel{"mistralai/Mixtral-8x7B-v0.1", "hub config.json; arXiv:2401.04088", R"({
      "model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_local_experts": 8,
      "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
      "vocab_size": 32000, "max_position_embeddings": 32768})"},
    ShippedModel{"openai/gpt-oss-120b", "hub config.json; arXiv:2508.10925", R"({
      "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_local_experts": 128,
      "num_experts_per_tok": 4, "num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8,
      "head_dim": 64, "vocab_size": 201088, "max_position_embeddings": 131072, "sliding_window": 128,
      "sliding_window_pattern": 2, "quantization_config": {"quant_method": "mxfp4"}})"},
    ShippedModel{"openai/gpt-oss-20b", "hub config.json; arXiv:2508.10925", R"({
      "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_local_experts": 32,
      "num_experts_per_tok": 4, "num_hidden_layers": 24, "num_attention_heads": 64, "num_key_value_heads": 8,
      "head_dim": 64, "vocab_size": 201088, "max_position_embeddings": 131072, "sliding_window": 128,
      "sliding_window_pattern": 2, "quantization_config": {"quant_method": "mxfp4"}})"},
};
// clang-format on

}  // namespace dooly::oracle
