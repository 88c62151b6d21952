#!/usr/bin/env python3
"""The exact fronts of tests/it/hospital.rs, counted without any code of Kindred: every policy, every row, plain sets.

usage: hospital_front.py LIMIT COLUMN...     (minutes for nine columns)

Rows of data/diabetes130/sample.csv in classes of equal recoded columns; a class stays if it has at least 5 patients and 2
diagnoses. Minimised: mean of level over height, and the rows of classes that do not stay, at most LIMIT of all. A
missing value (`?`) is a value of its own until `*`. Prints depth, suppressed rows, classes, levels.
"""
import csv
import os
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data", "diabetes130")


def main():
    limit, columns = float(sys.argv[1]), sys.argv[2:]
    with open(os.path.join(FOLDER, "sample.csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    ladders = [ladder(column, rows) for column in columns]
    patients = [row["patient_nbr"] for row in rows]
    diagnoses = [row["diag_1"] for row in rows]
    found = []

    def walk(depth, keys, levels):
        if depth == len(ladders):
            suppressed, classes = judge(keys, patients, diagnoses)
            share = sum(level / (len(ladders[i]) - 1) for i, level in enumerate(levels)) / len(levels)
            found.append((round(share, 12), suppressed, classes, levels))
            return
        for level, (codes, size) in enumerate(ladders[depth]):
            walk(depth + 1, [key * size + code for key, code in zip(keys, codes)], levels + (level,))

    walk(0, [0] * len(rows), ())
    best = len(rows) + 1
    for share, suppressed, classes, levels in sorted(found):
        if suppressed <= limit * len(rows) and suppressed < best:
            best = suppressed
            print(f"{share:.6f} {suppressed} {classes} {levels}")


def ladder(column, rows):
    """Per level: a code for each row, and the number of codes."""
    with open(os.path.join(FOLDER, f"diabetes130_hierarchy_{column}.csv"), encoding="utf-8") as file:
        labels = {line.split(";")[0]: line.rstrip("\n").split(";") for line in file}
    height = len(next(iter(labels.values())))
    levels = []
    for level in range(height):
        codes = {}
        missing = ("missing",) if level < height - 1 else "*"
        column_codes = [codes.setdefault(missing if row[column] == "?" else labels[row[column]][level], len(codes))
                        for row in rows]
        levels.append((column_codes, len(codes)))
    return levels


def judge(keys, patients, diagnoses):
    """Rows of classes that do not stay, and the number of those that do."""
    classes = {}
    for row, key in enumerate(keys):
        classes.setdefault(key, []).append(row)
    suppressed = kept = 0
    for rows in classes.values():
        if len({patients[row] for row in rows}) >= 5 and len({diagnoses[row] for row in rows} - {"?"}) >= 2:
            kept += 1
        else:
            suppressed += len(rows)
    return suppressed, kept


main()
