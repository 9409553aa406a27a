"""The loss of quality from several KV cache types: tables of docs/numerics.md.

  kv_quality.py --ingot PROGRAM --checkpoints FOLDER --work FOLDER [--only NAME]

Each mix is compiled and scored on the goldens' text (tests/e2e/goldens). A row has `--kv`, bytes of a page, perplexity
relative to the f32 reference's, and mean |Δ nll| to that reference and to the default cache. Other work on the machine
does not matter.
"""
import argparse
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
MIXES = {
    "smollm2": ["f16", "int8", "int4", "int4 0-3,26-=f16", "int4 0-1=f16", "int4 26-=f16", "int4 0-7,22-=f16", "int8 0-3,26-=f16", "int4 0-3,26-=int8"],
    # Every sixth of its 18 layers attends to all positions, and the others attend to 512.
    "gemma3": ["f16", "int8", "int4", "int4 5,11,17=f16", "int4 0-2,15-=f16", "int8 5,11,17=f16", "int8 5,11,17=int4", "f16 5,11,17=int8"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ingot", required=True, type=pathlib.Path)
    parser.add_argument("--checkpoints", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", choices=list(MIXES))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)

    def ingot(*arguments):
        return subprocess.run([str(options.ingot), *map(str, arguments)], check=True, capture_output=True, text=True).stdout

    print("| checkpoint, `--kv` | bytes of a page | perplexity | mean abs. difference of nll to f32 | to f16 KV |\n|---|---:|---:|---:|---:|")
    for name, mixes in MIXES.items():
        if options.only not in (None, name):
            continue
        text = json.loads((HERE.parent / "e2e" / "goldens" / f"{name}.json").read_text())["text"]
        ids, engine = options.work / "ids.json", options.work / f"{name}.ingot"
        ids.write_text(json.dumps(text["ids"]))
        default = None
        for mix in mixes:
            kv = [word for part in mix.split() for word in ("--kv", part)]
            ingot("compile", options.checkpoints / f"{name}.gguf", "-o", engine, "--quiet", "--cache", options.work / "code", *kv)
            page = json.loads(ingot("inspect", engine, "--json"))["programs"][0]["memory"]["bytes_per_page"]
            score = json.loads(ingot("score", engine, "--ids-file", ids, "--json"))

            def apart(nll):
                return sum(abs(a - b) for a, b in zip(score["nll"], nll)) / len(nll)

            default = default or score["nll"]
            print(f"| {name}, `{mix}` | {page:,} | {100 * (score['perplexity'] / text['perplexity'] - 1):+.2f} % | {apart(text['nll']):.4f} | "
                  f"{apart(default):.4f} |", flush=True)


if __name__ == "__main__":
    main()
