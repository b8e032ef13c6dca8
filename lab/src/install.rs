//! The agents' programs, installed once into a cache.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};

use crate::agent::{AgentFile, Install};
use crate::pool;
use crate::scene::Scene;

/// Written when an installation is complete: what was installed.
const COMPLETE: &str = ".complete";

/// How many are installed at a time: a registry takes longer to answer than a program to be unpacked.
const AT_ONCE: usize = 4;

/// Installs every release of these agents, of all if none is named: what was installed, and where it is or why it is not.
pub fn all(agents: &Path, names: &[String]) -> Result<Vec<(String, Result<PathBuf>)>> {
    let names = if names.is_empty() { AgentFile::names(agents)? } else { names.to_owned() };
    let mut releases = Vec::new();
    for name in names {
        let file = AgentFile::read(agents, &name)?;
        for version in file.versions()? {
            let install = file.resolve(&version, Scene::Reply)?.install;
            releases.push((name.clone(), version, install));
        }
    }
    let mut outcomes = pool::drain(AT_ONCE, releases, |(name, version, install)| {
        (format!("{name} {version}"), installed(&name, &version, &install))
    });
    outcomes.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(outcomes)
}

/// Returns the directory of an installed agent, and installs it first if it is not there.
pub fn installed(agent: &str, version: &str, install: &Install) -> Result<PathBuf> {
    let cache = cache()?;
    fs::create_dir_all(&cache).with_context(|| format!("cannot create {}", cache.display()))?;
    let dir = cache.join(format!("{agent}-{version}"));
    let filled = |packages: &[String]| -> Vec<String> {
        packages.iter().map(|package| package.replace("{version}", version)).collect()
    };
    let (npm, pip) = (filled(&install.npm), filled(&install.pip));
    let wanted = [&npm[..], &pip[..]].concat().join("\n");
    // One lock per release: two rigs do not install the same thing at once, nor wait for other things.
    let lock = File::create(cache.join(format!("{agent}-{version}.lock")))?;
    flock(&lock, FlockOperation::LockExclusive)?;
    if fs::read_to_string(dir.join(COMPLETE)).is_ok_and(|have| have == wanted) {
        return Ok(dir);
    }
    fs::create_dir_all(&dir)?;
    if !npm.is_empty() {
        npm_install(&dir, &npm)?;
    }
    if !pip.is_empty() {
        pip_install(&dir, install.python.as_deref().unwrap_or("python3"), &pip)?;
    }
    fs::write(dir.join(COMPLETE), wanted)?;
    Ok(dir)
}

fn npm_install(dir: &Path, packages: &[String]) -> Result<()> {
    let package = dir.join("package.json");
    if !package.exists() {
        fs::write(package, "{\"private\":true}\n")?;
    }
    let mut command = Command::new("npm");
    command.args(["install", "--no-audit", "--no-fund", "--loglevel=error"]).args(packages).current_dir(dir);
    run(command, packages)
}

fn pip_install(dir: &Path, python: &str, packages: &[String]) -> Result<()> {
    if !dir.join("bin/python").exists() {
        let mut command = Command::new(python);
        command.args(["-m", "venv"]).arg(dir);
        run(command, packages)?;
    }
    let mut command = Command::new(dir.join("bin/python"));
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
    run(command, packages)
}

fn run(mut command: Command, packages: &[String]) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let what = packages.join(" ");
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{what} cannot be installed: {program} does not run; is it installed?"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{what} cannot be installed ({program}, {}): {}", output.status, said.trim());
    }
    Ok(())
}

/// `$OSTLER_CACHE`, else the user's cache directory.
fn cache() -> Result<PathBuf> {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = var("OSTLER_CACHE")
        .or_else(|| var("XDG_CACHE_HOME").map(|dir| dir.join("ostler")))
        .or_else(|| var("HOME").map(|dir| dir.join(".cache/ostler")));
    Ok(base.context("no place for the cache: set OSTLER_CACHE")?.join("agents"))
}
