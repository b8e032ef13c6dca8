//! What the registries say is the newest release.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::agent::Install;

/// The newest release of the first package of an agent.
pub fn newest(install: &Install) -> Result<String> {
    if let Some(package) = install.npm.first().and_then(|package| name(package, "@")) {
        return asked("npm", &["view", package, "version"], |said| said.trim().to_owned());
    }
    let package = install
        .pip
        .first()
        .and_then(|package| name(package, "=="))
        .context("no package is named whose number is that of the release")?;
    asked(
        install.python.as_deref().unwrap_or("python3"),
        &["-m", "pip", "index", "versions", package],
        |said| in_parentheses(said).to_owned(),
    )
}

/// The package without the place of its release.
fn name<'a>(package: &'a str, before: &str) -> Option<&'a str> {
    package.strip_suffix("{version}")?.strip_suffix(before)
}

/// `NAME (1.2.3)`, and more lines.
fn in_parentheses(said: &str) -> &str {
    let inner = said.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    inner.map(|(inner, _)| inner).unwrap_or_default()
}

fn asked(program: &str, args: &[&str], read: impl Fn(&str) -> String) -> Result<String> {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{program} does not run; is it installed?"))?;
    let version = read(&String::from_utf8_lossy(&output.stdout));
    if !output.status.success() || !version.starts_with(|c: char| c.is_ascii_digit()) {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{program} {} does not tell the newest release: {}", args.join(" "), said.trim());
    }
    Ok(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_answers() {
        assert_eq!(name("@a/b@{version}", "@"), Some("@a/b"));
        assert_eq!(name("a==1.0", "=="), None);
        assert_eq!(in_parentheses("a-b (0.86.2)\nAvailable versions: 0.86.2, 0.86.1\n"), "0.86.2");
        assert_eq!(in_parentheses("nothing"), "");
    }
}
