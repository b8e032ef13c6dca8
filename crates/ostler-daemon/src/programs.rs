//! Finding the programs to run: the user's, and the holder.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ostler_hold::Launcher;

/// Why a program cannot be run.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error("no program called {0:?} is on the PATH")]
    NotFound(String),
    #[error("there is no file {0}")]
    Missing(PathBuf),
    #[error("{0} is not an executable file")]
    NotExecutable(PathBuf),
    #[error("{0} is a script for {1}, which is not there")]
    NoInterpreter(PathBuf, PathBuf),
}

/// Finds the file to execute: a name with a slash is a path seen from `cwd`, any other is looked up on `path`.
pub(crate) fn find(program: &OsStr, path: &OsStr, cwd: &Path) -> Result<PathBuf, ProgramError> {
    let file = locate(program, path, cwd)?;
    // The kernel would say that the file itself is not there.
    match interpreter(&file) {
        Some(interpreter) if !cwd.join(&interpreter).exists() => {
            Err(ProgramError::NoInterpreter(file, interpreter))
        }
        _ => Ok(file),
    }
}

/// The interpreter that the first line of a script names.
fn interpreter(file: &Path) -> Option<PathBuf> {
    let mut first = [0; 256];
    let count = std::fs::File::open(file).and_then(|mut file| file.read(&mut first)).ok()?;
    let line = first[..count].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let name = line.split(u8::is_ascii_whitespace).find(|word| !word.is_empty())?;
    Some(OsStr::from_bytes(name).into())
}

fn locate(program: &OsStr, path: &OsStr, cwd: &Path) -> Result<PathBuf, ProgramError> {
    if program.as_bytes().contains(&b'/') {
        let file = cwd.join(program);
        return match file.metadata() {
            Err(_) => Err(ProgramError::Missing(file)),
            Ok(metadata) if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 => {
                Err(ProgramError::NotExecutable(file))
            }
            Ok(_) => Ok(file),
        };
    }
    std::env::split_paths(path)
        .map(|dir| cwd.join(dir).join(program))
        .find(|file| {
            file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
        .ok_or_else(|| ProgramError::NotFound(program.to_string_lossy().into_owned()))
}

/// The holder program: the small one beside `executable` if it is there, else `executable` itself.
pub(crate) fn launcher(executable: &Path) -> Launcher {
    let beside = executable.with_file_name("ostler-hold");
    if beside.is_file() {
        Launcher { program: beside, args: Vec::new() }
    } else {
        Launcher { program: executable.to_owned(), args: vec!["own-terminal".into()] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_or_the_reason_is_told() {
        let cwd = Path::new("/");
        let path = OsStr::new("/no-such-dir:/bin");
        assert!(find(OsStr::new("sh"), path, cwd).unwrap().ends_with("bin/sh"));
        assert_eq!(find(OsStr::new("bin/sh"), OsStr::new(""), cwd).unwrap(), Path::new("/bin/sh"));
        assert_eq!(find(OsStr::new("nope"), path, cwd), Err(ProgramError::NotFound("nope".into())));
        assert_eq!(find(OsStr::new("./nope"), path, cwd), Err(ProgramError::Missing("/./nope".into())));
        assert_eq!(find(OsStr::new("/etc"), path, cwd), Err(ProgramError::NotExecutable("/etc".into())));
    }
}
