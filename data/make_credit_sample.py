#!/usr/bin/env python3
"""Makes credit_default/sample.csv out of the full UCI file: 3,000 clients, six columns, the same on every machine.

usage: make_credit_sample.py UCI_CREDIT_CARD_CSV OUT_CSV [CLIENTS]

Clients are put in order of the SHA-256 of their ID and the first CLIENTS (default 3000) taken. Rows keep the order of
the source, cells are copied unchanged; the ID is left out.
"""
import csv
import hashlib
import sys

COLUMNS = ["LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", "default.payment.next.month"]


def main():
    source, target = sys.argv[1], sys.argv[2]
    wanted = int(sys.argv[3]) if len(sys.argv) > 3 else 3000
    with open(source, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    order = sorted(rows, key=lambda row: hashlib.sha256(row["ID"].encode()).digest())
    taken = {row["ID"] for row in order[:wanted]}
    with open(target, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            if row["ID"] in taken:
                writer.writerow([row[column] for column in COLUMNS])


main()
