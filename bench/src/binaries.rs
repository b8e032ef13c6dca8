//! The programs to measure.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// Returns the `ostler` to measure: the given one, or the `dist` build of this workspace.
pub(crate) fn ready(given: Option<PathBuf>, no_build: bool) -> Result<PathBuf> {
    let ostler = if let Some(given) = given {
        given.canonicalize().with_context(|| format!("no file {}", given.display()))?
    } else {
        // Cargo sets this for what it runs; without it, whoever runs us has built already.
        if let Some(cargo) = std::env::var_os("CARGO").filter(|_| !no_build) {
            build(Path::new(&cargo))?;
        }
        dist_directory()?.join("ostler")
    };
    for file in [ostler.clone(), ostler.with_file_name("ostler-hold")] {
        ensure!(
            file.is_file(),
            "there is no {}; build it: cargo build --profile dist --workspace, or give --ostler FILE",
            file.display()
        );
    }
    Ok(ostler)
}

fn build(cargo: &Path) -> Result<()> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("Cargo.toml");
    let status = Command::new(cargo)
        .args(["build", "--profile", "dist", "--workspace", "--quiet", "--manifest-path"])
        .arg(&manifest)
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot run {}", cargo.display()))?;
    if !status.success() {
        bail!("the build failed; with --no-build, the binaries of the last one are measured");
    }
    Ok(())
}

/// Where cargo puts the binaries of the `dist` profile, found from where it put this one, whatever profile that is of.
fn dist_directory() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot tell where this program lies")?;
    let profiles = own.parent().and_then(Path::parent).context("this program lies in no target directory")?;
    Ok(profiles.join("dist"))
}
