//! Everything in one call: declare, load, submit, from one multipart form.
//!
//! The parts may come in either order: rows that come before their declaration wait in a spool (in memory while small,
//! then in an unnamed temporary file). Whatever fails after the dataset was made takes the dataset away again.

use std::io::{self, Read, Seek, Write};

use axum::body::Bytes;
use axum::extract::multipart::Field;
use axum::extract::{FromRequest, Multipart, Request, State};
use futures::StreamExt;
use serde_json::Value;
use uuid::Uuid;

use super::App;
use super::batches::upload_place;
use super::body::{self, Limited, Verdict};
use super::datasets::compiled;
use super::documents::AnonymizeForm;
use super::extract::parse_json;
use super::failures::WriteFailures;
use super::jobs::{JobView, submitted};
use super::once::{Answered, Key, Refusal, refuse_answered};
use super::problem::{Code, Problem};
use super::query::{Nothing, Query};
use super::receive::{Staged, Written, pipe, receive};
use super::submission::prepare;
use super::task::Task;
use crate::declaration::DatasetDeclaration;
use crate::fault::{Fault, FaultCode};
use crate::ingest::Summary;
use crate::job::{Answer, Dataset};
use crate::store::Store;

/// Bytes of rows kept in memory while their declaration has not come.
const SPOOLED_IN_MEMORY: usize = 8 << 20;

/// Declares a dataset, loads it and submits a search in one call.
///
/// Two parts in any order: `task` (JSON: the declaration's and the job's fields, without ids) and `data` (the rows).
/// All faults of both come back at once. If anything fails, nothing remains. Answers as `POST /v1/jobs`; repeating the
/// same `Idempotency-Key` with the same task and rows returns the first job.
#[utoipa::path(post, path = "/v1/anonymize", tag = "jobs",
    params(("Idempotency-Key" = Option<String>, Header, description = "Any string up to 255 characters")),
    request_body(content = AnonymizeForm, content_type = "multipart/form-data", description = "Task and rows"),
    responses((status = 202, body = JobView, description = "Queued, or ended at once where the demand is impossible",
        headers(("Location" = String, description = "Where the job is"))), WriteFailures))]
pub(super) async fn anonymize(
    State(app): State<App>,
    request: Request,
) -> Result<Answered, Refusal> {
    let (parts, body) = request.into_parts();
    Query::<Nothing>::of(&parts.uri)?;
    let key = Key::of(&parts.headers, &parts.method, &parts.uri)?;
    body::refuse_compressed(&parts.headers)?;
    let _place = upload_place(&app)?;
    let limit = app.services.config.server.upload_limit_bytes;
    let limited = Limited::new(&parts.headers, body, limit)?;
    let verdict = limited.verdict();
    let body = axum::body::Body::from_stream(limited.into_stream());
    let request = Request::from_parts(parts, body);
    let form = Multipart::from_request(request, &()).await.map_err(|_| {
        let detail = "this request takes `Content-Type: multipart/form-data` with a boundary";
        Problem::new(Code::UnsupportedMediaType, detail)
    })?;
    let call = Call {
        app: &app,
        verdict,
        task: None,
        spool: None,
        loaded: None,
    };
    call.run(form, key).await
}

/// One call, part by part.
struct Call<'a> {
    app: &'a App,
    verdict: Verdict,
    task: Option<(Task, Bytes)>,
    spool: Option<Spool>,
    loaded: Option<Loaded>,
}

/// Rows that came before their declaration.
struct Spool {
    content_type: String,
    rows: tempfile::SpooledTempFile,
}

/// Rows staged in a new dataset.
struct Loaded {
    dataset: NewDataset,
    staged: Staged,
    summary: Summary,
    written: Written,
}

impl Call<'_> {
    async fn run(mut self, mut form: Multipart, key: Option<Key>) -> Result<Answered, Refusal> {
        match self.take_parts(&mut form).await {
            Ok(()) => self.submit(key).await,
            Err(refusal) => {
                // Gone before the answer: whoever is refused finds nothing changed.
                if let Some(loaded) = self.loaded.take() {
                    loaded.dataset.delete().await;
                }
                Err(refusal)
            }
        }
    }

    async fn take_parts(&mut self, form: &mut Multipart) -> Result<(), Refusal> {
        while let Some(field) = self.next(form).await? {
            let name = field.name().unwrap_or_default().to_owned();
            match name.as_str() {
                "task" if self.task.is_none() => self.take_task(field).await?,
                "data" if self.spool.is_none() && self.loaded.is_none() => {
                    self.take_data(field).await?;
                }
                "task" | "data" => {
                    return Err(part_fault(
                        &name,
                        FaultCode::UnknownField,
                        "stands more than once",
                    )
                    .into());
                }
                _ => {
                    let detail = "is no part of this form; the parts are `task` and `data`";
                    return Err(part_fault(&name, FaultCode::UnknownField, detail).into());
                }
            }
        }
        if let Some(spool) = self.spool.take() {
            self.take_spool(spool).await?;
        }
        Ok(())
    }

    async fn next<'f>(&self, form: &'f mut Multipart) -> Result<Option<Field<'f>>, Problem> {
        let field = form.next_field().await;
        field.map_err(|_| broken_form(&self.verdict))
    }

    async fn take_task(&mut self, mut field: Field<'_>) -> Result<(), Problem> {
        let limit = self.app.services.config.server.request_limit_bytes;
        let mut bytes = Vec::new();
        loop {
            match field.chunk().await {
                Err(_) => return Err(broken_form(&self.verdict)),
                Ok(None) => break,
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            }
            if bytes.len() as u64 > limit {
                let detail = format!("the limit of the part `task` is {limit} bytes");
                return Err(Problem::new(Code::BodyTooLarge, detail));
            }
        }
        let bytes = Bytes::from(bytes);
        self.task = Some((Task::parse(parse_json(&bytes)?)?, bytes));
        Ok(())
    }

    async fn take_data(&mut self, field: Field<'_>) -> Result<(), Problem> {
        let content_type = field.content_type().unwrap_or_default().to_owned();
        if self.task.is_some() {
            let chunks = field.map(|chunk| chunk.map_err(io::Error::other)).boxed();
            let (reader, feed) = pipe(chunks);
            return self.load(&content_type, reader, feed).await;
        }
        let mut rows = tempfile::spooled_tempfile(SPOOLED_IN_MEMORY);
        let mut field = field;
        loop {
            match field.chunk().await {
                Err(_) => return Err(broken_form(&self.verdict)),
                Ok(None) => break,
                Ok(Some(chunk)) => rows = spooled(rows, chunk).await?,
            }
        }
        self.spool = Some(Spool { content_type, rows });
        Ok(())
    }

    async fn take_spool(&mut self, mut spool: Spool) -> Result<(), Problem> {
        if self.task.is_none() {
            return Ok(());
        }
        spool.rows.rewind().map_err(Problem::internal)?;
        let rows = Box::new(spool.rows);
        self.load(&spool.content_type, rows, std::future::ready(()))
            .await
    }

    /// Makes the dataset and stages the rows in it.
    async fn load(
        &mut self,
        content_type: &str,
        reader: Box<dyn Read + Send>,
        feed: impl Future<Output = ()>,
    ) -> Result<(), Problem> {
        let Some((task, _)) = &self.task else {
            return Ok(());
        };
        let written = task.written(content_type)?;
        let schema = compiled(&task.declaration)?;
        let store = &self.app.services.store;
        let dataset = NewDataset::make(store, &task.declaration).await?;
        let staged = Staged::begin(store, &dataset.dataset).await?;
        let received = receive(
            staged,
            schema,
            &dataset.dataset,
            written,
            reader,
            feed,
            &self.verdict,
        )
        .await;
        match received {
            Ok((staged, summary)) => {
                self.loaded = Some(Loaded {
                    dataset,
                    staged,
                    summary,
                    written,
                });
                Ok(())
            }
            Err(problem) => {
                dataset.delete().await;
                Err(problem)
            }
        }
    }

    async fn submit(self, key: Option<Key>) -> Result<Answered, Refusal> {
        let (Some((task, bytes)), Some(loaded)) = (self.task, self.loaded) else {
            return Err(part_fault(
                "",
                FaultCode::MissingField,
                "needs the parts `task` and `data`",
            )
            .into());
        };
        let store = &self.app.services.store;
        let once = key.map(|key| {
            key.over(&[
                &bytes,
                &loaded.summary.digest,
                loaded.written.fingerprint().as_bytes(),
            ])
        });
        if let Some(once) = &once {
            refuse_answered(store, once).await?;
        }
        let Loaded {
            dataset,
            staged,
            summary,
            ..
        } = loaded;
        let Some(upload) = staged.into_upload() else {
            return Err(Problem::from(crate::pool::Panicked).into());
        };
        let nothing = |_: &_| Answer {
            status: 201,
            location: None,
            body: Value::Null,
        };
        store
            .commit_upload(upload, &summary, false, None, nothing)
            .await?;
        let now = store.dataset(dataset.dataset.dataset_id).await?;
        let job = prepare(self.app, &now, task.demand).await?;
        let answer = store.submit_job(&job, once.as_ref(), submitted).await?;
        // The same request may have won the race with another dataset: then ours goes.
        let won = answer.body["dataset_id"] == now.dataset_id.to_string();
        if won {
            dataset.keep();
        } else {
            dataset.delete().await;
        }
        Ok(Answered(answer))
    }
}

async fn spooled(
    mut rows: tempfile::SpooledTempFile,
    chunk: Bytes,
) -> Result<tempfile::SpooledTempFile, Problem> {
    // Beyond its first megabytes the spool is a file, and files block.
    let write = move || rows.write_all(&chunk).map(|()| rows);
    let written = tokio::task::spawn_blocking(write).await;
    written
        .map_err(|_| crate::pool::Panicked)?
        .map_err(Problem::internal)
}

fn broken_form(verdict: &Verdict) -> Problem {
    if verdict.is_broken() {
        return verdict.problem();
    }
    let detail = "the form breaks off or its parts are not separated as its boundary says";
    Problem::new(Code::MalformedMultipart, detail)
}

fn part_fault(part: &str, code: FaultCode, says: &str) -> Problem {
    let part: String = part.chars().take(80).collect();
    let (pointer, detail) = if part.is_empty() {
        (String::new(), format!("the form {says}"))
    } else {
        (format!("/{part}"), format!("the part `{part}` {says}"))
    };
    Problem::fault(Fault::at(pointer, code, detail))
}

/// A dataset that goes again unless it is kept.
struct NewDataset {
    store: Store,
    dataset: Dataset,
    kept: bool,
}

impl NewDataset {
    async fn make(store: &Store, declaration: &DatasetDeclaration) -> Result<Self, Problem> {
        let id = |dataset: &Dataset| Answer {
            status: 201,
            location: None,
            body: Value::String(dataset.dataset_id.to_string()),
        };
        let answer = store.create_dataset(declaration, None, id).await?;
        let dataset_id = answer.body.as_str().and_then(|id| Uuid::try_parse(id).ok());
        let dataset_id = dataset_id.ok_or(crate::pool::Panicked)?;
        Ok(Self {
            store: store.clone(),
            dataset: store.dataset(dataset_id).await?,
            kept: false,
        })
    }

    fn keep(mut self) {
        self.kept = true;
    }

    async fn delete(mut self) {
        self.kept = true;
        delete(self.store.clone(), self.dataset.dataset_id).await;
    }
}

impl Drop for NewDataset {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(delete(self.store.clone(), self.dataset.dataset_id));
        }
    }
}

async fn delete(store: Store, dataset_id: Uuid) {
    if let Err(error) = store.delete_dataset(dataset_id).await {
        tracing::warn!(%error, %dataset_id, "the dataset of a failed call could not be deleted");
    }
}
