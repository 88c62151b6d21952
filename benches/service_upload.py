#!/usr/bin/env python3
"""Upload and download of a large table through a whole service: rows per second and peak memory.

usage: service_upload.py [ROWS]

Input: adult.csv enlarged to ROWS (default 500,000) by data/make_adult_big.py, nine quasi-identifiers. Peak memory is
VmHWM of the service process (without its database), as a multiple of the uploaded file. The release is of one fixed
policy at k = 5; making it (load, render, verify, store) and downloading it are measured apart.
"""
import os
import subprocess
import sys
import time

import service


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
    print("machine:", service.machine())
    with service.Service() as kindred:
        file = os.path.join(kindred.directory, "adult_big.csv")
        subprocess.run([sys.executable, os.path.join(service.ROOT, "data", "make_adult_big.py"),
                        os.path.join(service.ADULT, "adult.csv"), file, str(rows)], check=True)
        size = os.path.getsize(file)
        print(f"input: {rows:,} rows, {size / 1e6:.1f} MB CSV")
        idle = kindred.peak_bytes()
        print(f"peak memory at rest: {idle / 2**20:.0f} MiB")
        begun = time.monotonic()
        dataset = kindred.adult_dataset(file)
        report("upload, validated and stored", rows, size, time.monotonic() - begun, kindred.peak_bytes())
        release(kindred, dataset, rows, size)


def release(kindred, dataset, rows, size):
    levels = dict(zip(service.COLUMNS, [0, 3, 1, 2, 3, 2, 2, 2, 0]))
    job = kindred.expect(202, "POST", "/v1/jobs", {
        "dataset_id": dataset,
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "suppression_limit": 0.1,
        "search": {"method": "fixed", "levels": levels},
        "objectives": ["generalization_depth", "suppression"],
    })["job_id"]
    begun = time.monotonic()
    job = kindred.wait(job)
    report("job with one fixed policy", rows, size, time.monotonic() - begun, kindred.peak_bytes())
    if job["outcome"] != "front":
        raise SystemExit(f"no front: {job}")
    begun = time.monotonic()
    made = kindred.expect(201, "POST", "/v1/releases", {"job_id": job["job_id"], "solution_id": 0})
    report("release made and verified", rows, size, time.monotonic() - begun, kindred.peak_bytes())
    for form in ["text/csv", "application/json", "application/x-ndjson"]:
        begun, count = time.monotonic(), 0
        connection = kindred.connection()
        connection.request("GET", f"/v1/releases/{made['release_id']}/data", headers={"accept": form})
        answer = connection.getresponse()
        while chunk := answer.read(1 << 16):
            count += len(chunk)
        connection.close()
        report(f"download, {form}, {count / 1e6:.1f} MB", made["released_rows"], size, time.monotonic() - begun,
               kindred.peak_bytes())


def report(what, rows, size, seconds, peak):
    print(f"{what}: {seconds:.2f} s, {rows / seconds:,.0f} rows/s, "
          f"peak memory so far {peak / 2**20:.0f} MiB = {peak / size:.2f} x the uploaded file")


main()
