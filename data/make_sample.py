#!/usr/bin/env python3
"""Makes diabetes130/sample.csv out of the full UCI file: whole patients, fifteen columns, the same on every machine.

usage: make_sample.py DIABETIC_DATA_CSV OUT_CSV [AT_LEAST_ENCOUNTERS]

Patients are put in order of the SHA-256 of their number and taken, each with all encounters, until at least
AT_LEAST_ENCOUNTERS (default 12000) are there. Rows keep the order of the source, cells are copied unchanged.
"""
import csv
import hashlib
import sys

COLUMNS = [
    "encounter_id", "patient_nbr", "race", "gender", "age", "admission_type_id", "discharge_disposition_id",
    "admission_source_id", "time_in_hospital", "payer_code", "medical_specialty", "num_lab_procedures",
    "num_medications", "diag_1", "readmitted",
]


def main():
    source, target = sys.argv[1], sys.argv[2]
    wanted = int(sys.argv[3]) if len(sys.argv) > 3 else 12000
    with open(source, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    encounters = {}
    for row in rows:
        encounters[row["patient_nbr"]] = encounters.get(row["patient_nbr"], 0) + 1
    taken, count = set(), 0
    for patient in sorted(encounters, key=lambda number: hashlib.sha256(number.encode()).digest()):
        if count >= wanted:
            break
        taken.add(patient)
        count += encounters[patient]
    with open(target, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            if row["patient_nbr"] in taken:
                writer.writerow([row[column] for column in COLUMNS])
    print(f"{count} encounters of {len(taken)} patients")


main()
