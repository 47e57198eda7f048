#!/usr/bin/env python3
"""Writes the held-out questions of redline-mini: questions.jsonl and the long prompts they share, documents.jsonl.

A question is a line {"kind", "messages", "tools", "check"}; {document N} in a message stands for line N of documents.jsonl. `check` is what the
answer must say. "recall 2000" is recall from a prompt of about so many tokens. Stories have no check: they serve the agreement of the drafts alone.

usage: questions.py OUT_FOLDER
"""
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import texts  # noqa: E402

COUNTS = {"arithmetic": 200, "tool": 80, "json": 50, "chat": 50, "story": 12}
RECALL = {250: 50, 1000: 20}  # a prompt of its own for each question
SHARED_RECALL = {2000: (4, 10), 4000: (3, 10), 7500: (2, 10)}  # prompts, questions about each


def line(kind, drawn):
    question = {"kind": kind, "messages": drawn.messages}
    if drawn.tools:
        question["tools"] = drawn.tools
    return question | ({"check": drawn.check} if kind != "story" else {})


def recall(tokens, rng):
    facts = rng.randint(4, 8) if tokens < 500 else rng.randint(10, 30)
    filler = max(0, int((tokens - 18 * facts - 100) * texts.FILLER_CHARACTERS_A_TOKEN))
    return texts.make("recall", rng, "held_out", facts=facts, questions=1, filler_characters=filler)


def shared_recall(tokens, count, seed):
    """One document and several questions about it: the same seed draws the same document, then another question of it is asked."""
    facts = 24
    filler = max(0, int((tokens - 18 * facts - 100) * texts.FILLER_CHARACTERS_A_TOKEN))
    drawn = texts.make("recall", random.Random(seed), "held_out", facts=facts, questions=count, filler_characters=filler)
    turns = [message for message in drawn.messages if message["role"] == "user"]
    answers = [message["content"] for message in drawn.messages if message["role"] == "assistant"]
    first = turns[0]["content"]
    if drawn.messages[0]["role"] == "system":
        document, asked = drawn.messages[0]["content"], [turn["content"] for turn in turns]
    else:
        document, question = first.rsplit("\n\n", 1)
        asked = [question] + [turn["content"] for turn in turns[1:]]
    answers.append(drawn.answer.split("</think>\n\n")[1].removesuffix("<|im_end|>"))
    return document, list(zip(asked, answers))


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    lines = [line(kind, texts.make(kind, random.Random(f"question/{kind}/{index}"), "held_out"))
             for kind, count in COUNTS.items() for index in range(count)]
    for tokens, count in RECALL.items():
        lines += [line(f"recall {tokens}", recall(tokens, random.Random(f"question/recall/{tokens}/{index}"))) for index in range(count)]
    documents = []
    for tokens, (prompts, count) in SHARED_RECALL.items():
        for index in range(prompts):
            document, asked = shared_recall(tokens, count, f"question/shared/{tokens}/{index}")
            for question, answer in asked:
                check = answer.removesuffix(".").rsplit(" is ", 1)[-1]  # of "… is VALUE." and "VALUE"
                assert check in document, (answer, check)
                lines.append({"kind": f"recall {tokens}", "check": check,
                              "messages": [texts.user("{document %d}\n\n%s" % (len(documents), question))]})
            documents.append(document)
    for name, each in (("questions", lines), ("documents", documents)):
        text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in each)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    print(f"questions: {len(lines)} questions, {len(documents)} documents")


if __name__ == "__main__":
    main()
