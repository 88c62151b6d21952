#!/usr/bin/env python3
"""Series: what each release of a growing table holds, and what an update costs.

usage: service_series.py panel DATA      rwm5yr.csv of the folder DATA: the rows of 1984, then one batch a year
       service_series.py update [ROWS]   adult enlarged: an update of 1 % against a first release of the whole table,
                                         and of 1,000 rows at growing table sizes (default 500,000 rows at most)

`panel`: subject `id`, k = 5, nine quasi-identifiers, `docvis` sensitive, persons or rows guarded; then the same rows released anew each year
without the rule that ties a release to those before. `update`: nine quasi-identifiers, k = 5;
seconds are those until the job has ended, bytes are what Postgres wrote to its log (pg_current_wal_lsn).
"""
import csv
import glob
import io
import os
import subprocess
import sys
import time
from collections import Counter
from datetime import datetime

import service

PANEL = ["age", "female", "married", "kids", "outwork", "self", "edlevel", "educ", "hhninc"]


def main():
    print("machine:", service.machine())
    if sys.argv[1:2] == ["panel"] and len(sys.argv) == 3:
        panel(sys.argv[2])
    elif sys.argv[1:2] == ["update"]:
        update(int(sys.argv[2]) if len(sys.argv) > 2 else 500_000)
    else:
        raise SystemExit(__doc__)


def panel(folder):
    """One batch a year; the state after each."""
    directory = os.path.join(folder, "rwm5yr")
    with open(os.path.join(directory, "rwm5yr.csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    years = sorted({row["year"] for row in rows})
    attributes, leaves = [{"name": "id", "role": "identifying", "subject": True}], {}
    for name in PANEL:
        with open(os.path.join(directory, f"rwm5yr_hierarchy_{name}.csv"), encoding="utf-8") as file:
            lines = file.read()
        attributes.append({"name": name, "role": "quasi_identifying",
                           "hierarchy": {"kind": "table", "delimiter": ";", "text": lines}})
        paths = [line.split(";") for line in lines.split()]
        leaves[name] = (Counter(label for path in paths for label in set(path)), len(paths))
    attributes.append({"name": "docvis", "role": "sensitive", "type": "integer"})
    batches = {year: table([row for row in rows if row["year"] == year], ["id", *PANEL, "docvis"]) for year in years}
    with service.Service() as kindred:
        for score, guard in (("loss", "subjects"), ("information", "subjects"), ("loss", "rows"), ("information", "rows")):
            dataset = kindred.expect(201, "POST", "/v1/datasets", {"name": "rwm5yr", "attributes": attributes})
            dataset = dataset["dataset_id"]
            print(f"\nrwm5yr as a series, score {score}, guard {guard}")
            print(f"{'batch':>6} {'rows':>6} {'release':>8} {'received':>9} {'released':>9} {'pending':>8} "
                  f"{'suppressed':>10} {'classes':>8} {'k':>3} {'loss':>6} {'job s':>7}")
            series = None
            for year in years:
                batch = upload(kindred, dataset, batches[year])
                if series is None:
                    job = kindred.expect(202, "POST", "/v1/series", 
                                         {**demand(dataset, score), "guard": guard})["job_id"]
                else:
                    job = batch["updates"][0]["job_id"]
                job = kindred.wait(job)
                series = series or batch_series(kindred)
                show(kindred, series, job, year, batch["rows"], leaves)
        print("\nall rows so far, released anew and checked alone (cuts from the roots down, loss)")
        dataset = kindred.expect(201, "POST", "/v1/datasets", {"name": "alone", "attributes": attributes})["dataset_id"]
        for year in years:
            upload(kindred, dataset, batches[year])
            alone(kindred, dataset, year)


def show(kindred, series, job, name, rows, leaves):
    """One line of the table."""
    if job["state"] != "succeeded":
        raise SystemExit(f"the update failed: {job}")
    state = kindred.expect(200, "GET", f"/v1/series/{series}")
    counts = state["rows"]
    record, lost = {}, 0
    if job["release_id"]:
        data = kindred.expect(200, "GET", f"/v1/releases/{job['release_id']}/data").decode()
        lost = loss(csv.DictReader(io.StringIO(data)), leaves, counts["received"] - counts["released"])
        record = kindred.expect(200, "GET", f"/v1/releases/{job['release_id']}")
    print(f"{name:>6} {rows:>6} {job['outcome']:>8} {counts['received']:>9} {counts['released']:>9} "
          f"{counts['pending']:>8} {counts['suppressed']:>10} {state['classes']:>8} "
          f"{record.get('privacy', {}).get('k', '-'):>3} {lost:>6.4f} {seconds(job):>7.2f}")


def loss(rows, leaves, held_back):
    """Arithmetic loss of released rows: the mean share of leaves under their labels; a row held back counts as `*`."""
    rows, total = list(rows), 0
    for name, (under, domain) in leaves.items():
        share = (sum(under[row[name]] / domain for row in rows) + held_back) / (len(rows) + held_back)
        total += (share - 1 / domain) / (1 - 1 / domain)
    return total / len(leaves)


def alone(kindred, dataset, year):
    """A search over all rows of a dataset, no release before."""
    job = kindred.expect(202, "POST", "/v1/jobs", {
        "dataset_id": dataset, "privacy": [{"model": "k_anonymity", "k": 5}], "suppression_limit": 0.05,
        "objectives": ["loss"], "recoding": "subtree", "search": {"method": "tds"}})["job_id"]
    kindred.wait(job)
    front = kindred.expect(200, "GET", f"/v1/jobs/{job}/front")
    best = front["solutions"][0]
    print(f"{year:>6}: released {best['released_rows']}, held back {best['suppressed_rows']}, classes {best['classes']}, "
          f"loss {best['objectives']['loss']:.4f}")


def update(most):
    """Updates of 1 % and of 1,000 rows, at growing sizes."""
    sizes = [size for size in (10_000, 50_000, 100_000, 500_000) if size <= most]
    print(f"\n{'rows':>8} {'first s':>8} {'1 % s':>8} {'ratio':>6} {'WAL MB':>7} {'1,000 s':>8} {'WAL MB':>7} {'classes':>8}")
    for size in sizes:
        with service.Service() as kindred:
            big = os.path.join(kindred.directory, "big.csv")
            subprocess.run([sys.executable, os.path.join(service.ROOT, "data", "make_adult_big.py"),
                            os.path.join(service.ADULT, "adult.csv"), big, str(size + size // 100 + 1_000)], check=True,
                           stdout=subprocess.DEVNULL)
            with open(big, encoding="utf-8") as file:
                header, *lines = file.readlines()
            dataset = kindred.expect(201, "POST", "/v1/datasets", service.adult_declaration())["dataset_id"]
            upload(kindred, dataset, header + "".join(lines[:size]), ";")
            begun = time.monotonic()
            kindred.wait(kindred.expect(202, "POST", "/v1/series", demand(dataset, "loss"))["job_id"])
            first = time.monotonic() - begun
            parts = [lines[size:size + size // 100], lines[size + size // 100:]]
            figures = []
            for part in parts:
                before = written(kindred)
                batch = upload(kindred, dataset, header + "".join(part), ";")
                stored = written(kindred)
                begun = time.monotonic()
                kindred.wait(batch["updates"][0]["job_id"])
                figures.append((time.monotonic() - begun, (written(kindred) - stored) / 1e6, (stored - before) / 1e6))
            classes = kindred.expect(200, "GET", f"/v1/series/{batch_series(kindred)}")["classes"]
            print(f"{size:>8} {first:>8.2f} {figures[0][0]:>8.3f} {first / figures[0][0]:>6.0f} "
                  f"{figures[0][1]:>7.2f} {figures[1][0]:>8.3f} {figures[1][1]:>7.2f} {classes:>8}", flush=True)


def demand(dataset, score):
    return {"dataset_id": dataset, "name": "nightly", "privacy": [{"model": "k_anonymity", "k": 5}],
            "suppression_limit": 0.05, "recoding": "subtree", "score": score}


def batch_series(kindred):
    """The newest series."""
    return kindred.expect(200, "GET", "/v1/series")["items"][0]["series_id"]


def upload(kindred, dataset, content, delimiter=","):
    path = f"/v1/datasets/{dataset}/batches?delimiter={'%3B' if delimiter == ';' else '%2C'}"
    return kindred.expect(201, "POST", path, content.encode(), {"content-type": "text/csv"})


def table(rows, columns):
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def seconds(job):
    begun, ended = (datetime.fromisoformat(job[name].replace("Z", "+00:00")) for name in ("started_at", "finished_at"))
    return (ended - begun).total_seconds()


def written(kindred):
    """Bytes that the service's own Postgres has written to its log so far."""
    home = os.path.join(kindred.directory, "data", "postgres")
    with open(os.path.join(home, "data", "postmaster.pid"), encoding="utf-8") as file:
        socket = file.read().split("\n")[4]
    psql = sorted(glob.glob("/usr/lib/postgresql/*/bin/psql"))[-1]
    answer = subprocess.run([psql, "-h", socket, "-U", "kindred", "-Atc", "select pg_current_wal_lsn() - '0/0'", "kindred"],
                            check=True, capture_output=True, text=True)
    return int(answer.stdout)


main()
