//! Collects the built-in presets, so that adding an agent is adding a file.

#![allow(clippy::disallowed_methods, reason = "the library has no files, its build does")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let agents = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("agents");
    println!("cargo::rerun-if-changed={}", agents.display());
    let mut files: Vec<PathBuf> =
        fs::read_dir(&agents)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut list = String::from("&[\n");
    for file in &files {
        let name = file.file_stem().unwrap_or_default().display();
        let _ =
            writeln!(list, "    ({:?}, include_str!({:?})),", name.to_string(), file.display().to_string());
    }
    list.push_str("]\n");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("built_in.rs"), list)
}
