"""Compares tiny random checkpoints of every family and feature with HF's logits (tests/checkpoints/tiny).

exact: within 1e-4 of HF at both CPU levels, for all weights. fast: integer formats give the same bits at both
levels. Quantised engines of float checkpoints must compile and stay close. With one expert per token every family
must compile; compilation checks that the plan computes what the model does.
"""
import json
import pathlib
import shutil

import numpy

PER_TOKEN = ("num_experts_per_tok", "experts_per_token", "moe_topk", "moe_k")
ONE_EXPERT = ("mixtral-fused", "qwen2moe-dense-layer", "granitemoe-shared", "gpt-oss-mxfp4")  # with --long, all families
FOLDER = pathlib.Path(__file__).parent.parent / "checkpoints" / "tiny"


def config_of(folder):
    return (folder / "config.json").read_text() if (folder / "config.json").exists() else ""


def logits(ingot, engine, ids, isa):
    out = ingot.work / "tiny.npy"
    ingot("logits", engine, "--ids", ",".join(map(str, ids)), "--out", out, "--isa", isa)
    return numpy.load(out)


def add(suite, ingot, long):
    for folder in sorted(path for path in FOLDER.iterdir() if path.is_dir()):
        ids = json.loads((folder / "ids.json").read_text())
        ids = ids["ids"] if isinstance(ids, dict) else ids
        expected = numpy.load(folder / "expected.npy")
        gguf = folder / "model.gguf"
        model = gguf if gguf.exists() else folder
        engine = ingot.work / "tiny.ingot"

        def exact():
            ingot("compile", model, "-o", engine, "--precision", "exact", "--quiet")
            worst = max(abs(logits(ingot, engine, ids, isa) - expected).max() for isa in ingot.levels(engine))
            assert worst <= 1e-4, f"largest difference from HF {worst:.2e}, allowed 1e-4"
            return f"largest difference from HF {worst:.1e}"

        def fast():
            ingot("compile", model, "-o", engine, "--quiet")
            worst = max(abs(logits(ingot, engine, ids, isa) - expected).max() for isa in ingot.levels(engine))
            assert worst <= 0.5 * expected.std(), f"largest difference {worst:.2f}, logits deviate {expected.std():.2f}"
            return f"largest difference {worst:.1e}"

        def quantized():
            remarks = []
            for kind, share in (("int8", 0.2), ("int4-g32", 1.5), ("int4-g64", 1.5), ("int4-g128", 1.5), ("fp8", 0.2)):
                ingot("compile", model, "-o", engine, "--quantize", kind, "--quiet")
                got = [logits(ingot, engine, ids, isa) for isa in ingot.levels(engine)]
                assert all(numpy.array_equal(got[0], other) for other in got), f"{kind}: levels differ"
                mean = abs(got[0] - expected).mean()
                assert mean <= share * expected.std(), f"{kind}: mean difference {mean:.2f}, logits deviate {expected.std():.2f}"
                remarks.append(f"{kind} {mean:.3f}")
            return "mean difference " + ", ".join(remarks)

        def one_expert():
            own = ingot.work / "one-expert" / folder.name
            shutil.rmtree(own, ignore_errors=True)
            shutil.copytree(folder, own)
            config = json.loads((own / "config.json").read_text())
            for part in (config, config.get("text_config", {})):
                for key in PER_TOKEN:
                    if key in part:
                        part[key] = [1] * len(part[key]) if isinstance(part[key], list) else 1
            (own / "config.json").write_text(json.dumps(config))
            for precision in ("exact", "fast") if long else ("exact",):
                ingot("compile", own, "-o", engine, "--precision", precision, "--target", "cpu:avx2", "--quiet")
            return "the plan computes the model"

        if folder.name in ONE_EXPERT or (long and any(f'"{key}"' in config_of(folder) for key in PER_TOKEN)):
            suite.check(f"tiny one expert a token: {folder.name}", one_expert)

        # Another container (GGUF) and another form of the configuration give the same module. test-models shows that
        # for all of them with the interpreter, so for compiled code one of each kind is enough.
        if long or not folder.name.endswith(("-gguf", "-old-config")):
            suite.check(f"tiny {folder.name}: exact", exact)
            suite.check(f"tiny {folder.name}: fast", fast)
        # Two checkpoints are always compared with HF. For the others, the bit list (tests/bits) shows whether anything
        # has changed.
        if not gguf.exists() and (long or folder.name in ("gemma3-layer-types", "llama3-tied")):
            suite.check(f"tiny {folder.name}: quantized", quantized)
