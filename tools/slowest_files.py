#!/usr/bin/env python3
"""Prints the ten files that took a build longest, from Ninja's log. usage: slowest_files.py BUILD_FOLDER"""
import pathlib
import sys


def main():
    log = pathlib.Path(sys.argv[1]) / ".ninja_log"
    seconds = {}
    for line in log.read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        if output.endswith(".o"):
            seconds[output] = (int(end) - int(start)) / 1000  # a later line replaces an earlier build of the same file
    slowest = sorted(seconds.items(), key=lambda item: -item[1])[:10]
    print(f"build: the ten slowest of {len(seconds)} files")
    for output, time in slowest:
        name = output.split(".dir/", 1)[-1].removesuffix(".o")
        print(f"  {time:6.1f} s  {name}")


if __name__ == "__main__":
    main()
