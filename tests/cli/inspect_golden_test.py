"""`redline inspect --json` on every golden checkpoint against expected.json, which its maker wrote from its own counts. A checkpoint is looked
at three ways: whole, with its shards cut off after their headers, and as nothing but config and index; names decide the formats of the last."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

PROGRAM = os.environ["REDLINE_PROGRAM"]
FOLDER = pathlib.Path(os.environ["REDLINE_SOURCE_DIR"]) / "tests/golden/checkpoints"


def inspect(folder, expect=0):
    done = subprocess.run([PROGRAM, "inspect", str(folder), "--json", "--gpu", "h200"], capture_output=True, timeout=60)
    if done.returncode != expect:
        raise SystemExit(f"{folder}: exit code {done.returncode}, expected {expect}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def differences(expected, found, path=""):
    """Every field of `expected` must be in `found`; more may be there."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            if not isinstance(found, dict) or key not in found:
                yield f"{path}.{key}: missing"
            else:
                yield from differences(value, found[key], f"{path}.{key}")
    elif isinstance(expected, list):
        by_name = {item["name"]: item for item in found}
        if sorted(by_name) != sorted(item["name"] for item in expected):
            yield f"{path}: groups {sorted(by_name)}, expected {sorted(item['name'] for item in expected)}"
        for item in expected:
            yield from differences(item, by_name.get(item["name"]), f"{path}[{item['name']}]")
    elif expected != found:
        yield f"{path}: expected {expected!r}, found {found!r}"


def cut_after_headers(folder):
    for shard in folder.glob("*.safetensors"):
        with open(shard, "r+b") as file:
            header = struct.unpack("<Q", file.read(8))[0]
            file.truncate(8 + header)


def index_only(folder):
    """Replaces the shards by an index that names all their tensors. False: the shards are broken on purpose."""
    weight_map = {}
    for shard in sorted(folder.glob("*.safetensors")):
        data = shard.read_bytes()
        header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
        weight_map |= {name: shard.name for name in header if name != "__metadata__"}
        shard.unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))


def main():
    count = 0
    faults = []
    for folder in sorted(FOLDER.iterdir()):
        if not (folder / "expected.json").exists():
            continue
        expected = json.loads((folder / "expected.json").read_text())
        faults += [f"{folder.name}{line}" for line in differences(expected, inspect(folder))]
        with tempfile.TemporaryDirectory() as temporary:
            copy = pathlib.Path(temporary) / folder.name
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("logits.safetensors"))
            cut_after_headers(copy)
            report = inspect(copy)
            faults += [f"{folder.name}, headers only{line}" for line in differences(expected, report)]
            index_only(copy)
            report = inspect(copy)
            # Dtypes that names do not tell (F32 or BF16 norms, the type of scales) change bytes; parameters and formats stay.
            loose = {"model": expected["model"], "mtp": {"state": expected["mtp"]["state"], "tensors_found": expected["mtp"]["tensors_found"]}}
            loose["groups"] = [{"name": group["name"], "parameters": group["parameters"]} for group in expected["groups"]]
            faults += [f"{folder.name}, index only{line}" for line in differences(loose, report)]
        count += 1
    for fault in faults:
        print(fault)
    if faults or count < 10:
        raise SystemExit(f"{len(faults)} differences in {count} checkpoints")
    print(f"{count} checkpoints, each looked at in three ways, agree with their makers")


if __name__ == "__main__":
    main()
