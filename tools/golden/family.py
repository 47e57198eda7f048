"""Sizes, config.json and random weights of the tiny models.

The tensor names and shapes come from the model classes of `transformers`; only the multi-token-prediction layer, which
that library does not have, is listed here by hand. Weights depend on (seed, tensor name) alone, so that adding a
checkpoint or a tensor leaves all others as they were.
"""

import dataclasses
import hashlib
import math

import torch
import transformers

VOCABULARY = 336  # 329 ids have a token, 7 are padding rows, as the published sizes have


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Everything that a config of the family says about shapes. `experts` 0 is a dense model."""

    hidden: int = 64
    layers: int = 4
    interval: int = 4  # every interval-th layer is full attention
    head_dim: int = 64
    query_heads: int = 2
    kv_heads: int = 1
    key_heads: int = 2  # delta-net
    value_heads: int = 4
    delta_dim: int = 32  # key and value head size of the delta-net
    intermediate: int = 96
    experts: int = 0
    top_k: int = 2
    expert_intermediate: int = 32
    shared_intermediate: int = 32
    tied: bool = False
    vision: bool = True

    @property
    def layer_types(self):
        return ["linear_attention" if (i + 1) % self.interval else "full_attention" for i in range(self.layers)]


def mrope_section(sizes):
    """The split of the rotary frequencies over time, height and width that `i mod 3` gives (11, 11, 10 for 32)."""
    frequencies = sizes.head_dim // 8
    return [len(range(start, frequencies, 3)) for start in range(3)]


def text_config(sizes):
    moe = sizes.experts > 0
    config = {
        "attention_bias": False,
        "attention_dropout": 0.0,
        "attn_output_gate": True,
        "dtype": "bfloat16",
        "eos_token_id": 296,
        "full_attention_interval": sizes.interval,
        "head_dim": sizes.head_dim,
        "hidden_act": "silu",
        "hidden_size": sizes.hidden,
        "initializer_range": 0.02,
        "layer_types": sizes.layer_types,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": sizes.delta_dim,
        "linear_num_key_heads": sizes.key_heads,
        "linear_num_value_heads": sizes.value_heads,
        "linear_value_head_dim": sizes.delta_dim,
        "mamba_ssm_dtype": "float32",
        "max_position_embeddings": 4096,
        "mlp_only_layers": [],
        "model_type": "qwen3_5_moe_text" if moe else "qwen3_5_text",
        "mtp_num_hidden_layers": 1,
        "mtp_use_dedicated_embeddings": False,
        "num_attention_heads": sizes.query_heads,
        "num_hidden_layers": sizes.layers,
        "num_key_value_heads": sizes.kv_heads,
        "rms_norm_eps": 1e-06,
        "rope_parameters": {
            "mrope_interleaved": True,
            "mrope_section": mrope_section(sizes),
            "partial_rotary_factor": 0.25,
            "rope_theta": 10000000,
            "rope_type": "default",
        },
        "tie_word_embeddings": sizes.tied,
        "use_cache": True,
        "vocab_size": VOCABULARY,
    }
    if moe:
        config |= {
            "moe_intermediate_size": sizes.expert_intermediate,
            "num_experts": sizes.experts,
            "num_experts_per_tok": sizes.top_k,
            "router_aux_loss_coef": 0.001,
            "shared_expert_intermediate_size": sizes.shared_intermediate,
        }
    else:
        config["intermediate_size"] = sizes.intermediate
    return config


def model_config(sizes):
    """config.json of a multimodal checkpoint, or of a text-only one: flat, and with the text architecture's name."""
    moe = sizes.experts > 0
    if not sizes.vision:
        name = "Qwen3_5MoeForCausalLM" if moe else "Qwen3_5ForCausalLM"
        return {"architectures": [name]} | text_config(sizes)
    return {
        "architectures": ["Qwen3_5MoeForConditionalGeneration" if moe else "Qwen3_5ForConditionalGeneration"],
        "dtype": "bfloat16",
        "image_token_id": 308,
        "model_type": "qwen3_5_moe" if moe else "qwen3_5",
        "text_config": text_config(sizes),
        "tie_word_embeddings": sizes.tied,
        "video_token_id": 309,
        "vision_config": {
            "deepstack_visual_indexes": [],
            "depth": 1,
            "hidden_act": "gelu_pytorch_tanh",
            "hidden_size": 8,
            "in_channels": 3,
            "initializer_range": 0.02,
            "intermediate_size": 16,
            "model_type": "qwen3_5_moe" if moe else "qwen3_5",
            "num_heads": 2,
            "num_position_embeddings": 4,
            "out_hidden_size": sizes.hidden,
            "patch_size": 2,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
        },
        "vision_end_token_id": 306,
        "vision_start_token_id": 305,
    }


def library_model(config):
    """The reference model of a config.json; the caller decides on device and dtype by torch's context managers."""
    name = config["architectures"][0]
    config_class = getattr(transformers, name).config_class
    return getattr(transformers, name)(config_class.from_dict(dict(config)))


def internal_name(library_name):
    return library_name.replace("model.language_model.", "model.", 1)


def main_shapes(sizes):
    """Internal name -> shape of every tensor outside the multi-token-prediction layer."""
    with torch.device("meta"):
        model = library_model(model_config(sizes))
    shapes = {internal_name(name): tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    if sizes.tied:
        shapes.pop("lm_head.weight", None)
    return shapes


def mtp_shapes(sizes):
    """One full-attention decoder layer, the matrix that joins embedding and hidden state, and three more norms."""
    hidden, heads, kv, dim = sizes.hidden, sizes.query_heads, sizes.kv_heads, sizes.head_dim
    layer = "mtp.layers.0."
    shapes = {
        "mtp.fc.weight": (hidden, 2 * hidden),
        "mtp.norm.weight": (hidden,),
        "mtp.pre_fc_norm_embedding.weight": (hidden,),
        "mtp.pre_fc_norm_hidden.weight": (hidden,),
        layer + "input_layernorm.weight": (hidden,),
        layer + "post_attention_layernorm.weight": (hidden,),
        layer + "self_attn.q_proj.weight": (2 * heads * dim, hidden),
        layer + "self_attn.k_proj.weight": (kv * dim, hidden),
        layer + "self_attn.v_proj.weight": (kv * dim, hidden),
        layer + "self_attn.o_proj.weight": (hidden, heads * dim),
        layer + "self_attn.q_norm.weight": (dim,),
        layer + "self_attn.k_norm.weight": (dim,),
    }
    if sizes.experts == 0:
        mlps = [("mlp", sizes.intermediate)]
    else:
        mlps = [("mlp.shared_expert", sizes.shared_intermediate)]
        shapes[layer + "mlp.gate.weight"] = (sizes.experts, hidden)
        shapes[layer + "mlp.shared_expert_gate.weight"] = (1, hidden)
        width = sizes.expert_intermediate
        shapes[layer + "mlp.experts.gate_up_proj"] = (sizes.experts, 2 * width, hidden)
        shapes[layer + "mlp.experts.down_proj"] = (sizes.experts, hidden, width)
    for name, width in mlps:
        shapes[f"{layer}{name}.gate_proj.weight"] = (width, hidden)
        shapes[f"{layer}{name}.up_proj.weight"] = (width, hidden)
        shapes[f"{layer}{name}.down_proj.weight"] = (hidden, width)
    return shapes


def draw(name, shape, seed, tied):
    """A tensor such that activations keep a variance near one and the gates of the delta-net look like trained ones."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "little"))
    normal = torch.randn(shape, generator=generator)
    uniform = torch.rand(shape, generator=generator)
    if name.startswith("model.visual."):
        return normal * 0.05
    if name.endswith("A_log"):
        return torch.log(1 + 15 * uniform)
    if name.endswith("dt_bias"):  # softplus of it lies between 0.001 and 0.1
        step = torch.exp(math.log(0.001) + uniform * math.log(100.0))
        return step + torch.log(-torch.expm1(-step))
    if name.endswith("linear_attn.norm.weight"):
        return 1 + 0.1 * normal
    if name.endswith(("q_norm.weight", "k_norm.weight")):
        return 0.4 + 0.1 * normal  # zero-centred: makes attention a little sharper than random
    if "norm" in name.rsplit(".", 2)[-2]:
        return 0.1 * normal
    if name.endswith("conv1d.weight"):
        return 0.5 * normal
    scale = 1 / math.sqrt(shape[-1])
    if name.endswith("embed_tokens.weight"):
        return normal * (2.5 * scale if tied else 1.0)
    if name == "lm_head.weight":
        return normal * 2.5 * scale
    if name.endswith("mlp.gate.weight"):
        return normal * 2 * scale
    return normal * scale


def weights(sizes, seed, mtp=True, f32_gates=True):
    """Internal name -> tensor, BF16 except A_log and the delta-net's norm when `f32_gates` (3.5; BF16 since 3.6)."""
    shapes = main_shapes(sizes) | (mtp_shapes(sizes) if mtp else {})
    result = {}
    for name in sorted(shapes):
        keep = f32_gates and name.endswith(("linear_attn.A_log", "linear_attn.norm.weight"))
        tensor = draw(name, shapes[name], seed, sizes.tied)
        result[name] = tensor if keep else tensor.to(torch.bfloat16)
    return result


def split_experts(tensors, layers=None):
    """Fused expert tensors as one matrix per expert; `layers` limits it to names that start with one of these."""
    result = {}
    for name, tensor in tensors.items():
        module, _, kind = name.rpartition(".")
        if not module.endswith("mlp.experts") or (layers and not name.startswith(tuple(layers))):
            result[name] = tensor
            continue
        for index, matrix in enumerate(tensor):
            if kind == "down_proj":
                result[f"{module}.{index}.down_proj.weight"] = matrix.contiguous()
            else:
                gate, up = matrix.chunk(2, dim=0)
                result[f"{module}.{index}.gate_proj.weight"] = gate.contiguous()
                result[f"{module}.{index}.up_proj.weight"] = up.contiguous()
    return result


def fuse_experts(weights):
    """The reverse of split_experts, over module names (without ".weight")."""
    result, experts = {}, {}
    for name, tensor in weights.items():
        head, found, tail = name.partition(".mlp.experts.")
        if found and tail[0].isdigit():
            index, kind = tail.split(".")
            experts.setdefault(head + ".mlp.experts.", {}).setdefault(kind, {})[int(index)] = tensor
        else:
            result[name] = tensor
    for start, kinds in experts.items():
        gate, up, down = ([kinds[kind][i] for i in sorted(kinds[kind])] for kind in ("gate_proj", "up_proj", "down_proj"))
        result[start + "gate_up_proj"] = torch.stack([torch.cat(pair) for pair in zip(gate, up)])
        result[start + "down_proj"] = torch.stack(down)
    return result
