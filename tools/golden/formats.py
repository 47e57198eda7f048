"""Quantised forms of a weight, made and read back by the libraries that define them.

Each `encode` returns what is stored beside the module's name (suffix -> tensor); `decode` turns such a set back into
float32 by the same library's reader. No arithmetic of a codec is written here: only the calls, and the shapes and
dtypes in which each publisher stores the results.
"""

import torch
from compressed_tensors.compressors.nvfp4.base import NVFP4PackedCompressor
from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
from compressed_tensors.compressors.naive_quantized.base import NaiveQuantizationCompressor
from compressed_tensors.quantization.lifecycle.forward import dequantize
from compressed_tensors.quantization.quant_scheme import preset_name_to_scheme
from compressed_tensors.quantization.utils.helpers import calculate_qparams, generate_gparam
from modelopt.torch.quantization.qtensor import FP8QTensor, NVFP4QTensor
from modelopt.torch.quantization.utils import reduce_block_amax, reduce_block_padding

NAMES = {  # as `redline inspect` prints them
    "bf16": "BF16",
    "fp8_block": "FP8 128x128",
    "fp8_tensor": "FP8 per tensor",
    "fp8_channel": "FP8 per channel",
    "nvfp4": "NVFP4",
    "ct_nvfp4": "NVFP4",
}

BLOCK = {-1: 128, -2: 128}


def encode_bf16(weight, **_):
    return {"weight": weight}


def encode_fp8_block(weight, **_):
    """The official layout: the scale is what one multiplies by, in spite of its name, and is stored as BF16."""
    padded = reduce_block_padding(weight.float(), BLOCK)
    scale = (reduce_block_amax(padded, BLOCK).float() / 448).to(torch.bfloat16)
    quantised, _ = FP8QTensor.quantize(weight.float(), scales=scale.float(), block_sizes=BLOCK)
    return {"weight": quantised._quantized_data.contiguous(), "weight_scale_inv": scale}


def encode_fp8_tensor(weight, activation_amax=None, **_):
    quantised, scale = FP8QTensor.quantize(weight.float())
    stored = {"weight": quantised._quantized_data, "weight_scale": scale.float().reshape(())}
    if activation_amax is not None:
        stored["input_scale"] = torch.tensor(activation_amax / 448)
    return stored


def nvfp4_tensor_scale(*weights):
    """weight_scale_2; for several weights the one that ModelOpt gives matrices which run as a single product."""
    return torch.stack([NVFP4QTensor.get_weights_scaling_factor_2(weight.float()) for weight in weights]).max()


def encode_nvfp4(weight, activation_amax=None, tensor_scale=None, **_):
    quantised, scale, tensor_scale = NVFP4QTensor.quantize(
        weight.float(), 16, weights_scaling_factor_2=tensor_scale if tensor_scale is not None else nvfp4_tensor_scale(weight)
    )
    stored = {
        "weight": quantised._quantized_data,
        "weight_scale": scale,
        "weight_scale_2": tensor_scale.float().reshape(()),
    }
    if activation_amax is not None:
        stored["input_scale"] = torch.tensor(activation_amax / (6 * 448))
    return stored


def scheme(name):
    return preset_name_to_scheme(name, targets=["Linear"])


def encode_ct_nvfp4(weight, activation_amax=None, **_):
    args = scheme("NVFP4").weights
    groups = weight.float().unflatten(-1, (-1, 16))
    divisor = generate_gparam(weight.float().amin(), weight.float().amax())
    scale, _ = calculate_qparams(groups.amin(-1), groups.amax(-1), args, global_scale=divisor)
    stored = NVFP4PackedCompressor.compress(
        {"weight": weight.float(), "weight_scale": scale, "weight_global_scale": divisor}, scheme("NVFP4")
    )
    if activation_amax is not None:
        stored["input_global_scale"] = torch.tensor([6 * 448 / activation_amax])
    return {name: stored[name] for name in sorted(stored)}


def encode_fp8_channel(weight, **_):
    args = scheme("FP8_DYNAMIC").weights
    scale, _ = calculate_qparams(weight.amin(-1, keepdim=True), weight.amax(-1, keepdim=True), args)
    stored = NaiveQuantizationCompressor.compress({"weight": weight, "weight_scale": scale}, scheme("FP8_DYNAMIC"))
    return {"weight": stored["weight"], "weight_scale": stored["weight_scale"].to(torch.bfloat16)}


ENCODERS = {
    "bf16": encode_bf16,
    "fp8_block": encode_fp8_block,
    "fp8_tensor": encode_fp8_tensor,
    "fp8_channel": encode_fp8_channel,
    "nvfp4": encode_nvfp4,
    "ct_nvfp4": encode_ct_nvfp4,
}


def encode(format_key, weight, **options):
    return ENCODERS[format_key](weight, **options)


def format_of(stored):
    """The format's key, from the tensors that lie beside each other."""
    if "weight_packed" in stored:
        return "ct_nvfp4"
    if "weight_scale_2" in stored:
        return "nvfp4"
    if "weight_scale_inv" in stored:
        return "fp8_block"
    if "weight_scale" in stored:
        return "fp8_tensor" if stored["weight_scale"].ndim == 0 else "fp8_channel"
    return "bf16"


def decode(stored):
    """float32 weights of one module, by the reader of the library that wrote them."""
    key = format_of(stored)
    if key == "bf16":
        return stored["weight"].float()
    if key == "ct_nvfp4":
        packed = stored["weight_packed"]
        return dequantize(
            x_q=unpack_fp4_from_uint8(packed, packed.shape[0], 2 * packed.shape[1], dtype=torch.float32),
            scale=stored["weight_scale"].float(),
            args=scheme("NVFP4").weights,
            global_scale=stored["weight_global_scale"],
            dtype=torch.float32,
        )
    if key == "fp8_channel":
        return dequantize(
            x_q=stored["weight"],
            scale=stored["weight_scale"].float(),
            args=scheme("FP8_DYNAMIC").weights,
            dtype=torch.float32,
        )
    if key == "nvfp4":
        rows, half = stored["weight"].shape
        tensor = NVFP4QTensor((rows, 2 * half), torch.float32, stored["weight"])
        scales = {"scale": stored["weight_scale"], "double_scale": stored["weight_scale_2"]}
        return tensor.dequantize(torch.float32, block_sizes={-1: 16}, **scales)
    tensor = FP8QTensor(stored["weight"].shape, torch.float32, stored["weight"].float())
    if key == "fp8_tensor":
        return tensor.dequantize(torch.float32, scale=stored["weight_scale"])
    return tensor.dequantize(torch.float32, scale=stored["weight_scale_inv"].float(), block_sizes=dict(BLOCK))
