"""Counts what a maker wrote, by the definitions in README.md, into the object that `inspect --json` must agree with.

The input is the list of modules as they were written, under internal names; nothing of the engine is used.
"""

import collections
import re

import formats

GROUPS = [
    "routed_experts", "shared_expert", "dense_mlp", "delta_net", "attention", "router", "norms", "embedding", "head",
    "mtp", "vision",
]  # fmt: skip

# Stored beside a weight, never read when one token is decoded with BF16 activations and BF16 KV.
IDLE = ("input_scale", "input_global_scale", "k_scale", "v_scale")

TORCH_NAMES = {"torch.bfloat16": "BF16", "torch.float32": "F32"}


def group_of(module):
    for start, group in (("mtp.", "mtp"), ("model.visual.", "vision"), ("model.embed_tokens", "embedding"), ("lm_head", "head")):
        if module.startswith(start):
            return group
    if ".linear_attn." in module:
        return "delta_net"
    if ".self_attn" in module:
        return "attention"
    if ".mlp.experts." in module:
        return "routed_experts"
    if ".mlp.shared_expert." in module:
        return "shared_expert"
    if module.endswith((".mlp.gate", ".mlp.shared_expert_gate")):
        return "router"
    return "dense_mlp" if ".mlp." in module else "norms"


# The matrices that publishers quantise; they alone name the format of a group that has any.
QUANTISABLE = re.compile(
    r"(self_attn\.[qkvo]_proj|linear_attn\.(in_proj_qkv|in_proj_z|out_proj)|(mlp|shared_expert|experts(\.\d+)?)\."
    r"(gate_proj|up_proj|down_proj|gate_up_proj)|lm_head|embed_tokens)$"
)


def size(tensors):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def elements(module, stored):
    """Logical weights: two NVFP4 codes lie in a byte, and scales are not weights."""
    codes = {name: tensor for name, tensor in stored.items() if "scale" not in name}
    count = sum(tensor.numel() for tensor in codes.values())
    return 2 * count if formats.format_of(stored) in ("nvfp4", "ct_nvfp4") else count


def joined_format(modules):
    """Format names by descending bytes. A group without quantisable matrices is named by the dtypes of its tensors."""
    matrices = [(module, stored) for module, stored in modules if QUANTISABLE.search(module)]
    weight = collections.Counter()
    for module, stored in matrices or modules:
        key = formats.format_of(stored)
        name = formats.NAMES[key]
        if key == "bf16":
            name = TORCH_NAMES[str(next(iter(stored.values())).dtype)]
        weight[name] += size(stored.values())
    return " + ".join(name for name, _ in sorted(weight.items(), key=lambda item: (-item[1], item[0])))


def expected(recipe, modules):
    """`modules`: internal module name -> stored tensors by suffix. Returns the fields of product section 6."""
    sizes = recipe.sizes
    by_group = collections.defaultdict(list)
    for module, stored in modules.items():
        by_group[group_of(module)].append((module, stored))

    def used(name, stored):
        """Parameters and bytes of one module that a token reads, when the group it is in takes part."""
        live = [tensor for suffix, tensor in stored.items() if suffix not in IDLE]
        count, read = elements(name, stored), size(live)
        if ".mlp.experts" in name:  # a token's share of the routed experts, whether they are fused or one by one
            return count * sizes.top_k / sizes.experts, read * sizes.top_k / sizes.experts
        return count, read

    def total(group):
        pairs = [used(name, stored) for name, stored in by_group[group]]
        sums = tuple(sum(values) for values in zip(*pairs)) or (0, 0)
        assert all(value == int(value) for value in sums)
        return int(sums[0]), int(sums[1])

    groups, weight_bytes = [], 0
    for group in GROUPS:
        tied_head = group == "head" and sizes.tied
        if not by_group[group] and not tied_head:
            continue
        active, read = total("embedding" if tied_head else group)
        if group in ("embedding", "mtp", "vision"):
            active, read = 0, 0
        weight_bytes += read
        found = by_group[group]
        groups.append(
            {
                "name": group,
                "parameters": sum(elements(module, stored) for module, stored in found),
                "bytes": sum(size(stored.values()) for _, stored in found),
                "active_parameters": active,
                "format": joined_format(found or by_group["embedding"]),
                "config_agrees": group not in recipe.config_denies,
            }
        )

    found = sum(len(stored) for _, stored in by_group["mtp"])
    wanted = found + len(recipe.mtp_missing)
    if not found:
        wanted = 15 if not sizes.experts else 17 + (2 if recipe.fused_experts else 3 * sizes.experts)
    state = "absent" if not found else "incomplete" if recipe.mtp_missing else "present"
    full = sizes.layer_types.count("full_attention")
    scales = sum(suffix in ("k_scale", "v_scale") for stored in modules.values() for suffix in stored)
    kv_width = 1 if scales == 2 * full else 2
    state_elements = sizes.value_heads * sizes.delta_dim * sizes.delta_dim
    return {
        "model": {
            "name": recipe.name,
            "architecture": "qwen3_5_moe" if sizes.experts else "qwen3_5",
            "layers": sizes.layers,
            "hidden": sizes.hidden,
        },
        "groups": groups,
        "mtp": {
            "state": state,
            "tensors_found": found,
            "tensors_expected": wanted,
            "dtype": joined_format(by_group["mtp"]) if found else None,
        },
        "kv": {"scales_found": scales, "scales_expected": 2 * full, "dtype": "FP8" if kv_width == 1 else "BF16"},
        "per_token": {
            "weight_bytes": weight_bytes,
            "state_bytes": 2 * 4 * state_elements * (sizes.layers - full),
            "kv_bytes_per_context_token": full * 2 * sizes.kv_heads * sizes.head_dim * kv_width,
            "draft_bytes": total("mtp")[1] + total("embedding" if sizes.tied else "head")[1] if state == "present" else 0,
        },
    }
