#!/usr/bin/env python3
"""Plants wrong includes in a small tree, one at a time, and demands that the lint catches each."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LINT = Path(__file__).resolve().parent / "include_lint.py"

# A tree in which every arrow is allowed: file -> what it includes.
GOOD = {
    "ropewalk/base/error.h": ["<string>", "<sys/mman.h>"],
    "ropewalk/base/error.cc": ['"ropewalk/base/error.h"'],
    "ropewalk/base/error_test.cc": ["<gtest/gtest.h>", '"ropewalk/testing/data.h"'],
    "ropewalk/math/turns.h": ['"ropewalk/base/error.h"', "<cmath>"],
    "ropewalk/schemes/rope.cc": ['"ropewalk/math/turns.h"'],
    "ropewalk/kernels/rotate.h": ['"ropewalk/math/turns.h"', '"hwy/highway.h"'],
    "ropewalk/formats/gguf.h": ['"ropewalk/base/error.h"'],
    "ropewalk/text/bpe.h": ['"ropewalk/base/error.h"'],
    "ropewalk/config/config.h": ['"ropewalk/schemes/rope.h"', '"ropewalk/formats/gguf.h"'],
    "ropewalk/engine/arch/llama.cc": ['"ropewalk/kernels/rotate.h"', '"ropewalk/text/bpe.h"'],
    "ropewalk/study/losses.h": ['"ropewalk/engine/session.h"'],
    "ropewalk/train/lab.h": ['"ropewalk/engine/session.h"'],
    "ropewalk/report/html.cc": ['"ropewalk/base/error.h"'],
    "ropewalk/testing/data.h": ['"ropewalk/formats/gguf.h"'],
    "cli/main.cc": ['"ropewalk/study/losses.h"', '"cli/show.h"', "<CLI/CLI.hpp>"],
    "tests/show_test.cc": ['"cli/show.h"', '"ropewalk/testing/data.h"'],
    "bench/rotate_bench.cc": ['"ropewalk/kernels/rotate.h"'],
    "fuzz/gguf_fuzz.cc": ['"ropewalk/formats/gguf.h"'],
}

# What is added to GOOD, and a part of the complaint that must follow.
WRONG = [
    ("ropewalk/base/error.h", '"ropewalk/math/turns.h"', "base may not include math"),
    ("ropewalk/base/error.h", "<fmt/format.h>", "no other library"),
    ("ropewalk/base/error_test.cc", '"ropewalk/math/turns.h"', "base may not include math"),
    ("ropewalk/math/turns.h", '"ropewalk/schemes/rope.h"', "math may not include schemes"),
    ("ropewalk/schemes/rope.cc", '"ropewalk/kernels/rotate.h"', "schemes may not include kernels"),
    ("ropewalk/kernels/rotate.h", '"ropewalk/schemes/rope.h"', "kernels may not include schemes"),
    ("ropewalk/formats/gguf.h", '"ropewalk/math/turns.h"', "formats may not include math"),
    ("ropewalk/text/bpe.h", '"ropewalk/formats/gguf.h"', "text may not include formats"),
    ("ropewalk/config/config.h", '"ropewalk/kernels/rotate.h"', "config may not include kernels"),
    ("ropewalk/config/config.h", '"ropewalk/engine/session.h"', "config may not include engine"),
    ("ropewalk/engine/arch/llama.cc", '"ropewalk/study/losses.h"', "engine may not include study"),
    ("ropewalk/study/losses.h", '"ropewalk/report/html.h"', "study may not include report"),
    ("ropewalk/train/lab.h", '"ropewalk/study/losses.h"', "train may not include study"),
    ("ropewalk/report/html.cc", '"ropewalk/config/config.h"', "report may not include config"),
    ("ropewalk/engine/arch/llama.cc", '"cli/show.h"', "may include cli/"),
    ("ropewalk/engine/arch/llama.cc", '"ropewalk/testing/data.h"', "for tests only"),
    ("ropewalk/math/turns.h", "<ropewalk/base/error.h>", 'write "ropewalk/base/error.h"'),
    ("ropewalk/base/error.cc", '"error.h"', "from the root"),
    ("ropewalk/util/strings.h", "<string>", "no such folder"),
    ("fuzz/gguf_fuzz.cc", '"cli/show.h"', "fuzz may not include cli"),
    ("ropewalk/formats/gguf.h", '"ropewalk/formats/gguf.h"', "circle"),
]


def run_lint(tree):
    """Exit code and output of the lint over a tree made for this once."""
    with tempfile.TemporaryDirectory() as folder:
        for name, includes in tree.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"#include {include}\n" for include in includes))
        done = subprocess.run([sys.executable, LINT, folder], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class IncludeLintTest(unittest.TestCase):
    def test_accepts_every_allowed_arrow(self):
        code, output = run_lint(GOOD)
        self.assertEqual(code, 0, output)

    def test_catches_each_planted_include(self):
        for name, include, complaint in WRONG:
            with self.subTest(file=name, include=include):
                code, output = run_lint({**GOOD, name: GOOD.get(name, []) + [include]})
                self.assertEqual(code, 1, output)
                self.assertIn(complaint, output)
                self.assertIn(name, output)

    def test_catches_a_circle_of_several_files(self):
        circle = {
            "ropewalk/math/a.h": ['"ropewalk/math/b.h"'],
            "ropewalk/math/b.h": ['"ropewalk/math/c.h"'],
            "ropewalk/math/c.h": ['"ropewalk/math/a.h"'],
        }
        code, output = run_lint({**GOOD, **circle})
        self.assertEqual(code, 1, output)
        self.assertIn("ropewalk/math/a.h -> ropewalk/math/b.h -> ropewalk/math/c.h", output)


if __name__ == "__main__":
    unittest.main()
