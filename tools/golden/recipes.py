"""The list of tiny checkpoints: for each its sizes, which module is stored how, under which names and in which files.

Together they cover what the family is published as; README.md has the table with the reason for each.
"""

import dataclasses
import re

from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig

import family
import formats
from family import Sizes

PROJECTIONS = r"(self_attn\.[qkvo]_proj|linear_attn\.(in_proj_qkv|in_proj_z|out_proj))$"
MLP = r"mlp\.(gate|up|down)_proj$"
EXPERTS = r"mlp\.experts\.\d+\.(gate|up|down)_proj$"
SHARED = r"mlp\.shared_expert\.(gate|up|down)_proj$"
MAIN = r"^model\.layers\.\d+\."

MULTIMODAL = {"model.visual.": "model.visual.", "model.": "model.language_model."}
TEXT_ONLY = {}
RE_EXPORT = {
    "model.visual.": "vision_tower.",
    "model.": "language_model.model.",
    "lm_head": "language_model.lm_head",
    "mtp.": "language_model.mtp.",
}


@dataclasses.dataclass(frozen=True)
class Recipe:
    name: str
    seed: int
    sizes: Sizes
    rules: tuple = ()  # (pattern over internal module names, format key); the first that matches counts, else BF16
    prefixes: dict = dataclasses.field(default_factory=lambda: MULTIMODAL)
    shards: int = 1
    index: bool = True  # of a sharded checkpoint
    f32_gates: bool = True  # A_log and the delta-net's norm in F32: 3.5; BF16: 3.6 and later
    fused_experts: bool = True  # of the main layers
    mtp_fused_experts: bool = False
    mtp: bool = True
    mtp_missing: tuple = ()
    activation_scales: bool = False
    shared_gate_up_scale: bool = True  # one weight_scale_2 for gate and up, as ModelOpt exports them
    kv_scales: str = ""  # "modelopt" or "compressed-tensors"
    spelling: str = "3.5"  # of config.json: "3.6" repeats and adds keys, "re-export" uses rope_scaling
    quantisation: str = ""  # which quantization_config to write
    config_denies: tuple = ()  # groups whose format config.json gets wrong, on purpose

    def format_of(self, module):
        for pattern, key in self.rules:
            if re.search(pattern, module):
                return key
        return "bf16"

    def disk_name(self, internal):
        for start, replacement in self.prefixes.items():
            if internal.startswith(start):
                return replacement + internal[len(start) :]
        return internal


MIXED = ((MAIN + EXPERTS, "nvfp4"), (MAIN + SHARED, "nvfp4"), (MAIN + MLP, "nvfp4"), (MAIN + PROJECTIONS, "fp8_tensor"), ("^lm_head$", "nvfp4"))

# Head sizes as published (256 with 64 rotary elements, 128 in the delta-net) make big matrices: two layers keep it small.
REAL_HEADS = {"layers": 2, "interval": 2, "head_dim": 256, "delta_dim": 128, "key_heads": 1}

RECIPES = [
    Recipe("dense-bf16", 1, Sizes(layers=3, interval=3, intermediate=64)),
    Recipe(
        "dense-bf16-tied",
        2,
        Sizes(**REAL_HEADS, value_heads=1, intermediate=64, tied=True, vision=False),
        prefixes=TEXT_ONLY,
        f32_gates=False,
        mtp_missing=tuple(name for name in family.mtp_shapes(Sizes()) if ".self_attn." in name),
        spelling="3.6",
    ),
    Recipe("moe-bf16", 3, Sizes(layers=2, interval=2, experts=8, expert_intermediate=16, shared_intermediate=16), shards=3),
    Recipe(
        "moe-bf16-packed-mtp",
        4,
        Sizes(layers=2, interval=2, value_heads=6, experts=8, top_k=3, expert_intermediate=16, shared_intermediate=16, tied=True),
        prefixes=RE_EXPORT,
        shards=2,
        index=False,
        f32_gates=False,
        mtp_fused_experts=True,
        spelling="re-export",
    ),
    Recipe(
        "moe-fp8-block",
        5,
        Sizes(hidden=144, layers=2, interval=2, value_heads=6, experts=8, expert_intermediate=16, shared_intermediate=16, tied=True),
        rules=tuple((pattern, "fp8_block") for pattern in (PROJECTIONS, EXPERTS, SHARED)),
        shards=2,
        fused_experts=False,
        quantisation="fp8",
    ),
    Recipe(
        "moe-nvfp4-experts",
        6,
        Sizes(layers=2, interval=2, experts=8),
        rules=((MAIN + EXPERTS, "nvfp4"),),
        shards=2,
        fused_experts=False,
        activation_scales=True,
        quantisation="modelopt",
    ),
    Recipe(
        "moe-nvfp4-mixed",
        7,
        Sizes(layers=2, interval=2, key_heads=1, value_heads=2, delta_dim=128, experts=8, top_k=3),
        rules=MIXED,
        f32_gates=False,
        fused_experts=False,
        mtp_fused_experts=True,
        activation_scales=True,
        spelling="3.6",
        quantisation="modelopt-mixed",
    ),
    Recipe(
        "dense-nvfp4-mixed",
        8,
        Sizes(value_heads=6),
        rules=MIXED,
        f32_gates=False,
        shared_gate_up_scale=False,
        kv_scales="modelopt",
        spelling="3.6",
        quantisation="modelopt-mixed",
        config_denies=("head",),
    ),
    Recipe(
        "moe-ct-nvfp4",
        9,
        Sizes(**REAL_HEADS, value_heads=1, query_heads=3, experts=8),
        rules=tuple((pattern, "ct_nvfp4") for pattern in (r"self_attn\.[qkvo]_proj$", EXPERTS, SHARED)),
        fused_experts=False,
        mtp=False,
        activation_scales=True,
        quantisation="compressed-tensors",
    ),
    Recipe(
        "dense-ct-mixed",
        10,
        Sizes(layers=4, interval=2, value_heads=6, intermediate=64),
        rules=(
            (r"^model\.layers\.[01]\." + MLP, "ct_nvfp4"),
            (r"^model\.layers\.[23]\." + MLP, "fp8_channel"),
            (MAIN + PROJECTIONS, "fp8_channel"),
            ("^lm_head$", "fp8_channel"),
        ),
        f32_gates=False,
        kv_scales="compressed-tensors",
        spelling="3.6",
        quantisation="compressed-tensors-mixed",
    ),
]


def config(recipe, modules):
    """config.json as the publishers of that kind spell it, and hf_quant_config.json or None."""
    result = family.model_config(recipe.sizes)
    text = result.get("text_config", result)
    if recipe.spelling == "3.6":
        text |= {"bos_token_id": 296, "output_gate_type": "swish", "pad_token_id": None, "partial_rotary_factor": 0.25}
    if recipe.spelling == "re-export":
        rope = text.pop("rope_parameters")
        for key in ("rope_theta", "partial_rotary_factor"):
            text[key] = rope.pop(key)
        text["rope_scaling"] = rope
        del text["layer_types"]  # full_attention_interval says the same
    if recipe.sizes.experts:
        text.pop("mlp_only_layers")
    quantised = {module: recipe.format_of(module) for module in modules if recipe.format_of(module) != "bf16"}
    if not recipe.quantisation:
        return result, None
    section, other = WRITERS[recipe.quantisation](recipe, modules, quantised)
    result["quantization_config"] = section
    return result, other


def fp8_config(recipe, modules, quantised):
    plain = [
        recipe.disk_name(module)
        for module in modules
        if module not in quantised and not module.endswith(("A_log", "dt_bias", "bias", "norm", "norm1", "norm2"))
    ]
    section = {
        "activation_scheme": "dynamic",
        "fmt": "e4m3",
        "modules_to_not_convert": plain,
        "quant_method": "fp8",
        "weight_block_size": [128, 128],
    }
    return section, None


PRODUCER = {"name": "modelopt", "version": "0.47.0"}
W4 = {"dynamic": False, "num_bits": 4, "type": "float", "group_size": 16}
W8 = {"dynamic": False, "num_bits": 8, "type": "float"}


def modelopt_config(recipe, modules, quantised):
    """Experts only. Router and mtp.fc are BF16 and yet not in the list: so it is in the published files."""
    ignore = ["lm_head", "*.mlp.shared_expert.*"]
    for index, kind in enumerate(recipe.sizes.layer_types):
        layer = recipe.disk_name(f"model.layers.{index}.")
        mixer = "linear_attn*" if kind == "linear_attention" else "self_attn*"
        ignore += [layer + name for name in (mixer, "mlp.shared_expert*", "mlp.shared_expert_gate")]
    ignore += ["model.visual*", "mtp.layers.0*"]
    section = {
        "config_groups": {"group_0": {"input_activations": W4, "weights": W4, "targets": ["Linear"]}},
        "ignore": ignore,
        "kv_cache_scheme": W8,
        "producer": PRODUCER,
        "quant_algo": "NVFP4",
        "quant_method": "modelopt",
    }
    other = {
        "producer": PRODUCER,
        "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ignore},
    }
    return section, other


def modelopt_mixed_config(recipe, modules, quantised):
    targets = {"nvfp4": [], "fp8_tensor": []}
    for module, key in quantised.items():
        name = recipe.disk_name(re.sub(r"(mlp\.experts)\..*", r"\1", module))
        if name not in targets[key] and not (name == "lm_head" and "head" in recipe.config_denies):
            targets[key].append(name)
    activations = {"input_activations": W4} if recipe.activation_scales else {}
    layers = {name: {"quant_algo": "FP8"} for name in targets["fp8_tensor"]}
    layers |= {name: {"quant_algo": "W4A16_NVFP4", "group_size": 16} for name in targets["nvfp4"]}
    ignore = ["mtp.layers.0*", "mtp*"] + (["lm_head"] if "head" in recipe.config_denies else [])
    section = {
        "config_groups": {
            "group_0": {"input_activations": W8, "weights": W8, "targets": targets["fp8_tensor"]},
            "group_1": activations | {"weights": W4, "targets": targets["nvfp4"]},
        },
        "ignore": ignore,
        "producer": PRODUCER,
        "quant_algo": "MIXED_PRECISION",
        "quant_method": "modelopt",
        "quantized_layers": layers,
    }
    if recipe.kv_scales:
        section["kv_cache_scheme"] = W8
    quantization = {"quant_algo": "MIXED_PRECISION", "kv_cache_quant_algo": "FP8", "quantized_layers": layers, "exclude_modules": ignore}
    return section, {"producer": PRODUCER, "quantization": quantization}


def library_config(groups, ignore, **fields):
    """Written by compressed-tensors itself, so that every key is spelled as its readers want it."""
    config_groups = {f"group_{index}": group for index, group in enumerate(groups)}
    made = QuantizationConfig(config_groups=config_groups, ignore=ignore, quantization_status="compressed", **fields)
    return made.to_dict(), None


def ct_config(recipe, modules, quantised):
    ignore = ["lm_head", "re:.*visual.*", "re:.*mlp.gate$", "re:.*embed_tokens$", "re:.*shared_expert_gate$", "re:.*linear_attn.*"]
    return library_config([formats.scheme("NVFP4")], ignore, format="nvfp4-pack-quantized")


def ct_mixed_config(recipe, modules, quantised):
    groups = []
    for key, preset, layout in (("ct_nvfp4", "NVFP4A16", "nvfp4-pack-quantized"), ("fp8_channel", "FP8_DYNAMIC", "float-quantized")):
        targets = [recipe.disk_name(module) for module, found in quantised.items() if found == key]
        groups.append(formats.scheme(preset).model_copy(update={"targets": targets, "format": layout}))
    kv = QuantizationArgs(num_bits=8, type="float", strategy="tensor", dynamic=False, symmetric=True)
    ignore = ["re:.*visual.*", "re:.*embed_tokens$", "re:.*in_proj_[ab]$", "re:.*conv1d$", "re:^mtp.*"]
    return library_config(groups, ignore, format="mixed-precision", kv_cache_scheme=kv)


WRITERS = {
    "fp8": fp8_config,
    "modelopt": modelopt_config,
    "modelopt-mixed": modelopt_mixed_config,
    "compressed-tensors": ct_config,
    "compressed-tensors-mixed": ct_mixed_config,
}
