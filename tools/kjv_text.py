#!/usr/bin/env python3
"""Prints books of the King James Version as plain text: what the bundled model is trained and measured on.

The text comes out of the Debian package bible-kjv and is in the public domain. One verse is one line, without its
number; an empty line stands between chapters and between books. Books go by the abbreviations of bible(1).

  kjv_text.py Acts             one book
  kjv_text.py --held-out       the held-out books one after the other, as one document
  kjv_text.py --training       all the other books
  kjv_text.py --list           the abbreviations, in order; held-out ones are marked
"""

import argparse
import re
import subprocess
import sys

# A prophet and a chronicle: either has over 40,000 tokens of the bundled model's tokenizer.
HELD_OUT = ("Eze", "Acts")

VERSES = 31102
REFERENCE = re.compile(r"(\d?[A-Za-z]+)(\d+):(\d+) (.+)")


def read_books():
    """Returns {abbreviation: text}, in the order of the print. Exits with a message where bible(1) is missing."""
    try:
        # -f: one verse per line, each after its reference.
        run = subprocess.run(["bible", "-f", "Gen1:1-Rev22:21"], stdin=subprocess.DEVNULL, capture_output=True,
                             check=True, encoding="ascii")
    except FileNotFoundError:
        sys.exit("bible: no such command; install the Debian package bible-kjv")
    except subprocess.CalledProcessError as error:
        sys.exit(f"bible: exit status {error.returncode}: {error.stderr.strip()}")
    lines = run.stdout.splitlines()
    if len(lines) != VERSES:
        sys.exit(f"bible: {VERSES} verses expected, got {len(lines)}")
    books, place = {}, None
    for line in lines:
        match = REFERENCE.fullmatch(line)
        if not match:
            sys.exit(f"bible: 'Book1:1 text' expected, got '{line}'")
        book, chapter, _, verse = match.groups()
        verses = books.setdefault(book, [])
        if place not in (None, (book, chapter)) and verses:
            verses.append("")
        verses.append(verse.strip())
        place = (book, chapter)
    return {book: "\n".join(verses) + "\n" for book, verses in books.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("book", nargs="*")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if bool(arguments.book) + arguments.held_out + arguments.training + arguments.list != 1:
        parser.error("one of: books, --held-out, --training, --list")
    books = read_books()
    if arguments.list:
        for book in books:
            print(book + (" (held out)" if book in HELD_OUT else ""))
        return
    names = arguments.book
    if arguments.held_out:
        names = HELD_OUT
    elif arguments.training:
        names = [book for book in books if book not in HELD_OUT]
    unknown = [name for name in names if name not in books]
    if unknown:
        parser.error(f"no book {', '.join(unknown)}; --list has them")
    sys.stdout.write("\n".join(books[name] for name in names))


if __name__ == "__main__":
    main()
