#!/usr/bin/env python3
"""Writes tests/fixtures/math/*.json: what the numeric contracts of ropewalk/math are tested against.

usage: tools/exact_values.py        (needs mpmath)

Everything is evaluated at 60 digits. Arguments are exact: a DoubleDouble is [hi, lo], each a hexadecimal double.
Results are decimal strings of 36 digits, finer than a DoubleDouble holds. Draws are seeded: the output never changes.
"""

import json
import pathlib
import random

from mpmath import mp, mpf

mp.dps = 60
FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "math"
DIGITS = 36


def split(x):
    """The DoubleDouble nearest to x: (hi, lo)."""
    hi = float(x)
    return hi, float(x - mpf(hi))


def value(parts):
    return mpf(parts[0]) + mpf(parts[1])


def exact(parts):
    return [part.hex() for part in parts]


def decimal(x):
    return mp.nstr(x, DIGITS, min_fixed=1, max_fixed=0)


def random_double_double(rng, low_exponent, high_exponent):
    bits = rng.getrandbits(106) | (1 << 105)
    exponent = rng.uniform(low_exponent, high_exponent)
    return split(mpf(bits) / 2**105 * mp.power(2, int(exponent)))


def signed(rng, parts):
    return parts if rng.random() < 0.5 else (-parts[0], -parts[1])


def arithmetic(rng):
    rows = []
    for number in range(60):
        a = signed(rng, random_double_double(rng, -40, 40))
        b = signed(rng, random_double_double(rng, -40, 40))
        if number % 3 == 0:  # a sum that cancels to the last bits
            b = split(-value(a) * (1 + mpf(rng.uniform(-1, 1)) * mpf(2) ** -rng.randrange(20, 104)))
        x, y = value(a), value(b)
        rows.append({"a": exact(a), "b": exact(b), "sum": decimal(x + y), "product": decimal(x * y),
                     "quotient": decimal(x / y), "sqrt_of_size": decimal(mp.sqrt(abs(x)))})
    return rows


def logarithms(rng):
    arguments = [split(mpf(base)) for base in (2, 10, 100, 10000, 500000, 1000000, 150000000)]
    arguments += [random_double_double(rng, -1000, 1000) for _ in range(40)]
    arguments += [random_double_double(rng, -3, 3) for _ in range(40)]
    arguments += [split(1 + sign * mpf(2) ** -k * mpf(rng.uniform(1, 2)))
                  for k in range(1, 105, 5) for sign in (1, -1)]
    return [{"x": exact(x), "log": decimal(mp.log(value(x)))} for x in arguments]


def exponentials(rng):
    arguments = [split(mpf(rng.uniform(-670, 700)) * (1 + mpf(2) ** -70)) for _ in range(40)]
    arguments += [split(mpf(rng.uniform(-1, 1)) * (1 + mpf(2) ** -70)) for _ in range(30)]
    arguments += [split(mpf(sign) * mpf(2) ** -k) for k in range(0, 110, 10) for sign in (1, -1)]
    return [{"x": exact(x), "exp": decimal(mp.exp(value(x)))} for x in arguments]


def powers(rng):
    """|exponent * log(base)| up to 64: the whole range of the contract, and its corners."""
    pairs = []
    for _ in range(60):
        base = random_double_double(rng, -20, 30)
        pairs.append((base, split(mpf(rng.uniform(-64, 64)) / mp.log(value(base)))))
    for k in range(1, 60, 3):  # a base next to 1 under a large exponent
        base = split(1 + mpf(rng.uniform(-2, 2)) * mpf(2) ** -k)
        pairs.append((base, split(mpf(rng.choice((-64, 64))) / mp.log(value(base)))))
    for _ in range(30):  # where the logarithm's series is longest
        base = split(mpf(rng.uniform(1.35, 1.45)))
        pairs.append((base, split(mpf(rng.choice((-64, 64))) / mp.log(value(base)))))
    pairs = [(b, e) for b, e in pairs if abs(value(e) * mp.log(value(b))) <= 64]
    return [{"base": exact(b), "exponent": exact(e), "pow": decimal(mp.power(value(b), value(e)))}
            for b, e in pairs]


def numerals():
    """Decimal text and the nearest DoubleDouble."""
    texts = ["0.1", "-1.5e-7", "3", "1e22", "1e23", "123456789012345678901234567890.125", "6.02214076e23", "1e-300",
             "1.7976931348623157e308", "0.30000000000000004", "-0.000123456789123456789123456789", "1e-40",
             "3.14159265358979323846264338327950288419716939937510582097494"]
    return [{"text": text, "value": exact(split(mpf(text)))} for text in texts]


def inverse_frequencies():
    rows = []
    for base, dim in ((100, 8), (10000, 64), (10000, 80), (10000, 128), (500000, 128), (1000000, 96),
                      (8000000, 256), (1000000000, 128)):
        pairs = sorted({0, 1, 2, dim // 8, dim // 4, dim // 2 - 2, dim // 2 - 1})
        rows.append({"base": base, "frequency_dim": dim, "pairs": pairs,
                     "inv_freq": [decimal(mp.power(base, mpf(-2 * pair) / dim)) for pair in pairs]})
    return rows


def angles(rng):
    """base, dim, pair, position; the fraction of a turn, cos and sin of the exact angle."""
    positions = [1, 2, 7, 4095, 131071, 1000003, 2**31 - 1, 2**32 + 3, 987654321987, 2**40 - 1]
    rows = []
    for base, dim in ((10000, 64), (10000, 128), (500000, 128), (1000000000, 128)):
        for position in positions:
            pair = rng.randrange(dim // 2)
            for pair in (0, pair, dim // 2 - 1):
                angle = position * mp.power(base, mpf(-2 * pair) / dim)
                turns = angle / (2 * mp.pi)
                rows.append({"base": base, "frequency_dim": dim, "pair": pair, "position": position,
                             "fraction": decimal(turns - mp.nint(turns)), "cos": decimal(mp.cos(angle)),
                             "sin": decimal(mp.sin(angle))})
    return rows


def turns(rng):
    """cos and sin of 2 pi x for an exact x; next to every eighth of a turn too."""
    arguments = [split(mpf(rng.uniform(-0.5, 0.5)) * (1 + mpf(2) ** -60)) for _ in range(80)]
    for eighth in range(-4, 5):
        for k in (5, 30, 55, 90):
            arguments.append(split(mpf(eighth) / 8 + mpf(rng.uniform(-1, 1)) * mpf(2) ** -k))
    rows = []
    for parts in arguments:
        angle = 2 * mp.pi * value(parts)
        rows.append({"turns": exact(parts), "cos": decimal(mp.cos(angle)), "sin": decimal(mp.sin(angle))})
    return rows


def write(name, tables):
    FIXTURES.mkdir(parents=True, exist_ok=True)
    blocks = []
    for key, rows in tables.items():
        lines = ",\n".join("  " + json.dumps(row) for row in rows)
        blocks.append(f' "{key}": [\n{lines}\n ]')
    (FIXTURES / name).write_text("{\n" + ",\n".join(blocks) + "\n}\n", encoding="utf-8")


def main():
    rng = random.Random(20240229)
    write("double_double.json", {"arithmetic": arithmetic(rng), "log": logarithms(rng), "exp": exponentials(rng),
                                 "pow": powers(rng), "numerals": numerals()})
    write("angles.json", {"inv_freq": inverse_frequencies(), "angles": angles(rng), "turns": turns(rng)})


if __name__ == "__main__":
    main()
