//! The program: parses the command line and runs one subcommand.

use std::fs::File;
use std::io::{Read, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use kindred::app::{self, App};
use kindred::arguments::{Arguments, Command, Experiment, KeyAction};
use kindred::{config::Config, http, postgres, reading, reproduce, rotation, telemetry};

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let config = || {
        let config = Config::load(arguments.config.as_deref())?;
        telemetry::init(&config.log);
        tracing::info!(?config, version = env!("CARGO_PKG_VERSION"), "configured");
        anyhow::Ok(config)
    };
    match arguments.command {
        Command::Serve => app::until_told(App::serve(config()?)).await?,
        Command::Work => app::until_told(App::work(config()?)).await?,
        Command::Migrate => app::migrate(config()?).await?,
        Command::Keys {
            action: KeyAction::Rotate,
        } => rotation::rotate(config()?).await?,
        Command::Keys {
            action: KeyAction::Reader { key },
        } => {
            let public = reading::reader_key(&key)?;
            writeln!(std::io::stdout(), "{public}").context("standard output")?;
        }
        Command::Open {
            key,
            grant,
            partition,
        } => {
            let partition: Box<dyn Read> = match &partition {
                Some(path) => {
                    Box::new(File::open(path).with_context(|| path.display().to_string())?)
                }
                None => Box::new(std::io::stdin()),
            };
            let partition = std::io::BufReader::new(partition);
            reading::open(&key, &grant, partition, &mut std::io::stdout().lock())?;
        }
        Command::Openapi => {
            let document = http::openapi().to_pretty_json()?;
            writeln!(std::io::stdout(), "{document}").context("standard output")?;
        }
        Command::Postgres {
            temporary,
            data_directory,
            command,
        } => {
            let configured = || config().map(|config| config.directory());
            let directory = match data_directory {
                None if temporary => None,
                given => Some(given.map_or_else(configured, Ok)?),
            };
            let code = postgres::with_server(directory.as_deref(), &command).await?;
            return Ok(ExitCode::from(code));
        }
        Command::Reproduce {
            experiment: Experiment::Pilot,
        } => {
            reproduce::pilot(&mut std::io::stdout().lock())?;
        }
        Command::Reproduce {
            experiment: Experiment::Tradeoff { data },
        } => {
            reproduce::tradeoff(data.as_deref(), &mut std::io::stdout().lock())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
