#!/usr/bin/env python3
"""Tests the text generator of redline-mini (tools/mini/texts.py) on the rendered texts alone.

Checked over 20,000 conversations, half of each side: the sides share no operand pair, stated fact, tool argument or JSON record,
found by regular expressions and not by the generator's own hash; the check value is in the answer; arithmetic is right, step by step;
tool calls fit a declared function; the pieces make up prompt and answer; one seed gives one text.

usage: mini_texts_test.py      exit code 1 and a line per failure
"""
import json
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "mini"))
import texts  # noqa: E402

CONVERSATIONS = 20_000
THING = r"((?:[a-z]+ )?(?:code|number|spot|word|password|name|card))"
NAME = r"([A-Z][a-z]+(?: [A-Z][a-z]+)?)"
VALUE = r"(\d{4}|[a-z]+ [a-z]+)"
FACTS = [  # a pattern, and which groups are name, thing and value
    (re.compile(rf"[Tt]he {THING} of {NAME} is {VALUE}\."), (2, 1, 3)),
    (re.compile(rf"{NAME} has the {THING} {VALUE}\."), (1, 2, 3)),
    (re.compile(rf"For {NAME}, the {THING} is {VALUE}\."), (1, 2, 3)),
    (re.compile(rf"(?:^|(?<=[.\n] )|(?<=\n)){VALUE} is the {THING} of {NAME}\.", re.M), (3, 2, 1)),
]
NAMES_TOLD = re.compile(r"(?:My name is|You are) ([A-Z][a-z]+ [A-Z][a-z]+)[.,]")
LAST_QUESTION = re.compile(r".*<\|im_start\|>user\n(.*?)<\|im_end\|>\n<\|im_start\|>assistant\n", re.S)
CALL = re.compile(r"<tool_call>\n<function=(\w+)>\n(.*?)</function>\n</tool_call>", re.S)
PARAMETER = re.compile(r"<parameter=(\w+)>\n(.*?)\n</parameter>", re.S)
STEP = re.compile(r"(\d+(?: [-+×] \d+)+) = (\d+)")
failures = []


def expect(condition, text):
    if not condition and len(failures) < 20:
        failures.append(text)
        print("mini_texts_test: " + text)


def evaluate(expression):
    """The value of a chain of whole numbers with one kind of sign or with + and - from the left."""
    parts = expression.split(" ")
    value = int(parts[0])
    for sign, number in zip(parts[1::2], map(int, parts[2::2])):
        value = value + number if sign == "+" else value - number if sign == "-" else value * number
    return value


def operation_of(question):
    """Which operation a question asks for, by its words."""
    if re.search(r"\d ?\+ ?\d|plus|sum|Add|together|more|another", question):
        return "+"
    if re.search(r"\d ?- ?\d|minus|difference|subtract|left|free", question):
        return "-"
    return "×"


def check_arithmetic(drawn, keys):
    question = LAST_QUESTION.match(drawn.prompt).group(1)
    numbers = [int(each) for each in re.findall(r"\d+", question)]
    expect(len(numbers) == 2, f"not two operands: {question}")
    keys.add(("operands", *sorted(numbers)))
    result = evaluate(f"{numbers[0]} {operation_of(question)} {numbers[1]}")
    expect(int(drawn.check) == result, f"wrong check {drawn.check}: {question}")
    thought, content = drawn.answer.split("\n</think>\n\n")
    expect(int(re.findall(r"\d+", content)[-1]) == result, f"wrong answer {content}: {question}")
    steps = STEP.findall(thought)
    expect(len(steps) >= 1, f"no steps: {question}")
    for expression, value in steps:
        expect(evaluate(expression) == int(value), f"wrong step {expression} = {value}: {question}")
    written = re.findall(r"write (\d+)", thought)
    if written:
        expect(int("".join(reversed(written))) == result, f"written digits {written} do not make {result}: {question}")


def check_tool(drawn, keys):
    block = re.search(r"<tools>\n(.*?)\n</tools>", drawn.prompt, re.S).group(1)
    declared = {}
    for line in block.split("\n"):
        function = json.loads(line)["function"]
        declared[function["name"]] = function["parameters"]["properties"]
    expect(2 <= len(declared) <= 6, f"{len(declared)} tools")
    question_at = drawn.prompt.index("<|im_start|>user\n")
    for name, inner in CALL.findall(drawn.prompt[question_at:] + drawn.answer):
        expect(name in declared, f"call of {name}, which is not declared")
        given = dict(PARAMETER.findall(inner))
        expect(given.keys() == declared[name].keys(), f"parameters of {name}: {sorted(given)}")
        for key, value in given.items():
            kind = declared[name][key]
            if "enum" in kind:
                expect(value in kind["enum"], f"{value} is not allowed for {key}")
            elif kind["type"] == "boolean":
                expect(value in ("True", "False"), f"{value} is no boolean")
            else:
                expect(value in drawn.prompt[question_at:], f"the question does not give {value}")
                keys.add(("argument", value))


def check_json(drawn, keys):
    content = drawn.answer.split("</think>\n\n")[-1].removesuffix("<|im_end|>")
    expect(json.loads(content) == json.loads(drawn.check), f"not the JSON asked for: {content}")
    question = LAST_QUESTION.match(drawn.prompt).group(1)
    for sentence in re.findall(r"[A-Z][a-z]+ [A-Z][a-z]+ (?:is|lives|works|has|likes) [^.]*\.", question):
        keys.add(("record", sentence))


def check_recall(drawn, keys):
    found = {}
    for pattern, (name, thing, value) in FACTS:
        for match in pattern.finditer(drawn.prompt):
            fact = tuple(match.group(group) for group in (name, thing, value))
            expect(found.setdefault(fact[:2], fact[2]) == fact[2], f"two values of {fact[:2]}")
            keys.add(("fact", *fact))
    expect(drawn.check in found.values(), f"no fact found for {drawn.check}: {drawn.prompt[:300]}")
    stated = FACTS[0][0].search(drawn.answer)
    expect(stated and found.get((stated.group(2), stated.group(1))) == drawn.check, f"a fact that the text lacks: {drawn.answer}")


def check_chat(drawn, keys):
    for name in NAMES_TOLD.findall(drawn.prompt):
        keys.add(("name", name))


CHECKS = {"arithmetic": check_arithmetic, "tool": check_tool, "json": check_json, "recall": check_recall, "chat": check_chat}


def main():
    keys = {"train": set(), "held_out": set()}
    for index in range(CONVERSATIONS):
        side = ("train", "held_out")[index % 2]
        kind = texts.KINDS[index // 2 % len(texts.KINDS)]
        drawn = texts.make(kind, random.Random(index), side)
        expect(drawn.kind == kind, f"{kind} gives {drawn.kind}")
        expect("".join(piece for piece, _ in drawn.pieces) == drawn.prompt + drawn.answer, f"{kind}: pieces are not the text")
        expect(drawn.prompt.endswith("<|im_start|>assistant\n<think>\n"), f"{kind}: end of the prompt")
        expect(drawn.answer.endswith("<|im_end|>") and drawn.answer.count("</think>") == 1, f"{kind}: {drawn.answer}")
        expect(bool(drawn.check) and drawn.check in drawn.answer.split("</think>\n\n")[-1], f"{kind}: {drawn.check} is not in the answer")
        if kind in CHECKS:
            CHECKS[kind](drawn, keys[side])
    shared = keys["train"] & keys["held_out"]
    expect(not shared, f"{len(shared)} keys on both sides, such as {sorted(map(str, shared))[:5]}")
    counts = {side: {} for side in keys}
    for side, each in keys.items():
        for key in each:
            counts[side][key[0]] = counts[side].get(key[0], 0) + 1
        for name in ("operands", "argument", "record", "fact", "name"):
            expect(counts[side].get(name, 0) >= 20, f"{side}: only {counts[side].get(name, 0)} of {name} found")
    for length in (512, 2048, 8192):
        first, second = ([texts.mixture(rng, length) for _ in range(100)] for rng in (random.Random(length), random.Random(length)))
        expect(first == second, f"length {length}: one seed gives two texts")
        expect(all("".join(piece for piece, _ in drawn.pieces) == drawn.prompt + drawn.answer for drawn in first),
               f"length {length}: pieces are not the text")
        expect(len({drawn.prompt for drawn in first}) > 80, f"length {length}: few different texts")
    held_out = keys["held_out"]
    trained = [texts.mixture(random.Random(index), 512) for index in range(2000)]
    seen = set()
    for drawn in trained:
        if drawn.kind in CHECKS and "<think>\n\n</think>" not in drawn.prompt[-30:]:
            CHECKS[drawn.kind](drawn, seen)
    expect(not seen & held_out, f"the mixture draws held-out keys: {sorted(map(str, seen & held_out))[:5]}")
    print(f"mini_texts_test: {len(failures)} failures; keys found: {counts}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
