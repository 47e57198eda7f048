"""`generate` and `chat` on a golden checkpoint: the reference implementation's greedy answer, options, refusals word for word."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
from safetensors.numpy import load_file

PROGRAM = os.environ["REDLINE_PROGRAM"]
CHECKPOINTS = pathlib.Path(os.environ["REDLINE_SOURCE_DIR"]) / "tests/golden/checkpoints"
MODEL = CHECKPOINTS / "dense-bf16"
GREEDY = json.loads((CHECKPOINTS.parent / "greedy-dense-bf16.json").read_text())
failures = []


def run(*arguments, stdin="", code=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=120)
    if done.returncode != code:
        failures.append(f"{arguments}: exit code {done.returncode}, expected {code}: {done.stderr}")
    return done


def expect(what, found, expected):
    if found != expected:
        failures.append(f"{what}:\n  found    {found!r}\n  expected {expected!r}")


def refused(arguments, message, code=2, stdin=""):
    done = run(*arguments, stdin=stdin, code=code)
    expect(arguments, done.stderr.splitlines(keepends=True)[-1:], [f"redline: {message}\n"])  
    expect((arguments, "standard output"), done.stdout, "")


def greedy(*more):
    return json.loads(run("generate", MODEL, "--raw", "--temperature", 0, "--max-tokens", len(GREEDY["ids"]), "--prompt", GREEDY["prompt"], "--json", *more).stdout)


plain = greedy()
expect("greedy ids", plain["ids"], GREEDY["ids"])
expect("prompt tokens", plain["prompt_tokens"], len(GREEDY["prompt_ids"]))
expect("stop reason", plain["stop_reason"], "length")
for drafts in (1, 3, 8):
    drafted = greedy("--drafts", drafts)
    expect(f"greedy ids with {drafts} drafts", drafted["ids"], GREEDY["ids"])
    expect("positions of drafts", len(drafted["drafted"]), drafts)
expect("from standard input", json.loads(run("generate", MODEL, "--raw", "--temperature", 0, "--max-tokens", 6, "--json", stdin=GREEDY["prompt"]).stdout)["ids"], GREEDY["ids"])
expect("portable candidates", greedy("--force", "matmul=cpu/any/loops", "--ban", "norm=cpu/avx2/rows")["ids"], GREEDY["ids"])

# A seed is a text; without one, the seed that was drawn is told and repeats the text.
sampled = json.loads(run("generate", MODEL, "--prompt", "Hi", "--max-tokens", 12, "--json").stdout)
again = json.loads(run("generate", MODEL, "--prompt", "Hi", "--max-tokens", 12, "--seed", sampled["seed"], "--json").stdout)
expect("the same seed", again["ids"], sampled["ids"])
expect("temperature of generation_config.json", sampled["temperature"], 1.0)

with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "logits.safetensors"
    run("generate", MODEL, "--raw", "--temperature", 0, "--max-tokens", 1, "--prompt", GREEDY["prompt"], "--logits", file)
    stored = load_file(file)
    expect("tokens beside logits", stored["tokens"].tolist(), GREEDY["prompt_ids"])
    expect("the last row decides", int(numpy.argmax(stored["logits"][-1])), GREEDY["ids"][0])
    refused(["generate", MODEL, "--raw", "--prompt", "Hi", "--logits", "/nowhere/x"], "cannot write the logits to /nowhere/x", code=7)

chat = run("chat", MODEL, "--max-tokens", 5, "--seed", 3, stdin="/stats\nHi\n\n/stats\n/nothing\n/clear\nHi\n/exit\nnot read\n")
lines = chat.stdout.splitlines()
expect("stats before", lines[0], "nothing was answered yet")
expect("unknown command", "/nothing is no command; there are /exit, /clear, /stats" in lines, True)
expect("stats after", sum("prompt tokens in" in line and "tokens at" in line for line in lines), 1)

SYNTHETIC = "synthetic:qwen3.5-0.8b"
SAYS = f"{SYNTHETIC} has random weights and no tokenizer, so it has nothing to say; `bench` measures it"
refused(["generate", SYNTHETIC, "--prompt", "x"], SAYS)
refused(["chat", SYNTHETIC], SAYS)
refused(["generate", MODEL, "--prompt", ""], "the prompt is empty; give --prompt TEXT or text on standard input")
refused(["generate", MODEL, "--raw", "--system", "x", "--prompt", "x"],
        "--raw continues the text as it stands: --system, --thinking and --chat-template have no meaning with it")
refused(["generate", MODEL, "--prompt", "x", "--force", "matmul"], "--force 'matmul': expected OPERATOR=CANDIDATE, as in matmul=cpu/any/loops")
refused(["generate", MODEL, "--prompt", "x", "--device", "cuda:0"], "--device cuda:0: this build runs models on the CPU only; use --device cpu", code=4)
refused(["generate", MODEL, "--prompt", "x", "--max-model-len", 100000000], "--max-model-len 100000000: dense-bf16 was trained for 4096 positions")
done = run("generate", MODEL, "--raw", "--prompt", "x" * 300, "--max-model-len", 100, code=2)
expect("too long", done.stderr.splitlines()[-1].startswith("redline: the prompt has "), True)
done = run("generate", CHECKPOINTS / "dense-bf16-tied", "--raw", "--prompt", "x", "--drafts", 2, code=2)
expect("no draft head", done.stderr.splitlines()[-1], "redline: dense-bf16-tied has no draft head (MTP) that could guess; use --drafts 0")

for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
