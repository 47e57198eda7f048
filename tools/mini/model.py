#!/usr/bin/env python3
"""redline-mini in plain torch: the main model, the multi-token-prediction layer and the files of a checkpoint.

Written from the family's published description, not from the product's code, so that both can be compared: full attention with a
gate, the gated delta rule in chunks, a mixture of experts, and the MTP layer that reads the hidden state *after* the final norm, with the
half of the next token's embedding first. Sequences lie packed in rows: every part of a row is a sequence of its own, whose
attention, convolution and recurrent state begin anew.

`model.py --check` compares main model and gradients with `transformers` in float32 and packed rows with single sequences.
"""
import json
import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"  # a CPU is enough for --check
CHUNK = 64
FORGET = -60.0  # log decay at the start of a sequence: exp(-60) leaves nothing of the state of the one before
EPSILON = 1e-6

CONFIG = {
    "attention_bias": False,
    "attention_dropout": 0.0,
    "attn_output_gate": True,
    "bos_token_id": None,
    "eos_token_id": None,  # set from the tokenizer
    "head_dim": 256,
    "hidden_act": "silu",
    "hidden_size": 256,
    "initializer_range": 0.02,
    "layer_types": ["linear_attention", "linear_attention", "full_attention"] * 2,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_value_head_dim": 128,
    "mamba_ssm_dtype": "float32",
    "max_position_embeddings": 8192,
    "model_type": "qwen3_5_moe_text",
    "moe_intermediate_size": 64,
    "mtp_num_hidden_layers": 1,
    "mtp_use_dedicated_embeddings": False,
    "num_attention_heads": 4,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 6,
    "num_key_value_heads": 2,
    "output_router_logits": False,
    "rms_norm_eps": EPSILON,
    "rope_parameters": {"mrope_interleaved": True, "mrope_section": [11, 11, 10], "partial_rotary_factor": 0.25,
                        "rope_theta": 10000000, "rope_type": "default"},
    "router_aux_loss_coef": 0.001,
    "shared_expert_intermediate_size": 64,
    "tie_word_embeddings": False,
    "use_cache": True,
    "vocab_size": 3000,
}
HIDDEN, HEADS, KV_HEADS, HEAD, ROTARY = 256, 4, 2, 256, 64
KEY_HEADS, VALUE_HEADS, STATE = 2, 4, 128
EXPERTS, TOP, WIDTH, SHARED = 8, 2, 64, 64
KEYS, VALUES = KEY_HEADS * STATE, VALUE_HEADS * STATE


class Layout:
    """Where sequences begin in packed rows. `segments` [rows, length] numbers the sequences of a row from 0 upwards."""

    def __init__(self, segments):
        rows, length = segments.shape
        flat = (segments + torch.arange(rows, device=segments.device)[:, None] * length).flatten()
        self.rows, self.length = rows, length
        first = torch.ones_like(flat, dtype=torch.bool)
        first[1:] = flat[1:] != flat[:-1]
        starts = first.nonzero().flatten()
        self.bounds = torch.cat([starts, torch.tensor([flat.numel()], device=flat.device)]).int()
        self.longest = int((self.bounds[1:] - self.bounds[:-1]).max())
        self.first = first
        index = torch.arange(flat.numel(), device=flat.device)
        self.positions = index - starts[first.cumsum(0) - 1]
        angles = self.positions[:, None].float() * torch.exp(
            torch.arange(0, ROTARY, 2, device=flat.device).float() * (-math.log(CONFIG["rope_parameters"]["rope_theta"]) / ROTARY))
        self.cos, self.sin = angles.cos(), angles.sin()
        # taps[j]: whether the token j places back is of the same sequence
        self.taps = [self.positions >= back for back in range(4)]
        self.same = {ahead: torch.cat([flat[ahead:] == flat[:-ahead], torch.zeros(ahead, dtype=torch.bool, device=flat.device)])
                     for ahead in (1, 2, 3, 4)}


def norm0(x, weight):
    """Zero-centred root-mean-square norm."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPSILON) * (1 + weight)).to(x.dtype)


class Norm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(size))

    def forward(self, x):
        return norm0(x, self.weight)


def rotate(x, cos, sin):
    """Half-split rotation of the first 64 elements of every head; x is [tokens, heads, head]."""
    half = ROTARY // 2
    a, b, rest = x.float().split([half, half, HEAD - ROTARY], -1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1).to(x.dtype)


@torch.compiler.disable  # the number of sequences differs from step to step
def attend(q, k, v, layout):
    """Causal attention within every sequence; q, k, v are [tokens, heads, head]."""
    if q.dtype == torch.float32 or DEVICE == "cpu":  # the fast kernel takes 16 bits on a GPU only; this is for checks
        parts = []
        for start, end in zip(layout.bounds[:-1].tolist(), layout.bounds[1:].tolist()):
            part = (x[start:end].transpose(0, 1)[None] for x in (q, k, v))
            parts.append(F.scaled_dot_product_attention(*part, is_causal=True)[0].transpose(0, 1))
        return torch.cat(parts)
    out = torch.ops.aten._flash_attention_forward(q, k, v, layout.bounds, layout.bounds, layout.longest, layout.longest, 0.0, True,
                                                  False, scale=HEAD ** -0.5)
    return out[0]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(HIDDEN, HEADS * HEAD * 2, bias=False)
        self.k_proj = nn.Linear(HIDDEN, KV_HEADS * HEAD, bias=False)
        self.v_proj = nn.Linear(HIDDEN, KV_HEADS * HEAD, bias=False)
        self.o_proj = nn.Linear(HEADS * HEAD, HIDDEN, bias=False)
        self.q_norm, self.k_norm = Norm(HEAD), Norm(HEAD)

    def forward(self, x, layout):
        q, gate = self.q_proj(x).view(-1, HEADS, 2, HEAD).unbind(2)
        k = self.k_proj(x).view(-1, KV_HEADS, HEAD)
        v = self.v_proj(x).view(-1, KV_HEADS, HEAD)
        q = rotate(self.q_norm(q), layout.cos, layout.sin)
        k = rotate(self.k_norm(k), layout.cos, layout.sin)
        repeat = HEADS // KV_HEADS
        out = attend(q.contiguous(), k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1), layout)
        return self.o_proj((out * torch.sigmoid(gate)).flatten(1))


def inverse_of_unit_lower(a):
    """(I + a)^-1 for strictly lower triangular a [..., 64, 64].

    Blocks of 8 by (I - A)(I + A^2)(I + A^4), as A^8 = 0; then pairs of blocks: [[X, 0], [-Y a X, Y]]. The series over all 64 would add and
    subtract binomial coefficients up to C(63, 31) where keys resemble each other; over 8 they end at 35.
    """
    place = torch.arange(CHUNK, device=a.device)
    block = a * (place[:, None] // 8 == place // 8)
    square = block @ block
    inverse = torch.eye(CHUNK, device=a.device) - block
    inverse = inverse + inverse @ square
    inverse = inverse + inverse @ (square @ square)
    size = 8
    while size < CHUNK:
        pair = (place[:, None] // (2 * size) == place // (2 * size)) & (place[:, None] // size != place // size)
        inverse = inverse - inverse @ (a * pair) @ inverse
        size *= 2
    return inverse


def delta_rule(q, k, v, g, beta):
    """The gated delta rule in chunks of 64, float32. q, k, v [rows, heads, length, 128]; g (log decay), beta [rows, heads, length].

    A chunk turns the state S into M S + B; the states before all chunks come from a scan over the pairs (M, B) in log2(chunks) rounds.
    """
    rows, heads, length, size = v.shape
    count = length // CHUNK
    q, k, v = (x.reshape(rows * heads, count, CHUNK, size) for x in (q, k, v))
    g, beta = (x.reshape(rows * heads, count, CHUNK) for x in (g, beta))
    total = g.cumsum(-1)
    lower = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=q.device).tril()
    decay = (total[..., :, None] - total[..., None, :]).masked_fill(~lower, -torch.inf).exp()
    a = ((k * beta[..., None]) @ k.transpose(-1, -2) * decay).tril(-1)
    inverse = inverse_of_unit_lower(a)
    u, w = (inverse @ torch.cat([v * beta[..., None], k * (beta * total.exp())[..., None]], -1)).split(size, -1)
    k_left = (k * (total[..., -1:] - total).exp()[..., None]).transpose(-1, -2)
    m = total[..., -1].exp()[..., None, None] * torch.eye(size, device=q.device) - k_left @ w
    b = k_left @ u
    step = 1
    while step < count:
        longer_b = torch.cat([b[:, :step], m[:, step:] @ b[:, :-step] + b[:, step:]], 1)
        if step * 2 < count:
            m = torch.cat([m[:, :step], m[:, step:] @ m[:, :-step]], 1)
        b, step = longer_b, step * 2
    before = F.pad(b[:, :-1], (0, 0, 0, 0, 1, 0))
    out = (q * total.exp()[..., None]) @ before + (q @ k.transpose(-1, -2) * decay) @ (u - w @ before)
    return out.reshape(rows, heads, length, size)


def unit(x):
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + EPSILON)


class DeltaNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_proj_qkv = nn.Linear(HIDDEN, 2 * KEYS + VALUES, bias=False)
        self.in_proj_z = nn.Linear(HIDDEN, VALUES, bias=False)
        self.in_proj_b = nn.Linear(HIDDEN, VALUE_HEADS, bias=False)
        self.in_proj_a = nn.Linear(HIDDEN, VALUE_HEADS, bias=False)
        self.conv1d = nn.Conv1d(2 * KEYS + VALUES, 2 * KEYS + VALUES, 4, bias=False, groups=2 * KEYS + VALUES)
        self.A_log = nn.Parameter(torch.empty(VALUE_HEADS).uniform_(0.5, 16).log())
        steps = torch.empty(VALUE_HEADS).uniform_(math.log(0.001), math.log(0.1)).exp()
        self.dt_bias = nn.Parameter(steps + torch.log(-torch.expm1(-steps)))  # softplus of it is the step
        self.norm = nn.Module()
        self.norm.weight = nn.Parameter(torch.ones(STATE))
        self.out_proj = nn.Linear(VALUES, HIDDEN, bias=False)

    def forward(self, x, layout):
        u = self.in_proj_qkv(x)
        z = self.in_proj_z(x).view(-1, VALUE_HEADS, STATE)
        taps = self.conv1d.weight[:, 0].to(u.dtype)
        mixed = u * taps[:, 3]
        for back in (1, 2, 3):
            mixed = mixed + F.pad(u[:-back], (0, 0, back, 0)) * taps[:, 3 - back] * layout.taps[back][:, None]
        rows, length = layout.rows, layout.length
        mixed = F.silu(mixed.float()).to(u.dtype).float().view(rows, length, -1, STATE).transpose(1, 2)
        q, k, v = mixed.split([KEY_HEADS, KEY_HEADS, VALUE_HEADS], 1)
        repeat = VALUE_HEADS // KEY_HEADS
        q = (unit(q) * STATE ** -0.5).repeat_interleave(repeat, 1)
        k = unit(k).repeat_interleave(repeat, 1)
        beta = torch.sigmoid(self.in_proj_b(x).float())
        g = -self.A_log.exp() * F.softplus(self.in_proj_a(x).float() + self.dt_bias)
        g = torch.where(layout.first[:, None], FORGET, g)
        beta, g = (each.view(rows, length, VALUE_HEADS).transpose(1, 2) for each in (beta, g))
        with torch.autocast(DEVICE, enabled=False):
            out = delta_rule(q, k, v, g, beta)
        out = out.transpose(1, 2).reshape(-1, VALUE_HEADS, STATE).to(x.dtype).float()
        out = out * torch.rsqrt(out.square().mean(-1, keepdim=True) + EPSILON) * self.norm.weight * F.silu(z.float())
        return self.out_proj(out.to(x.dtype).flatten(1))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate_proj = nn.Linear(HIDDEN, width, bias=False)
        self.up_proj = nn.Linear(HIDDEN, width, bias=False)
        self.down_proj = nn.Linear(width, HIDDEN, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Experts(nn.Module):
    """All experts as one wide MLP: they are so few and small that computing every one is quicker than sorting tokens."""

    def __init__(self):
        super().__init__()
        self.gate_up_proj = nn.Parameter(torch.empty(EXPERTS, 2 * WIDTH, HIDDEN))
        self.down_proj = nn.Parameter(torch.empty(EXPERTS, HIDDEN, WIDTH))

    def forward(self, x, weights):
        gate, up = F.linear(x, self.gate_up_proj.flatten(0, 1)).view(-1, EXPERTS, 2, WIDTH).unbind(2)
        inner = F.silu(gate) * up * weights.to(x.dtype)[..., None]
        return F.linear(inner.flatten(1), self.down_proj.transpose(0, 1).flatten(1))


class Moe(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(HIDDEN, EXPERTS, bias=False)
        self.experts = Experts()
        self.shared_expert = Mlp(SHARED)
        self.shared_expert_gate = nn.Linear(HIDDEN, 1, bias=False)

    def forward(self, x):
        """The output, and how unevenly the experts are used: 1 when even."""
        chances = self.gate(x).float().softmax(-1)
        best, index = chances.topk(TOP, -1)
        weights = torch.zeros_like(chances).scatter(-1, index, best / best.sum(-1, keepdim=True))
        used = (weights > 0).float().mean(0)
        balance = EXPERTS / TOP * (used * chances.mean(0)).sum()
        return self.experts(x, weights) + torch.sigmoid(self.shared_expert_gate(x)) * self.shared_expert(x), balance


class Layer(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = Norm(HIDDEN), Norm(HIDDEN)
        if kind == "full_attention":
            self.self_attn = Attention()
        else:
            self.linear_attn = DeltaNet()
        self.mixer = "self_attn" if kind == "full_attention" else "linear_attn"
        self.mlp = Moe()

    def forward(self, x, layout):
        x = x + getattr(self, self.mixer)(self.input_layernorm(x), layout)
        out, balance = self.mlp(self.post_attention_layernorm(x))
        return x + out, balance


class Mtp(nn.Module):
    def __init__(self):
        super().__init__()
        self.pre_fc_norm_embedding, self.pre_fc_norm_hidden, self.norm = Norm(HIDDEN), Norm(HIDDEN), Norm(HIDDEN)
        self.fc = nn.Linear(2 * HIDDEN, HIDDEN, bias=False)
        self.layers = nn.ModuleList([Layer("full_attention")])

    def forward(self, hidden, embedded, layout):
        """`embedded` is the embedding of the token after the one of `hidden`; the result predicts the token after that."""
        x = self.fc(torch.cat([self.pre_fc_norm_embedding(embedded), self.pre_fc_norm_hidden(hidden)], -1))
        x, balance = self.layers[0](x, layout)
        return self.norm(x), balance


class Model(nn.Module):
    """Names of parameters are those of a checkpoint, but for the prefix `model.` of all that is not `mtp.` or `lm_head.`"""

    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(CONFIG["vocab_size"], HIDDEN)
        self.layers = nn.ModuleList([Layer(kind) for kind in CONFIG["layer_types"]])
        self.norm = Norm(HIDDEN)
        self.lm_head = nn.Linear(HIDDEN, CONFIG["vocab_size"], bias=False)
        self.mtp = Mtp()
        for name, parameter in self.named_parameters():
            if parameter.ndim < 2 or "conv1d" in name:
                continue
            scale = 0.02 if "embed" in name or "lm_head" in name else 0.5 / math.sqrt(HIDDEN)
            if name.endswith(("o_proj.weight", "out_proj.weight", "down_proj", "down_proj.weight")):
                scale /= math.sqrt(2 * len(self.layers))
            nn.init.normal_(parameter, std=scale)

    def embed(self, ids):
        out = F.embedding(ids, self.embed_tokens.weight)
        return out.to(torch.get_autocast_dtype(DEVICE)) if torch.is_autocast_enabled(DEVICE) else out

    def hidden(self, ids, layout):
        """Hidden states after the final norm of flat ids, and the sum of the layers' balances."""
        x, balances = self.embed(ids), 0.0
        for layer in self.layers:
            x, balance = layer(x, layout)
            balances = balances + balance
        return self.norm(x), balances

    def drafts(self, hidden, ids, layout, count):
        """Hidden states of the first, second … draft; row t of draft j predicts the token at t + 1 + j (j from 1).

        Draft j + 1 reads the outcome of draft j in the place of the hidden state and sits one position further on.
        """
        out, balances = [], 0.0
        for ahead in range(1, count + 1):
            next_ids = torch.cat([ids[ahead:], ids.new_zeros(ahead)])
            hidden, balance = self.mtp(hidden, self.embed(next_ids), layout)
            out.append(hidden)
            balances = balances + balance
        return out, balances


# ---------------------------------------------------------------- checkpoints

def tensors_of(model, dtype):
    """Tensors under the published names; delta-net decays and norms stay float32 as the publisher keeps them."""
    result = {}
    for name, parameter in model.state_dict().items():
        full = name if name.startswith(("mtp.", "lm_head.")) else f"model.{name}"
        wide = name.endswith("A_log") or "linear_attn.norm" in name
        result[full] = parameter.detach().to("cpu", torch.float32 if wide else dtype).contiguous()
    return result


def write_checkpoint(model, folder, shard_bytes=14_000_000):
    """BF16 shards with an index, and config.json."""
    from safetensors.torch import save_file
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    shards, size = [{}], 0
    for name, tensor in sorted(tensors_of(model, torch.bfloat16).items()):
        count = tensor.numel() * tensor.element_size()
        if size + count > shard_bytes:
            shards.append({})
            size = 0
        shards[-1][name] = tensor
        size += count
    total, places = 0, {}
    for index, shard in enumerate(shards):
        file = f"model-{index + 1:05d}-of-{len(shards):05d}.safetensors"
        save_file(shard, str(folder / file), metadata={"format": "pt"})
        places |= dict.fromkeys(shard, file)
        total += sum(tensor.numel() * tensor.element_size() for tensor in shard.values())
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": total}, "weight_map": dict(sorted(places.items()))}, indent=2) + "\n")
    config = {"architectures": ["Qwen3_5MoeForCausalLM"], "dtype": "bfloat16", "transformers_version": "5.17.0"} | CONFIG
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def load_weights(model, tensors):
    """The inverse of tensors_of."""
    state = {name.removeprefix("model."): tensor.float() for name, tensor in tensors.items()}
    model.load_state_dict(state)


# ---------------------------------------------------------------- check

def compare(label, found, wanted, bound):
    error = ((found - wanted).norm() / wanted.norm()).item()
    print(f"check: {label}: relative difference {error:.2e} (at most {bound:.0e})")
    if not error <= bound:
        raise SystemExit(f"model.py: {label} differs from the reference")


def check_delta_rule():
    """Chunks against one token after another in float64, with keys that hardly differ and are hardly forgotten: the hardest case."""
    torch.manual_seed(4)
    length, size = 3 * CHUNK, STATE
    q, k, v = (torch.randn(1, 1, length, size, dtype=torch.float64) for _ in range(3))
    q, k = unit(q), unit(k[..., :1, :] + 0.1 * k)
    g, beta = torch.full((1, 1, length), -1e-3, dtype=torch.float64), torch.full((1, 1, length), 0.999, dtype=torch.float64)
    state, wanted = torch.zeros(size, size, dtype=torch.float64), []
    for t in range(length):
        state = state * g[0, 0, t].exp()
        state = state + torch.outer(k[0, 0, t], (v[0, 0, t] - k[0, 0, t] @ state) * beta[0, 0, t])
        wanted.append(q[0, 0, t] @ state)
    found = delta_rule(*(each.float().to(DEVICE) for each in (q, k, v, g, beta)))
    compare("the delta rule with keys alike", found[0, 0].cpu().double(), torch.stack(wanted), 1e-5)


def check():
    from transformers import Qwen3_5MoeForCausalLM, Qwen3_5MoeTextConfig
    torch.manual_seed(5)
    torch.backends.cuda.matmul.allow_tf32 = False
    check_delta_rule()
    model = Model().to(DEVICE)
    with torch.no_grad():
        for name, parameter in model.named_parameters():  # no weight at a value that hides its use
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    reference = Qwen3_5MoeForCausalLM(Qwen3_5MoeTextConfig(**CONFIG, attn_implementation="eager", experts_implementation="eager")).to(DEVICE)
    found, unknown = reference.load_state_dict(
        {name: tensor.to(DEVICE) for name, tensor in tensors_of(model, torch.float32).items() if not name.startswith("mtp.")}, strict=False)
    assert not found and not unknown, (found, unknown)
    lengths = [100, 64, 29, 7, 1, 55]  # 256 tokens: two rows of 128 do not do, sequences end with their row
    ids = torch.randint(0, CONFIG["vocab_size"], (sum(lengths),), device=DEVICE)
    segments = torch.repeat_interleave(torch.arange(len(lengths), device=DEVICE), torch.tensor(lengths, device=DEVICE))[None]
    layout = Layout(segments)
    hidden, _ = model.hidden(ids, layout)
    logits = model.lm_head(hidden)
    wanted = torch.cat([reference(input_ids=part[None]).logits[0] for part in ids.split(lengths)])
    compare("logits of six packed sequences", logits, wanted, 2e-5)
    targets = torch.randint(0, CONFIG["vocab_size"], (len(ids),), device=DEVICE)
    F.cross_entropy(logits, targets).backward()
    F.cross_entropy(wanted, targets).backward()
    gradients = dict(reference.named_parameters())
    for name, parameter in model.named_parameters():
        if not name.startswith("mtp.") and name.endswith(("A_log", "layers.0.linear_attn.in_proj_qkv.weight", "layers.2.self_attn.q_proj.weight")):
            full = name if name.startswith("lm_head.") else f"model.{name}"
            compare(f"gradient of {full}", parameter.grad, gradients[full].grad, 1e-3)
    # MTP: a text model of one full-attention layer without embedding, whose last norm is mtp.norm
    inner = Qwen3_5MoeForCausalLM(Qwen3_5MoeTextConfig(**CONFIG | {"num_hidden_layers": 1, "layer_types": ["full_attention"]},
                                                       attn_implementation="eager", experts_implementation="eager")).to(DEVICE).model
    names = {name.removeprefix("mtp."): tensor.to(DEVICE) for name, tensor in tensors_of(model, torch.float32).items() if name.startswith("mtp.")}
    found, unknown = inner.load_state_dict(names, strict=False)
    assert found == ["embed_tokens.weight"] and len(unknown) == 3, (found, unknown)
    drafts, _ = model.drafts(hidden, ids, layout, 2)
    start, end = 0, 100
    h = hidden[start:end]
    for ahead in (1, 2):
        embedded = model.embed_tokens.weight[ids[start + ahead:end + ahead]]
        sizes = [h.square().mean(-1, keepdim=True), embedded.square().mean(-1, keepdim=True)]
        h = h * torch.rsqrt(sizes[0] + EPSILON) * (1 + names["pre_fc_norm_hidden.weight"])
        embedded = embedded * torch.rsqrt(sizes[1] + EPSILON) * (1 + names["pre_fc_norm_embedding.weight"])
        x = torch.cat([embedded, h], -1) @ names["fc.weight"].T
        h = inner(inputs_embeds=x[None]).last_hidden_state[0]
        compare(f"MTP, draft {ahead}", drafts[ahead - 1][start:end - 2], h[:-2], 2e-5)
    # in bfloat16, on a GPU with the fast attention kernel: the bound that the product's own logits have to keep
    with torch.autocast(DEVICE, torch.bfloat16), torch.no_grad():
        theirs = torch.cat([reference(input_ids=part[None]).logits[0].float() for part in ids.split(lengths)])
        own = ((theirs - wanted).norm() / wanted.norm()).item()
        compare(f"bfloat16 against float32, where the reference has {own:.2e}", model.lm_head(model.hidden(ids, layout)[0]).float(), wanted, 1.5 * own)
    print("check: model.py agrees with transformers")


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        raise SystemExit(__doc__)
    check()
