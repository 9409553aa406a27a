//===- KnownKeys.cpp - The table of keys that change nothing --------------===//
#include "models/KnownKeys.h"
#include "models/Family.h"

#include "compiler/import/error/ImportErrors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace ingot;
using namespace ingot::models;
using import::line;
using Verdict = KnownKey::Verdict;

namespace {

/// A row of the table. Keys, families and values are separated by blanks. Rows of specific families come first, so
/// that they can be stricter than the rows of all families.
struct Row {
  llvm::StringLiteral families; ///< "": all families
  llvm::StringLiteral keys;     ///< a trailing '*' matches any rest
  llvm::StringLiteral neutral;  ///< the values that have no effect; "": any
};

/// Keys of all families that never affect the computation.
constexpr llvm::StringLiteral kHousekeeping[] = {
    // Identity of the model, and the program that wrote it.
    "_name_or_path name_or_path _commit_hash _from_model_config architectures auto_map.* "
    "custom_pipelines.* dtype torch_dtype finetuning_task is_decoder model_type model_name "
    "task_specific_params.* transformers.js_config.* transformers_version unsloth_* mlx_lm_version "
    "license pipeline_tag base_model base_model_name_or_path onnx_export_* ",
    // Tokens and classes.
    "bos_token_id decoder_start_token_id eod_token_id eos_token_id forced_bos_token_id "
    "forced_eos_token_id id2label.* label2id.* num_labels _num_labels pad_token_id prefix problem_type "
    "sep_token_id unk_token_id mask_token_id cls_token_id tokenizer_class tokenizer_* "
    "ignore_index predict_special_tokens n_special ",
    // Keys of training. pretraining_tp changes only the order of additions in a matrix product.
    "attention_dropout attention_probs_dropout_prob attn_dropout attn_pdrop aux_loss_alpha "
    "classifier_dropout embd_pdrop embedding_dropout emb_dropout_prob gradient_checkpointing "
    "gradient_checkpointing_use_reentrant hidden_dropout hidden_dropout_prob init_method_std "
    "initializer_range initializer_factor mlp_dropout moe_capacity neftune_noise_alpha "
    "output_router_logits pretraining_tp resid_pdrop residual_dropout router_aux_loss_coef "
    "router_jitter_noise router_z_loss_coef seq_aux summary_* use_cut_cross_entropy z_loss_weight ",
    // Runtime settings and outputs.
    "_attn_implementation _attn_implementation_autoset _attn_implementation_internal "
    "_experts_implementation _experts_implementation_internal _flash_attn_2_enabled "
    "attention_softmax_in_fp32 attn_implementation bf16 cache_implementation chunk_size_feed_forward "
    "ep_size experts_implementation flash_attn flash_rotary fp16 fp32 fused_dense "
    "fuse_cross_entropy fuse_norm fuse_swiglu is_encoder_decoder output_attentions "
    "output_hidden_states output_scores pruned_heads.* remove_invalid_values return_dict "
    "return_dict_in_generate scale_attention_softmax_in_fp32 tf_legacy_loss tie_encoder_decoder "
    "torchscript use_bfloat16 use_cache use_flash_attention use_flash_attention_2 use_flash_attn "
    "use_memory_efficient_attention use_return_dict ",
    // Generation settings that older checkpoints keep in config.json; Ingot takes them from the user's options.
    "bad_words_ids begin_suppress_tokens diversity_penalty do_sample early_stopping "
    "encoder_no_repeat_ngram_size exponential_decay_length_penalty length_penalty max_length "
    "max_new_tokens min_length no_repeat_ngram_size num_beam_groups num_beams num_return_sequences "
    "repetition_penalty suppress_tokens temperature top_k top_p typical_p"};

constexpr Row kConfigRows[] = {
    // Values for which the family's class in transformers has no alternative.
    {"apertus", "post_norm", "false"},
    {"apertus", "qk_norm", "true"},
    {"cohere", "rotary_pct", "1"},
    {"cohere", "use_qk_norm", "false"},
    {"dots1", "moe_layer_freq", "1"},
    {"dots1", "scoring_func topk_method", "noaux_tc sigmoid"},
    {"ernie4_5_moe", "moe_gate", "topk"},
    {"ernie4_5_moe", "moe_use_aux_free", "true"},
    {"ernie4_5_moe", "use_bias", "false"},
    {"gemma gemma2 gemma3", "use_bidirectional_attention", "false"},
    {"glm4moe", "scoring_func", "sigmoid"},
    {"glm4moe", "topk_method", "noaux_tc"},
    {"gpt2", "scale_attn_by_inverse_layer_idx", "false"},
    {"gpt2 starcoder2", "scale_attn_weights", "true"},
    {"hunyuan hunyuan_moe", "norm_type", "rms"},
    {"hunyuan hunyuan_moe", "use_cla", "false"},
    {"hunyuan hunyuan_moe", "use_qk_norm use_rotary_pos_emb", "true"},
    {"hunyuan_moe", "group_limited_greedy mlp_bias position_embedding_xdrope use_mla", "false"},
    {"hunyuan_moe", "moe_layer_num_skipped", "0"},
    {"hunyuan_moe", "norm_topk_prob use_mixed_mlp_moe", "true"}, // the last is the shared MLP
    {"hunyuan_moe", "routed_scaling_factor", "1"},
    {"llama", "rope_interleaved", "false"},
    {"minimax_m2", "attn_type_list", "1"}, // 1: the layer uses attention
    {"minimax_m2",
     "layernorm_full_attention_beta layernorm_linear_attention_beta layernorm_mlp_beta", "1"},
    {"minimax_m2", "qk_norm_type", "per_layer"},
    {"minimax_m2", "scoring_func", "sigmoid"},
    {"minimax_m2", "shared_intermediate_size", "0"},
    {"minimax_m2", "use_qk_norm use_routing_bias", "true"},
    {"phi2", "qk_layernorm", "false"},
    {"qwen2moe qwen3moe", "use_qk_norm", ""},
    {"starcoder2", "mlp_type norm_type", "layer_norm default"},

    // Keys that duplicate other keys, that training programs use, or that concern parts of the model other than text.
    {"cohere",
     "_sliding_window_pattern head_dim layer_switch order_of_interleaved_layers "
     "position_embedding_type use_embedding_sharing use_gated_activation use_parallel_block "
     "use_parallel_embedding",
     ""},
    {"dots1 llama mixtral ministral3", "use_sliding_window", ""},
    {"gemma gemma2 gemma3", "hidden_act hidden_activation", ""}, // only one of them is read
    // Gemma 3's class reads the first key and never applies it; the list of layers replaces the second.
    {"gemma3", "attn_logit_softcapping _sliding_window_pattern", ""},
    {"granite", "normalization_function", "rmsnorm"},
    // Keys of kinds of layers that the model does not have.
    {"granite", "init_method intermediate_size mamba_* time_step_limit time_step_limit.*", ""},
    {"gpt2", "n_ctx reorder_and_upcast_attn", ""}, // the second affects only the order of rounding
    {"gpt_oss", "initial_context_length", ""},
    {"hunyuan hunyuan_moe",
     "add_classification_head cla_share_factor class_num dense_list im_end_id im_newline_id "
     "im_start_id mask_init_id org_vocab_size pad_id pool_type text_end_id text_start_id",
     ""},
    {"hunyuan_moe",
     "anyres_* moe_drop_tokens moe_random_routing_dropped_token num_media_embeds skip_cls_token vit_*",
     ""},
    {"lfm2 lfm2moe",
     "block_dim block_mlp_init_scale block_norm_eps block_out_init_scale block_use_swiglu "
     "block_use_xavier_init conv_dim conv_dim_out conv_use_xavier_init num_heads theta use_pos_enc",
     ""},
    {"minimax_m2", "mlp_intermediate_size shared_moe_mode", ""},
    {"nemotron", "rope_percent", ""},
    {"phi3", "full_attn_mod interpolate_factor original_max_position_embeddings", ""},
    {"starcoder2", "activation_function layer_norm_epsilon", ""},

    // transformers pops this key and applies it wherever it occurs.
    {"", "add_cross_attention", "false"},

    // Keys of other families' classes. transformers ignores them here; any tensors that such a value would
    // require are refused by name.
    {"",
     "attention_bias attention_out_bias bias lm_head_bias mlp_bias o_proj_bias qkv_bias "
     "use_bias use_mlp_bias use_qkv_bias",
     ""},
    {"",
     "decoder_sparse_step first_k_dense_replace mlp_only_layers moe_intermediate_size moe_layer_freq "
     "n_group n_routed_experts n_shared_experts norm_topk_prob num_experts num_experts_per_tok "
     "num_local_experts routed_scaling_factor scoring_func shared_expert_intermediate_size "
     "shared_intermediate_size topk_group topk_method",
     ""},
    {"", "qk_layernorm qk_norm use_qk_norm", ""},
    {"",
     "max_window_layers mrope_section sliding_window sliding_window_pattern use_mrope "
     "use_sliding_window",
     ""},
    {"",
     "alibi embedding_multiplier logit_scale logits_scaling residual_multiplier use_parallel_residual",
     ""},
    {"", "attn_logit_softcapping final_logit_softcapping query_pre_attn_scalar", ""},
    {"", "max_sequence_length model_max_length n_ctx original_max_position_embeddings seq_length",
     ""},
    {"", "clip_qkv is_llama_config type_vocab_size", ""},
    {"", "layer_types", "full_attention attention"},
};

/// Keys of llama.cpp's table, without the architecture's prefix.
constexpr Row kGgufRows[] = {
    {"lfm2 lfm2moe", "attention.sliding_window", "0"},
    {"granite granitemoe", "deepstack_mapping", "-1"},
    {"", "attention.causal", "true"},
    // Keys for text models of vision towers, for embedding models and classifiers, and for the layout of tensors.
    {"",
     "n_deepstack_layers deepstack_mapping pooling_type classifier.* embedding_length_out "
     "tensor_data_layout rope.dimension_sections",
     ""},
    // Keys that llama.cpp reads only for other architectures.
    {"",
     "attention.clamp_kqv attention.max_alibi_bias attention.scale attention.sliding_window "
     "attention.sliding_window_pattern attn_logit_softcapping embedding_scale "
     "final_logit_softcapping logit_scale residual_scale router_logit_softcapping swin_norm "
     "use_parallel_residual",
     ""},
    {"", "ssm.* expert_shared_feed_forward_length expert_feed_forward_length", ""},
    {"", "attn_rot_embd attn_rotary_emb rope.scaling.*", ""}, // the type of rope does not use them
    {"", "attention.layer_norm_epsilon attention.layer_norm_rms_epsilon", ""},
};

bool matches(llvm::StringRef key, llvm::StringRef pattern) {
  return pattern.consume_back("*") ? key.starts_with(pattern) : key == pattern;
}

bool hasWord(llvm::StringRef words, llvm::function_ref<bool(llvm::StringRef)> accept) {
  llvm::SmallVector<llvm::StringRef, 16> list;
  llvm::SplitString(words, list, " ");
  return llvm::any_of(list, accept);
}

bool names(llvm::StringRef keys, llvm::StringRef key) {
  return hasWord(keys, [&](llvm::StringRef pattern) { return matches(key, pattern); });
}

/// Returns the value as the table writes it. If all entries of a list are equal, the list is written as one entry.
std::string plain(const import::MetaValue &value) {
  const std::string text = shown(value);
  return text.size() > 1 && text.front() == '\'' ? text.substr(1, text.size() - 2) : text;
}

/// Returns whether the value switches off whatever its key controls. A key with such a value is harmless if it is
/// unknown.
bool isOff(const import::MetaValue &value) {
  const std::string text = plain(value);
  return text == "false" || text == "0" || text.empty() || text == "[]" || text == "null";
}

} // namespace

std::string models::shown(const import::MetaValue &value) {
  if (std::holds_alternative<std::monostate>(value))
    return "null";
  if (const bool *flag = std::get_if<bool>(&value))
    return *flag ? "true" : "false";
  if (const int64_t *integer = std::get_if<int64_t>(&value))
    return line(*integer);
  if (const double *number = std::get_if<double>(&value))
    return line(*number);
  if (const std::string *text = std::get_if<std::string>(&value))
    return import::inQuotes(*text);
  return std::visit(
      [](const auto &list) -> std::string {
        if (list.empty())
          return "[]";
        if (!llvm::all_equal(list))
          return line("a list of ", list.size());
        using Entry = typename std::decay_t<decltype(list)>::value_type;
        return shown(import::MetaValue(Entry(list.front())));
      },
      std::get<import::MetaArray>(value));
}

std::string models::passedOver(const import::Checkpoint &checkpoint) {
  std::string text;
  for (const std::string &key : checkpoint.passedOver())
    text += line(text.empty() ? "" : ", ", key, ' ', shown(checkpoint.metadata.find(key)->second));
  return text;
}

KnownKey models::lookUpKey(bool gguf, llvm::StringRef family, llvm::StringRef key,
                           const import::MetaValue &value) {
  if (!gguf && llvm::any_of(kHousekeeping, [&](llvm::StringRef keys) { return names(keys, key); }))
    return {Verdict::Housekeeping, {}};
  for (const Row &row : gguf ? llvm::ArrayRef<Row>(kGgufRows) : llvm::ArrayRef<Row>(kConfigRows)) {
    if (!names(row.keys, key))
      continue;
    if (!row.families.empty() &&
        !hasWord(row.families, [&](llvm::StringRef name) { return name == family; }))
      continue;
    const std::string found = plain(value);
    const bool neutral =
        row.neutral.empty() || hasWord(row.neutral, [&](llvm::StringRef v) { return v == found; });
    return {neutral ? Verdict::Neutral : Verdict::Refused, row.neutral};
  }
  return {isOff(value) ? Verdict::Neutral : Verdict::Unknown, {}};
}
