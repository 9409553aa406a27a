"""A Hugging Face folder (safetensors in bf16, config, tokenizer) of a GGUF: hf_folder.py MODEL.gguf FOLDER   (needs
transformers, torch, gguf)

vLLM reads such folders; the numbers are those of the GGUF, de-quantised.
"""
import os
import pathlib
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

checkpoint, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
part = folder.with_suffix(".part")  # an interrupted run leaves no folder that looks complete
source = dict(pretrained_model_name_or_path=checkpoint.parent, gguf_file=checkpoint.name)
model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.bfloat16)
model.hf_quantizer = None  # it is not quantised any more, and could not be saved with this set
del model.config.quantization_config
model.save_pretrained(part)
AutoTokenizer.from_pretrained(**source).save_pretrained(part)
os.replace(part, folder)
