"""Holds `redline quantize` against the libraries that define the formats.

    python quantized.py PROGRAM

The weights of each golden checkpoint that ModelOpt's encoders or the official block layout made are drawn again, stored as BF16, and quantised by the
program: names, types, shapes and bytes must be the golden ones. Then `transformers` loads what the plan `fp8` makes of the BF16 checkpoints.
"""

import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers

import check
import checkpoints
import recipes

PLANS = {"moe-nvfp4-experts": "experts", "moe-nvfp4-mixed": "mixed", "dense-nvfp4-mixed": "mixed", "moe-fp8-block": "fp8"}
MEASURED = ("input_scale", "k_scale", "v_scale")  # numbers that come from running text
GOLDEN = checkpoints.FOLDER


def quantize(program, source, plan, output):
    subprocess.run([program, "quantize", source, "--to", plan, "--output", output], check=True, stdout=subprocess.DEVNULL)


def raw(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def check_maker(program, recipe, plan, work):
    plain = {"rules": (), "quantisation": "", "kv_scales": "", "config_denies": (), "activation_scales": False, "shards": 1}
    twin = dataclasses.replace(recipe, name=recipe.name + "-bf16", **plain)
    checkpoints.FOLDER = work
    checkpoints.write(twin)
    quantize(program, work / twin.name, plan, work / recipe.name)
    ours, theirs = check.read(work / recipe.name), check.read(GOLDEN / recipe.name)
    ours, theirs = ({name: tensor for name, tensor in tensors.items() if not name.endswith(MEASURED)} for tensors in (ours, theirs))
    check.check(ours.keys() == theirs.keys(), recipe.name, "names", set(ours) ^ set(theirs))
    differing = 0
    for name, tensor in ours.items():
        check.check(tensor.dtype == theirs[name].dtype and tensor.shape == theirs[name].shape, recipe.name, name, "type or shape")
        same = torch.equal(raw(tensor), raw(theirs[name]))
        # One recipe gives gate and up different scalars, to have such a file; then theirs differ from what is asked of us.
        check.check(same or (not recipe.shared_gate_up_scale and (".gate_proj." in name or ".up_proj." in name)), recipe.name, name, "bytes")
        differing += not same
    print(f"{recipe.name}: {len(ours)} tensors, {len(ours) - differing} the same byte for byte")


def check_loader(program, name, work):
    quantize(program, GOLDEN / name, "fp8", work / f"{name}-fp8")
    model_class = getattr(transformers, json.loads((GOLDEN / name / "config.json").read_text())["architectures"][0])
    before = model_class.from_pretrained(GOLDEN / name, dtype=torch.bfloat16).state_dict()
    model, report = model_class.from_pretrained(work / f"{name}-fp8", dtype=torch.bfloat16, output_loading_info=True)
    check.check(not any(report.values()), name, report)
    after = model.state_dict()
    check.check(before.keys() == after.keys(), name, "names")
    errors = [float((after[key].float() - before[key].float()).norm() / before[key].float().norm()) for key in before]
    check.check(0 < max(errors) < 0.03, name, "weights after loading", max(errors))
    print(f"{name} as fp8: loaded by transformers, weights within {max(errors):.4f}, {errors.count(0)} of {len(errors)} equal")


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        for recipe in recipes.RECIPES:
            if recipe.name in PLANS:
                check_maker(program, recipe, PLANS[recipe.name], pathlib.Path(folder))
        for name in ("dense-bf16", "dense-bf16-tied", "moe-bf16"):
            check_loader(program, name, pathlib.Path(folder))


if __name__ == "__main__":
    main()
