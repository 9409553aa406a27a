"""make_layers.py FILE LAYERS: writes the config.json of a tiny Llama with that many layers."""
import json
import sys

json.dump({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
           "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": int(sys.argv[2]), "vocab_size": 128,
           "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
           "tie_word_embeddings": True, "torch_dtype": "bfloat16"}, open(sys.argv[1], "w"))
