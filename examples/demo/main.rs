//! Plays a hospital's ETL job against a running service: from a table to a release that is checked once more from disk.
//!
//! `make demo` starts a service of its own and runs this. Against another one:
//! `cargo run --example demo -- --url http://127.0.0.1:8080`. Ends with a non-zero code on any mismatch.

mod check;
mod client;
mod screen;
mod task;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use serde_json::{Value, json};

use client::Client;
use screen::{bars_are_seen, bytes_bar, end_bar, line, search_bar, step, text};

/// Plays an ETL job against a running Kindred service.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where the service listens.
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    url: String,
    /// Folder of the sample and its hierarchies.
    #[arg(long, default_value = "data/diabetes130")]
    data: PathBuf,
    /// Folder for the release and its record.
    #[arg(long, default_value = "out")]
    out: PathBuf,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let client = Client::new(&arguments.url);
    // One run is one intention: each step's key derives from it, so a repeated step has its effect once.
    let run = uuid::Uuid::new_v4();
    client.wait_until_ready(Duration::from_mins(1))?;

    step(
        1,
        "Declare the table: who is who, and how values may be coarsened",
    );
    let dataset_id = declare(&client, &arguments.data, &format!("{run}-dataset"))?;
    let batches = format!("/v1/datasets/{dataset_id}/batches");

    step(2, "Upload with mistakes: refused whole, every fault named");
    refused(&client, &batches, &arguments.data, &format!("{run}-broken"))?;

    step(
        3,
        "Upload the encounters, then once more as after a lost answer",
    );
    upload(&client, &batches, &arguments.data, &format!("{run}-batch"))?;
    let dataset = stored(&client, &dataset_id)?;

    step(
        4,
        "Search: at least 5 patients and 2 diagnoses per class, at most 10 % of rows withheld",
    );
    let job_id = search(&client, &dataset_id, &format!("{run}-job"))?;
    let front = client
        .get(&format!("/v1/jobs/{job_id}/front"))?
        .expect(200)?;
    show_front(&front, &dataset)?;

    step(5, "Release the recommended policy");
    let (file, record) = release(&client, &job_id, &front, &arguments.out, &run.to_string())?;

    step(6, "Check the file once more, from disk");
    for finding in check::release(&file, &record, &arguments.data)? {
        line(&format!("ok  {finding}"));
    }
    line(&format!("released rows   {}", file.display()));
    line(&format!(
        "their record    {}",
        arguments.out.join("release.json").display()
    ));
    Ok(())
}

fn declare(client: &Client, data: &Path, key: &str) -> Result<String> {
    let declaration = task::declaration(data)?;
    let created = client
        .post("/v1/datasets", key, &declaration)?
        .expect(201)?;
    let id = created["dataset_id"].as_str().context("no dataset_id")?;
    line(&format!("dataset {id}"));
    line(&format!(
        "{} names the patient; {} quasi-identifiers; {} is sensitive",
        task::SUBJECT,
        task::QUASI_IDENTIFIERS.len(),
        task::SENSITIVE
    ));
    Ok(id.to_owned())
}

fn refused(client: &Client, batches: &str, data: &Path, key: &str) -> Result<()> {
    let sample = std::fs::read_to_string(data.join("sample.csv"))?;
    let broken = task::broken_upload(&sample);
    let answer = client.upload(batches, key, broken.as_bytes())?;
    screen::problem(answer.status, &answer.body);
    ensure!(answer.status == 422, "a broken upload was not refused");
    ensure!(
        answer.body["errors"]
            .as_array()
            .is_some_and(|all| all.len() == 2),
        "two mistakes were made, not two were named"
    );
    let dataset = batches.trim_end_matches("/batches");
    let rows = client.get(dataset)?.expect(200)?["rows"].clone();
    ensure!(rows == 0, "a refused upload left {rows} rows");
    line("rows stored: 0");
    Ok(())
}

fn upload(client: &Client, batches: &str, data: &Path, key: &str) -> Result<()> {
    let path = data.join("sample.csv");
    let bytes = std::fs::metadata(&path)?.len();
    let bar = bytes_bar(bytes, "sending");
    let begun = Instant::now();
    let first = client
        .upload(batches, key, bar.wrap_read(File::open(&path)?))?
        .expect(201)?;
    end_bar(
        &bar,
        &format!(
            "sent {bytes} bytes, {} rows stored in {:.2} s",
            first["rows"],
            begun.elapsed().as_secs_f64()
        ),
    );
    let again = client
        .upload(batches, key, File::open(&path)?)?
        .expect(201)?;
    ensure!(
        first["batch_id"] == again["batch_id"],
        "the same upload was stored twice"
    );
    line("sent again with the same Idempotency-Key: the same batch, nothing twice");
    Ok(())
}

fn stored(client: &Client, dataset_id: &str) -> Result<Value> {
    let dataset = client
        .get(&format!("/v1/datasets/{dataset_id}"))?
        .expect(200)?;
    line(&format!(
        "stored: {} encounters of {} patients in {} batch; {} policies to choose from",
        dataset["rows"],
        dataset["subjects"],
        dataset["batches"],
        text(&dataset["search_space"])
    ));
    Ok(dataset)
}

fn search(client: &Client, dataset_id: &str, key: &str) -> Result<String> {
    let submitted = client
        .post("/v1/jobs", key, &task::job(dataset_id))?
        .expect(202)?;
    let job_id = submitted["job_id"].as_str().context("no job_id")?;
    let space = text(&submitted["progress"]["search_space"]);
    let bar = search_bar(space.parse().unwrap_or(0));
    let mut shown = 0.0;
    let job = loop {
        let job = client
            .get(&format!("/v1/jobs/{job_id}?wait=1"))?
            .expect(200)?;
        let state = text(&job["state"]);
        if let Ok(space) = text(&job["progress"]["search_space"]).parse() {
            bar.set_length(space);
        }
        bar.set_position(job["progress"]["evaluations"].as_u64().unwrap_or(0));
        bar.set_message(text(&job["progress"]["phase"]));
        let now = format!("{state}, {} evaluated", job["progress"]["evaluations"]);
        // Without a terminal a line per tenth of the work takes the bar's place.
        let tenth = (10.0 * job["progress"]["fraction"].as_f64().unwrap_or(0.0)).floor();
        if !bars_are_seen() && tenth > shown {
            line(&now);
            shown = tenth;
        }
        if state != "queued" && state != "running" {
            break job;
        }
    };
    if job["state"] != "succeeded" || job["outcome"] != "front" {
        bail!("the job ended without a front:\n{job:#}");
    }
    let summary = format!(
        "job {job_id}: {} policies evaluated",
        job["progress"]["evaluations"]
    );
    end_bar(&bar, &summary);
    Ok(job_id.to_owned())
}

fn show_front(front: &Value, dataset: &Value) -> Result<()> {
    let rows_in = front["rows_in"].as_u64().context("no rows_in")?;
    line(&format!(
        "search {}, {} of {} policies in {} ms{}",
        text(&front["search"]["method"]),
        front["search"]["evaluations"],
        text(&front["search"]["search_space"]),
        front["search"]["elapsed_ms"],
        if front["search"]["complete"] == true {
            "; complete: no better policy exists"
        } else {
            ""
        }
    ));
    let table = screen::front(front, dataset, rows_in).to_string();
    for row in table.lines() {
        line(row);
    }
    line(
        "level 0 is the value itself, the last level is *; H is the mean depth; k counts patients",
    );
    line(&format!(
        "<- recommended: {}",
        text(&front["recommendation_rule"])
    ));
    Ok(())
}

fn release(
    client: &Client,
    job_id: &str,
    front: &Value,
    out: &Path,
    run: &str,
) -> Result<(PathBuf, Value)> {
    let order = json!({ "job_id": job_id, "solution_id": front["recommended"] });
    let made = client
        .post("/v1/releases", &format!("{run}-release"), &order)?
        .expect(201)?;
    let id = made["release_id"].as_str().context("no release_id")?;
    let record = client.get(&format!("/v1/releases/{id}"))?.expect(200)?;
    line(&format!(
        "release {id}, verified by the service: {} checks, {} classes, k = {}",
        record["verification"]["checks"]
            .as_array()
            .map_or(0, Vec::len),
        record["verification"]["classes"],
        record["verification"]["k"]
    ));
    std::fs::create_dir_all(out)?;
    let file = out.join("release.csv");
    let bytes = record["csv_bytes"].as_u64().unwrap_or(0);
    let bar = bytes_bar(bytes, "receiving");
    client.download(&format!("/v1/releases/{id}/data"), &file, |more| {
        bar.inc(more);
    })?;
    end_bar(&bar, &format!("received {bytes} bytes"));
    let text = serde_json::to_string_pretty(&record)? + "\n";
    std::fs::write(out.join("release.json"), text)?;
    Ok((file, record))
}
