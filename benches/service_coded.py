#!/usr/bin/env python3
"""What it costs to write unordered categories as numbers: the same rows, once as texts, once as codes.

usage: service_coded.py [ROWS]

Input: the first ROWS (default 10,000) of adult.csv, eight quasi-identifiers, salary-class sensitive and predicted. Coded, the
seven columns of texts hold the number of the value in alphabetical order, declared `integer`: so they are averaged like
ages. Classes by MDAV, centroids; logistic regression and random forest on the quasi-identifiers, five splits. `raw` is
the model of the raw rows of the same declaration.
"""
import csv
import io
import sys

import service

TARGET = "salary-class"


def tables(rows):
    """The rows as texts and as codes, both as CSV."""
    with open(service.ADULT + "/adult.csv", encoding="utf-8", newline="") as file:
        reader = csv.reader(file, delimiter=";")
        header = next(reader)
        cells = [row for row, _ in zip(reader, range(rows))]
    coded = [list(row) for row in cells]
    for place, name in enumerate(header):
        if name in ("age", TARGET):
            continue
        codes = {value: str(code) for code, value in enumerate(sorted({row[place] for row in cells}), 1)}
        for row in coded:
            row[place] = codes[row[place]]
    found = []
    for table in (cells, coded):
        text = io.StringIO()
        csv.writer(text).writerows([header, *table])
        found.append(text.getvalue().encode())
    return found


def declaration(is_coded):
    attributes = []
    for name in service.COLUMNS:
        if name == TARGET:
            attributes.append({"name": name, "role": "sensitive"})
        elif name == "age" or is_coded:
            attributes.append({"name": name, "role": "quasi_identifying", "type": "integer"})
        else:
            attributes.append({"name": name, "role": "quasi_identifying"})
    return {"name": "coded" if is_coded else "texts", "attributes": attributes}


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print("machine:", service.machine())
    print("columns   k | model               | F1 macro | F1 of the rarer | AUC    (raw: F1 macro, F1, AUC)")
    with service.Service() as kindred:
        for is_coded, data in zip((False, True), tables(rows)):
            dataset = kindred.expect(201, "POST", "/v1/datasets", declaration(is_coded))["dataset_id"]
            kindred.expect(201, "POST", f"/v1/datasets/{dataset}/batches", data, {"content-type": "text/csv"})
            for k in (5, 10, 20, 50):
                job = kindred.expect(202, "POST", "/v1/jobs", {
                    "dataset_id": dataset, "recoding": "microaggregation", "search": {"method": "mdav"},
                    "privacy": [{"model": "k_anonymity", "k": k}]})["job_id"]
                kindred.wait(job)
                asked = {"target": TARGET, "features": "quasi_identifying", "splits": 5}
                report = kindred.expect(202, "POST", f"/v1/jobs/{job}/utility", asked)["job_id"]
                kindred.wait(report)
                results = kindred.expect(200, "GET", f"/v1/jobs/{report}/utility")["results"]
                for model in ("logistic_regression", "random_forest"):
                    of = {one["data"]: one for one in results if one["model"] == model}
                    figures = [[of[kind][name]["mean"] for name in ("f1_macro", "f1_positive", "auc")]
                               for kind in ("anonymized", "raw")]
                    (macro, rarer, auc), raw = figures
                    print(f"{'codes' if is_coded else 'texts':<6} {k:>4} | {model:<19} | {macro:.4f}   | {rarer:.4f}          | {auc:.4f}"
                          f" ({', '.join(f'{one:.4f}' for one in raw)})", flush=True)


if __name__ == "__main__":
    main()
