"""Checkpoints with one thing wrong, through the program: the whole sentence and the exit code for each. `inspect` tells faults of tensor files
in its report and exits with 3; what keeps a report from being made is one line on stderr."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

PROGRAM = os.environ["REDLINE_PROGRAM"]
GOLDEN = pathlib.Path(os.environ["REDLINE_SOURCE_DIR"]) / "tests/golden/checkpoints"
INDEX = "model.safetensors.index.json"
SHARD_1, SHARD_2 = "model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors"
faults = []


def expect(what, found, expected):
    if found != expected:
        faults.append(f"{what}:\n  expected {expected!r}\n  found    {found!r}")


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def expect_refused(what, command, code, sentence):
    done = run(*command)
    expect(what, (done.returncode, done.stdout, done.stderr.decode()), (code, b"", f"redline: {sentence}\n"))


def inspect(what, folder, code, expected):
    """The report, after its faults have been compared; nothing may be on stderr."""
    done = run("inspect", folder, "--gpu", "h200", "--json")
    expect(f"{what}, exit code", (done.returncode, done.stderr), (code, b""))
    report = json.loads(done.stdout) if done.stdout else {"faults": None, "notes": []}
    expect(what, report["faults"], expected)
    if expected:
        text = run("inspect", folder, "--gpu", "h200")
        expect(f"{what}, as text", (text.returncode, all(line in text.stdout.decode() for line in expected)), (code, True))
    return report


class Copy:
    """A golden checkpoint to be damaged; gone afterwards."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.temporary.name) / self.name
        shutil.copytree(GOLDEN / self.name, folder, ignore=shutil.ignore_patterns("logits.safetensors", "expected.json"))
        return folder

    def __exit__(self, *unused):
        self.temporary.cleanup()


def read(file):
    data = file.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def write(file, header, data):
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return 8 + len(text)


def by_place(header):
    return sorted((name for name in header if name != "__metadata__"), key=lambda name: header[name]["data_offsets"])


def append(file, name, dtype, shape, size):
    header, data = read(file)
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + size]}
    write(file, header, data + bytes(size))


def folders_and_configs():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        expect_refused("an empty folder", ["inspect", path], 2, f"{path}: config.json is missing; the folder is empty")
        (path / "model.gguf").write_bytes(b"GGUF")
        expect_refused("a folder of GGUF", ["inspect", path], 2,
                       f"{path}: config.json is missing; found model.gguf: GGUF is not read, only safetensors")
        expect_refused("no folder", ["inspect", path / "absent"], 2,
                       f"{path}/absent: no such folder; expected one with config.json and safetensors files")
    with Copy("dense-bf16") as folder:
        (folder / "config.json").unlink()
        expect_refused("no config.json", ["inspect", folder], 2,
                       f"{folder}: config.json is missing; found chat_template.jinja, generation_config.json, model.safetensors, "
                       "tokenizer.json and 1 more")
    with Copy("dense-bf16") as folder:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"architectures": ["LlamaForCausalLM"]}))
        expect_refused("an unknown architecture", ["inspect", folder], 2,
                       'config.json: architectures: the architecture "LlamaForCausalLM" is not known; known are '
                       "Qwen3_5ForConditionalGeneration, Qwen3_5MoeForConditionalGeneration, Qwen3_5ForCausalLM, Qwen3_5MoeForCausalLM")
        del config["text_config"]["hidden_size"]
        (folder / "config.json").write_text(json.dumps(config))
        expect_refused("a field that is missing", ["inspect", folder], 3, "config.json: text_config.hidden_size is missing")


def headers():
    file_name = "model.safetensors"
    header, data = read(GOLDEN / "dense-bf16" / file_name)
    names = by_place(header)
    last, before = names[-1], names[-2]
    size = (GOLDEN / "dense-bf16" / file_name).stat().st_size
    start = size - len(data)

    with Copy("dense-bf16") as folder:
        file = folder / file_name
        os.truncate(file, size - 1)
        inspect("one byte too few", folder, 3,
                [f'{file_name}: tensor "{last}" ends at byte {len(data)} after a header of {start}, the file has {size - 1} bytes: it is cut '
                 "short or the header is damaged, download it again"])
        os.truncate(file, start)
        report = inspect("the header alone", folder, 0, [])
        expect("the header alone", report["model"]["weights"], "not_here")
        text = run("inspect", folder, "--gpu", "h200").stdout.decode()
        expect("the header alone, as text", "weights not here: the files end after their headers" in text, True)
        os.truncate(file, start + 1)
        inspect("one byte of weights", folder, 3,
                [f'{file_name}: tensor "{last}" ends at byte {len(data)} after a header of {start}, the file has {start + 1} bytes: it is cut '
                 "short or the header is damaged, download it again"])
    with Copy("dense-bf16") as folder:
        os.truncate(folder / file_name, size + 1)
        inspect("one byte too many", folder, 3,
                [f"{file_name}: the tensors end at byte {size}, the file has {size + 1}: 1 bytes too many, download it again"])

    # Of a file whose header cannot be read no tensor is known, so that everything else is missing as well: only the first fault counts.
    def first_fault(what, change, sentence):
        with Copy("dense-bf16") as folder:
            change(folder / file_name)
            done = run("inspect", folder, "--gpu", "h200", "--json")
            expect(f"{what}, exit code", (done.returncode, done.stderr), (3, b""))
            expect(what, json.loads(done.stdout)["faults"][0], sentence)

    def overwrite(at, content):
        def change(file):
            with open(file, "r+b") as stream:
                stream.seek(at)
                stream.write(content)

        return change

    first_fault("a header longer than the file", overwrite(0, struct.pack("<Q", size - 7)),
                f"{file_name}: declares a header of {size - 7} bytes, the file has {size - 8} after its first 8: it is cut short, download it "
                "again")
    first_fault("a header beyond the limit", overwrite(0, struct.pack("<Q", 100_000_001)),
                f"{file_name}: declares a header of 100000001 bytes, the format allows 100000000: it is damaged or no safetensors file")
    first_fault("a header of the largest number", overwrite(0, b"\xff" * 8),
                f"{file_name}: declares a header of {2**64 - 1} bytes, the format allows 100000000: it is damaged or no safetensors file")
    first_fault("a header that is not JSON", overwrite(8, b"["), f"{file_name}: the header is not JSON: the file is damaged, download it again")
    first_fault("a header that is not UTF-8", overwrite(10, b"\xff"),
                f"{file_name}: the header is not UTF-8: the file is damaged, download it again")
    first_fault("three bytes", lambda file: os.truncate(file, 3), f"{file_name}: the file has 3 bytes, a safetensors file starts with 8 of header length: download it again")

    begin, end = header[last]["data_offsets"]
    with Copy("dense-bf16") as folder:
        moved = header | {last: header[last] | {"data_offsets": [begin - 2, end - 2]}}
        write(folder / file_name, moved, data[:-2])
        inspect("tensors that overlap", folder, 3,
                [f'{file_name}: tensor "{last}" at [{begin - 2}, {end - 2}] overlaps tensor "{before}" at '
                 f"[{header[before]['data_offsets'][0]}, {begin}]"])
    with Copy("dense-bf16") as folder:
        moved = header | {last: header[last] | {"data_offsets": [begin + 2, end + 2]}}
        start = write(folder / file_name, moved, data)
        inspect("a tensor outside the file", folder, 3,
                [f'{file_name}: tensor "{last}" begins at {begin + 2}, expected {begin}: the bytes between belong to no tensor',
                 f'{file_name}: tensor "{last}" ends at byte {end + 2} after a header of {start}, the file has {start + len(data)} bytes: it is '
                 "cut short or the header is damaged, download it again"])


def indices():
    weight_map = json.loads((GOLDEN / "moe-bf16" / INDEX).read_text())["weight_map"]
    in_2 = [name for name, shard in weight_map.items() if shard == SHARD_2]
    with Copy("moe-bf16") as folder:
        (folder / SHARD_2).unlink()
        inspect("an index that names a missing shard", folder, 3,
                [f'{SHARD_2}: is missing; {INDEX} says that it holds {len(in_2)} tensors, "{in_2[0]}" among them'])
    with Copy("moe-bf16") as folder:
        extra = {"model.language_model.layers.0.extra.weight": SHARD_1}
        (folder / INDEX).write_text(json.dumps({"weight_map": weight_map | extra}))
        inspect("an index that names a tensor its shard lacks", folder, 3,
                [f'{SHARD_1}: tensor "model.language_model.layers.0.extra.weight" is lacking, which {INDEX} places here: download the file '
                 "again"])
    with Copy("moe-bf16") as folder:
        (folder / INDEX).write_text(json.dumps({"weight_map": weight_map | {in_2[0]: SHARD_1}}))
        inspect("an index that names the wrong shard", folder, 3,
                [f'{SHARD_1}: tensor "{in_2[0]}" is lacking, which {INDEX} places here; {SHARD_2} holds it'])


def tensors():
    file_name = "model.safetensors"
    with Copy("dense-bf16") as folder:
        append(folder / file_name, "model.language_model.layers.0.extra.weight", "BF16", [2, 2], 8)
        inspect("a tensor that nothing takes", folder, 3,
                ["dense-bf16: 1 tensor in the files that the model has no use for: model.language_model.layers.0.extra.weight"])
    with Copy("dense-bf16") as folder:
        append(folder / file_name, "a\x1b[31m", "BF16", [2, 2], 8)
        inspect("a name that would colour the terminal", folder, 3,
                ["dense-bf16: 1 tensor in the files that the model has no use for: a\\x1b[31m"])
    with Copy("dense-bf16") as folder:
        header, data = read(folder / file_name)
        write(folder / file_name, {("vision_tower.extra" if name.endswith(".norm.weight") and "layers" not in name and "mtp" not in name and
                                    "visual" not in name else name): value for name, value in header.items()}, data)
        report = inspect("a tensor that is missing", folder, 3,
                         ["dense-bf16: 1 tensor that the model needs and the files do not hold: model.norm.weight"])
        expect("vision tensors are skipped with a line",
               [note for note in report["notes"] if "vision" in note],
               ["22 vision tensors are known and skipped: the engine reads text only"])
    with Copy("dense-bf16") as folder:
        header, data = read(folder / file_name)
        name = next(name for name in header if name.endswith("layers.0.input_layernorm.weight") and "mtp" not in name)
        write(folder / file_name, header | {name: header[name] | {"shape": [8, 8]}}, data)
        inspect("a tensor of another shape", folder, 3,
                [f'{file_name}: tensor "{name}": expected BF16, F16 or F32 [64] (from config.json), found BF16 [8, 8]'])


def configs_that_contradict():
    with Copy("dense-bf16") as folder:
        config = json.loads((folder / "config.json").read_text())
        config["quantization_config"] = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128],
                                         "modules_to_not_convert": ["lm_head", "mtp", "model.visual", "model.language_model.embed_tokens"]}
        (folder / "config.json").write_text(json.dumps(config))
        report = inspect("a config that contradicts the tensors", folder, 0, [])
        groups = {group["name"]: (group["format"], group["config_agrees"]) for group in report["groups"]}
        for group in ("dense_mlp", "delta_net", "attention"):
            expect(f"{group} against the config", groups[group], ("BF16", False))
        # Three layers of gate, up and down; two of qkv, z and out; one of q, k, v and o.
        expect("one line for each group", [note for note in report["notes"] if "declares" in note],
               [f"config.json declares FP8 128x128 where the files hold BF16, in {count} modules of {group} (first: {first}): the tensors win"
                for count, group, first in ((9, "dense_mlp", "model.layers.0.mlp.gate_proj"),
                                            (6, "delta_net", "model.layers.0.linear_attn.in_proj_qkv"),
                                            (4, "attention", "model.layers.2.self_attn.q_proj"))])
        expect("head against the config", groups["head"], ("BF16", True))


def tokenizers():
    with Copy("dense-bf16") as folder:
        file = folder / "tokenizer.json"
        command = ["tokenize", folder, "--text", "a"]
        good = json.loads(file.read_text())
        expect("tokenize", run(*command).returncode, 0)
        lines = json.dumps(good, indent=1).split("\n")
        at = next(i for i, line in enumerate(lines) if '"pre_tokenizer"' in line)
        broken = lines[:at] + [lines[at].replace(":", "", 1)] + lines[at + 1 :]
        file.write_text("\n".join(broken))
        done = run(*command)
        # The sentence behind the field is the JSON library's own and differs between its versions.
        expect("a tokenizer.json that is not JSON", (done.returncode, done.stdout, done.stderr.count(b"\n")), (3, b"", 1))
        expect("the line of what is not JSON", done.stderr.decode().startswith(f"redline: {file}:{at + 1}: "), True)
        text = json.dumps(good | {"pre_tokenizer": {"type": "Metaspace"}}, indent=1)
        file.write_text(text)
        line = 1 + text[: text.index('"pre_tokenizer"')].count("\n")
        expect_refused("a pre-tokenizer of another family", command, 4,
                       f'{file}:{line}: pre_tokenizer is "Metaspace", expected a Sequence of Split and ByteLevel, or ByteLevel alone')
        file.unlink()
        expect_refused("no tokenizer.json", command, 2, f"{file}: no such file; text needs the checkpoint's tokenizer.json")


def main():
    folders_and_configs()
    headers()
    indices()
    tensors()
    configs_that_contradict()
    tokenizers()
    for fault in faults:
        print(fault)
    if faults:
        raise SystemExit(f"{len(faults)} differences")
    print("bad files are told as they should be")


if __name__ == "__main__":
    main()
