"""`redline quantize` on the golden BF16 checkpoints by every plan: what `inspect` says of the result, the error that it prints against a
decoder written here from the formats' formulas, tensors that must not change, going on after an interruption, and refusals."""
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

import numpy as np

PROGRAM = os.environ["REDLINE_PROGRAM"]
GOLDEN = pathlib.Path(os.environ["REDLINE_SOURCE_DIR"]) / "tests/golden/checkpoints"
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "in_proj_qkv", "in_proj_z", "out_proj")
MLP = ("gate_proj", "up_proj", "down_proj")
BITS = {"F32": 32, "BF16": 16, "F8_E4M3": 8, "U8": 8}
NAMES = {"nvfp4": "NVFP4", "fp8_block": "FP8 128x128", "fp8_tensor": "FP8 per tensor"}


def expect(what, found, expected):
    if found != expected:
        raise SystemExit(f"{what}: expected {expected!r}, found {found!r}")


def run(*arguments, code=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, timeout=300)
    if done.returncode != code:
        raise SystemExit(f"{arguments}: exit code {done.returncode}, expected {code}: {done.stderr.decode()}")
    return done


def quantize(source, to, output, *more):
    return json.loads(run("quantize", source, "--to", to, "--output", output, "--json", *more).stdout)


def refused(code, *arguments):
    done = run("quantize", *arguments, code=code)
    expect("nothing on stdout of a refusal", done.stdout, b"")
    return done.stderr.decode().removeprefix("redline: ").rstrip("\n")


# Reading, by the definition of the file format.
def read_file(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    expect(f"{path.name}: metadata", header.pop("__metadata__", None), {"format": "pt"})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        width = BITS[entry["dtype"]] // 8
        if (8 + length + begin) % width:
            raise SystemExit(f"{path.name}: {name} is not aligned to its type")
        tensors[name] = (entry["dtype"], tuple(entry["shape"]), data[8 + length + begin : 8 + length + end])
    return tensors


def read_folder(folder):
    tensors = {}
    for path in sorted(folder.glob("model*.safetensors")):
        for name, tensor in read_file(path).items():
            if name in tensors:
                raise SystemExit(f"{name} is there twice")
            tensors[name] = tensor
    index = folder / "model.safetensors.index.json"
    if folder.parent == GOLDEN:
        return tensors  # one of them has shards without an index, on purpose
    if len(list(folder.glob("model*.safetensors"))) > 1:
        content = json.loads(index.read_text())
        expect("index", sorted(content["weight_map"]), sorted(tensors))
        expect("total_size", content["metadata"]["total_size"], sum(len(tensor[2]) for tensor in tensors.values()))
        for name, file in content["weight_map"].items():
            if not (folder / file).exists():
                raise SystemExit(f"the index names {file}, which is not there")
    else:
        expect("an index beside a single file", index.exists(), False)
    return tensors


# Decoding, by the formulas of the formats.
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float64)
E2M1 = np.concatenate([E2M1, -E2M1])


def e4m3(raw):
    code = np.frombuffer(raw, np.uint8).astype(np.int64)
    exponent, mantissa = (code >> 3) & 15, code & 7
    magnitude = np.where(exponent == 0, mantissa * 2.0**-9, (1 + mantissa / 8) * 2.0 ** (exponent - 7))
    return np.where(code & 128, -magnitude, magnitude)


def bf16(raw):
    return (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def scalar(tensor):
    expect("a scalar's dtype and shape", tensor[:2], ("F32", ()))
    return float(np.frombuffer(tensor[2], np.float32)[0])


def decode(module, tensors):
    """Values in float64, the format, and the names used."""
    dtype, shape, raw = tensors[module + ".weight"]
    if dtype == "U8":
        rows, columns = shape[0], 2 * shape[1]
        packed = np.frombuffer(raw, np.uint8).reshape(shape)
        values = np.stack([E2M1[packed & 15], E2M1[packed >> 4]], -1).reshape(rows, columns)
        scale_type, scale_shape, scales = tensors[module + ".weight_scale"]
        expect(module + ": block scales", (scale_type, scale_shape), ("F8_E4M3", (rows, columns // 16)))
        values = values * np.repeat(e4m3(scales).reshape(scale_shape), 16, 1) * scalar(tensors[module + ".weight_scale_2"])
        return values, "nvfp4", {".weight", ".weight_scale", ".weight_scale_2"}
    expect(module + ": dtype", dtype, "F8_E4M3")
    values = e4m3(raw).reshape(shape)
    if module + ".weight_scale" in tensors:
        expect(module + ": input scale", scalar(tensors[module + ".input_scale"]), 1.0)
        return values * scalar(tensors[module + ".weight_scale"]), "fp8_tensor", {".weight", ".weight_scale", ".input_scale"}
    scale_type, scale_shape, scales = tensors[module + ".weight_scale_inv"]
    expect(module + ": block scales", (scale_type, scale_shape), ("BF16", tuple(-(-side // 128) for side in shape)))
    scales = np.repeat(np.repeat(bf16(scales).reshape(scale_shape), 128, 0), 128, 1)[: shape[0], : shape[1]]
    return values * scales, "fp8_block", {".weight", ".weight_scale_inv"}


# What each plan means, written from docs/quantize.md and not from the program.
def internal(name):
    for start, becomes in (("model.language_model.", "model."), ("language_model.model.", "model."), ("language_model.mtp.", "mtp."),
                           ("language_model.lm_head", "lm_head"), ("model.visual.", "visual."), ("vision_tower.", "visual.")):  # fmt: skip
        if name.startswith(start):
            return becomes + name[len(start) :]
    return name


def group_of(module):
    name = internal(module)
    if name.startswith("mtp."):
        return "mtp"
    if name == "lm_head":
        return "head"
    for part, group in ((".linear_attn.", "delta_net"), (".self_attn.", "attention"), (".mlp.experts.", "routed_experts"),
                        (".mlp.shared_expert.", "shared_expert"), (".mlp.", "dense_mlp")):  # fmt: skip
        if part in name:
            return group
    return "none"


def planned(module, to):
    """The format of a linear module, None: BF16."""
    name, last = internal(module), module.rpartition(".")[2]
    mtp = name.startswith("mtp.")
    if name.startswith("visual.") or last not in PROJECTIONS + MLP + ("lm_head",):
        return None
    if to == "fp8":
        return None if name == "lm_head" else "fp8_block"
    if mtp:
        return None
    if to == "experts":
        return "nvfp4" if ".mlp.experts." in name else None
    return "fp8_tensor" if to == "mixed" and last in PROJECTIONS else "nvfp4"


def expected_weights(source, to, tied):
    """Names of kept tensors with their content; values of what becomes quantised, by module."""
    kept, weights = {}, {}
    for name, (dtype, shape, raw) in source.items():
        module = name.removesuffix(".weight")
        parent, _, last = name.rpartition(".")
        if last in ("gate_up_proj", "down_proj") and parent.endswith(".experts"):  # fused
            first = f"{parent}.0.down_proj"
            if planned(first, to) is None:
                kept[name] = (dtype, shape, raw)
                continue
            values = bf16(raw).reshape(shape)
            for expert in range(shape[0]):
                if last == "down_proj":
                    weights[f"{parent}.{expert}.down_proj"] = values[expert]
                else:
                    weights[f"{parent}.{expert}.gate_proj"], weights[f"{parent}.{expert}.up_proj"] = np.split(values[expert], 2)
        elif planned(module, to) is None or module == name:
            kept[name] = (dtype, shape, raw)
        else:
            weights[module] = bf16(raw).reshape(shape)
        if internal(name) == "model.embed_tokens.weight" and tied and to in ("mixed", "nvfp4"):
            weights["language_model.lm_head" if name.startswith("language_model.model.") else "lm_head"] = bf16(raw).reshape(shape)
    return kept, weights


def check_inspect(folder, source_folder, to, weights):
    report = json.loads(run("inspect", folder, "--json", "--gpu", "h200").stdout)
    expect(f"{folder.name}: faults", report["faults"], [])
    before = {group["name"]: group for group in json.loads((source_folder / "expected.json").read_text())["groups"]}
    formats = {group_of(module): planned(module, to) for module in weights}
    for group in report["groups"]:
        name = group["name"]
        expect(f"{folder.name}: {name}: config agrees", group["config_agrees"], True)
        expect(f"{folder.name}: {name}: format", group["format"], NAMES[formats[name]] if name in formats else before[name]["format"])
        if name != "head":
            expect(f"{folder.name}: {name}: parameters", group["parameters"], before[name]["parameters"])
    expect(f"{folder.name}: groups", sorted(group["name"] for group in report["groups"]), sorted(before))
    return report


def check_errors(report, weights, tensors, to):
    sums, used = {}, set()
    for module, original in weights.items():
        decoded, key, suffixes = decode(module, tensors)
        expect(f"{module}: format", key, planned(module, to))
        expect(f"{module}: shape", decoded.shape, original.shape)
        used |= {module + suffix for suffix in suffixes}
        # Nothing may be further away than half the widest step of its format allows: 1 of 6 in NVFP4, 16 of 448 in FP8, and a scale's rounding.
        largest = np.abs(original).max()
        if np.abs(decoded - original).max() > largest * (0.19 if key == "nvfp4" else 0.0375):
            raise SystemExit(f"{module}: an element is {np.abs(decoded - original).max() / largest} of the largest away")
        total = sums.setdefault((group_of(module), NAMES[key]), [0, 0.0, 0.0, 0.0, 0.0])
        for i, value in enumerate((original.size, ((decoded - original) ** 2).sum(), (original**2).sum(), (decoded**2).sum(), (original * decoded).sum())):
            total[i] += value
    expect("groups in the report", sorted((g["name"], g["format"]) for g in report["groups"]), sorted(sums))
    for group in report["groups"]:
        count, difference, squares, decoded_squares, product = sums[group["name"], group["format"]]
        expect("parameters", group["parameters"], count)
        for field, value in (("relative_error", math.sqrt(difference / squares)), ("cosine", product / math.sqrt(squares * decoded_squares))):
            if not math.isclose(group[field], value, rel_tol=1e-6):
                raise SystemExit(f"{group['name']}: {field} printed as {group[field]}, found {value}")
        low, high = (0.08, 0.12) if group["format"] == "NVFP4" else (0.02, 0.03)  # of normal weights: 0.095 and 0.026
        if not low < group["relative_error"] < high:
            raise SystemExit(f"{group['name']}: relative error {group['relative_error']} is not plausible")
    return used


def check_shared_scales(weights, tensors, to):
    """Matrices that run as one product have one scalar: the larger of their own."""
    for names in (("gate_proj", "up_proj"), ("q_proj", "k_proj", "v_proj"), ("in_proj_qkv", "in_proj_z")):
        for module in weights:
            if not module.endswith("." + names[0]) or planned(module, to) != "nvfp4":
                continue
            parent = module.rpartition(".")[0]
            largest = max(np.abs(weights[f"{parent}.{name}"]).max() for name in names)
            for name in names:
                found = scalar(tensors[f"{parent}.{name}.weight_scale_2"])
                expect(f"{parent}.{name}: weight_scale_2", found, float(np.float32(largest) / np.float32(2688)))


def check_result(source_folder, folder, to, report):
    config = json.loads((source_folder / "config.json").read_text())
    tied = config["tie_word_embeddings"]
    source, tensors = read_folder(source_folder), read_folder(folder)
    kept, weights = expected_weights(source, to, tied)
    used = check_errors(report, weights, tensors, to)
    for name, tensor in kept.items():
        if tensors.get(name) != tensor:
            raise SystemExit(f"{folder.name}: {name} was to be kept as it is")
    expect(f"{folder.name}: tensors", sorted(tensors), sorted(set(kept) | used))
    check_shared_scales(weights, tensors, to)
    check_inspect(folder, source_folder, to, weights)
    new = json.loads((folder / "config.json").read_text())
    section = new.pop("quantization_config")
    copies_head = tied and to in ("mixed", "nvfp4")
    if copies_head:
        config["tie_word_embeddings"] = False
        config.get("text_config", config)["tie_word_embeddings"] = False
    expect(f"{folder.name}: the rest of config.json", new, config)
    expect(f"{folder.name}: method", section["quant_method"], "fp8" if to == "fp8" else "modelopt")
    other = folder / "hf_quant_config.json"
    expect(f"{folder.name}: hf_quant_config.json", other.exists(), to != "fp8")
    if other.exists():
        expect("the two lists", json.loads(other.read_text())["quantization"]["exclude_modules"], section["ignore"])
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"):
        expect(name, (folder / name).read_bytes(), (source_folder / name).read_bytes())


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def check_going_on(work):
    source = GOLDEN / "moe-bf16"
    whole, again = work / "whole", work / "again"
    first = quantize(source, "mixed", whole, "--shard-size", "60kB")
    expect("several shards", first["shards"] > 3 and first["shards_kept"] == 0, True)
    quantize(source, "mixed", again, "--shard-size", "60kB")
    expect("two runs", contents(again) == contents(whole), True)
    # As a killed run leaves it: some shards, one of them begun, a journal that knows what was finished.
    shards = sorted(again.glob("model-*.safetensors"))
    journal = (again / "redline-quantize.journal").read_text()
    cut = journal.index(f"shard {shards[2].name} ")
    (again / "redline-quantize.journal").write_text(journal[:cut])
    for path in shards[2:]:
        path.unlink()
    (again / f"{shards[2].name}.part").write_bytes(b"half of it")
    for name in ("config.json", "hf_quant_config.json", "model.safetensors.index.json", "tokenizer.json"):
        (again / name).unlink()
    times = {path.name: path.stat().st_mtime_ns for path in shards[:2]}
    third = quantize(source, "mixed", again, "--shard-size", "60kB")
    expect("shards kept", third["shards_kept"], 2)
    expect("after an interruption", contents(again) == contents(whole), True)
    expect("kept shards were not touched", {path.name: path.stat().st_mtime_ns for path in shards[:2]}, times)
    expect("errors after an interruption", third["groups"], first["groups"])
    # A shard that lost its end is made again.
    shards[1].write_bytes(shards[1].read_bytes()[:-1])
    expect("shards kept", quantize(source, "mixed", again, "--shard-size", "60kB")["shards_kept"], first["shards"] - 1)
    expect("after a damaged shard", contents(again) == contents(whole), True)
    expect("a finished folder", quantize(source, "mixed", again, "--shard-size", "60kB")["shards_kept"], first["shards"])

    message = refused(2, source, "--to", "nvfp4", "--output", again, "--shard-size", "60kB")
    expect("another plan", message, f'{again}: holds another run\'s work (its journal says "to mixed" where this run has "to nvfp4"): '
           "choose another folder, or delete it")  # fmt: skip
    copy = work / "copy"
    shutil.copytree(source, copy)
    os.utime(copy / "model-00001-of-00003.safetensors", (1, 1))
    message = refused(2, copy, "--to", "mixed", "--output", again, "--shard-size", "60kB")
    expect("another source", "model-00001-of-00003.safetensors" in message and "another run's work" in message, True)
    (again / "notes.txt").write_text("mine")
    message = refused(2, source, "--to", "mixed", "--output", again, "--shard-size", "60kB")
    expect("a stranger", message, f"{again}: holds notes.txt: --output wants a folder that is empty or not there")


def check_killed(work):
    """A process that is really killed, at the first moment when a shard is finished."""
    source, killed = GOLDEN / "moe-bf16", work / "killed"
    arguments = [PROGRAM, "quantize", str(source), "--to", "fp8", "--output", str(killed), "--shard-size", "1kB"]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not list(killed.glob("*.safetensors")):
        pass
    process.kill()
    process.wait()
    whole = work / "never-killed"
    quantize(source, "fp8", whole, "--shard-size", "1kB")
    quantize(source, "fp8", killed, "--shard-size", "1kB")
    expect("after a kill", contents(killed) == contents(whole), True)


def check_refusals(work):
    out = work / "out"
    dense = GOLDEN / "dense-bf16"
    expect("experts of a dense model", refused(2, dense, "--to", "experts", "--output", out),
           "dense-bf16: a dense model has no routed experts to quantise; use fp8, mixed or nvfp4")  # fmt: skip
    expect("NVFP4 already", refused(2, GOLDEN / "moe-nvfp4-mixed", "--to", "fp8", "--output", out),
           "moe-nvfp4-mixed is quantised already (delta_net FP8 per tensor, routed_experts NVFP4, shared_expert NVFP4, attention FP8 per tensor, "
           "head NVFP4); quantize starts from a BF16 checkpoint")  # fmt: skip
    expect("FP8 already", refused(2, GOLDEN / "moe-fp8-block", "--to", "nvfp4", "--output", out),
           "moe-fp8-block is quantised already (delta_net FP8 128x128, routed_experts FP8 128x128, shared_expert FP8 128x128, attention FP8 128x128, "
           "mtp FP8 128x128); quantize starts from a BF16 checkpoint")  # fmt: skip
    expect("into the source", refused(2, dense, "--to", "fp8", "--output", dense).startswith(f"{dense}: holds "), True)
    expect("no folder is left behind", out.exists(), False)
    expect("a synthetic model", refused(2, "synthetic:qwen3.5-0.8b", "--to", "fp8", "--output", out),
           "synthetic:qwen3.5-0.8b: has no files to quantise; synthetic:qwen3.5-0.8b@fp8 is its quantised form")  # fmt: skip
    headers = work / "headers"
    shutil.copytree(dense, headers)
    with open(headers / "model.safetensors", "r+b") as file:
        file.truncate(8 + struct.unpack("<Q", file.read(8))[0])
    expect("headers alone", refused(2, headers, "--to", "fp8", "--output", out), "headers: its weights are not here; quantize reads them")
    infinite = work / "infinite"
    shutil.copytree(dense, infinite)
    data = bytearray((infinite / "model.safetensors").read_bytes())
    length = struct.unpack("<Q", data[:8])[0]
    name = "model.language_model.layers.0.mlp.up_proj.weight"
    at = 8 + length + json.loads(data[8 : 8 + length])[name]["data_offsets"][0] + 2 * 5
    data[at : at + 2] = b"\x80\x7f"
    (infinite / "model.safetensors").write_bytes(data)
    for to in ("nvfp4", "fp8"):
        message = refused(2, infinite, "--to", to, "--output", work / f"infinite-{to}")
        expect("an infinite weight", message, f'tensor "{name.removesuffix(".weight")}": element 5 is inf; only finite values can be quantised')


def check_room(work):
    """A source with a hole that is larger than what the disk has free: refused before anything is written."""
    source = work / "huge"
    shutil.copytree(GOLDEN / "dense-bf16", source)
    path = source / "model.safetensors"
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    count = shutil.disk_usage(work).free // 2 + 1_000_000
    end = len(data) - 8 - length
    header["model.visual.huge"] = {"dtype": "BF16", "shape": [count], "data_offsets": [end, end + 2 * count]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data[8 + length :])
        file.truncate(8 + len(text) + end + 2 * count)
    message = refused(7, source, "--to", "fp8", "--output", work / "huge-out")
    expect("too little room", "are to be written and" in message and "make room or choose another folder" in message, True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        count = 0
        for name in ("dense-bf16", "dense-bf16-tied", "moe-bf16", "moe-bf16-packed-mtp"):
            for to in ("experts", "mixed", "nvfp4", "fp8"):
                if to == "experts" and name.startswith("dense"):
                    continue
                output = work / f"{name}-{to}"
                report = quantize(GOLDEN / name, to, output)
                check_result(GOLDEN / name, output, to, report)
                count += 1
        check_going_on(work)
        check_killed(work)
        check_refusals(work)
        check_room(work)
        print(f"{count} results decode to the printed errors, runs go on, refusals say why")


if __name__ == "__main__":
    main()
