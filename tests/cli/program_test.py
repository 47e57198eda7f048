"""The program as a user meets it: exit codes, what goes to stdout and what to stderr, and a reader that goes away."""
import json
import os
import pathlib
import subprocess
import tempfile

PROGRAM = os.environ["REDLINE_PROGRAM"]
SYNTHETIC = "synthetic:qwen3.5-397b-a17b@experts"


def run(*arguments, stdin=b"", **options):
    return subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, timeout=60, **options)


def expect(what, found, expected):
    if found != expected:
        raise SystemExit(f"{what}: expected {expected!r}, found {found!r}")


def headers_alone_are_enough_for_why():
    for whole in sorted((pathlib.Path(__file__).resolve().parents[1] / "golden" / "checkpoints").iterdir()):
        with tempfile.TemporaryDirectory() as folder:
            for file in whole.iterdir():
                content = file.read_bytes()
                if file.suffix == ".safetensors":
                    content = content[:8 + int.from_bytes(content[:8], "little")]
                (pathlib.Path(folder) / file.name).write_bytes(content)
            full, headers = (run("inspect", str(path), "--why", "--json") for path in (whole, folder))
            expect(f"--why on {whole.name}", full.returncode, 0)
            expect(f"--why on the headers of {whole.name}", json.loads(headers.stdout)["why"], json.loads(full.stdout)["why"])


def main():
    no_arguments = run()
    expect("no arguments", no_arguments.returncode, 2)
    expect("no arguments, stdout", no_arguments.stdout, b"")
    expect("no arguments, lines on stderr", no_arguments.stderr.count(b"\n"), 1)

    expect("help", run("--help").returncode, 0)
    expect("version", run("--version").stdout, b"redline 0.1.0\n")

    with tempfile.TemporaryDirectory() as folder:
        nothing = run("inspect", folder)
        expect("a folder without config.json", nothing.returncode, 2)
        if b"config.json" not in nothing.stderr:
            raise SystemExit(f"the error does not name config.json: {nothing.stderr!r}")
        missing = run("inspect", str(pathlib.Path(folder) / "absent"))
        expect("a folder that does not exist", missing.returncode, 2)
        unknown = pathlib.Path(folder) / "config.json"
        unknown.write_text(json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama"}))
        other = run("inspect", folder)
        expect("an unknown architecture", other.returncode, 2)
        if b"LlamaForCausalLM" not in other.stderr or b"Qwen3_5ForConditionalGeneration" not in other.stderr:
            raise SystemExit(f"the error does not say what was found and what is known: {other.stderr!r}")

    report = run("inspect", SYNTHETIC, "--gpu", "h200x2", "--json")
    expect("inspect --json", report.returncode, 0)
    expect("inspect --json says nothing on stderr", report.stderr, b"")
    facts = json.loads(report.stdout)
    expect("MTP tensors", (facts["mtp"]["tensors_found"], facts["mtp"]["tensors_expected"]), (1553, 1553))
    expect("weights per token", round(facts["per_token"]["weight_bytes"] / 1e9, 1), 21.8)
    expect("ceiling on two H200", round(facts["ceiling"]["tokens_per_s"]), 409)

    why = run("inspect", SYNTHETIC, "--gpu", "h200x2", "--why", "--json")
    expect("inspect --why", why.returncode, 0)
    rows = json.loads(why.stdout)["why"]
    for operator in ("embed", "norm", "matmul", "grouped_matmul", "rope_kv", "attention", "short_conv", "delta", "gate", "route", "combine"):
        of_it = [row for row in rows if row["operator"] == operator]
        expect(f"--why: each problem of {operator} has one candidate that runs", sum(row["runs"] for row in of_it), of_it[0]["problems"])
    refused = [refusal for row in rows if row["candidate"] == "cpu/avx2/dots" for refusal in row["refusals"]]
    expect("--why: dots refuse long prompts, or have no AVX2", {refusal["reason"] for refusal in refused} & {"more than 16 rows", "needs a CPU with AVX2 and FMA"} != set(), True)
    headers_alone_are_enough_for_why()
    expect("an unknown GPU", run("inspect", SYNTHETIC, "--gpu", "h2000").returncode, 2)
    expect("an unknown size", run("inspect", "synthetic:qwen9").returncode, 2)
    expect("experts on a dense size", run("inspect", "synthetic:qwen3.5-27b@experts").returncode, 2)

    with open("/dev/full", "wb") as full:
        out = subprocess.run([PROGRAM, "inspect", SYNTHETIC, "--gpu", "h200"], stdout=full, stderr=subprocess.PIPE, timeout=60)
    expect("a full disk", out.returncode, 7)

    # A reader that goes away at once: an ordinary error, never a signal.
    reader, writer = os.pipe()
    os.close(reader)
    gone = subprocess.run([PROGRAM, "inspect", SYNTHETIC, "--gpu", "h200"], stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    expect("a reader that went away", gone.returncode, 7)
    print("the program behaves")


if __name__ == "__main__":
    main()
