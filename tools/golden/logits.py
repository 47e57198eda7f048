"""Reference logits of the tiny checkpoints: `transformers` in float32 and in bfloat16, on the weights as the files hold
them. README.md, "Logits", says what is stored and how the prompts are chosen.

    python logits.py [NAME …]
"""

import contextlib
import copy
import json
import sys

import torch
from safetensors.torch import save_file

import check
import checkpoints
import family
import formats
import recipes

PROMPT, DECODED = 200, 32
PREFIXES = (1, 3, 63, 64, 65, PROMPT)
TOKENS = PROMPT + DECODED
# Positions whose logits are kept: after each prefix, and after each decoded token.
ROWS = [length - 1 for length in PREFIXES] + list(range(PROMPT, TOKENS))
SAFETY = 3  # a routing decision must be this many times the largest bfloat16 error of a router logit from tipping over


@contextlib.contextmanager
def exact_weights():
    """Lets a bfloat16 model use float32 weights: the product is formed in float32 and then rounded, which is what a
    bfloat16 product with exactly decoded weights is."""
    original = torch.nn.functional.linear

    def linear(values, weight, bias=None):
        if values.dtype == torch.bfloat16 and weight.dtype == torch.float32:
            return original(values.float(), weight).to(torch.bfloat16)
        return original(values, weight, bias)

    torch.nn.functional.linear = linear
    try:
        yield
    finally:
        torch.nn.functional.linear = original


def place(model, weights, dtype):
    """Gives the model these weights; float32 ones (decoded, or stored so) stay float32 in a bfloat16 model."""
    parameters = dict(model.named_parameters())
    assert set(parameters) <= set(weights), set(parameters) - set(weights)
    for name, parameter in parameters.items():
        parameter.requires_grad_(False)
        parameter.data = weights[name].float() if dtype == torch.float32 else weights[name]
    return model.eval()


class Reference:
    """The main model and, when the files hold all of it, the multi-token-prediction layer, in one dtype."""

    def __init__(self, recipe, weights, dtype):
        config = {"architectures": ["Qwen3_5MoeForCausalLM" if recipe.sizes.experts else "Qwen3_5ForCausalLM"]}
        config |= family.text_config(recipe.sizes) | {"attn_implementation": "eager", "experts_implementation": "eager"}
        main = {name: tensor for name, tensor in weights.items() if not name.startswith("mtp.")}
        if recipe.sizes.tied:
            main["lm_head.weight"] = main["model.embed_tokens.weight"]
        self.model = place(family.library_model(config), main, dtype)
        self.has_mtp = recipe.mtp and not recipe.mtp_missing
        self.routers = []
        if self.has_mtp:
            # Its decoder layer and last norm are a text model of one full-attention layer, fed with embeddings.
            config |= {"num_hidden_layers": 1, "layer_types": ["full_attention"]}
            self.mtp = {name: tensor for name, tensor in weights.items() if name.startswith("mtp.")}
            inner = {name.removeprefix("mtp."): tensor for name, tensor in self.mtp.items()}
            inner["embed_tokens.weight"] = main["model.embed_tokens.weight"]
            self.mtp_model = place(family.library_model(config).model, inner, dtype)
            norm_class = type(self.mtp_model.norm)
            self.pre_norms = []
            for part in ("embedding", "hidden"):
                norm = norm_class(recipe.sizes.hidden)
                self.pre_norms.append(place(norm, {"weight": inner[f"pre_fc_norm_{part}.weight"]}, dtype))
            self.fc = inner["fc.weight"].float() if dtype == torch.float32 else inner["fc.weight"]
        for module in [self.model] + ([self.mtp_model] if self.has_mtp else []):
            for name, part in module.named_modules():
                if name.endswith("mlp.gate"):
                    part.register_forward_hook(lambda _, __, output: self.routers.append(output[0].float()))

    def run(self, tokens, cache=None, start=0):
        """Logits, hidden states after the final norm, and the cache, of tokens that follow those in the cache."""
        positions = torch.arange(start, start + len(tokens))[None]
        out = self.model.model(torch.tensor([tokens]), position_ids=positions, cache=cache, use_cache=True)
        return self.model.lm_head(out.last_hidden_state)[0].float(), out.last_hidden_state, out.cache

    def drafts(self, hidden, following, cache=None, start=0):
        """Draft logits from hidden states and the token after each of them, and the layer's cache."""
        embedding = self.model.model.embed_tokens(torch.tensor([following]))
        joined = torch.cat([self.pre_norms[0](embedding), self.pre_norms[1](hidden)], dim=-1)
        joined = torch.nn.functional.linear(joined, self.fc)
        positions = torch.arange(start, start + len(following))[None]
        out = self.mtp_model(inputs_embeds=joined, position_ids=positions, cache=cache, use_cache=True)
        return self.model.lm_head(out.last_hidden_state)[0].float(), out.cache

    def everything(self, tokens):
        """One pass over all tokens: draft logits or None, and the router logits of each layer in turn."""
        self.routers.clear()
        _, hidden, _ = self.run(tokens)
        drafts = self.drafts(hidden[:, :-1], tokens[1:])[0] if self.has_mtp else None
        return drafts, list(self.routers)

    def step(self, state, token):
        """One more token after `state` (None at the start), which stays as it was: the new state and its router logits,
        those of the draft layer at the position before included."""
        self.routers.clear()
        cache, draft_cache, hidden, position = copy.deepcopy(state) if state else (None, None, None, 0)
        _, new_hidden, cache = self.run([token], cache, position)
        if self.has_mtp and position > 0:
            _, draft_cache = self.drafts(hidden, [token], draft_cache, position - 1)
        return (cache, draft_cache, new_hidden, position + 1), torch.cat(self.routers)

    def kept_logits(self, tokens):
        """The rows that are stored, each computed as a user of the model would: prefill of a prefix, then decode."""
        rows = [self.run(tokens[:length])[0][-1] for length in PREFIXES[:-1]]
        logits, _, cache = self.run(tokens[:PROMPT])
        rows.append(logits[-1])
        for position in range(PROMPT, TOKENS):
            logits, _, cache = self.run(tokens[position : position + 1], cache, position)
            rows.append(logits[-1])
        return torch.stack(rows)


def margins(router_logits, top_k):
    """The distance between the last expert taken and the first one left."""
    ordered = router_logits.sort(dim=-1, descending=True).values
    return ordered[:, top_k - 1] - ordered[:, top_k]


def choose_tokens(recipe, exact, rounded):
    """Random tokens, and the smallest routing margin and largest router error over them. A token is drawn again where a
    decision would be close or rounding is unusually large; where none of many will do, all are, with a wider bound."""
    generator = torch.Generator().manual_seed(recipe.seed)
    if not recipe.sizes.experts:
        return torch.randint(256, (TOKENS,), generator=generator).tolist(), None, None
    bound, tokens, draws, tries = 0.25, [], 0, 0
    exact_state = rounded_state = None
    while len(tokens) < TOKENS:
        token, draws, tries = int(torch.randint(256, (1,), generator=generator)), draws + 1, tries + 1
        check.check(draws < 40 * TOKENS, recipe.name, "no prompt with safe routing found")
        if tries > 60:
            bound, tokens, tries, exact_state, rounded_state = 1.3 * bound, [], 0, None, None
        state, routers = exact.step(exact_state, token)
        if float(margins(routers, recipe.sizes.top_k).min()) < bound:
            continue
        rounded_next, rounded_routers = rounded.step(rounded_state, token)
        if SAFETY * float((routers - rounded_routers).abs().max()) > bound:
            continue
        exact_state, rounded_state, tries = state, rounded_next, 0
        tokens.append(token)
    (_, routers), (_, rounded_routers) = exact.everything(tokens), rounded.everything(tokens)
    routers, rounded_routers = torch.cat(routers), torch.cat(rounded_routers)
    margin, error = float(margins(routers, recipe.sizes.top_k).min()), float((routers - rounded_routers).abs().max())
    check.check(margin > 0.8 * SAFETY * error, recipe.name, "margin", margin, "error", error)
    print(f"  {draws} draws, bound {bound:.3f}")
    return tokens, margin, error


def weights_of(folder):
    """Internal parameter name -> tensor: BF16 where the file says BF16, float32 where it is float32 or decoded."""
    modules = check.modules_of(check.read(folder))
    decoded = {}
    for module, stored in modules.items():
        if not module.endswith(("k_scale", "v_scale")):
            decoded[module] = stored["weight"] if formats.format_of(stored) == "bf16" else formats.decode(stored)
    decoded = family.fuse_experts(decoded)
    whole = ("A_log", "dt_bias", "gate_up_proj", "experts.down_proj")
    return {name if name.endswith(whole) and "shared" not in name else name + ".weight": tensor for name, tensor in decoded.items()}


def distance(values, reference):
    return float((values - reference).norm() / reference.norm())


@torch.no_grad()
def write(recipe):
    folder = checkpoints.FOLDER / recipe.name
    weights = weights_of(folder)
    exact, rounded = (Reference(recipe, weights, dtype) for dtype in (torch.float32, torch.bfloat16))
    tokens, margin, error = choose_tokens(recipe, exact, rounded)
    drafts, rounded_drafts = exact.everything(tokens)[0], rounded.everything(tokens)[0]
    fp32, bf16 = exact.kept_logits(tokens), rounded.kept_logits(tokens)
    again = exact.run(tokens)[0][ROWS]
    check.check(distance(fp32, again) < 1e-5, recipe.name, "prefill and decode disagree", distance(fp32, again))
    check.check(torch.equal(bf16, bf16.to(torch.bfloat16).float()), recipe.name, "bf16 logits are not bf16")
    report = {"e": distance(bf16, fp32), "logit_deviation": float(fp32.std())}
    stored = {
        "tokens": torch.tensor(tokens, dtype=torch.int32),
        "rows": torch.tensor(ROWS, dtype=torch.int32),
        "fp32": fp32,
        "bf16": bf16.to(torch.bfloat16),
    }
    if drafts is not None:
        kept = [row for row in ROWS if row < TOKENS - 1]
        stored["draft_fp32"] = drafts[kept]
        stored["draft_bf16"] = rounded_drafts[kept].to(torch.bfloat16)
        report["draft_e"] = distance(rounded_drafts[kept], drafts[kept])
    if margin is not None:
        report |= {"smallest_routing_margin": margin, "largest_router_error": error}
    report = {name: round(value, 6) for name, value in report.items()} | {"weights": check.digest(folder)}
    save_file(stored, folder / "logits.safetensors", metadata={"report": json.dumps(report)})
    print(recipe.name, report)


if __name__ == "__main__":
    torch.set_num_threads(1)
    with exact_weights():
        for chosen in recipes.RECIPES:
            if len(sys.argv) == 1 or chosen.name in sys.argv[1:]:
                write(chosen)
