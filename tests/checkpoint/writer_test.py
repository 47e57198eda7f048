"""The files of Writer.FilesForEveryReader (tests/checkpoint/writer_test.cpp), read by the safetensors package."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import safetensors

EXPECTED = [  # name, dtype, shape, bytes
    ("a.f32", "F32", [3, 2], 24),
    ("a.i64", "I64", [2], 16),
    ("a.i32", "I32", [1, 1, 1, 1, 5], 20),
    ("a.bf16", "BF16", [7, 3], 42),
    ("a.f16", "F16", [], 2),
    ("a.empty", "BF16", [0, 4], 0),
    ("a.f8", "F8_E4M3", [3], 3),
    ('quote " backslash \\ line\nend 层', "U8", [2, 2], 4),
    ("a.last", "U8", [0], 0),
]
METADATA = {"format": "pt", "note": 'a "b"\t层'}


def tensors_of(file):
    found = {}
    for name, tensor in safetensors.deserialize(file.read_bytes()):  # checks the header as well
        assert name not in found, name
        found[name] = (tensor["dtype"], tensor["shape"], bytes(tensor["data"]))
    with safetensors.safe_open(file, framework="numpy") as opened:
        assert opened.metadata() == METADATA, opened.metadata()
    return found


def check(found):
    assert len(found) == len(EXPECTED), sorted(found)
    for number, (name, dtype, shape, size) in enumerate(EXPECTED):
        data = bytes((31 * i + 7 * number) % 256 for i in range(size))
        assert found[name] == (dtype, shape, data), (name, found[name])


def main():
    program = pathlib.Path(os.environ["REDLINE_PROGRAM"]).parent / "checkpoint_test"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        environment = dict(os.environ, REDLINE_WRITER_TEST_FOLDER=str(folder))
        command = [program, "--gtest_filter=Writer.FilesForEveryReader", "--gtest_brief=1"]
        subprocess.run(command, env=environment, check=True)

        check(tensors_of(folder / "one" / "model.safetensors"))

        many = folder / "many"
        index = json.loads((many / "model.safetensors.index.json").read_text())
        assert index["metadata"]["total_size"] == sum(row[3] for row in EXPECTED), index["metadata"]
        found = {}
        for file in sorted(many.glob("*.safetensors")):
            for name, tensor in tensors_of(file).items():
                assert index["weight_map"][name] == file.name, name
                found[name] = tensor
        assert len(index["weight_map"]) == len(EXPECTED)
        check(found)
    print(f"{len(EXPECTED)} tensors equal, in one file and in shards")


if __name__ == "__main__":
    sys.exit(main())
