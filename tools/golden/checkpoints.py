"""Writes the tiny checkpoints of tests/golden/checkpoints and what `inspect --json` must say of each.

    python checkpoints.py [NAME …]      all of them when no name is given

The result depends on the seeds in recipes.py and on the library versions in requirements.txt, on nothing else.
"""

import hashlib
import json
import pathlib
import shutil
import sys

import torch
from safetensors.torch import save_file

import census
import family
import formats
import recipes
import words

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "checkpoints"


def number(recipe, name, low, high):
    """A calibration result that nobody measured: uniform in [low, high), fixed by seed and name."""
    digest = hashlib.sha256(f"{recipe.seed}/{name}".encode()).digest()
    return low + (high - low) * int.from_bytes(digest[:4], "little") / 2**32


def modules_of(recipe):
    """Internal module name -> what is stored beside it, suffix -> tensor. Suffix "" is a tensor without a module."""
    tensors = family.weights(recipe.sizes, recipe.seed, recipe.mtp, recipe.f32_gates)
    split = [] if recipe.fused_experts else ["model."]
    split += [] if recipe.mtp_fused_experts else ["mtp."]
    tensors = family.split_experts(tensors, split) if split else tensors
    result = {}
    for name, tensor in tensors.items():
        if name in recipe.mtp_missing:
            continue
        module, dot, suffix = name.rpartition(".")
        if suffix != "weight":
            result[name] = {"": tensor}
            continue
        options = {}
        if recipe.activation_scales:
            kind = module.replace("up_proj", "gate_proj")  # gate and up see the same activations
            options["activation_amax"] = number(recipe, kind + ".activation", 4, 20)
        partner = {"gate_proj": "up_proj", "up_proj": "gate_proj"}.get(module.rpartition(".")[2])
        key = recipe.format_of(module)
        if partner and key == "nvfp4" and recipe.shared_gate_up_scale:
            other = tensors[module.rpartition(".")[0] + f".{partner}.weight"]
            options["tensor_scale"] = formats.nvfp4_tensor_scale(tensor, other)
        result[module] = formats.encode(key, tensor, **options)
    for index, kind in enumerate(recipe.sizes.layer_types):
        if kind != "full_attention" or not recipe.kv_scales:
            continue
        attention = f"model.layers.{index}.self_attn"
        for letter in "kv":
            scale = torch.tensor(number(recipe, f"{attention}.{letter}_scale", 0.018, 0.036))
            if recipe.kv_scales == "modelopt":
                result[f"{attention}.{letter}_proj"][f"{letter}_scale"] = scale
            else:
                result.setdefault(attention, {})[f"{letter}_scale"] = scale.to(torch.bfloat16).reshape(1)
    return result


def write_tensors(recipe, folder, tensors):
    metadata = {"format": "pt"}
    if recipe.shards == 1:
        save_file(tensors, folder / "model.safetensors", metadata=metadata)
        return
    total = census.size(tensors.values())
    shards, filled = [{}], 0
    for name in sorted(tensors):
        if filled >= total * len(shards) / recipe.shards:
            shards.append({})
        shards[-1][name] = tensors[name]
        filled += census.size([tensors[name]])
    weight_map = {}
    for number_, shard in enumerate(shards, start=1):
        file = f"model-{number_:05}-of-{len(shards):05}.safetensors"
        save_file(shard, folder / file, metadata=metadata)
        weight_map |= dict.fromkeys(shard, file)
    if recipe.index:
        index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))}
        write_json(folder / "model.safetensors.index.json", index)


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")


def write(recipe):
    folder = FOLDER / recipe.name
    kept = {path.name: path.read_bytes() for path in folder.glob("logits.*")}
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in kept.items():
        (folder / name).write_bytes(content)
    modules = modules_of(recipe)
    tensors = {}
    for module, stored in modules.items():
        for suffix, tensor in stored.items():
            tensors[recipe.disk_name(module) + ("." + suffix if suffix else "")] = tensor.contiguous()
    write_tensors(recipe, folder, tensors)
    config, hf_quant_config = recipes.config(recipe, modules)
    write_json(folder / "config.json", config)
    if hf_quant_config:
        write_json(folder / "hf_quant_config.json", hf_quant_config)
    words.write(folder)
    expected = census.expected(recipe, modules)
    assert sum(group["bytes"] for group in expected["groups"]) == census.size(tensors.values())
    write_json(folder / "expected.json", expected)
    print(f"{recipe.name}: {len(tensors)} tensors, {sum(path.stat().st_size for path in folder.iterdir()):,} bytes")


if __name__ == "__main__":
    for recipe in recipes.RECIPES:
        if len(sys.argv) == 1 or recipe.name in sys.argv[1:]:
            write(recipe)
