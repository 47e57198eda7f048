#!/usr/bin/env python3
"""Trains the tokenizer of redline-mini on generated text and writes tokenizer.json and tokenizer_config.json.

A byte-level BPE with the family's split rule, NFC normaliser and control tokens; 3,000 entries in all, control tokens last.

usage: tokenizer.py OUT_FOLDER
"""
import json
import pathlib
import random
import re
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import texts  # noqa: E402  (beside this file)

VOCABULARY = 3000
CHARACTERS = 3_000_000
SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
# In the family's order; False: not flagged special, so that the token survives "skip special tokens".
CONTROL_TOKENS = [
    ("<|endoftext|>", True), ("<|im_start|>", True), ("<|im_end|>", True),
    ("<|object_ref_start|>", True), ("<|object_ref_end|>", True), ("<|box_start|>", True), ("<|box_end|>", True),
    ("<|quad_start|>", True), ("<|quad_end|>", True), ("<|vision_start|>", True), ("<|vision_end|>", True),
    ("<|vision_pad|>", True), ("<|image_pad|>", True), ("<|video_pad|>", True),
    ("<tool_call>", False), ("</tool_call>", False), ("<|fim_prefix|>", False), ("<|fim_middle|>", False),
    ("<|fim_suffix|>", False), ("<|fim_pad|>", False), ("<|repo_name|>", False), ("<|file_sep|>", False),
    ("<tool_response>", False), ("</tool_response>", False), ("<think>", False), ("</think>", False),
    ("<|audio_start|>", True), ("<|audio_end|>", True), ("<tts_pad>", True), ("<tts_text_bos>", True),
    ("<tts_text_eod>", True), ("<tts_text_bos_single>", True), ("<|audio_pad|>", True),
]


def sample():
    """About three million characters of training text, cut at control tokens, so that no merge crosses one."""
    cut = re.compile("|".join(re.escape(name) for name, _ in CONTROL_TOKENS))
    rng = random.Random(20)
    drawn = 0
    while drawn < CHARACTERS:
        text = "".join(piece for piece, _ in texts.mixture(rng, 512).pieces)
        drawn += len(text)
        yield from (part for part in cut.split(text) if part)


def train():
    """The trained tokenizer, control tokens included."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY - len(CONTROL_TOKENS), min_frequency=2, show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(sample(), trainer)
    fillers = VOCABULARY - len(CONTROL_TOKENS) - tokenizer.get_vocab_size()
    if fillers > 0:
        raise SystemExit(f"tokenizer.py: the text gives {fillers} entries too few")
    for name, special in CONTROL_TOKENS:
        added = AddedToken(name, special=special, normalized=False)
        tokenizer.add_special_tokens([added]) if special else tokenizer.add_tokens([added])
    return tokenizer


def configuration(tokenizer):
    """What tokenizer_config.json holds."""
    decoder = {str(tokenizer.token_to_id(name)): {"content": name, "lstrip": False, "normalized": False, "rstrip": False,
                                                  "single_word": False, "special": special}
               for name, special in CONTROL_TOKENS}
    template = pathlib.Path(__file__).with_name("chat_template.jinja").read_text(encoding="utf-8")
    return {"add_bos_token": False, "add_prefix_space": False, "added_tokens_decoder": decoder,
            "additional_special_tokens": [name for name, special in CONTROL_TOKENS if special and name != "<|endoftext|>"],
            "bos_token": None, "chat_template": template, "clean_up_tokenization_spaces": False, "eos_token": "<|im_end|>",
            "errors": "replace", "model_max_length": 8192, "pad_token": "<|endoftext|>", "split_special_tokens": False,
            "tokenizer_class": "Qwen2Tokenizer", "unk_token": None}


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = train()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(configuration(tokenizer), indent=2, ensure_ascii=False) + "\n",
                                                  encoding="utf-8")
    print(f"tokenizer: {tokenizer.get_vocab_size()} entries, {len(CONTROL_TOKENS)} of them control tokens")


if __name__ == "__main__":
    main()
