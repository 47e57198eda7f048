"""Reads the checkpoints back and holds them against the libraries and against themselves.

    python check.py [NAME …]

Per folder: files against index, bytes and counts against expected.json (counted here from the tensors on disk, not by
census.py), decoded weights against the weights that were drawn, one library's decoder against another's, and the whole
folder through `transformers`' loader where it reads that layout. Ends with status 1 at the first thing that is wrong.
"""

import collections
import hashlib
import json
import re
import sys

import torch
import transformers
from compressed_tensors.quantization.lifecycle.forward import dequantize
from modelopt.torch.quantization.qtensor import NVFP4QTensor
from safetensors import safe_open
from transformers.integrations import finegrained_fp8

import checkpoints
import family
import formats
import recipes

# Largest relative error of a random matrix, and largest single error as a share of the largest weight (FP8: half a step at 448 is 1/28).
BOUNDS = {"BF16": (0, 0), "FP8 128x128": (0.03, 0.0359), "FP8 per tensor": (0.03, 0.0359), "FP8 per channel": (0.03, 0.0359), "NVFP4": (0.1, 0.18)}


def check(condition, *message):
    if not condition:
        sys.exit(" ".join(str(part) for part in message))


def read(folder):
    """Name on disk -> tensor, and the file each lies in."""
    tensors, where = {}, {}
    for path in sorted(folder.glob("model*.safetensors")):
        with safe_open(path, framework="pt") as file:
            for name in file.keys():
                check(name not in tensors, folder.name, name, "lies in two files")
                tensors[name] = file.get_tensor(name)
                where[name] = path.name
    index = folder / "model.safetensors.index.json"
    if index.exists():
        content = json.loads(index.read_text())
        check(content["weight_map"] == where, folder.name, "index and shards differ")
        check(content["metadata"]["total_size"] == total(tensors.values()), folder.name, "total_size")
    return tensors


def total(tensors):
    return sum(tensor.nbytes for tensor in tensors)


def plain(name):
    """The internal name, by undoing the three prefixes."""
    name = re.sub(r"^(model\.visual|vision_tower)\.", "VISION.", name)
    name = re.sub(r"^language_model\.(?=lm_head|mtp)", "", name)
    name = re.sub(r"^(model\.language_model|language_model\.model)\.", "model.", name)
    return name.replace("VISION.", "model.visual.")


def modules_of(tensors):
    suffixes = "weight|weight_packed|weight_scale|weight_scale_inv|weight_scale_2|weight_global_scale|input_scale|input_global_scale"
    modules = collections.defaultdict(dict)
    for name, tensor in tensors.items():
        found = re.fullmatch(rf"(.*)\.({suffixes})", plain(name))
        modules[found[1] if found else plain(name)][found[2] if found else "weight"] = tensor
    return modules


def check_counts(expected, tensors, config):
    """Totals that need no definition of a group: all bytes, all weights, MTP, KV, and the sums per token."""
    groups = {group["name"]: group for group in expected["groups"]}
    check(sum(group["bytes"] for group in groups.values()) == total(tensors.values()), "bytes of all groups")
    names = {plain(name): tensor for name, tensor in tensors.items()}
    weights = {name: tensor for name, tensor in names.items() if not name.endswith("scale") and "scale_" not in name}
    nibbles = sum(tensor.numel() for tensor in weights.values() if tensor.dtype == torch.uint8)
    count = sum(tensor.numel() for tensor in weights.values()) + nibbles
    check(sum(group["parameters"] for group in groups.values()) == count, "parameters of all groups")
    for group, start in (("mtp", "mtp."), ("vision", "model.visual."), ("head", "lm_head."), ("embedding", "model.embed_tokens.")):
        size = total(tensor for name, tensor in names.items() if name.startswith(start))
        check(groups.get(group, {"bytes": 0})["bytes"] == size, "bytes of", group)
    check(expected["mtp"]["tensors_found"] == sum(name.startswith("mtp.") for name in names), "mtp tensors")
    scales = sum(name.endswith((".k_scale", ".v_scale")) for name in names)
    check(expected["kv"]["scales_found"] == scales, "KV scales")
    text = config.get("text_config", config)
    idle = total(t for n, t in names.items() if n.endswith(("input_scale", "input_global_scale", ".k_scale", ".v_scale")))
    outside = total(t for n, t in names.items() if n.startswith(("mtp.", "model.visual.", "model.embed_tokens.")))
    routed = total(t for n, t in names.items() if n.startswith("model.") and ".mlp.experts" in n and not n.endswith(("input_scale", "input_global_scale")))
    share = text["num_experts_per_tok"] / text["num_experts"] if "num_experts" in text else 0
    head = groups["embedding"]["bytes"] if text["tie_word_embeddings"] else 0
    check(expected["per_token"]["weight_bytes"] == total(names.values()) - idle - outside - routed * (1 - share) + head, "weight_bytes")


def check_values(recipe, modules):
    """Every weight on disk, decoded, against the one drawn; returns the worst relative error per format."""
    drawn = family.weights(recipe.sizes, recipe.seed, recipe.mtp, recipe.f32_gates)
    drawn = {name.removesuffix(".weight"): tensor for name, tensor in drawn.items() if name not in recipe.mtp_missing}
    separate = {name.removesuffix(".weight"): tensor for name, tensor in family.split_experts(drawn).items()}
    worst = collections.Counter()
    for module in set(modules) - set(drawn) - set(separate):
        check(module.endswith((".k_scale", ".v_scale")), recipe.name, module, "was not drawn")
    for module, original in (drawn | separate).items():
        stored = modules.get(module)
        if stored is None:
            check(".mlp.experts" in module, recipe.name, module, "is missing")
            continue
        decoded, original = formats.decode(stored), original.float()
        check(decoded.shape == original.shape, recipe.name, module, "shape")
        check(bool(decoded.isfinite().all()), recipe.name, module, "is not finite")
        name = formats.NAMES[formats.format_of(stored)]
        relative = float((decoded - original).norm() / original.norm())
        largest = float((decoded - original).abs().max() / original.abs().max())
        check(relative <= BOUNDS[name][0] and largest <= BOUNDS[name][1], recipe.name, module, name, relative, largest)
        worst[name] = max(worst[name], relative)
        check_other_decoder(recipe, module, stored, decoded)
    return dict(worst)


def check_other_decoder(recipe, module, stored, decoded):
    """The same bytes through a library that did not write them."""
    key = formats.format_of(stored)
    if key == "fp8_block":
        other = finegrained_fp8._dequantize_fp8_weight(stored["weight"], stored["weight_scale_inv"].float(), [128, 128], torch.float32)
    elif key == "ct_nvfp4":
        packed = stored["weight_packed"]
        scales = {"scale": stored["weight_scale"], "double_scale": 1 / stored["weight_global_scale"]}
        tensor = NVFP4QTensor((packed.shape[0], 2 * packed.shape[1]), torch.float32, packed)
        other = tensor.dequantize(torch.float32, block_sizes={-1: 16}, **scales)
    elif key == "nvfp4":
        renamed = {"weight_packed": stored["weight"], "weight_scale": stored["weight_scale"], "weight_global_scale": (1 / stored["weight_scale_2"]).reshape(1)}
        other = formats.decode(renamed)
    elif key in ("fp8_tensor", "fp8_channel"):
        other = stored["weight"].float() * stored["weight_scale"].float()
    else:
        return
    # The scales are multiplied in another order: two roundings of float32 may differ.
    check(torch.allclose(decoded, other, rtol=3e-7, atol=0), recipe.name, module, "decoders differ", (decoded - other).abs().max())


def check_loader(recipe, folder, modules):
    """`transformers` finds every tensor it needs; compares the loaded weights with the decoded ones."""
    config = json.loads((folder / "config.json").read_text())
    # Its FP8 loader refuses blocks that are cut off at the edge; its decoder for single tensors, used above, takes them.
    if recipe.quantisation.startswith(("modelopt", "fp8")) or (recipe.shards > 1 and not recipe.index):
        return "not a layout that it loads"
    model_class = getattr(transformers, config["architectures"][0])
    model, report = model_class.from_pretrained(folder, dtype=torch.bfloat16, output_loading_info=True)
    check(not report["missing_keys"] and not report["mismatched_keys"], recipe.name, report)
    odd = [name for name in report["unexpected_keys"] if not name.endswith(("input_global_scale", "k_scale", "v_scale"))]
    check(not odd, recipe.name, "transformers does not know", odd)
    decoded = family.fuse_experts({name: formats.decode(stored) for name, stored in modules.items()})
    quantised = recipe.quantisation != ""
    for name, tensor in model.state_dict().items():
        ours = decoded.get(family.internal_name(name).removesuffix(".weight"))
        if ours is None:
            check(name == "lm_head.weight" or (quantised and name.endswith("_scale")), recipe.name, name, "is not in the files")
        elif not quantised:
            check(torch.equal(tensor.float(), ours.to(torch.bfloat16).float()), recipe.name, name, "loaded differently")
        elif ".mlp.experts." not in name:  # fusing experts, this release drops their global scales
            error = float((tensor.float() - ours).norm() / ours.norm())
            check(error < 0.004, recipe.name, name, "loaded differently", error)  # it decodes in bfloat16
    if not quantised or recipe.sizes.experts:
        return "loaded, equal" + (" but for the experts, which it cannot decode" if quantised else "")
    for module in model.modules():
        if hasattr(module, "quantization_scheme"):
            module.quantization_enabled = False  # of activations; weights are decoded already
    with safe_open(folder / "logits.safetensors", framework="pt") as file, torch.no_grad():
        logits = model(file.get_tensor("tokens").long()[None]).logits[0].float()[file.get_tensor("rows").long()]
        error = float((logits - file.get_tensor("fp32")).norm() / file.get_tensor("fp32").norm())
    check(error < 0.02, recipe.name, "logits through the library's own loader", error)
    return f"loaded, equal, logits within {error:.4f}"


def digest(folder):
    """Of the tensor files; logits.safetensors says which weights it belongs to."""
    content = b"".join(path.read_bytes() for path in sorted(folder.glob("model*.safetensors")))
    return hashlib.sha256(content).hexdigest()


def check_logits(folder):
    with safe_open(folder / "logits.safetensors", framework="pt") as file:
        report = json.loads(file.metadata()["report"])
        values = {name: file.get_tensor(name) for name in file.keys()}
    check(report["weights"] == digest(folder), folder.name, "logits were made from other weights")
    for prefix in ("", "draft_"):
        if prefix + "fp32" not in values:
            continue
        exact, rounded = values[prefix + "fp32"], values[prefix + "bf16"].float()
        error = float((rounded - exact).norm() / exact.norm())
        check(abs(error - report[prefix + "e"]) < 1e-5 and 0.001 < error < 0.03, folder.name, prefix, "bf16 error", error)
        check(exact.std(-1).min() > 1 and len(exact) == len(values["rows"]) - bool(prefix), folder.name, prefix, "logits")
        # Rows that say nothing new would let a test pass that never reads the prompt.
        check(len(set(exact.argmax(-1).tolist())) > len(exact) / 2, folder.name, prefix, "logits hardly vary")


def check_words(folder):
    words = transformers.AutoTokenizer.from_pretrained(folder)
    text = "<|im_start|>user\nVersion 42 του ราเลน é 한\n\n<tool_call>{}</tool_call><|im_end|>"
    ids = words(text).input_ids
    check(words.decode(ids) == text and max(ids) < family.VOCABULARY and ids[0] == 297, folder.name, "tokenizer")
    prompt = words.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False, add_generation_prompt=True)
    check(prompt == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n", folder.name, "template", prompt)


def main():
    for recipe in recipes.RECIPES:
        if len(sys.argv) > 1 and recipe.name not in sys.argv[1:]:
            continue
        folder = checkpoints.FOLDER / recipe.name
        tensors = read(folder)
        expected = json.loads((folder / "expected.json").read_text())
        check_counts(expected, tensors, json.loads((folder / "config.json").read_text()))
        modules = modules_of(tensors)
        worst = {name: round(value, 4) for name, value in check_values(recipe, modules).items()}
        check_words(folder)
        check_logits(folder)
        print(f"{recipe.name}: {len(tensors)} tensors, errors {worst}, transformers: {check_loader(recipe, folder, modules)}")


if __name__ == "__main__":
    main()
