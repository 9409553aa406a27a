"""Puts a tiny checkpoint into a wrapper, like those of models saved with a vision tower:  wrap.py IN OUT"""
import json
import pathlib
import struct
import sys

given, out = map(pathlib.Path, sys.argv[1:])
out.mkdir(parents=True)
config = json.loads((given / "config.json").read_text())
wrapper = {"architectures": ["Mistral3ForConditionalGeneration"], "text_config": config, "vision_config": {"hidden_size": 8}}
(out / "config.json").write_text(json.dumps(wrapper))

data = (given / "model.safetensors").read_bytes()
(size,) = struct.unpack_from("<Q", data)
header, data = json.loads(data[8 : 8 + size]), data[8 + size :]
header = {name if name == "__metadata__" else "language_model." + name: entry for name, entry in header.items()}
for name in ("vision_tower.a", "vision_tower.b", "multi_modal_projector.c"):
    header[name] = {"dtype": "I64", "shape": [25000], "data_offsets": [len(data), len(data) + 200000]}
    data += bytes(200000)
text = json.dumps(header).encode()
(out / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
