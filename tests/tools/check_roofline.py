"""Checks the output of `inspect --roofline` for the tiny checkpoint:  check_roofline.py JSON SVG"""
import json
import sys
import xml.etree.ElementTree

rows = json.load(open(sys.argv[1]))
by_name = {row["kernel"]: row for row in rows}
for row in rows:
    assert row["launches"] > 0 and row["decode_us"] > 0 and row["prompt512_us"] > 0, row
    assert row["decode_bytes"] > 0 and row["decode_limit_us"] > 0, row
    assert row["decode_bound"] in ("memory", "int8", "bf16", "f32"), row
    assert row["busy"] == "" or row["busy"].startswith("the machine is busy ("), row
    assert row["limit_read_gb_per_s"] > 0.1 and row["limit_int8_gops"] > row["limit_f32_gflops"] > 1, row
for row in rows:
    if row["family"] == "matmul":
        assert row["weight_bytes"] > 0 and row["decode_predicted_us"] > 0 and row["source"] == "model", row
        assert row["decode_bytes"] > row["weight_bytes"], row
        assert row["read_ahead"] in (0, 8192), row
    else:
        assert row["read_ahead"] == 0, row
# Two layers of 64 x 64: two operations per weight and token; the prompt has 254 tokens (context 256).
output = by_name["residual_0"]
assert output["decode_operations"] == 2 * 2 * 64 * 64, output
assert output["prompt512_operations"] == 254 * output["decode_operations"], output
assert output["shape"].endswith("64x64"), output
# Attention: four operations per query value and position; 254 * 255 / 2 pairs of token and position.
attention = by_name["attention_0"]
assert attention["prompt512_operations"] == 2 * 4 * 64 * 254 * 255 / 2, attention
# Logits are computed for one row, whatever the length of the prompt.
head = by_name["linear_0_keys"]
assert head["prompt512_operations"] == head["decode_operations"], head

picture = open(sys.argv[2]).read()
xml.etree.ElementTree.fromstring(picture)
assert "prefers-color-scheme: dark" in picture
assert picture.count("http") == 1 and "href" not in picture and "url(" not in picture  # only the namespace
for name in ("residual_0", "attention_0", "linear_0_keys"):
    assert f"<title>{name} (decode)" in picture and f"<title>{name} (prompt)" in picture, name
