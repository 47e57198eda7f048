"""Tokenizer speed on one thread: redline's benchmark and the `tokenizers` library on the same vocabulary and texts.

    build/venv/bin/python tools/bench/tokenizer_speed.py build/release/bin/tokenizer_bench [--megabytes 4] [--repeat 7]

Both sides parse control tokens. Times are processor time of the one thread, so that other work on the machine counts as
little as possible. For each text the best of the repetitions counts: a disturbance makes a run longer, never
shorter; the spread beside it is (worst - best) / best. The library's encode_batch_fast is used, which does not compute
offsets, and its word cache is warm.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers  # noqa: E402  (reads the environment when it is imported)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "text"))
import tokenizer_real_vocabulary as vocabulary  # noqa: E402
from tokenizer_texts import Texts, known_code_points  # noqa: E402


def make_text(kinds, megabytes, seed, known):
    texts = Texts(seed, known)
    texts.kinds = [getattr(texts, kind) for kind in kinds] if kinds else texts.kinds
    lines, size = [], 0
    while size < megabytes * 1_000_000:
        lines.append(texts.line() + "\n")
        size += len(lines[-1].encode())
    return "".join(lines)


def lines_of(text):
    return [line + "\n" for line in text.split("\n")[:-1]]


def timed(repeat, run):
    times = []
    for _ in range(repeat):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return times


def ours(program, path, text_path, repeat):
    out = subprocess.run(
        [program, str(path), str(text_path), f"--benchmark_repetitions={repeat}", "--benchmark_min_time=0.01", "--benchmark_format=json"],
        stdout=subprocess.PIPE, check=True,
    ).stdout
    times = {}
    for run in json.loads(out)["benchmarks"]:
        if run["run_type"] == "iteration":
            times.setdefault(run["name"], []).append(run["cpu_time"] / 1000)
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--megabytes", type=float, default=4)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    known, how = known_code_points()
    print(f"tokenizers {tokenizers.__version__}; {how}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = vocabulary.build(folder / "qwen3.5")
        library_load = timed(3, lambda: tokenizers.Tokenizer.from_file(str(path)))
        library = tokenizers.Tokenizer.from_file(str(path))

        def line(what, mine, theirs, size=None):
            rate = (lambda t: f"{min(t) * 1e3:8.1f} ms ±{(max(t) - min(t)) / min(t):4.0%}" + (f" {size / min(t) / 1e6:7.1f} MB/s" if size else ""))
            print(f"{what:24} redline {rate(mine)}   tokenizers {rate(theirs)}   {min(theirs) / min(mine):5.1f}x", flush=True)

        for title, kinds in {
            "english and code": ["prose", "prose", "code"], "many scripts": ["prose", "script", "script", "emoji", "digits"], "test mixture": None,
        }.items():
            text = make_text(kinds, options.megabytes, 7, known)
            text_path = folder / "text"
            text_path.write_text(text, encoding="utf-8", newline="")
            size = len(text.encode())
            mine = ours(options.program, path, text_path, options.repeat)
            if title == "english and code":
                line("load", mine["load"], library_load)
            lines = lines_of(text)
            line(f"{title}, whole", mine["encode/whole"], timed(options.repeat, lambda: library.encode_batch_fast([text])), size)
            line(f"{title}, lines", mine["encode/lines"], timed(options.repeat, lambda: library.encode_batch_fast(lines)), size)


if __name__ == "__main__":
    main()
