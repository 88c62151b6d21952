#!/usr/bin/env python3
"""The published reference fronts over HTTP: adult.csv with its hierarchies, k = 5, distinct l = 2, limit 0.30.

usage: service_golden.py [SEED]

Input: adult.csv (30,162 rows). A7: seven quasi-identifiers, occupation sensitive, 2,160 policies, 26 points. A8: with
occupation as quasi-identifier, salary-class sensitive, 6,480 policies, 19 points. The exact front must equal the
reference point by point, and NSGA-II (population 100, 50 generations) must find every policy of it. Ends with a
non-zero code if it does not.
"""
import sys

import service

A7 = ("3:8084 6:6289 7:5645 9:4979 10:4402 12:3400 13:3395 16:2267 18:2257 20:1808 22:1285 24:1233 26:868 28:699 30:491 "
      "32:460 34:373 36:227 38:190 40:115 42:73 44:56 46:35 48:21 48:21 50:8 54:0", 84, 7, "occupation")
A8 = ("18:8532 20:8197 22:6188 24:6078 26:5243 28:3878 30:3302 32:3186 34:2629 36:2060 38:1940 40:1389 42:974 46:746 "
      "48:461 52:385 54:147 60:32 66:0 66:0", 96, 8, "salary-class")


def attribute(name, quasi_identifiers, sensitive):
    if name == sensitive:
        return {"name": name, "role": "sensitive"}
    if name not in quasi_identifiers:
        return {"name": name, "role": "insensitive"}
    with open(f"{service.ADULT}/adult_hierarchy_{name}.csv", encoding="utf-8") as file:
        hierarchy = {"kind": "table", "delimiter": ";", "text": file.read()}
    return {"name": name, "role": "quasi_identifying", "hierarchy": hierarchy}


def points(front, whole):
    found = []
    for solution in front["solutions"]:
        depth = solution["objectives"]["generalization_depth"] * whole
        found.append(f"{round(depth)}:{solution['suppressed_rows']}")
    return found


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    print("machine:", service.machine())
    wrong = 0
    with service.Service() as kindred:
        for name, (reference, whole, count, sensitive) in (("A7", A7), ("A8", A8)):
            attributes = [attribute(column, service.COLUMNS[:count], sensitive) for column in service.COLUMNS]
            dataset = kindred.expect(201, "POST", "/v1/datasets", {"name": name, "attributes": attributes})["dataset_id"]
            with open(service.ADULT + "/adult.csv", "rb") as file:
                kindred.expect(201, "POST", f"/v1/datasets/{dataset}/batches?delimiter=%3B", file.read(),
                               {"content-type": "text/csv"})
            fronts = {}
            for method in ({"method": "exact"}, {"method": "nsga2", "population": 100, "generations": 50, "seed": seed}):
                job = kindred.expect(202, "POST", "/v1/jobs", {
                    "dataset_id": dataset, "suppression_limit": 0.30, "search": method,
                    "privacy": [{"model": "k_anonymity", "k": 5},
                                {"model": "distinct_l_diversity", "attribute": sensitive, "l": 2}],
                    "objectives": ["generalization_depth", "suppression"]})["job_id"]
                kindred.wait(job)
                front = kindred.expect(200, "GET", f"/v1/jobs/{job}/front")
                fronts[method["method"]] = front
                same = points(front, whole) == reference.split()
                wrong += not same
                search = front["search"]
                print(f"{name} {method['method']}: {len(set(points(front, whole)))} points, "
                      f"{len(front['solutions'])} policies, {'equal to' if same else 'NOT'} the reference; "
                      f"{search['evaluations']} of {search['search_space']} evaluated in {search['elapsed_ms']} ms")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
