"""A byte-level BPE tokenizer of 329 tokens and the small files that go with it: what a published folder carries beside
its weights, in miniature. Trained by the `tokenizers` library on text from a seeded generator.
"""

import json
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import family

SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# In the order of the family's ids, which start here at 296 instead of 248044. False: kept when special tokens are hidden.
CONTROL = [
    ("<|endoftext|>", True), ("<|im_start|>", True), ("<|im_end|>", True),
    ("<|object_ref_start|>", True), ("<|object_ref_end|>", True), ("<|box_start|>", True), ("<|box_end|>", True),
    ("<|quad_start|>", True), ("<|quad_end|>", True), ("<|vision_start|>", True), ("<|vision_end|>", True),
    ("<|vision_pad|>", True), ("<|image_pad|>", True), ("<|video_pad|>", True), ("<tool_call>", False),
    ("</tool_call>", False), ("<|fim_prefix|>", False), ("<|fim_middle|>", False), ("<|fim_suffix|>", False),
    ("<|fim_pad|>", False), ("<|repo_name|>", False), ("<|file_sep|>", False), ("<tool_response>", False),
    ("</tool_response>", False), ("<think>", False), ("</think>", False), ("<|audio_start|>", True),
    ("<|audio_end|>", True), ("<tts_pad>", True), ("<tts_text_bos>", True), ("<tts_text_eod>", True),
    ("<tts_text_bos_single>", True), ("<|audio_pad|>", True),
]  # fmt: skip

TEMPLATE = """\
{%- if not messages %}{{- raise_exception('A conversation needs at least one message.') }}{%- endif %}
{%- for message in messages %}
{%- if message.role == 'system' and not loop.first %}
{{- raise_exception('Only the first message may be a system message.') }}
{%- endif %}
{%- if message.content is string %}{%- set text = message.content %}
{%- else %}{%- set text = message.content | map(attribute='text') | join('') %}{%- endif %}
{{- '<|im_start|>' + message.role + '\\n' + text | trim + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n<think>\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}
"""


def training_lines(count=2000):
    draw = random.Random(20)
    syllables = ["ra", "len", "to", "mi", "sha", "ver", "on", "de", "ing", "th", "es", "or", "é", "ü", "한", "の", "ก็"]
    for _ in range(count):
        words = ["".join(draw.choices(syllables, weights=range(17, 0, -1), k=draw.randint(1, 3))) for _ in range(8)]
        yield " ".join(words) + draw.choice([".", ",", "!\n", "\n\n", " 42", " == x;"])


def tokenizer():
    result = Tokenizer(models.BPE(ignore_merges=False, byte_fallback=False))
    result.normalizer = normalizers.NFC()
    byte_level = {"add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    result.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(SPLIT), behavior="isolated", invert=False), pre_tokenizers.ByteLevel(**byte_level)]
    )
    result.decoder = decoders.ByteLevel(**byte_level)
    result.post_processor = processors.ByteLevel(**byte_level)
    base = family.VOCABULARY - 7 - len(CONTROL)
    trainer = trainers.BpeTrainer(
        vocab_size=base, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False
    )
    result.train_from_iterator(training_lines(), trainer)
    assert result.get_vocab_size() == base
    result.add_tokens([AddedToken(text, special=special, normalized=False) for text, special in CONTROL])
    assert result.token_to_id("<|endoftext|>") == base
    return result


def write(folder):
    words = tokenizer()
    # One line per file: the pretty form is three times the size and no easier to read.
    (folder / "tokenizer.json").write_text(words.to_str() + "\n")
    added = {
        str(words.token_to_id(text)): {
            "content": text, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": special,
        }
        for text, special in CONTROL
    }  # fmt: skip
    settings = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": added,
        "bos_token": None,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "errors": "replace",
        "model_max_length": 4096,
        "pad_token": "<|endoftext|>",
        "split_special_tokens": False,
        "tokenizer_class": "Qwen2Tokenizer",
        "unk_token": None,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings) + "\n")
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    eos = [words.token_to_id("<|im_end|>"), words.token_to_id("<|endoftext|>")]
    generation = {"do_sample": True, "eos_token_id": eos, "pad_token_id": eos[1], "temperature": 1.0, "top_k": 20, "top_p": 0.95}
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")
