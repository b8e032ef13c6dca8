//! Sessions that the record does not know, because it was lost or damaged: their directories tell of them.
//!
//! What a session was started as stands in a file in its directory, too. Where that is missing, as it is for sessions of
//! earlier versions, the holder's files and its environment say most of it. Messages and history were in the record alone.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ostler_core::{SessionName, Wall};
use ostler_hold::{SessionDir, Spec, write_atomically};
use ostler_store::{NewSession, Session, Store, StoreError};

use crate::home::Home;

/// The file that says what a session was started as.
const FILE: &str = "session.json";

/// Writes down what a session was started as, in its directory.
pub(crate) fn write_down(home: &Home, start: &NewSession) -> io::Result<()> {
    let path = home.sessions().join(&start.id).join(FILE);
    if path.exists() {
        return Ok(());
    }
    write_atomically(&path, &serde_json::to_vec(start)?)
}

/// Records the sessions that have a directory and are not in the record; whether they run, their actors find out.
pub(crate) fn record_all(home: &Home, store: &mut Store, now: Wall) -> Result<Vec<String>, StoreError> {
    let known: HashSet<String> = store.sessions(true)?.into_iter().map(|session| session.start.id).collect();
    let mut recorded = Vec::new();
    for id in directories(home) {
        if known.contains(&id) {
            continue;
        }
        let Some(mut session) = describe(&home.sessions().join(&id), &id) else { continue };
        let names: Vec<String> =
            store.sessions(false)?.into_iter().map(|session| session.start.name).collect();
        let wanted = session.start.name.parse().unwrap_or_else(|_| SessionName::for_program(&id));
        session.start.name =
            wanted.first_free(|name| names.iter().any(|taken| taken == name.as_str())).to_string();
        store.find_again(&session, now)?;
        tracing::warn!(session = %session.start.name, id, "a session that the record did not know is found again");
        recorded.push(session.start.name);
    }
    Ok(recorded)
}

/// Ids of the sessions whose holder lives.
pub fn held(home: &Home) -> Vec<String> {
    let is_held = |id: &String| present(&home.sessions().join(id)).is_some_and(|(_, dir)| dir.is_held());
    directories(home).into_iter().filter(is_held).collect()
}

/// Ids of the sessions that have a directory.
fn directories(home: &Home) -> Vec<String> {
    let entries = fs::read_dir(home.sessions()).into_iter().flatten().flatten();
    let mut ids: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    ids.sort();
    ids
}

/// The directory of the last process, and its number.
fn present(directory: &Path) -> Option<(u32, SessionDir)> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    let later = entries.filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((number, SessionDir::new(entry.path())))
    });
    let first = (1, SessionDir::new(directory));
    let begun = |(_, dir): &(u32, SessionDir)| dir.spec().is_file();
    later.chain([first]).filter(begun).max_by_key(|(number, _)| *number)
}

/// What a session's directory says of it.
fn describe(directory: &Path, id: &str) -> Option<Session> {
    let (process, dir) = present(directory)?;
    let spec = Spec::from_bytes(&fs::read(dir.spec()).ok()?).ok()?;
    let began = changed(&dir.spec());
    let written = fs::read(directory.join(FILE)).ok();
    let written: Option<NewSession> = written.and_then(|written| serde_json::from_slice(&written).ok());
    let mut start = written.filter(|start| start.id == id).unwrap_or_else(|| of_spec(&spec, id, &dir));
    (start.cols, start.rows) = (spec.cols, spec.rows);
    start.dir = dir.path().display().to_string();
    Some(Session { process, began, ..Session::new(start) })
}

/// What the holder was to run.
fn of_spec(spec: &Spec, id: &str, dir: &SessionDir) -> NewSession {
    let program = spec.program.to_string_lossy().into_owned();
    let words = spec.args.iter().map(|arg| arg.to_string_lossy().into_owned());
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let agent = given(&spec.agent);
    // An agent's arguments are ours for the most part, and would be given to its next process twice.
    let command = std::iter::once(program.clone()).chain(words.filter(|_| agent.is_none())).collect();
    NewSession {
        id: id.to_owned(),
        name: name(dir).unwrap_or_else(|| SessionName::for_program(&program).to_string()),
        command,
        cwd: spec.cwd.display().to_string(),
        cols: spec.cols,
        rows: spec.rows,
        dir: dir.path().display().to_string(),
        created: changed(&dir.spec()),
        agent,
        agent_version: given(&spec.agent_version),
        request: None,
    }
}

/// The name of a session, from the environment of its holder.
fn name(dir: &SessionDir) -> Option<String> {
    let holder = dir.read_identity().filter(ostler_hold::Identity::is_alive)?;
    let environ = fs::read(PathBuf::from(format!("/proc/{}/environ", holder.pid))).ok()?;
    let value = environ.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"OSTLER_SESSION="))?;
    Some(std::ffi::OsStr::from_bytes(value).to_str()?.to_owned())
}

fn changed(file: &Path) -> Wall {
    let at = file.metadata().and_then(|metadata| metadata.modified());
    let since = at.ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    Wall(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn home(directory: &Path) -> Home {
        let variable = |name: &str| (name == "OSTLER_HOME").then(|| OsString::from(directory));
        Home::resolve(variable).unwrap()
    }

    fn spec() -> Spec {
        Spec {
            program: "/bin/sh".into(),
            argv0: "sh".into(),
            args: vec!["-c".into(), "read x".into()],
            cwd: "/tmp".into(),
            cols: 90,
            rows: 30,
            ring: 4096,
            record: 0,
            open_files: 0,
            umask: 0o22,
            agent: String::new(),
            agent_version: String::new(),
        }
    }

    fn started(home: &Home, id: &str, process: Option<u32>) -> SessionDir {
        let mut path = home.sessions().join(id);
        path.extend(process.map(|process| process.to_string()));
        let dir = SessionDir::new(path);
        dir.create().unwrap();
        fs::write(dir.spec(), spec().to_bytes()).unwrap();
        dir
    }

    #[test]
    fn a_session_is_found_again_as_what_it_was_started_as() {
        let directory = tempfile::tempdir().unwrap();
        let home = home(&directory.path().join("home"));
        started(&home, "a", None);
        let start = NewSession {
            name: "named".into(),
            request: Some("{}".into()),
            ..of_spec(&spec(), "a", &SessionDir::new("/gone"))
        };
        write_down(&home, &start).unwrap();
        let later = started(&home, "a", Some(2));
        // One of an earlier version, and things that are no session.
        started(&home, "b", None);
        fs::create_dir(home.sessions().join("empty")).unwrap();
        fs::write(home.sessions().join("file"), "").unwrap();
        let mut store = Store::open(&directory.path().join("db")).unwrap();
        assert_eq!(record_all(&home, &mut store, Wall(5)).unwrap(), ["named", "sh"]);
        let found = store.session("a").unwrap().unwrap();
        assert_eq!((found.process, found.start.dir.as_str()), (2, later.path().to_str().unwrap()));
        assert_eq!((found.start.request.as_deref(), found.start.cols), (Some("{}"), 90));
        let other = store.session("b").unwrap().unwrap();
        assert_eq!((other.start.command.join(" ").as_str(), other.process), ("/bin/sh -c read x", 1));
        assert_eq!(record_all(&home, &mut store, Wall(6)).unwrap(), Vec::<String>::new());
    }
}
