#!/usr/bin/env python3
"""A search survives `kill -9` of the service: restarted, the job ends once, with the front of an undisturbed run.

usage: service_crash.py

Input: adult.csv (30,162 rows, nine quasi-identifiers), NSGA-II over 8,000 generations. The service is killed while
the job runs, started again on the same data directory, and must then hold the same dataset, take the job up again with
its next attempt, and end it once. Ends with a non-zero code if anything differs.
"""
import json
import time

import service


def main():
    print("machine:", service.machine())
    print("input: adult.csv, NSGA-II over 8,000 generations of 100 policies")
    with service.Service(KINDRED__WORKER__LEASE_SECONDS="3") as kindred:
        dataset = kindred.adult_dataset(service.ADULT + "/adult.csv")
        demand = service.long_search(dataset)
        demand["search"] = {"method": "nsga2", "population": 100, "generations": 8000, "seed": 7}
        undisturbed = kindred.wait(submit(kindred, demand, "undisturbed"))
        print(f"undisturbed: {undisturbed['state']}, attempt {undisturbed['attempt']}")
        job = submit(kindred, demand, "crash")
        before = running(kindred, job)
        kindred.kill()
        print(f"killed while {before['state']}, {before['progress']['evaluations']} evaluations, "
              f"attempt {before['attempt']}")
        print(f"ready again after {kindred.start():.2f} s")
        begun = time.monotonic()
        after = kindred.wait(job)
        print(f"then: {after['state']}, {after['outcome']}, attempt {after['attempt']}, "
              f"{time.monotonic() - begun:.1f} s after the restart")
        check(after["state"] == "succeeded" and after["attempt"] == 2, f"not taken up again: {after}")
        check(submit(kindred, demand, "crash") == job, "the same Idempotency-Key made a second job")
        jobs = kindred.expect(200, "GET", "/v1/jobs")["items"]
        check(len(jobs) == 2, f"{len(jobs)} jobs in place of 2")
        stored = kindred.expect(200, "GET", f"/v1/datasets/{dataset}")
        check((stored["rows"], stored["batches"]) == (30162, 1), f"dataset changed: {stored}")
        fronts = [solutions(kindred, one) for one in (undisturbed["job_id"], job)]
        check(fronts[0] == fronts[1], "the fronts differ")
        print("nothing lost, nothing twice: same dataset, two jobs, equal fronts "
              f"of {len(json.loads(fronts[0]))} solutions")


def submit(kindred, demand, key):
    return kindred.expect(202, "POST", "/v1/jobs", demand, {"idempotency-key": key})["job_id"]


def running(kindred, job):
    """The job once it has evaluated something and is not finished."""
    while True:
        found = kindred.expect(200, "GET", f"/v1/jobs/{job}")
        if found["state"] == "running" and found["progress"]["evaluations"] > 0:
            return found
        check(found["state"] in ("queued", "running"), f"the job was over before the kill: {found}")
        time.sleep(0.02)


def solutions(kindred, job):
    return json.dumps(kindred.expect(200, "GET", f"/v1/jobs/{job}/front")["solutions"], sort_keys=True)


def check(holds, otherwise):
    if not holds:
        raise SystemExit(f"FAILED: {otherwise}")


main()
