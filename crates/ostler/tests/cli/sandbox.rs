//! The program as its own sandbox.

use std::process::{Command, Stdio};
use std::time::Duration;

use ostler_work::sandbox::{CopyLimits, Sandbox, SandboxLimits};
use ostler_work::{End, Exclude, Keep};

#[tokio::test]
async fn the_program_contains_a_command() {
    let (tree, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(tree.path().join("file"), "in the tree").unwrap();
    let sandbox = Sandbox {
        launcher: vec![env!("CARGO_BIN_EXE_ostler").into(), "sandbox-exec".into()],
        scratch: scratch.path().to_owned(),
        readable: Vec::new(),
        private: Vec::new(),
        path: "/usr/bin:/bin".into(),
        env: Vec::new(),
        exclude: Exclude::default(),
        copy_limits: CopyLimits::default(),
        limits: SandboxLimits { wall: Duration::from_secs(30), ..SandboxLimits::default() },
        keep: Keep::default(),
        namespaces: true,
    };
    let copy = sandbox.copy(tree.path()).await.unwrap();
    match sandbox.run(&copy, &["cat", "file"].map(Into::into)).await {
        Ok(done) => assert_eq!((done.end, done.stdout.text()), (End::Exited(0), "in the tree".into())),
        // On a system that cannot contain it.
        Err(error) => assert!(error.to_string().contains("landlock"), "{error}"),
    }
}

#[test]
fn nobody_else_can_make_it_run_something() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
    command.args(["sandbox-exec", "true"]).stdin(Stdio::null());
    assert_eq!(command.status().unwrap().code(), Some(2));
}
