#!/usr/bin/env python3
"""Fails on any #include that goes against the arrows of docs/DESIGN.md, or that closes a circle.

usage: include_lint.py [root]

Checked below ropewalk/ and the leaves: who includes whom, that our own files are named from the root, that
base/ needs no other library, and that no file includes itself by way of others.
"""

import re
import sys
from pathlib import Path

# Which folders of ropewalk/ may each folder include, besides itself: the arrows of docs/DESIGN.md.
CORE = {"base", "math", "schemes", "kernels", "formats", "text", "config"}
ARROWS = {
    "base": set(),
    "math": {"base"},
    "schemes": {"base", "math"},
    "kernels": {"base", "math"},
    "formats": {"base"},
    "text": {"base"},
    "config": {"base", "math", "schemes", "formats"},
    "engine": CORE,
    "study": CORE | {"engine"},
    "train": CORE | {"engine"},
    "report": {"base"},
    # Helpers of tests: sees everything, is seen by tests only.
    "testing": CORE | {"engine", "study", "train", "report"},
}
# Outside ropewalk/; nothing in ropewalk/ may include them, and they see all of it.
LEAVES = ["cli", "python", "web", "bench", "fuzz", "tests"]
SEES_CLI = {"cli", "tests"}

SUFFIXES = {".h", ".cc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# The language's headers (<vector>: no dot, no slash) and the operating system's.
STANDARD = re.compile(r"[a-z0-9_]+|sys/\w+\.h|unistd\.h|fcntl\.h")


def read_includes(path):
    """[(line number, '<' or '"', included name)]"""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            found.append((number, match.group(1), match.group(2)))
    return found


def layer_of(name):
    """'ropewalk/math/turns.h' -> ('ropewalk', 'math'); 'cli/show.h' -> ('cli', None)"""
    parts = name.split("/")
    if parts[0] == "ropewalk" and len(parts) > 2:
        return "ropewalk", parts[1]
    return parts[0], None


def wrong_arrow(source, target):
    """What is wrong with the file `source` including the file `target`, both named from the root, or None."""
    source_top, source_folder = layer_of(source)
    target_top, target_folder = layer_of(target)
    is_test = source.endswith("_test.cc") or source_top == "tests"
    if target_folder == "testing" and source_folder != "testing":
        return None if is_test else "ropewalk/testing is for tests only"
    if source_top == "ropewalk":
        if target_top in LEAVES:
            return f"nothing in ropewalk/ may include {target_top}/"
        if target_folder == source_folder or target_folder in ARROWS[source_folder]:
            return None
        return f"{source_folder} may not include {target_folder}"
    if target_top in ("ropewalk", source_top) or (target_top == "cli" and source_top in SEES_CLI):
        return None
    return f"{source_top} may not include {target_top}"


def find_circle(graph):
    """The first circle of the graph {file: [included file]} as a list of files, or None."""
    state = {}

    def visit(node, path):
        state[node] = "open"
        for target in graph.get(node, []):
            if state.get(target) == "open":
                return path[path.index(target):] + [target]
            if target not in state:
                circle = visit(target, path + [target])
                if circle:
                    return circle
        state[node] = "done"
        return None

    for node in sorted(graph):
        if node not in state:
            circle = visit(node, [node])
            if circle:
                return circle
    return None


def lint(root):
    """All complaints about the tree at `root`, as lines of text."""
    complaints = []
    graph = {}
    files = [path for top in ["ropewalk", *LEAVES] for path in sorted((root / top).rglob("*"))
             if path.suffix in SUFFIXES and path.is_file()]
    for path in files:
        source = path.relative_to(root).as_posix()
        top, folder = layer_of(source)
        if top == "ropewalk" and folder not in ARROWS:
            complaints.append(f"{source}: no such folder in the arrows of scripts/include_lint.py")
            continue
        graph[source] = []
        for number, bracket, name in read_includes(path):
            place = f"{source}:{number}"
            ours = name.split("/")[0] in ["ropewalk", *LEAVES] and "/" in name
            if ours:
                wrong = wrong_arrow(source, name)
                if bracket == "<":
                    complaints.append(f'{place}: write "{name}"')
                if wrong:
                    complaints.append(f"{place}: {wrong} ({name})")
                graph[source].append(name)
            elif (path.parent / name).exists():
                complaints.append(f"{place}: name {name} from the root of the project")
            elif folder == "base" and not source.endswith("_test.cc") and not STANDARD.fullmatch(name):
                complaints.append(f"{place}: base needs no other library ({name})")
    circle = find_circle(graph)
    if circle:
        complaints.append("circle: " + " -> ".join(circle))
    return complaints


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    complaints = lint(root)
    for complaint in complaints:
        print(complaint)
    print(f"{len(complaints)} wrong includes")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
