#!/usr/bin/env python3
"""Latency of status polls while long searches keep every worker thread busy.

usage: service_polls.py [POLLS_PER_SECOND [SECONDS]]

Input: adult.csv (30,162 rows, nine quasi-identifiers), one NSGA-II search per core with more generations than it can
finish. Default 200 polls a second for 30 s, sent on schedule over 8 kept-open connections; a poll that starts late
because the one before it was slow counts from when it was due.
"""
import sys
import threading
import time

import service

CONNECTIONS = 8


def main():
    rate = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    print("machine:", service.machine())
    print(f"input: adult.csv, 9 quasi-identifiers; {rate} polls/s for {seconds} s over {CONNECTIONS} connections")
    with service.Service() as kindred:
        dataset = kindred.adult_dataset(service.ADULT + "/adult.csv")
        quiet = load(kindred, None, dataset, rate, 5)
        show("nothing running", quiet)
        jobs = [kindred.expect(202, "POST", "/v1/jobs", service.long_search(dataset, seed))["job_id"]
                for seed in (1, 2)]
        kindred.wait(jobs[0], states=("running",))
        before = kindred.expect(200, "GET", f"/v1/jobs/{jobs[0]}")["progress"]["evaluations"]
        busy = load(kindred, jobs[0], dataset, rate, seconds)
        after = kindred.expect(200, "GET", f"/v1/jobs/{jobs[0]}")
        show("while searching", busy)
        print(f"the search meanwhile: {after['state']}, {after['progress']['evaluations'] - before} evaluations")
        for job in jobs:
            begun = time.monotonic()
            kindred.call("DELETE", f"/v1/jobs/{job}")
            kindred.wait(job)
            print(f"cancelled within {time.monotonic() - begun:.2f} s")


def load(kindred, job, dataset, rate, seconds):
    path = f"/v1/jobs/{job}" if job else f"/v1/datasets/{dataset}"
    latencies, failures, lock = [], [], threading.Lock()
    origin = time.monotonic() + 0.2

    def polls(offset):
        connection = kindred.connection()
        for number in range(offset, rate * seconds, CONNECTIONS):
            due = origin + number / rate
            time.sleep(max(0, due - time.monotonic()))
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            with lock:
                latencies.append(time.monotonic() - due)
                if answer.status != 200:
                    failures.append(answer.status)
        connection.close()

    threads = [threading.Thread(target=polls, args=(offset,)) for offset in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(latencies), failures


def show(what, measured):
    latencies, failures = measured
    at = lambda share: 1000 * latencies[min(len(latencies) - 1, int(share * len(latencies)))]
    print(f"{what}: {len(latencies)} polls, {len(failures)} not 200, "
          f"p50 {at(0.5):.1f} ms, p99 {at(0.99):.1f} ms, max {at(1):.1f} ms")


main()
