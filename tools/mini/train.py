#!/usr/bin/env python3
"""Trains redline-mini on one GPU for a given time and writes a BF16 checkpoint.

usage: train.py --tokenizer FOLDER --out FOLDER --state FILE --seconds N [--start FOLDER] [--seed N]

Rows of 512 tokens for most of the time, then of 2,048, then of 8,192; the learning rate falls over the last two fifths. Drafts two and
three are trained from the start of the second phase. A line of losses and, every minute, of scores on held-out conversations goes to
OUT/log.txt; OUT gets a checkpoint every five minutes and at the end. STATE holds all that is needed to go on after an interruption: the
same command continues. --start takes the weights of a checkpoint instead of random ones.
"""
import argparse
import contextlib
import json
import pathlib
import random
import sys
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import model as mini  # noqa: E402
import packing  # noqa: E402
import texts  # noqa: E402

TOKENS = 65_536  # a step
PHASES = [(0.70, 512, 1), (0.86, 2048, 3), (1.0, 8192, 3)]  # until this share of the time: row length, drafts trained
RATE, DECAY_FROM, RATE_END = 2e-3, 0.6, 0.03
DRAFT_WEIGHTS = (0.3, 0.15, 0.1)
BALANCE_WEIGHT = 0.01
PROCESSES = 12
SCORES = {"arithmetic": 256, "tool": 256, "json": 128, "chat": 128}
RECALL_TOKENS = {250: 256, 1000: 64, 2000: 48, 4000: 32, 7500: 24}


def learning_rate(share, step):
    falling = max(RATE_END, min(1.0, (1 - share) / (1 - DECAY_FROM)))
    return RATE * falling * min(1.0, (step + 1) / 200)


def losses_of(hidden, head, targets, weights):
    """Weighted sum of the losses and sum of the weights."""
    logits = F.linear(hidden, head)
    each = F.cross_entropy(logits.float(), targets, reduction="none")
    return (each * weights).sum() / weights.sum().clamp(min=1.0)


# ---------------------------------------------------------------- scores

def held_out(tokenizer):
    """Packed held-out conversations: (label, ids, segments, spans of the answers), at most 65,000 tokens each."""
    drawn = [(kind, texts.make(kind, random.Random(f"score/{kind}/{index}"), "held_out"))
             for kind, count in SCORES.items() for index in range(count)]
    for tokens, count in RECALL_TOKENS.items():
        for index in range(count):
            rng = random.Random(f"score/recall/{tokens}/{index}")
            facts = min(6, max(2, tokens // 40)) if tokens < 500 else rng.randint(6, 30)
            filler = max(0, int((tokens - 18 * facts - 100) * texts.FILLER_CHARACTERS_A_TOKEN))
            drawn.append((f"recall {tokens}", texts.make("recall", rng, "held_out", facts=facts, questions=1, filler_characters=filler)))
    packs, now = [], []
    for label, each in drawn:
        prompt = tokenizer.encode(each.prompt, add_special_tokens=False).ids
        answer = tokenizer.encode(each.answer, add_special_tokens=False).ids
        if sum(len(p) + len(a) for _, p, a in now) + len(prompt) + len(answer) > 65_000:
            packs.append(now)
            now = []
        now.append((label, prompt, answer))
    packs.append(now)
    result = []
    for pack in packs:
        ids, segments, spans = [], [], []
        for index, (label, prompt, answer) in enumerate(pack):
            spans.append((label, len(ids) + len(prompt), len(ids) + len(prompt) + len(answer)))
            ids += prompt + answer
            segments += [index] * (len(prompt) + len(answer))
        padding = -len(ids) % mini.CHUNK
        ids += [0] * padding
        segments += [len(pack)] * padding
        result.append((torch.tensor(ids).to(mini.DEVICE), torch.tensor(segments)[None].to(mini.DEVICE), spans))
    return result


@torch.no_grad()
def score(model, packs, drafts=3):
    """Per label: share of answers written without a fault, and how often drafts one to three agree with them."""
    right, total = {}, {}
    agreed, drafted = [0] * drafts, [0] * drafts
    with torch.autocast(mini.DEVICE, torch.bfloat16), torch.compiler.set_stance("force_eager"):
        for ids, segments, spans in packs:
            layout = mini.Layout(segments)
            hidden, _ = model.hidden(ids, layout)
            best = [model.lm_head(hidden).argmax(-1)]
            best += [model.lm_head(each).argmax(-1) for each in model.drafts(hidden, ids, layout, drafts)[0]]
            for label, start, end in spans:
                total[label] = total.get(label, 0) + 1
                right[label] = right.get(label, 0) + int((best[0][start - 1:end - 1] == ids[start:end]).all())
                for ahead in range(1, drafts + 1):
                    rows = slice(start - 1, end - 1 - ahead)
                    agreed[ahead - 1] += int((best[ahead][rows] == ids[start + ahead:end]).sum())
                    drafted[ahead - 1] += end - start - ahead
    return {label: right[label] / total[label] for label in total}, [a / b for a, b in zip(agreed, drafted)]


# ---------------------------------------------------------------- training

class Log:
    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.file = open(folder / "log.txt", "a", encoding="utf-8")

    def __call__(self, text):
        print(text, flush=True)
        print(text, file=self.file, flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--state", required=True, type=pathlib.Path)
    parser.add_argument("--seconds", required=True, type=float)
    parser.add_argument("--start", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from-share", type=float, default=0.0, help="begin the schedule at this share of the time")
    return parser.parse_args()


def main():
    options = parse()
    log = Log(options.out)
    torch.manual_seed(options.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch._dynamo.config.recompile_limit = 64  # row lengths and layer kinds
    model = mini.Model().to(mini.DEVICE)
    parameters = list(model.parameters())
    wide = [p for p in parameters if p.ndim >= 2]
    flat = [p for p in parameters if p.ndim < 2]
    optimizer = torch.optim.AdamW([{"params": wide, "weight_decay": 0.05}, {"params": flat, "weight_decay": 0.0}], lr=RATE,
                                  betas=(0.9, 0.95), fused=True)
    step, spent, blocks = 0, options.seconds * options.from_share, 0
    if options.state.exists():
        state = torch.load(options.state, map_location=mini.DEVICE)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step, spent, blocks = state["step"], state["spent"], state["blocks"] + 1
        log(f"continues at step {step}, second {spent:.0f}")
    elif options.start:
        from safetensors.torch import load_file
        tensors = {}
        for file in sorted(options.start.glob("*.safetensors")):
            tensors |= load_file(str(file))
        mini.load_weights(model, tensors)
    device = torch.cuda.get_device_name() if mini.DEVICE == "cuda" else "CPU"
    log(f"{sum(p.numel() for p in parameters) / 1e6:.2f} million parameters, {device}, torch {torch.__version__}")
    packs = held_out(packing.Tokenizer.from_file(str(pathlib.Path(options.tokenizer) / "tokenizer.json")))
    for layer in [*model.layers, *model.mtp.layers]:
        layer.compile(dynamic=False)
    loss_of = torch.compile(losses_of, dynamic=False)

    def save():
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "spent": spent, "blocks": blocks},
                   options.state)
        mini.write_checkpoint(model, options.out)

    def report_scores():
        scores, agreement = score(model, packs)
        log(f"score at {spent:.0f} s: " + ", ".join(f"{label} {100 * value:.1f}" for label, value in scores.items())
            + "; drafts " + " ".join(f"{value:.3f}" for value in agreement))
        return scores, agreement

    feeder, length, drafts = None, 0, 1
    begun, before = time.time(), spent
    minute, saved = spent + 60, spent + 300
    tokens = 0
    while spent < options.seconds:
        share = spent / options.seconds
        wanted, drafts = next((length, drafts) for until, length, drafts in PHASES if share < until)
        if wanted != length:
            if feeder:
                feeder.stop()
            length = wanted
            feeder = packing.Feeder(options.tokenizer, f"{options.seed}/{blocks}", length, TOKENS // length, PROCESSES)
            log(f"rows of {length} tokens from second {spent:.0f}")
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(share, step)
        ids, weights, segments = (torch.from_numpy(each).to(mini.DEVICE) for each in feeder.next())
        ids, weights = ids.flatten().long(), weights.flatten()
        layout = mini.Layout(segments.long())
        with torch.autocast(mini.DEVICE, torch.bfloat16):
            hidden, balance = model.hidden(ids, layout)
            rows = [hidden]
            more, draft_balance = model.drafts(hidden, ids, layout, drafts)
            rows += more
            head = model.lm_head.weight
            parts = []
            for ahead, each in enumerate(rows, 1):
                targets = torch.cat([ids[ahead:], ids.new_zeros(ahead)])
                weight = torch.cat([weights[ahead:], weights.new_zeros(ahead)]) * layout.same[ahead]
                parts.append(loss_of(each, head, targets, weight))
        loss = parts[0] + sum(weight * part for weight, part in zip(DRAFT_WEIGHTS, parts[1:]))
        loss = loss + BALANCE_WEIGHT * (balance + draft_balance) / (len(model.layers) + drafts)
        loss.backward()
        size = torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        tokens += TOKENS
        if step in (1, 2, 5, 20, 50) or step % 250 == 0:
            values = " ".join(f"{part.item():.4f}" for part in parts)
            spent = before + time.time() - begun
            log(f"step {step} second {spent:.0f} losses {values} balance {balance.item() / len(model.layers):.3f} gradient {size.item():.2f} "
                f"rate {group['lr']:.1e} tokens/s {tokens / (time.time() - begun):.0f} memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")
            if not torch.isfinite(loss):
                raise SystemExit("train.py: the loss is not a number")
        elif step % 10 == 0:
            torch.cuda.synchronize() if mini.DEVICE == "cuda" else None
        spent = before + time.time() - begun
        if spent >= minute:
            report_scores()
            minute = spent + 60
        if spent >= saved:
            save()
            saved = spent + 300
    feeder.stop()
    save()
    with torch.no_grad():  # what is shipped: weights rounded to bfloat16
        mini.load_weights(model, {name: tensor.to(mini.DEVICE) for name, tensor in mini.tensors_of(model, torch.bfloat16).items()})
    scores, agreement = report_scores()
    (options.out / "scores.json").write_text(json.dumps({"scores": scores, "drafts": agreement, "steps": step, "tokens": tokens}, indent=2) + "\n")
    log("finished")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
