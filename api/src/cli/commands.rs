//! What the commands do.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;

use super::arguments::{BeginEpoch, Command, Database, Dev, Migrate, Serve};
use super::{health, signals};
use crate::dev;
use crate::program::Bound;

pub(super) async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Serve(arguments) => serve(&arguments).await,
        Command::Migrate(arguments) => migrate(&arguments).await,
        Command::BeginEpoch(arguments) => begin_epoch(&arguments).await,
        Command::Dev(arguments) => dev(arguments).await,
        Command::Check(arguments) => check(&arguments).await,
        Command::Health(arguments) => health::ask(&arguments.addresses()?),
        Command::Openapi => say(&crate::routes::openapi_text()),
    }
}

async fn serve(arguments: &Serve) -> anyhow::Result<()> {
    let shutdown = signals::shutdown()?;
    let bound = Bound::bind(&arguments.serving.listen()?).await?;
    let addresses = bound.addresses()?;
    let store = arguments.serving.store(&arguments.database.database_url);
    let Some(service) = bound.open(&store, &shutdown).await? else {
        return Ok(());
    };
    for address in addresses {
        tracing::info!(%address, "listening");
    }
    service.run(arguments.serving.config(), &shutdown).await;
    Ok(())
}

async fn dev(arguments: Dev) -> anyhow::Result<()> {
    let shutdown = signals::shutdown()?;
    let data_dir = match arguments.data_dir {
        Some(dir) => dir,
        None => dev::usual_data_dir()?,
    };
    let store = arguments.serving.store("");
    let options = dev::Options {
        data_dir,
        postgres_bin: arguments.postgres_bin,
        postgres_port: arguments.postgres_port,
        listen: arguments.serving.listen()?,
        serve: arguments.serving.config(),
        store,
    };
    dev::run(options, &shutdown, &mut std::io::stdout()).await
}

async fn migrate(arguments: &Migrate) -> anyhow::Result<()> {
    let url = &arguments.database.database_url;
    let migrated = ledger::migrate(url).await?;
    if let Some(password) = app_password(arguments.app_password_file.as_deref())? {
        ledger::set_app_password(url, &password).await?;
    }
    say(&format!("{}\n", dev::migrated_in_words(&migrated)))
}

async fn begin_epoch(arguments: &BeginEpoch) -> anyhow::Result<()> {
    let url = &arguments.database.database_url;
    let epoch = ledger::begin_epoch(url, &arguments.reason).await?;
    say(&format!("epoch {epoch} has begun\n"))
}

/// From the file, else from the environment: a flag would show it to every user of the machine.
fn app_password(file: Option<&Path>) -> anyhow::Result<Option<String>> {
    let Some(file) = file else {
        return Ok(std::env::var("IPLEDGER_APP_PASSWORD")
            .ok()
            .filter(|text| !text.is_empty()));
    };
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("--app-password-file {}", file.display()))?;
    let password = text.trim_end_matches(['\n', '\r']);
    anyhow::ensure!(
        !password.is_empty(),
        "--app-password-file {} is empty",
        file.display()
    );
    Ok(Some(password.to_owned()))
}

async fn check(arguments: &Database) -> anyhow::Result<()> {
    let checked = ledger::check(&arguments.database_url).await?;
    say(&format!(
        "PostgreSQL {}: the schema is at version {}, and the guard is whole\n",
        checked.server, checked.version
    ))
}

/// Data on stdout.
fn say(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .context("stdout is closed")
}
