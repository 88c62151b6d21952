//! One job: load, search, release if asked, finish.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::failed::Failed;
use super::lease::{self, Unwanted, Watch};
use super::{Context, compare, series, utility};
use crate::anonymize::report::{Front, Reason};
use crate::anonymize::table::Schema;
use crate::anonymize::{Limits, Outcome, Task};
use crate::declaration::{
    Demand, Identifiers, ReleaseChoice, ReleaseDemand, RowOrder, SuppressedRows,
};
use crate::job::{Job, JobOutcome, JobSpec, JobState, Lease, ReleaseRecord};
use crate::publish::publish;
use crate::store::{self, Finish, ReleaseDraft, SearchedRows, StoredFront};
use crate::telemetry::chain;

/// Counted where the result was discarded.
pub(super) const LEASE_LOST: &str = "lease_lost";
/// Pause before a finish that failed is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// How an attempt ended.
#[expect(
    clippy::large_enum_variant,
    reason = "one value per job, moved a few times"
)]
pub(super) enum Ended {
    /// With an answer.
    Found {
        outcome: JobOutcome,
        reason: Option<Reason>,
        front: Front,
        release: Option<(ReleaseDraft, ReleaseRecord)>,
    },
    /// With a report, or with the reason why there is none.
    Measured(Result<serde_json::Value, Reason>),
    /// Without.
    Failed(Failed),
    /// Told to stop.
    Stopped,
}

/// Runs a claimed job to its end and stores that.
pub(super) async fn execute(context: &Context, lease: Lease) {
    let begun = Instant::now();
    let watch = Arc::new(Watch::default());
    let done = CancellationToken::new();
    let heart = lease::keep(
        &context.store,
        &lease,
        &context.config.worker,
        &watch,
        &done,
    );
    let hand_back = async {
        context.hand_back.cancelled().await;
        watch.set_unwanted(Unwanted::HandedBack);
        std::future::pending::<()>().await;
    };
    let work = async {
        let name = match lease.spec {
            JobSpec::Search { .. } => {
                let ended = attempt(context, &lease, &watch).await;
                finish(context, &lease, &watch, ended).await
            }
            JobSpec::SeriesUpdate { .. } => series::execute(context, &lease, &watch).await,
            JobSpec::Utility { .. } => {
                let ended = utility::attempt(context, &lease, &watch).await;
                finish(context, &lease, &watch, ended).await
            }
            JobSpec::Compare { .. } => {
                let ended = compare::attempt(context, &lease, &watch).await;
                finish(context, &lease, &watch, ended).await
            }
        };
        done.cancel();
        name
    };
    tracing::info!("started");
    let both = futures::future::join(work, heart);
    let name = tokio::select! { (name, ()) = both => name, () = hand_back => LEASE_LOST };
    let seconds = begun.elapsed().as_secs_f64();
    metrics::counter!("kindred_jobs_finished_total", "outcome" => name).increment(1);
    metrics::histogram!("kindred_job_seconds").record(seconds);
    tracing::info!(outcome = name, seconds, "ended");
}

async fn attempt(context: &Context, lease: &Lease, watch: &Arc<Watch>) -> Ended {
    let answer = async {
        match search(context, lease, watch).await {
            Ok(Outcome::Cancelled) => Ended::Stopped,
            Ok(Outcome::Infeasible(reason, front)) => Ended::Found {
                outcome: JobOutcome::Infeasible,
                reason: Some(reason),
                front,
                release: None,
            },
            Ok(Outcome::Front(front)) => {
                release(context, lease, watch, JobOutcome::Front, front).await
            }
            Ok(Outcome::Stopped(front)) => {
                release(context, lease, watch, JobOutcome::Stopped, front).await
            }
            Err(failed) => Ended::Failed(failed),
        }
    };
    tokio::select! {
        ended = answer => ended,
        // The search itself sees the same signal and leaves its threads; nobody waits for it.
        () = watch.until_unwanted() => Ended::Stopped,
    }
}

/// Loads the rows and searches. Holds no connection while it searches.
async fn search(context: &Context, lease: &Lease, watch: &Arc<Watch>) -> Result<Outcome, Failed> {
    let JobSpec::Search {
        demand,
        through_batch,
        declaration,
        populations,
    } = &lease.spec
    else {
        return Err(Failed::internal("not a search", false));
    };
    watch.phase(0, 0.0, "loading");
    let schema = Schema::compile(declaration)
        .map_err(|_| Failed::internal("the stored declaration does not compile", false))?;
    let table = context
        .store
        .load_searched(&SearchedRows {
            job_id: lease.job_id,
            dataset_id: lease.dataset_id,
            schema: &schema,
            demand,
            through_batch: *through_batch,
            populations,
            identifiers: &[],
        })
        .await
        .map_err(Failed::from_store)?;
    watch.phase(0, 0.0, "searching");
    let limits = Limits {
        exact_search_space: context.config.search.exact_search_space,
        cache_bytes: context.config.search.cache_megabytes << 20,
    };
    let seconds = demand
        .search
        .max_seconds
        .unwrap_or(context.config.search.max_seconds);
    // A job may name more seconds than a duration holds.
    let budget = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    let work = {
        let (search, demand, watch) = (
            Arc::clone(&context.search),
            demand.clone(),
            Arc::clone(watch),
        );
        move || {
            let begun = Instant::now();
            let task = Task {
                table: &table,
                schema: &schema,
                demand: &demand,
                limits,
            };
            let mut outcome = search(&task, &*watch);
            if let Ok(
                Outcome::Front(front) | Outcome::Infeasible(_, front) | Outcome::Stopped(front),
            ) = &mut outcome
            {
                let elapsed = begun.elapsed().as_millis();
                front.search.elapsed_ms = u64::try_from(elapsed).unwrap_or(u64::MAX);
            }
            outcome
        }
    };
    watch.begin(budget);
    let mut running = std::pin::pin!(context.pool.run(work));
    let outcome = tokio::select! {
        outcome = &mut running => outcome,
        () = tokio::time::sleep(budget) => {
            watch.out_of_time();
            running.await
        }
    };
    match outcome {
        Ok(outcome) => outcome.map_err(|error| Failed::from_search(&error)),
        // Once more, in case the machine was to blame; the same input panics again.
        Err(_) => Err(Failed::internal("the search panicked", lease.attempt < 2)),
    }
}

/// Makes the release that the job asked for, if the front has a solution to release.
async fn release(
    context: &Context,
    lease: &Lease,
    watch: &Watch,
    outcome: JobOutcome,
    front: Front,
) -> Ended {
    let wanted = match &lease.spec {
        JobSpec::Search { demand, .. } => wanted_solution(demand, &front),
        JobSpec::SeriesUpdate { .. } | JobSpec::Utility { .. } | JobSpec::Compare { .. } => None,
    };
    let Some(solution) = wanted else {
        return Ended::Found {
            outcome,
            reason: None,
            front,
            release: None,
        };
    };
    watch.phase(front.search.evaluations, 1.0, "releasing");
    let stored = StoredFront {
        job_id: lease.job_id,
        dataset_id: lease.dataset_id,
        spec: lease.spec.clone(),
        front,
    };
    let solution = &stored.front.solutions[solution];
    let demand = ReleaseDemand {
        job_id: lease.job_id,
        solution_id: solution.solution_id,
        row_order: RowOrder::default(),
        columns: None,
        suppressed_rows: SuppressedRows::default(),
        identifiers: Identifiers::default(),
        recipient: None,
        linkage: false,
    };
    match publish(&context.store, &context.pool, &stored, solution, &demand).await {
        Ok(release) => Ended::Found {
            outcome,
            reason: None,
            front: stored.front,
            release: Some(release),
        },
        Err(error) => Ended::Failed(Failed::from_release(error, lease.attempt)),
    }
}

/// Position of the solution to release at once.
fn wanted_solution(demand: &Demand, front: &Front) -> Option<usize> {
    match demand.release? {
        ReleaseChoice::Recommended => front
            .solutions
            .iter()
            .position(|solution| Some(solution.solution_id) == front.recommended),
    }
}

/// Stores how the attempt ended; gives the name under which it is counted.
pub(super) async fn finish(
    context: &Context,
    lease: &Lease,
    watch: &Watch,
    ended: Ended,
) -> &'static str {
    let (finish, mut release) = match (watch.unwanted(), ended) {
        // A cancel request that came with the answer still counts: the caller does not want it.
        (Some(Unwanted::LeaseLost), ended) => {
            discard(context, ended).await;
            return LEASE_LOST;
        }
        (Some(Unwanted::Cancelled), ended) => {
            discard(context, ended).await;
            (Finish::Cancelled, None)
        }
        (Some(Unwanted::HandedBack), Ended::Stopped) => (Finish::Released, None),
        (_, ended) => ended.finish(),
    };
    loop {
        let had_release = release.is_some();
        let stored = context
            .store
            .finish_job(lease, &finish, release.take())
            .await;
        match stored {
            Ok(job) => return outcome_name(&job),
            Err(
                store::Error::LeaseLost | store::Error::NotFound(_) | store::Error::JobFinished,
            ) => {
                metrics::counter!("kindred_leases_lost_total").increment(1);
                tracing::warn!(
                    "the lease was lost before the end was stored; the result is discarded"
                );
                return LEASE_LOST;
            }
            Err(error) => {
                tracing::warn!(error = chain(&error), "the end of the job was not stored");
                // A draft can be committed once only: the job is left to the next attempt.
                if had_release || watch.unwanted() == Some(Unwanted::LeaseLost) {
                    return LEASE_LOST;
                }
            }
        }
        // The lease is still renewed beside this; when it is lost, so is the result.
        tokio::time::sleep(RETRY).await;
    }
}

impl Ended {
    /// How the store is told.
    fn finish(self) -> (Finish, Option<(ReleaseDraft, ReleaseRecord)>) {
        match self {
            Self::Found {
                outcome,
                reason,
                front,
                release,
            } => {
                let finish = Finish::Succeeded {
                    outcome,
                    reason,
                    front,
                };
                (finish, release)
            }
            Self::Measured(report) => (Finish::Measured { report }, None),
            Self::Failed(failed) => {
                tracing::warn!(
                    code = failed.code,
                    detail = failed.detail,
                    "the attempt failed"
                );
                (failed.finish(), None)
            }
            // Nobody told it to: handing the job back would repeat that for ever.
            Self::Stopped => {
                let failed = Failed::internal("the search stopped unasked", false);
                (failed.finish(), None)
            }
        }
    }
}

/// Drops what a result that is not wanted has staged.
async fn discard(context: &Context, ended: Ended) {
    if let Ended::Found {
        release: Some((draft, _)),
        ..
    } = ended
        && let Err(error) = context.store.abandon_release(draft).await
    {
        tracing::warn!(
            error = chain(&error),
            "a release that was given up is still staged"
        );
    }
}

pub(super) fn outcome_name(job: &Job) -> &'static str {
    match (job.state, job.outcome) {
        (JobState::Cancelled, _) => "cancelled",
        (JobState::Failed, _) => "failed",
        // Handed back, or to be tried again.
        (JobState::Queued | JobState::Running, _) => "requeued",
        (JobState::Succeeded, Some(JobOutcome::Infeasible)) => "infeasible",
        (JobState::Succeeded, Some(JobOutcome::Released)) => "released",
        (JobState::Succeeded, Some(JobOutcome::Unchanged)) => "unchanged",
        (JobState::Succeeded, Some(JobOutcome::Measured)) => "measured",
        (JobState::Succeeded, Some(JobOutcome::Stopped)) => "stopped",
        (JobState::Succeeded, Some(JobOutcome::Front) | None) => "front",
    }
}
