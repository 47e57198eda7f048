"""`redline inspect --json` against figures that are published or were worked out by hand from the shapes: parameter totals, active parameters, bytes per
token, state and draft traffic, ceilings. The synthetic sizes give them without any file; the published configs, where REDLINE_REAL_DATA names them, must
give the same through an index of names alone."""
import json
import os
import pathlib
import subprocess
import tempfile

PROGRAM = os.environ["REDLINE_PROGRAM"]
FAULTS = []


def inspect(model, gpu="h200"):
    done = subprocess.run([PROGRAM, "inspect", str(model), "--json", "--gpu", gpu], capture_output=True, timeout=120)
    if done.returncode != 0:
        raise SystemExit(f"{model}: exit code {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def expect(what, found, expected):
    if found != expected:
        FAULTS.append(f"{what}: expected {expected}, found {found}")


def group(report, name, field):
    return next((item[field] for item in report["groups"] if item["name"] == name), 0)


def total(report, field, without=()):
    return sum(item[field] for item in report["groups"] if item["name"] not in without)


# Parameters of the text model (embedding and head) and of the MTP layer.
TOTALS = {
    "0.8b": (752393024, 20452864),
    "2b": (1881825088, 60828160),
    "4b": (4205751296, 120599552),
    "9b": (8953803264, 243290624),
    "27b": (26895998464, 424699392),
    "35b-a3b": (34660610688, 844640768),
    "122b-a10b": (122111526912, 2523679232),
    "397b-a17b": (396346350336, 6595568128),
}

ACTIVE = {  # routed, shared, delta-net, attention, head, router, norms
    "35b-a3b": (1006632960, 125829120, 1011553920, 272634880, 508559360, 21053440, 165888),
    "122b-a10b": (3623878656, 452984832, 3186828288, 943724544, 762839040, 37896192, 297984),
    "397b-a17b": (7549747200, 754974720, 5310639360, 1572871680, 1017118720, 126074880, 495616),
}

MEGABYTES = {  # weight bytes per token: bf16, fp8, experts, mixed
    "35b-a3b": (5893, 3481, 4446, 2254),
    "122b-a10b": (18016, 9826, 12807, 6945),
    "397b-a17b": (32663, 17502, 21810, 12405),
}

STATE_MB = {"35b-a3b": 125.8, "122b-a10b": 302.0, "397b-a17b": 377.5}  # recurrent state read and written
KV_BYTES = {"35b-a3b": 20480, "122b-a10b": 24576, "397b-a17b": 30720}  # BF16, per token of context
DRAFT_MB = {"35b-a3b": 1146.1, "122b-a10b": 1892.2, "397b-a17b": 2592.1}  # one draft step with the head, BF16

CEILINGS = [  # tokens/s of one request without drafts
    ("35b-a3b@mixed", "h200", 1900, 10),
    ("35b-a3b@experts", "h200", 990, 5),
    ("122b-a10b@experts", "h200", 346, 1),
    ("122b-a10b@mixed", "h200", 626, 1),
    ("27b@mixed", "h200", 254, 1),
    ("397b-a17b@experts", "h200x2", 409, 1),
    ("397b-a17b@mixed", "h200x2", 709, 2),
]


def synthetic_sizes():
    for size, (text, mtp) in TOTALS.items():
        report = inspect(f"synthetic:qwen3.5-{size}")
        # A tied head is the embedding: it counts as active, not as parameters of its own.
        tied = size in ("0.8b", "2b", "4b")
        expect(f"{size}: text parameters", total(report, "parameters", ("mtp", "vision") + (("head",) if tied else ())), text)
        expect(f"{size}: MTP parameters", group(report, "mtp", "parameters"), mtp)
    for size, active in ACTIVE.items():
        report = inspect(f"synthetic:qwen3.5-{size}")
        names = ("routed_experts", "shared_expert", "delta_net", "attention", "head", "router")
        for name, number in zip(names, active):
            expect(f"{size}: active parameters of {name}", group(report, name, "active_parameters"), number)
        expect(f"{size}: active parameters in all", total(report, "active_parameters"), sum(active))
        expect(f"{size}: state", round(report["per_token"]["state_bytes"] / 1e6, 1), STATE_MB[size])
        expect(f"{size}: KV", report["per_token"]["kv_bytes_per_context_token"], KV_BYTES[size])
        expect(f"{size}: draft", round(report["per_token"]["draft_bytes"] / 1e6, 1), DRAFT_MB[size])
        for precision, megabytes in zip(("bf16", "fp8", "experts", "mixed"), MEGABYTES[size]):
            report = inspect(f"synthetic:qwen3.5-{size}@{precision}")
            # The published sums leave the norms out; they are printed to the megabyte, from six groups printed to a tenth.
            found = (report["per_token"]["weight_bytes"] - group(report, "norms", "bytes")) / 1e6
            if abs(found - megabytes) > 0.5 + 6 * 0.05:
                FAULTS.append(f"{size}@{precision}: {found:.1f} MB per token, expected {megabytes}")


def mtp_and_ceilings():
    report = inspect("synthetic:qwen3.5-397b-a17b@experts")
    expect("397B MTP", (report["mtp"]["state"], report["mtp"]["tensors_found"], report["mtp"]["tensors_expected"], report["mtp"]["dtype"]),
           ("present", 1553, 1553, "BF16"))
    expect("35B FP8 MTP tensors", inspect("synthetic:qwen3.5-35b-a3b@fp8")["mtp"]["tensors_found"], 1560)
    for model, gpu, tokens, slack in CEILINGS:
        found = inspect(f"synthetic:qwen3.5-{model}", gpu)["ceiling"]["tokens_per_s"]
        if abs(found - tokens) > slack:
            FAULTS.append(f"{model} on {gpu}: ceiling {found:.1f} tokens/s, expected about {tokens}")


def names_of(config, experts_nvfp4, mixed, mtp_per_expert):
    """Names of a published file, written from the layout's description: the census that decides how many tensors it has."""
    text = config.get("text_config", config)
    names = ["model.language_model.embed_tokens.weight", "model.language_model.norm.weight"]
    nvfp4 = ("weight", "weight_scale", "weight_scale_2", "input_scale")
    fp8 = ("weight", "weight_scale", "input_scale")

    def module(name, suffixes=("weight",)):
        names.extend(f"{name}.{suffix}" for suffix in suffixes)

    module("lm_head", nvfp4 if mixed else ("weight",))
    for layer, kind in enumerate(text["layer_types"]):
        prefix = f"model.language_model.layers.{layer}"
        module(f"{prefix}.input_layernorm")
        module(f"{prefix}.post_attention_layernorm")
        projections = fp8 if mixed else ("weight",)
        if kind == "full_attention":
            for part in "qkvo":
                module(f"{prefix}.self_attn.{part}_proj", projections)
            module(f"{prefix}.self_attn.q_norm")
            module(f"{prefix}.self_attn.k_norm")
        else:
            for part in ("in_proj_qkv", "in_proj_z", "out_proj"):
                module(f"{prefix}.linear_attn.{part}", projections)
            for part in ("in_proj_a", "in_proj_b", "conv1d", "norm"):
                module(f"{prefix}.linear_attn.{part}")
            names.extend(f"{prefix}.linear_attn.{part}" for part in ("A_log", "dt_bias"))
        module(f"{prefix}.mlp.gate")
        module(f"{prefix}.mlp.shared_expert_gate")
        for matrix in ("gate_proj", "up_proj", "down_proj"):
            module(f"{prefix}.mlp.shared_expert.{matrix}", nvfp4 if mixed else ("weight",))
            for expert in range(text["num_experts"]):
                module(f"{prefix}.mlp.experts.{expert}.{matrix}", nvfp4 if experts_nvfp4 else ("weight",))
    for part in ("fc", "pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"):
        module(f"mtp.{part}")
    prefix = "mtp.layers.0"
    for part in ("input_layernorm", "post_attention_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
                 "self_attn.q_norm", "self_attn.k_norm", "mlp.gate", "mlp.shared_expert_gate", "mlp.shared_expert.gate_proj", "mlp.shared_expert.up_proj",
                 "mlp.shared_expert.down_proj"):
        module(f"{prefix}.{part}")
    if mtp_per_expert:
        for expert in range(text["num_experts"]):
            for matrix in ("gate_proj", "up_proj", "down_proj"):
                module(f"{prefix}.mlp.experts.{expert}.{matrix}")
    else:
        names.extend(f"{prefix}.mlp.experts.{matrix}" for matrix in ("gate_up_proj", "down_proj"))
    for block in range(config["vision_config"]["depth"]):
        for part in ("norm1", "norm2", "attn.qkv", "attn.proj", "mlp.linear_fc1", "mlp.linear_fc2"):
            module(f"model.visual.blocks.{block}.{part}", ("weight", "bias"))
    for part in ("patch_embed.proj", "merger.norm", "merger.linear_fc1", "merger.linear_fc2"):
        module(f"model.visual.{part}", ("weight", "bias"))
    module("model.visual.pos_embed")
    return names


def published_configs(folder):
    cases = [  # config, quantised how, tensors in the published file, format of routed experts, of attention, of the head
        ("nvidia--Qwen3.5-397B-A17B-NVFP4", dict(experts_nvfp4=True, mixed=False, mtp_per_expert=True), 371444, "NVFP4", "BF16", "BF16"),
        ("nvidia--Qwen3.6-35B-A3B-NVFP4", dict(experts_nvfp4=True, mixed=True, mtp_per_expert=False), 124468, "NVFP4", "FP8 per tensor", "NVFP4"),
    ]
    parameters = {"nvidia--Qwen3.5-397B-A17B-NVFP4": 403397928944, "nvidia--Qwen3.6-35B-A3B-NVFP4": 35951822704}
    for name, layout, count, routed, attention, head in cases:
        config = json.loads((folder / f"{name}_config.json").read_text())
        names = names_of(config, **layout)
        expect(f"{name}: tensors by the layout's description", len(names), count)
        with tempfile.TemporaryDirectory() as temporary:
            home = pathlib.Path(temporary)
            (home / "config.json").write_text(json.dumps(config))
            (home / "hf_quant_config.json").write_text((folder / f"{name}_hf_quant_config.json").read_text())
            (home / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {tensor: "model-00001-of-00001.safetensors" for tensor in names}}))
            report = inspect(home)
        expect(f"{name}: formats", tuple(group(report, part, "format") for part in ("routed_experts", "attention", "head")), (routed, attention, head))
        expect(f"{name}: config agrees", [item["name"] for item in report["groups"] if item["config_agrees"] is False and item["name"] not in ("router", "mtp")], [])
        expect(f"{name}: all parameters", total(report, "parameters"), parameters[name])
        expect(f"{name}: faults", report["faults"], [])


def main():
    synthetic_sizes()
    mtp_and_ceilings()
    data = os.environ.get("REDLINE_REAL_DATA", "")
    if data:
        published_configs(pathlib.Path(data) / "configs")
    for fault in FAULTS:
        print(fault)
    if FAULTS:
        raise SystemExit(f"{len(FAULTS)} figures differ")
    print("all figures agree" + ("" if data else "; published configs skipped: REDLINE_REAL_DATA is not set"))


if __name__ == "__main__":
    main()
