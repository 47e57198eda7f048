#!/usr/bin/env python3
"""Makes tests/golden/quant/*.json: what torch, nvidia-modelopt and compressed-tensors do with given numbers, as bit patterns.

Usage: python tools/golden/quant_vectors.py OUTPUT_FOLDER   (needs torch, nvidia-modelopt and compressed-tensors; CPU is enough)
Numbers are hex without separators: 8 digits a float, 4 a bf16 or f16, 2 a code or scale. The seed is fixed; the same versions make
the same files.
"""
import json
import pathlib
import sys

import compressed_tensors
import modelopt
import numpy
import torch
from compressed_tensors.compressors.nvfp4.base import NVFP4PackedCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from compressed_tensors.quantization.lifecycle.forward import dequantize, quantize
from compressed_tensors.quantization.quant_args import FP4_E2M1_DATA
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from modelopt.torch.quantization.qtensor import FP8QTensor, NVFP4QTensor

SEED = 20260
MAKERS = {"torch": torch.__version__, "nvidia-modelopt": modelopt.__version__, "compressed-tensors": compressed_tensors.__version__,
          "numpy": numpy.__version__}


def hex_of(tensor):
    tensor = tensor.detach().contiguous().cpu()
    if tensor.dtype in (torch.float32, torch.int32):
        width, raw = 8, tensor.view(torch.int32).flatten().tolist()
    elif tensor.dtype in (torch.bfloat16, torch.float16):
        width, raw = 4, tensor.view(torch.int16).flatten().tolist()
    else:
        width, raw = 2, tensor.view(torch.uint8).flatten().tolist()
    return "".join(f"{value & (1 << 4 * width) - 1:0{width}x}" for value in raw)


# --- casts -------------------------------------------------------------------------------------------------------------

def thresholds(encode, codes, step):
    """The smallest non-negative float, as bits, whose code is at least c, for c = 1 … codes - 1.

    `encode` is monotone for non-negative floats, which is checked on every `step`-th one, so the list tells what it does to all.
    """
    sweep = torch.arange(0, 0x7F800000, step, dtype=torch.int64).to(torch.int32).view(torch.float32)
    found = encode(sweep).to(torch.int32)
    assert bool((found[1:] >= found[:-1]).all()), "not monotone"
    low = torch.zeros(codes - 1, dtype=torch.int64)
    high = torch.full((codes - 1,), 0x7F7FFFFF, dtype=torch.int64)
    wanted = torch.arange(1, codes, dtype=torch.int64)
    while bool((low < high).any()):
        middle = (low + high) // 2
        reached = encode(middle.to(torch.int32).view(torch.float32)).to(torch.int64) >= wanted
        high = torch.where(reached, middle, high)
        low = torch.where(reached, low, middle + 1)
    return low


def casts():
    def e4m3(x):
        return x.clamp(-448, 448).to(torch.float8_e4m3fn).view(torch.uint8)

    def e2m1_modelopt(x):
        return NVFP4QTensor._cast_fp4(x.clone())

    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])

    def e2m1_compressed_tensors(x):
        return torch.searchsorted(values, FP4_E2M1_DATA.cast_to_fp4(x.clamp(-6, 6).clone()).contiguous())

    generator = torch.Generator().manual_seed(SEED)
    bits = torch.randint(0, 1 << 32, (600,), generator=generator)
    # f16's range is a small part of all floats: a second half lies in it.
    bits = torch.cat([bits, torch.randint(0x33000000, 0x47800000, (600,), generator=generator) | (bits & 0x80000000)])
    bits = bits[(bits & 0x7F800000) != 0x7F800000]  # finite
    ties = torch.arange(0x38801000, 0x38801000 + 64 * 0x2000, 0x2000)  # ties of f16, and of bf16 below
    bits = torch.cat([bits, ties, torch.arange(0x3F808000, 0x3F808000 + 64 * 0x10000, 0x10000), torch.tensor([0x477FEFFF, 0x477FF000])])
    floats = bits.to(torch.int32).view(torch.float32)
    f16 = torch.from_numpy(floats.numpy().astype(numpy.float16))
    assert torch.equal(f16.view(torch.int16), floats.to(torch.float16).view(torch.int16))
    return {
        "e4m3": {"by": "torch .clamp(-448, 448).to(float8_e4m3fn)", "first_float_of_code": hex_of(thresholds(e4m3, 127, 971).to(torch.int32))},
        "e2m1": [
            {"by": "modelopt NVFP4QTensor._cast_fp4", "first_float_of_code": hex_of(thresholds(e2m1_modelopt, 8, 971).to(torch.int32))},
            {"by": "compressed_tensors FP4_E2M1_DATA.cast_to_fp4",
             "first_float_of_code": hex_of(thresholds(e2m1_compressed_tensors, 8, 971).to(torch.int32))},
        ],
        "e4m3_values": hex_of(torch.arange(0, 256).to(torch.uint8).view(torch.float8_e4m3fn).float()[
            [c for c in range(256) if c & 0x7F != 0x7F]]),
        "floats": hex_of(floats), "f16": hex_of(f16), "bf16": hex_of(floats.to(torch.bfloat16)),
    }


# --- NVFP4 -------------------------------------------------------------------------------------------------------------

def nvfp4_inputs():
    generator = torch.Generator().manual_seed(SEED + 1)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    gaussian = (normal(8, 64) * 0.02).to(torch.bfloat16).float()
    wide = torch.sign(normal(8, 64)) * torch.exp(normal(8, 64) * 4)
    with_zeros = (normal(4, 64) * 0.1).to(torch.bfloat16).float()
    with_zeros[1, 16:32] = 0
    with_zeros[2, :] = 0
    with_zeros[3, 0:8] = -0.0
    # Largest value 2688 makes the tensor scale 1 and a block that holds 6 has scale 1: quotients are the values themselves.
    ties = torch.zeros(4, 64)
    ties[0, 0] = 2688
    for row in range(1, 4):
        ties[row] = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6] * 8) * torch.where(normal(64) < 0, -1.0, 1.0)
    ties[3, 48:64] = torch.nextafter(ties[3, 48:64], torch.tensor(float("inf")))
    ties[3, 63] = 6
    # Blocks whose scale lies within a float step or two of a tie of e4m3: the order of float operations decides.
    borders = torch.zeros(10, 64)
    borders[0, 0] = largest = 0.7310586
    e4m3 = torch.arange(0x30, 0x7E).to(torch.uint8).view(torch.float8_e4m3fn).float()
    for block in range(1, 40):
        tie = (e4m3[block] + e4m3[block + 1]) / 2
        value = (tie * 6 * (torch.tensor(largest) / 2688)).view(torch.int32) + (block % 5 - 2)
        borders[block // 4, block % 4 * 16 + 3] = value.view(torch.float32)
    one_outlier = (normal(4, 64) * 1e-3).to(torch.bfloat16).float()
    one_outlier[2, 17] = 1000.0
    return {"gaussian bf16": gaussian, "gaussian f32": normal(8, 64) * 0.3, "wide": wide, "zero blocks": with_zeros, "ties": ties, "borders of scales": borders,
            "one outlier": one_outlier, "large": normal(2, 32) * 1e30, "small": normal(2, 32) * 1e-30}


def modelopt_case(name, values, tensor_scale=None):
    stored, scale, scale_2 = NVFP4QTensor.quantize(values.clone(), 16, None, tensor_scale)
    back = stored.dequantize(dtype=torch.float32, scale=scale, double_scale=scale_2, block_sizes={-1: 16})
    return {"name": name, "rows": values.shape[0], "columns": values.shape[1], "given": tensor_scale is not None,
            "values": hex_of(values), "tensor_scale": hex_of(scale_2.reshape(1).float()), "scales": hex_of(scale),
            "codes": hex_of(stored._quantized_data), "decoded": hex_of(back)}


def compressed_tensors_case(name, values):
    args = QuantizationArgs(num_bits=4, type="float", strategy="tensor_group", group_size=16, symmetric=True, dynamic=False,
                            scale_dtype=torch.float8_e4m3fn, zp_dtype=torch.float8_e4m3fn)
    global_scale = generate_gparam(values.min(), values.max())
    blocks = values.unflatten(-1, (-1, 16))
    scale, _ = calculate_qparams(blocks.amin(-1), blocks.amax(-1), args, global_scale)
    scheme = QuantizationScheme(targets=["Linear"], weights=args)
    state = NVFP4PackedCompressor.compress({"weight": values.clone(), "weight_scale": scale, "weight_global_scale": global_scale}, scheme)
    fp4 = torch.tensor([0.0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
    packed = state["weight_packed"]
    codes = torch.stack((packed & 15, packed >> 4), -1).flatten(-2).long()
    back = dequantize(x_q=fp4[codes], scale=state["weight_scale"].float(), args=args, dtype=torch.float32, global_scale=global_scale)
    return {"name": name, "rows": values.shape[0], "columns": values.shape[1], "given": False, "values": hex_of(values),
            "tensor_scale": hex_of(global_scale), "scales": hex_of(state["weight_scale"]), "codes": hex_of(packed), "decoded": hex_of(back)}


def nvfp4():
    inputs = nvfp4_inputs()
    modelopt_cases = [modelopt_case(name, values) for name, values in inputs.items()]
    shared = NVFP4QTensor.get_weights_scaling_factor_2(inputs["gaussian f32"] * 1.5)
    modelopt_cases.append(modelopt_case("tensor scale of another tensor", inputs["gaussian f32"], shared))
    return {"modelopt": {"by": "modelopt NVFP4QTensor.quantize, .dequantize", "cases": modelopt_cases},
            "compressed_tensors": {"by": "compressed_tensors generate_gparam, calculate_qparams, NVFP4PackedCompressor.compress, dequantize",
                                   "cases": [compressed_tensors_case(name, values) for name, values in inputs.items()]}}


# --- FP8 ---------------------------------------------------------------------------------------------------------------

def fp8_case(kind, name, values, by, scales, codes, decoded):
    return {"kind": kind, "name": name, "by": by, "rows": values.shape[0], "columns": values.shape[1], "values": hex_of(values.to(torch.bfloat16)),
            "scales": hex_of(scales), "codes": hex_of(codes), "decoded": hex_of(decoded)}


def fp8():
    generator = torch.Generator().manual_seed(SEED + 2)
    cases = []
    small = (torch.randn(5, 24, generator=generator) * torch.exp(torch.randn(5, 24, generator=generator) * 2)).to(torch.bfloat16).float()
    tall = (torch.randn(130, 3, generator=generator)).to(torch.bfloat16).float()
    flat = (torch.randn(2, 133, generator=generator) * 0.02).to(torch.bfloat16).float()
    for name, values in {"small": small, "tall": tall, "flat": flat}.items():
        for kind, keywords in {"tensor": {}, "channel": {"axis": 0}, "block": {"block_sizes": {0: 128, 1: 128}}}.items():
            stored, scales = FP8QTensor.quantize(values, **keywords)
            back = stored.dequantize(dtype=torch.float32, scale=scales, **({"block_sizes": keywords["block_sizes"]} if kind == "block" else {}))
            cases.append(fp8_case(kind, name, values, "modelopt FP8QTensor", scales.float(), stored._quantized_data, back))
        args = QuantizationArgs(num_bits=8, type="float", strategy="channel", symmetric=True)
        scales, zero = calculate_qparams(values.amin(-1, keepdim=True), values.amax(-1, keepdim=True), args)
        codes = quantize(x=values, scale=scales, zero_point=zero, args=args, dtype=torch.float8_e4m3fn)
        back = dequantize(x_q=codes, scale=scales, args=args, dtype=torch.float32)
        cases.append(fp8_case("channel", name, values, "compressed_tensors quantize, dequantize", scales, codes, back))
    return {"cases": cases}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in {"casts": casts(), "nvfp4": nvfp4(), "fp8": fp8()}.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps({"maker": "tools/golden/quant_vectors.py", "versions": MAKERS, "seed": SEED, **content}, indent=1) + "\n")
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
