#!/usr/bin/env python3
"""Methods side by side over HTTP on adult.csv, as tables in Markdown.

usage: service_compare.py [levels|cuts|classes]... [--seeds N]

Input: adult.csv (30,162 rows), A7: seven quasi-identifiers, occupation sensitive, 2,160 policies of levels; k = 5, distinct
l = 2, suppression limit 0.30.
levels: depth and suppression; two settings of NSGA-II and random policies at the evaluations of each, beside the certified front.
cuts: loss and suppression; levels against cuts. classes: loss and suppression; levels and cuts against classes of rows.
"""
import sys

import service
import service_golden

LEVELS = {
    "objectives": ["generalization_depth", "suppression"],
    "methods": [
        "exact", "datafly",
        {"method": "nsga2", "population": 12, "generations": 12, "mutation_probability": 0.25, "label": "nsga2 12x12"},
        {"method": "random", "evaluations_of": 2, "label": "random as 12x12"},
        {"method": "nsga2", "population": 40, "generations": 25, "mutation_probability": 0.25, "label": "nsga2 40x25"},
        {"method": "random", "evaluations_of": 4, "label": "random as 40x25"},
    ],
}
CUTS = {
    "methods": [
        "exact", {"method": "nsga2", "population": 40, "generations": 25, "label": "nsga2 40x25"},
        {"method": "random", "evaluations_of": 1, "label": "random as 40x25"},
        "tds", {"method": "genetic_cuts", "population": 40, "generations": 25, "label": "genetic_cuts 40x25"},
    ],
}
CLASSES = {"methods": ["exact", "datafly", "tds", "bug", "mondrian", "k_member"]}
COMPARISONS = {"levels": (LEVELS, 30), "cuts": (CUTS, 30), "classes": (CLASSES, 10)}


def ranged(figure, form):
    """Median, and the range where there is one."""
    if figure["median"] is None:
        return "none"
    shown = [form.format(figure[part]) if figure[part] is not None else "none" for part in ("median", "least", "greatest")]
    return shown[0] if shown[1] == shown[2] else f"{shown[0]} ({shown[1]}–{shown[2]})"


def table(report):
    """One line per method."""
    points = len(report["reference_front"]["points"])
    print(f"\nreference: {report['reference']}, {points} points, hypervolume {report['reference_front']['hypervolume']:.6f}; "
          f"seeds {report['seeds_run']} of {report['seeds']}; common loss {report['common_loss']:.4f}\n")
    print("| method | runs | evaluations | points found | hypervolume ratio | IGD+ | best loss | average risk | ms | verified |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for method in report["methods"]:
        cells = [method["label"], str(method["runs"]), ranged(method["evaluations"], "{:.0f}"),
                 ranged(method["hits"], "{:g}") + f" of {points}", ranged(method["hypervolume_ratio"], "{:.4f}"),
                 ranged(method["igd_plus"], "{:.5f}"), ranged(method["best_loss"], "{:.4f}"),
                 ranged(method["average_risk"], "{:.4f}"), ranged(method["elapsed_ms"], "{:.0f}"),
                 str(method["verified"]).lower()]
        print("| " + " | ".join(cells) + " |")
    print("\n| first | second | first better | median difference | p | p, Holm |")
    print("|---|---|---|---|---|---|")
    for pair in report["tests"]["pairs"]:
        if pair["p"] is not None:
            print(f"| {pair['first']} | {pair['second']} | {pair['first_better']} of {pair['seeds']} | "
                  f"{pair['median_difference']:+.4f} | {pair['p']:.2g} | {pair['p_holm']:.2g} |")


def main():
    arguments = sys.argv[1:]
    seeds = int(arguments[arguments.index("--seeds") + 1]) if "--seeds" in arguments else None
    names = [name for name in arguments if name in COMPARISONS] or list(COMPARISONS)
    print("machine:", service.machine())
    attributes = [service_golden.attribute(column, service.COLUMNS[:7], "occupation") for column in service.COLUMNS]
    with service.Service() as kindred:
        dataset = kindred.expect(201, "POST", "/v1/datasets", {"name": "A7", "attributes": attributes})["dataset_id"]
        with open(service.ADULT + "/adult.csv", "rb") as file:
            kindred.expect(201, "POST", f"/v1/datasets/{dataset}/batches?delimiter=%3B", file.read(),
                           {"content-type": "text/csv"})
        for name in names:
            demand, usual = COMPARISONS[name]
            job = kindred.expect(202, "POST", "/v1/jobs", {
                **demand, "kind": "compare", "dataset_id": dataset, "suppression_limit": 0.30, "seeds": seeds or usual,
                "privacy": [{"model": "k_anonymity", "k": 5},
                            {"model": "distinct_l_diversity", "attribute": "occupation", "l": 2}]})["job_id"]
            kindred.wait(job, patience=7200)
            print(f"\n## {name}", flush=True)
            table(kindred.expect(200, "GET", f"/v1/jobs/{job}/comparison"))
            print("load:", service.machine().rsplit("load ", 1)[1], flush=True)


if __name__ == "__main__":
    main()
