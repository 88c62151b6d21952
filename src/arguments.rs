//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// An anonymization service for hospital tables.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    /// A TOML file over the defaults; `KINDRED__SECTION__KEY` variables override it.
    #[arg(long, global = true, env = "KINDRED_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serves the HTTP interface, and works on jobs too unless the configuration says otherwise.
    Serve,
    /// Works on jobs only.
    Work,
    /// Brings the database's schema up to date.
    Migrate,
    /// Works on keys.
    Keys {
        /// How.
        #[command(subcommand)]
        action: KeyAction,
    },
    /// Opens a sealed partition with a reader's own key and prints its rows as CSV.
    Open {
        /// The reader's private key, as `kindred keys reader` makes it.
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// The reader's record, the answer of `GET /v1/datasets/{id}/readers/{reader_id}`.
        #[arg(long, value_name = "FILE")]
        grant: PathBuf,
        /// The partition, the answer of `GET /v1/datasets/{id}/partitions/{partition}`; standard input if absent.
        #[arg(value_name = "PARTITION")]
        partition: Option<PathBuf>,
    },
    /// Prints the `OpenAPI` document.
    Openapi,
    /// Runs a command with `DATABASE_URL` set to a private Postgres server, and stops the server afterwards.
    Postgres {
        /// Use a server that is thrown away afterwards.
        #[arg(long, conflicts_with = "data_directory")]
        temporary: bool,
        /// Use the server of this data directory instead of the configured one.
        #[arg(long, value_name = "DIRECTORY")]
        data_directory: Option<PathBuf>,
        /// The command and its arguments.
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Repeats a published experiment and prints its figures beside the published ones.
    Reproduce {
        /// Which.
        #[command(subcommand)]
        experiment: Experiment,
    },
}

/// Work on keys.
#[derive(Debug, Clone, Subcommand)]
pub enum KeyAction {
    /// Makes a new master key, wraps every data key by it, and puts its file in the place of the old one. Stop every
    /// other process first. If it is broken off, run it again.
    Rotate,
    /// Makes a reader's private key in a file of mode 0600, unless it is there, and prints the public key.
    Reader {
        /// The file.
        #[arg(value_name = "FILE")]
        key: PathBuf,
    },
}

/// A published experiment.
#[derive(Debug, Clone, Subcommand)]
pub enum Experiment {
    /// Genetic against exact and random search on 60 generated tables.
    Pilot,
    /// Information loss, entropy and downstream models by method, on a bundled sample or on public files.
    Tradeoff {
        /// Folder with `credit_default/UCI_Credit_Card.csv` and `diabetes130/diabetic_data.csv`, or one of them.
        #[arg(long, value_name = "FOLDER")]
        data: Option<PathBuf>,
    },
}
