"""Writes tests/golden/greedy-NAME.json: what the reference implementation answers, token by token, when it always takes the most likely one.

usage: greedy.py [NAME…]      no name: all of NAMES. README.md, "Greedy answers".
"""

import json
import sys

import torch
from safetensors import safe_open
from tokenizers import Tokenizer

import check
import checkpoints
import logits
import recipes

NAMES = ("dense-bf16",)  # without experts: no routing decision to tip over
LENGTH = 6
TEXTS = ["The quick brown fox jumps over the lazy dog", "Pack my box with five dozen liquor jugs", "How vexingly quick daft zebras jump",
         "Sphinx of black quartz, judge my vow", "Waltz, bad nymph, for quick jigs vex", "Jackdaws love my big sphinx of quartz"]


@torch.no_grad()
def answer(model, prompt):
    """The ids, and the smallest distance of the best logit from the second in units of its row's norm."""
    rows, _, cache = model.run(prompt)
    ids, margin, row = [], float("inf"), rows[-1]
    while len(ids) < LENGTH:
        best = row.topk(2)
        margin = min(margin, float((best.values[0] - best.values[1]) / row.norm()))
        ids.append(int(best.indices[0]))
        if len(ids) < LENGTH:
            rows, _, cache = model.run([ids[-1]], cache, len(prompt) + len(ids) - 1)
            row = rows[-1]
    return ids, margin


def write(recipe):
    folder = checkpoints.FOLDER / recipe.name
    model = logits.Reference(recipe, logits.weights_of(folder), torch.float32)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    with safe_open(folder / "logits.safetensors", framework="pt") as file:
        error = json.loads(file.metadata()["report"])["e"]
    found = []
    for text in {' '.join(text.split()[first:]) for text in TEXTS for first in range(len(text.split()))}:
        prompt = tokenizer.encode(text).ids
        ids, margin = answer(model, prompt)
        found.append((margin, text, prompt, ids))
    margin, text, prompt, ids = max(found)
    # The error of a BF16 run spreads over the row's logits (here 336): one of them is off by about 1.5 e / √336 of the norm, a difference of two by √2
    # times that, 0.12 e. Five times as much decides.
    check.check(margin > 0.6 * error, recipe.name, "no prompt with clear decisions: margin", margin, "error", error)
    content = {"prompt": text, "prompt_ids": prompt, "ids": ids, "margin": round(margin, 5), "bf16_error": error}
    (checkpoints.FOLDER.parent / f"greedy-{recipe.name}.json").write_text(json.dumps(content, indent=1) + "\n")
    print(recipe.name, content)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for chosen in recipes.RECIPES:
        if chosen.name in (sys.argv[1:] or NAMES):
            write(chosen)
