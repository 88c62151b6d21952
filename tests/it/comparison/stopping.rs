//! Progress, cancellation and seconds.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kindred::anonymize::compare::Compared;
use kindred::anonymize::compare::report::ReferenceKind;
use kindred::anonymize::{Observer, Progress, Stop, Unobserved};
use serde_json::json;

use super::{body, clinic, compared, method};

/// Tells to stop after so many phases, and remembers what it is told.
#[derive(Default)]
struct Patience {
    stop: Option<(usize, Stop)>,
    told: Mutex<Vec<Progress>>,
}

impl Observer for Patience {
    fn must_stop(&self) -> Option<Stop> {
        let (phases, stop) = self.stop?;
        let told = self.told.lock().expect("no panic");
        let mut seen: Vec<&str> = told.iter().map(|progress| &*progress.phase).collect();
        seen.dedup();
        (seen.len() > phases).then_some(stop)
    }
    fn report(&self, progress: Progress) {
        self.told.lock().expect("no panic").push(progress);
    }
}

#[test]
fn it_tells_where_it_is_and_stops_when_told() {
    let data = clinic();
    let seen = Patience::default();
    assert!(matches!(
        compared(&data, &body(&json!({})), &seen, &|| Duration::ZERO),
        Compared::Report(_)
    ));
    let told = seen.told.into_inner().expect("no panic");
    let mut phases: Vec<&str> = told.iter().map(|progress| &*progress.phase).collect();
    phases.dedup();
    assert_eq!(
        phases[..4],
        [
            "exact",
            "nsga2, seed 1 of 10",
            "random, seed 1 of 10",
            "nsga2, seed 2 of 10"
        ]
    );
    assert_eq!(phases.len(), 21);
    assert!(
        told.windows(2)
            .all(|two| two[0].fraction <= two[1].fraction
                && two[0].evaluations <= two[1].evaluations)
    );
    let stopped = |phases: usize, stop: Stop| {
        let patience = Patience {
            stop: Some((phases, stop)),
            ..Patience::default()
        };
        compared(&data, &body(&json!({})), &patience, &|| Duration::ZERO)
    };
    assert_eq!(stopped(4, Stop::Cancelled), Compared::Cancelled);
    // Within the third seed: the first two are the answer, for all methods.
    let Compared::Report(report) = stopped(5, Stop::OutOfTime) else {
        panic!("two seeds were run")
    };
    let runs: Vec<u32> = report.methods.iter().map(|method| method.runs).collect();
    assert_eq!(
        (report.seeds, report.seeds_run, runs),
        (10, 2, vec![1, 2, 2])
    );
    let Compared::Impossible(reason) = stopped(1, Stop::OutOfTime) else {
        panic!("no seed was run")
    };
    assert_eq!(reason.code, "out_of_time");
}

#[test]
fn every_run_has_the_same_seconds() {
    let data = clinic();
    // A clock on which every look takes a millisecond.
    let looks = AtomicU64::new(0);
    let clock = || Duration::from_millis(looks.fetch_add(1, Ordering::Relaxed));
    let asked = body(&json!({ "max_seconds": 0.01, "seeds": 3, "methods": ["nsga2", "exact"] }));
    let Compared::Report(report) = compared(&data, &asked, &Unobserved, &clock) else {
        panic!("something is found")
    };
    let genetic = method(&report, "nsga2");
    assert_eq!((genetic.runs, genetic.stopped), (3, 3));
    assert!(genetic.evaluations.greatest < Some(15.0) && genetic.elapsed_ms.least >= Some(9.0));
    assert_eq!(report.reference, ReferenceKind::Union);
}
