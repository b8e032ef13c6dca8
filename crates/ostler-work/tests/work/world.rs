//! A project, a home with a secret in it, and a sandbox.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use ostler_work::sandbox::{Containment, CopyLimits, Sandbox, SandboxError, SandboxLimits, SandboxResult};
use ostler_work::{Exclude, Keep};
use tempfile::TempDir;

use crate::support::Project;

/// What an attempt prints when it gets through.
pub(crate) const ESCAPED: &str = "ESCAPED";

/// A project, a home with a secret, and a place for copies.
pub(crate) struct World {
    pub(crate) project: Project,
    pub(crate) home: TempDir,
    pub(crate) scratch: TempDir,
    pub(crate) sandbox: Sandbox,
    pub(crate) containment: Containment,
}

pub(crate) fn reachable() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

impl World {
    pub(crate) fn new(containment: Containment) -> Self {
        let (project, home, scratch) = (Project::new(), reachable(), reachable());
        fs::write(home.path().join("secret"), "the secret").unwrap();
        // Only the sandbox is in the way.
        fs::set_permissions(home.path().join("secret"), fs::Permissions::from_mode(0o666)).unwrap();
        let sandbox = Sandbox {
            launcher: vec![env!("CARGO_BIN_EXE_ostler-sandbox").into()],
            scratch: scratch.path().to_owned(),
            readable: Vec::new(),
            private: vec![home.path().to_owned()],
            path: "/usr/local/bin:/usr/bin:/bin".into(),
            env: Vec::new(),
            exclude: Exclude::default(),
            copy_limits: CopyLimits::default(),
            limits: SandboxLimits { wall: Duration::from_secs(30), ..SandboxLimits::default() },
            keep: Keep::default(),
            namespaces: containment == Containment::Namespaces,
        };
        Self { project, home, scratch, sandbox, containment }
    }

    pub(crate) async fn run(&self, words: &[&str]) -> Result<SandboxResult, SandboxError> {
        let copy = self.sandbox.copy(self.project.dir.path()).await?;
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let result = self.sandbox.run(&copy, &words).await?;
        assert_eq!(result.containment, self.containment);
        Ok(result)
    }

    pub(crate) async fn sh(&self, line: &str) -> SandboxResult {
        self.run(&["sh", "-c", line]).await.unwrap()
    }

    /// Runs an attempt in Perl, with `$secret`, `$outside` and `$pid` (of this process) at hand; nothing it
    /// tries may succeed.
    pub(crate) async fn attempt(&self, code: &str) {
        let (home, pid) = (self.home.path().display(), std::process::id());
        let setup = format!(
            "$| = 1; $secret = '{home}/secret'; $outside = '{home}'; $pid = {pid}; $buffer = 'x' x 200; $name = 'user.x';"
        );
        let done = self.run(&["perl", "-e", &format!("{setup} {code}")]).await.unwrap();
        let (said, complained) = (done.stdout.text(), done.stderr.text());
        assert!(!said.contains(ESCAPED), "{:?}: {code}: {said}", self.containment);
        assert!(said.contains("tried"), "{:?}: {code}: {:?} {said} {complained}", self.containment, done.end);
    }

    pub(crate) fn refused(result: Result<SandboxResult, SandboxError>) -> String {
        match result {
            Err(SandboxError::Refused(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }
}

/// Every way to contain that this system has.
pub(crate) async fn worlds() -> Vec<World> {
    let mut worlds = Vec::new();
    for containment in [Containment::Namespaces, Containment::Rules] {
        let world = World::new(containment);
        let copy = world.sandbox.copy(world.project.dir.path()).await.unwrap();
        match world.sandbox.run(&copy, &["true".into()]).await {
            Ok(done) if done.containment == containment => worlds.push(world),
            Ok(_) => println!("left out: this system allows no namespaces"),
            // Then nothing may be run at all.
            Err(error) => {
                assert!(error.to_string().contains("landlock"), "{error}");
                println!("left out: {error}");
            }
        }
    }
    worlds
}
