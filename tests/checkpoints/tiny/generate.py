"""Writes the tiny random checkpoints of this folder, and the logits that HF transformers computes for them.

  pip install torch transformers gguf && python generate.py [OUT] [--only NAME] [--llama-cpp FOLDER]

Each folder NAME holds a checkpoint (config.json with safetensors, or model.gguf) and
  ids.json      token ids of one prompt
  expected.npy  f32 [ids][vocab]: logits of every position, HF, weights as f32, arithmetic in f32
Sizes are odd on purpose: not multiples of tiles, heads that are not hidden / heads wide, windows and original
contexts shorter than the prompt. Tests need none of these packages: the outputs are committed.

--only takes a folder (qwen3-old-config) or a prefix of folders (qwen3). GGUFs are written
by llama.cpp's own converter (convert_gguf.py says where to get it), whose folder is
--llama-cpp; those of mixed formats by write_gguf.py.

To add a family, write a function with one call per folder into the file of its kind, and
add it to that file's FAMILIES:
  out.hf(name, class, config, dtype, seed)        safetensors. `config` is transformers' own, or a dictionary: a
                                                  config.json as the hub has it, with the sizes made small
  out.converted(name, class, config, seed)        the GGUF of such a checkpoint
`matters=[{key: value}, ...]` lists configuration changes that must show in the logits: each one switches off a
feature that the folder tests. Every weight is checked for visibility anyway (`folders.prove`); `unseen` names the
few tensors that do not show. Keep folders below about 60 KB.
"""
import argparse
import pathlib
import sys

sys.dont_write_bytecode = True  # each folder here is a checkpoint

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes tiny random checkpoints and HF's logits for them.")
    parser.add_argument("out", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    parser.add_argument("--only", help="one folder, or what folders begin with")
    parser.add_argument("--llama-cpp", type=pathlib.Path, help="vendor/llama.cpp of llama-cpp-python's sdist")
    options = parser.parse_args()

    import convert_gguf
    if options.llama_cpp:
        convert_gguf.use(options.llama_cpp.resolve())

    import torch
    import transformers

    import act_order
    import convolution
    import experts
    import layer_norm
    import post_norm
    import pre_norm
    from folders import Folders

    torch.set_num_threads(1)
    print("torch", torch.__version__, "transformers", transformers.__version__)
    folders = Folders(options.out.resolve(), options.only, bool(options.llama_cpp))
    for kind in (pre_norm, post_norm, layer_norm, convolution, experts, act_order):
        for family in kind.FAMILIES:
            family(folders)
