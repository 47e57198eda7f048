#!/usr/bin/env python3
"""Holds src/ to the rules of docs/architecture.md that #include lines show.

Checked: a layer includes only the layers of its row in the table of section 3, and CMakeLists.txt links the same ones; an outside
library is included only where the table of section 15 allows; CUDA headers stay in cuda/ folders and ops/device_lib/;
.cuh files are included by .cu and .cuh only; getenv is called in cli/settings.cpp alone; every file opens with a comment.

usage: check_layers.py [REPOSITORY]      exit code 1 and a line per breach
       check_layers.py --selftest        proves that each rule can fail
"""
import fnmatch
import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
OUTSIDE = {  # first part of an include path -> the library's name in section 15
    "fmt": "fmt", "spdlog": "spdlog", "hwloc.h": "hwloc", "numa.h": "hwloc", "simdjson.h": "simdjson", "nlohmann": "nlohmann-json",
    "pcre2.h": "PCRE2", "utf8proc.h": "utf8proc", "boost": "Boost", "prometheus": "prometheus-cpp", "CLI": "CLI11",
    "gtest": "GoogleTest", "gmock": "GoogleTest", "benchmark": "Google Benchmark",
}
CUDA_HEADERS = re.compile(r"^(cuda|cublas|nccl|nvrtc|cooperative_groups|cub/|cutlass/|cute/|mma\.h)")


def markdown_rows(text, heading):
    """Cells of the first table below a heading that starts with `heading`."""
    start = re.search(rf"^## {re.escape(heading)}.*$", text, re.M)
    if not start:
        raise SystemExit(f"docs/architecture.md: no section '{heading}'")
    rows = []
    for line in text[start.end():].splitlines():
        if line.startswith("## "):
            break
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows[2:]


def layer_table(text):
    """layer -> {lower layer: None or a set of headers} from section 3."""
    table = {}
    for row in markdown_rows(text, "3 "):
        allowed = {}
        for part in re.split(r",\s*(?![^()]*\))", row[1]):
            name = re.match(r"[a-z]+", part)
            headers = re.findall(r"`([^`]+\.hpp)`", part)
            if name and name.group() != "all":
                allowed[name.group()] = set(headers) or None
        for layer in re.split(r",\s*", row[0]):
            table[layer] = allowed
            if row[1].startswith("all"):
                table[layer] = None  # everything
    return table


def library_table(text):
    """library -> patterns of files below src/ that may include it, from section 15."""
    table = {}
    for row in markdown_rows(text, "15 "):
        for name in re.split(r",\s*(?![^()]*\))", row[0]):
            patterns = re.findall(r"`([^`]+)`", row[1])
            table[name.split(" (")[0]] = ["*"] if row[1].startswith("anywhere") else patterns
    return table


def allowed_by(patterns, path):
    for pattern in patterns:
        whole = pattern + "*" if pattern.endswith("/") else pattern
        if fnmatch.fnmatch(path, whole):
            return True
    return False


def check(root):
    text = (root / "docs/architecture.md").read_text()
    layers, libraries = layer_table(text), library_table(text)
    faults = []
    source = root / "src"
    for path in sorted(source.rglob("*")):
        if path.suffix not in (".hpp", ".cpp", ".cu", ".cuh"):
            continue
        name = path.relative_to(source).as_posix()
        layer = name.split("/")[0]
        body = path.read_text()
        if layer not in layers:
            faults.append(f"src/{name}: folder {layer} is not a layer of docs/architecture.md, section 3")
            continue
        if not body.startswith("//"):
            faults.append(f"src/{name}: does not open with a comment that says what it is for")
        if name != "cli/settings.cpp" and re.search(r"\bgetenv\s*\(", body):
            faults.append(f"src/{name}: reads the environment; only cli/settings.cpp may")
        in_cuda = "/cuda/" in name or name.startswith("ops/device_lib/")
        for kind, header in INCLUDE.findall(body):
            first = header.split("/")[0]
            if kind == '"':
                allowed = layers[layer]
                if first != layer and first in layers and allowed is not None:
                    if first not in allowed:
                        faults.append(f"src/{name}: layer {layer} may not include {header}")
                    elif allowed[first] is not None and header.split("/")[-1] not in allowed[first]:
                        faults.append(f"src/{name}: of {first}, layer {layer} may include {sorted(allowed[first])} only, not {header}")
                if first not in layers:
                    faults.append(f'src/{name}: "{header}" is not a path from src/')
            if CUDA_HEADERS.match(header) and kind == "<" and not in_cuda:
                faults.append(f"src/{name}: {header} outside a cuda/ folder")
            if header.endswith(".cuh") and path.suffix not in (".cu", ".cuh"):
                faults.append(f"src/{name}: includes {header}; only .cu and .cuh files may")
            library = OUTSIDE.get(first)
            if kind == "<" and library:
                patterns = libraries.get(library)
                if patterns is None:
                    faults.append(f"src/{name}: {library} has no row in docs/architecture.md, section 15")
                elif header.endswith("json_fwd.hpp"):
                    pass
                elif path.suffix in (".cu", ".cuh") or not allowed_by(patterns, name):
                    faults.append(f"src/{name}: {header} may be included in {', '.join(patterns)} only")
    cmake = (root / "CMakeLists.txt").read_text()
    for name, uses in re.findall(r"^redline_(?:layer|program)\((\w+)\s+USES([^)]*?)(?:WITH[^)]*)?\)", cmake, re.M):
        allowed = layers.get(name, {})
        if allowed is None:
            continue
        for used in uses.split():
            if used not in allowed:
                faults.append(f"CMakeLists.txt: {name} uses {used}, which its row in docs/architecture.md does not list")
    return faults


def selftest():
    document = ("## 3 Dependencies\n\n| layer | may include |\n|---|---|\n| core | – |\n| quant, text | core |\n"
                "| chat | core, text (`a.hpp` only) |\n| cli | all |\n\n"
                "## 15 Third\n\n| library | where | why |\n|---|---|---|\n| fmt | anywhere but `.cu` | |\n| simdjson | `text/tokenizer_file.cpp` | |\n")
    cases = [  # file, contents, what the fault must say (None: no fault)
        ("core/a.hpp", '// a\n#include <fmt/format.h>\n', None),
        ("quant/a.cpp", '// a\n#include "core/a.hpp"\n', None),
        ("core/a.cpp", '// a\n#include "quant/a.hpp"\n', "may not include quant/a.hpp"),
        ("chat/a.cpp", '// a\n#include "text/a.hpp"\n', None),
        ("chat/a.cpp", '// a\n#include "text/b.hpp"\n', "may include ['a.hpp'] only"),
        ("text/bpe.cpp", '// a\n#include <simdjson.h>\n', "text/tokenizer_file.cpp only"),
        ("text/tokenizer_file.cpp", '// a\n#include <simdjson.h>\n', None),
        ("text/a.cpp", '// a\n#include <pcre2.h>\n', "no row"),
        ("core/a.cu", '// a\n#include <fmt/format.h>\n', "only"),
        ("core/a.cpp", '// a\n#include <cuda_runtime.h>\n', "outside a cuda/ folder"),
        ("core/a.cpp", '// a\n#include "core/a.cuh"\n', "only .cu and .cuh"),
        ("core/a.cpp", '// a\nint x = getenv("A") != nullptr;\n', "reads the environment"),
        ("core/a.cpp", 'int x;\n', "does not open with a comment"),
        ("core/a.cpp", '// a\n#include "a.hpp"\n', "not a path from src/"),
        ("misc/a.cpp", '// a\n', "is not a layer"),
    ]
    for name, body, expected in cases + [("CMakeLists.txt", "redline_layer(quant USES core text WITH fmt)\n", "quant uses text")]:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "docs/architecture.md").write_text(document)
            (root / "CMakeLists.txt").write_text("")
            target = root / name if name == "CMakeLists.txt" else root / "src" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(body)
            faults = check(root)
            if expected is None and faults or expected is not None and not any(expected in fault for fault in faults):
                print(f"selftest: {name} {body!r}: expected {expected!r}, found {faults}")
                return 1
    print("selftest: every rule passes and fails as it should")
    return 0


def main():
    if sys.argv[1:] == ["--selftest"]:
        return selftest()
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    faults = check(root)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
