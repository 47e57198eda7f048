#!/usr/bin/env python3
"""Answers the held-out questions with the training framework: what the product's answers are compared with.

Greedy, in bfloat16, without a cache: every step runs all sequences anew, which needs no code that could be wrong in another way than training.
Writes a line {"answer"} for each question and prints the share of right answers by kind.

usage: evaluate.py MODEL_FOLDER QUESTIONS_FOLDER OUT_FILE
"""
import json
import pathlib
import re
import sys

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import model as mini  # noqa: E402
import texts  # noqa: E402

MOST_TOKENS = 400  # of an answer
PACK = 60_000


def read_questions(folder):
    documents = [json.loads(line) for line in (folder / "documents.jsonl").open(encoding="utf-8")]
    for line in (folder / "questions.jsonl").open(encoding="utf-8"):
        question = json.loads(line)
        for message in question["messages"]:
            message["content"] = re.sub(r"\{document (\d+)\}", lambda found: documents[int(found.group(1))], message["content"])
        yield question


def is_right(question, answer):
    """Whether what follows the thinking says what `check` says."""
    thought, closed, content = answer.rpartition("</think>")
    if not closed or not content.endswith("<|im_end|>"):
        return False
    content, check = content.removesuffix("<|im_end|>").strip(), question["check"]
    if question["kind"] == "json":
        try:
            return json.loads(content) == json.loads(check)
        except json.JSONDecodeError:
            return False
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(check)}(?![0-9A-Za-z])", content) is not None


@torch.no_grad()
def answers_of(model, prompts, end):
    """Token ids of a greedy answer for each prompt."""
    sequences, answers, open_ones = [list(prompt) for prompt in prompts], [[] for _ in prompts], list(range(len(prompts)))
    while open_ones:
        ids, segments, last = [], [], []
        for place, index in enumerate(open_ones):
            ids += sequences[index]
            segments += [place] * len(sequences[index])
            last.append(len(ids) - 1)
        padding = -len(ids) % mini.CHUNK
        layout = mini.Layout(torch.tensor(segments + [len(open_ones)] * padding)[None].to(mini.DEVICE))
        with torch.autocast(mini.DEVICE, torch.bfloat16):
            hidden, _ = model.hidden(torch.tensor(ids + [0] * padding).to(mini.DEVICE), layout)
            best = model.lm_head(hidden[torch.tensor(last).to(mini.DEVICE)]).argmax(-1).tolist()
        still = []
        for index, token in zip(open_ones, best):
            sequences[index].append(token)
            answers[index].append(token)
            if token != end and len(answers[index]) < MOST_TOKENS:
                still.append(index)
        open_ones = still
    return answers


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    folder, questions_folder, out = (pathlib.Path(each) for each in sys.argv[1:])
    torch.backends.cuda.matmul.allow_tf32 = True
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    model = mini.Model().to(mini.DEVICE)
    tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors |= load_file(str(file), device=mini.DEVICE)
    mini.load_weights(model, tensors)
    questions = list(read_questions(questions_folder))
    prompts = [tokenizer.encode(texts.render(each["messages"], each.get("tools")), add_special_tokens=False).ids for each in questions]
    end = tokenizer.token_to_id("<|im_end|>")
    answers, begin = [], 0
    while begin < len(prompts):
        last, total = begin, 0
        while last < len(prompts) and total + len(prompts[last]) <= PACK:
            total += len(prompts[last])
            last += 1
        answers += answers_of(model, prompts[begin:last], end)
        begin = last
    right, count = {}, {}
    with out.open("w", encoding="utf-8") as file:
        for question, ids in zip(questions, answers):
            answer = tokenizer.decode(ids, skip_special_tokens=False)
            print(json.dumps({"answer": answer}, ensure_ascii=False), file=file)
            if "check" in question:
                kind = question["kind"]
                count[kind] = count.get(kind, 0) + 1
                right[kind] = right.get(kind, 0) + is_right(question, answer)
    for kind in count:
        print(f"evaluate: {kind}: {100 * right[kind] / count[kind]:.1f} % of {count[kind]}")


if __name__ == "__main__":
    main()
