#!/usr/bin/env python3
"""Measures the worst error of table entries, in ulps and absolute, against exact values.

usage: tools/table_error.py PROGRAM [--draws N] [--seed S]

PROGRAM is the built bench/table_error. A draw is a rule, a base from 1e2 to 1e9, a width, a pair and a position below
2^40; half of the positions are uniform, half log-uniform. The exact angle comes from the rule's formula, written here
once more, at 60 digits, on the parameters as doubles. Needs mpmath; gmpy2 makes it several times faster.

An ulp is that of the correctly rounded result. A cosine next to a zero has tiny ulps, so entries below 2^-10 count by
their absolute error too.
"""

import argparse
import math
import random
import struct
import subprocess
import sys

from mpmath import mp, mpf

mp.dps = 60
N_SPECTRA = 400
LARGEST_POSITION = 2**40
SMALL = 2.0**-10


def plain(base, dim):
    return [mp.power(base, mpf(-2 * pair) / dim) for pair in range(dim // 2)]


def linear(base, dim, factor):
    return [w / factor for w in plain(base, dim)]


def ntk(base, dim, factor):
    return plain(base * mp.power(factor, mpf(dim) / (dim - 2)), dim)


def llama3(base, dim, factor, low, high, original):
    result = []
    for w in plain(base, dim):
        turns = original * w / (2 * mp.pi)
        keep = min(max((turns - low) / (high - low), 0), 1)
        result.append((1 - keep) * w / factor + keep * w)
    return result


def yarn(base, dim, factor, original):
    def index(turns):
        return dim * mp.log(original / (turns * 2 * mp.pi)) / (2 * mp.log(base))

    low = max(mp.floor(index(32)), 0)
    high = min(mp.ceil(index(1)), dim - 1)
    if low == high:
        high += mpf(1) / 1000
    result = []
    for pair, w in enumerate(plain(base, dim)):
        slow = min(max((pair - low) / (high - low), 0), 1)
        result.append(w / factor * slow + w * (1 - slow))
    return result


def draw_spectrum(rng):
    """(scheme string, base, dim, exact inverse frequencies)"""
    base = float(f"{10 ** rng.uniform(2, 9):.6g}")
    dim = rng.choice((32, 64, 80, 96, 128, 256))
    factor = rng.choice((2, 4, 8, 16, 40))
    original = rng.choice((4096, 8192, 32768))
    exact_base = mpf(base)
    makers = {
        "rope": lambda: ("rope", plain(exact_base, dim)),
        "linear": lambda: (f"linear,factor={factor}", linear(exact_base, dim, factor)),
        "ntk": lambda: (f"ntk,factor={factor}", ntk(exact_base, dim, factor)),
        "yarn": lambda: (f"yarn,factor={factor},original={original}", yarn(exact_base, dim, factor, original)),
        "llama3": lambda: (f"llama3,factor={factor},low=1,high=4,original={original}",
                           llama3(exact_base, dim, factor, 1, 4, original)),
    }
    scheme, inv_freq = makers[rng.choice(sorted(makers))]()
    return scheme, base, dim, inv_freq


def draw_position(rng):
    if rng.random() < 0.5:
        return rng.randrange(LARGEST_POSITION)
    return int(2 ** rng.uniform(0, 40))


def float_ulp(x):
    """Unit in the last place of the float nearest to x."""
    nearest = abs(struct.unpack("f", struct.pack("f", x))[0])
    if nearest == 0:
        return 2.0**-149
    return 2.0 ** max(math.frexp(nearest)[1] - 24, -149)


class Worst:
    """The largest errors seen, where they were, and how many were above a limit."""

    def __init__(self, name, limit):
        self.name, self.limit = name, limit
        self.ulps = self.ulps_above_small = self.absolute = 0.0
        self.where = None
        self.n_above = self.n_above_not_small = self.n_wrong = self.n = 0

    def add(self, error, ulp, exact, where):
        ulps = error / ulp
        self.n += 1
        self.n_wrong += ulps > 0.5
        self.absolute = max(self.absolute, error)
        if ulps > self.ulps:
            self.ulps, self.where = ulps, where
        self.n_above += ulps > self.limit
        if abs(exact) >= SMALL:
            self.ulps_above_small = max(self.ulps_above_small, ulps)
            self.n_above_not_small += ulps > self.limit

    def __str__(self):
        return (f"{self.name}: worst {self.ulps:.6g} ulp at {self.where}\n"
                f"  {self.n} entries; above {self.limit} ulp: {self.n_above}; not correctly rounded: {self.n_wrong}"
                f" ({100 * self.n_wrong / self.n:.4f} %)\n"
                f"  of results from 2^-10 on: worst {self.ulps_above_small:.6g} ulp, above {self.limit} ulp: "
                f"{self.n_above_not_small}\n"
                f"  worst absolute error 2^{math.log2(self.absolute):.2f} = {self.absolute:.3g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    spectra = [draw_spectrum(rng) for _ in range(N_SPECTRA)]

    draws = []
    lines = []
    for _ in range(arguments.draws):
        scheme, base, dim, inv_freq = rng.choice(spectra)
        pair = rng.randrange(dim // 2)
        position = draw_position(rng)
        draws.append((scheme, base, dim, pair, position, inv_freq[pair]))
        lines.append(f"{scheme} {base!r} {dim} {pair} {position}\n")
    done = subprocess.run([arguments.program], input="".join(lines), capture_output=True, text=True, check=True)
    answers = done.stdout.split("\n")

    in_double = Worst("double", 2)
    in_float = Worst("float", 1)
    for (*what, position, inv_freq), answer in zip(draws, answers):
        got = [float.fromhex(part) for part in answer.split()]
        for column, exact in enumerate(mp.cos_sin(position * inv_freq)):
            near = float(exact)
            where = ("cos" if column == 0 else "sin", *what, position, f"value {near:.3g}")
            in_double.add(float(abs(mpf(got[column]) - exact)), math.ulp(near), near, where)
            in_float.add(float(abs(mpf(got[column + 2]) - exact)), float_ulp(near), near, where)
    print(in_double)
    print(in_float)
    return 0


if __name__ == "__main__":
    sys.exit(main())
