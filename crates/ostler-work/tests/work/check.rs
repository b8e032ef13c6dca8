//! Checks with real programs.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use ostler_testkit::wait::{until_file, until_gone};
use ostler_work::check::{Check, CheckCommand, CheckError, CheckResult, run};
use ostler_work::{End, Keep};

use crate::support::{Project, waiting};

fn shell(project: &Project, line: &str) -> Check {
    Check {
        command: CheckCommand::Shell(line.into()),
        cwd: project.dir.path().to_owned(),
        env: std::env::vars_os().collect(),
        limit: Duration::from_secs(30),
        keep: Keep::default(),
        mark: None,
    }
}

async fn result(project: &Project, line: &str) -> CheckResult {
    run(&shell(project, line)).await.unwrap()
}

/// Waits until a file has something in it, while the check goes on.
async fn contents(path: &Path) -> String {
    let path = path.to_owned();
    let whole = |path: &Path| fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'));
    waiting(move || until_file(&path, "it is written", || whole(&path))).await
}

/// Waits until a process is gone, or waits to be reaped by whoever started it.
async fn end_of(pid: &str) {
    let pid = pid.trim().parse().unwrap();
    waiting(move || until_gone("the process is gone", pid)).await;
}

#[tokio::test]
async fn status_output_and_place_are_told() {
    let project = Project::plain();
    project.write("here", "it is here");
    let done = result(&project, "cat here; echo oops >&2; exit 3").await;
    assert_eq!((done.end, done.passed()), (End::Exited(3), false));
    assert_eq!((done.stdout.text(), done.stderr.text()), ("it is here".into(), "oops\n".into()));
    assert_eq!(done.first_error("c").as_deref(), Some("oops"));
    let done = result(&project, "kill -TERM $$").await;
    assert_eq!(done.end, End::Signalled(15));
    let complaint = done.first_error("kill  -15\n$$");
    assert_eq!(complaint.as_deref(), Some("`kill -15 $$` was ended by signal 15 and printed nothing"));
    let done = result(&project, "echo '1 failed'").await;
    assert!(done.passed() && done.first_error("c").is_none());
    let argv = CheckCommand::Argv(["printf", "%s", "$HOME *"].map(OsString::from).to_vec());
    let done = run(&Check { command: argv, ..shell(&project, "") }).await.unwrap();
    assert_eq!(done.stdout.text(), "$HOME *");
}

#[tokio::test]
async fn a_check_does_not_know_of_the_session_around_it() {
    let project = Project::plain();
    let env = [
        ("OSTLER_SESSION_ID", "s"),
        ("OSTLER_HOOK_NONCE", "secret"),
        ("OSTLER_HOME", "/h"),
        ("TMUX", "x"),
        ("KEPT", "yes"),
        ("PATH", "/usr/bin:/bin"),
    ];
    let check = Check {
        env: env.map(|(name, value)| (name.into(), value.into())).to_vec(),
        ..shell(&project, "env; [ -t 0 ] || echo no terminal; read x || echo no input")
    };
    let text = run(&check).await.unwrap().stdout.text();
    let has = |part: &str| text.lines().any(|line| line.starts_with(part));
    assert!(has("KEPT=yes") && has("OSTLER_HOME=/h") && has("no terminal") && has("no input"), "{text}");
    assert!(!has("OSTLER_SESSION_ID") && !has("OSTLER_HOOK_NONCE") && !has("TMUX"), "{text}");
}

#[tokio::test]
async fn output_is_bounded_and_a_flood_ends_in_time() {
    let project = Project::plain();
    let keep = Keep { head: 10, tail: 5 };
    let line = "echo first line; yes | head -c 5000000; echo; echo -n last";
    let done = run(&Check { keep, ..shell(&project, line) }).await.unwrap();
    assert_eq!(done.stdout.text(), "first line\n[... 5000001 bytes left out ...]\n\nlast");
    let limit = Duration::from_millis(300);
    let done = run(&Check { limit, keep, ..shell(&project, "yes") }).await.unwrap();
    assert_eq!(done.end, End::TimedOut);
    assert!(done.took < Duration::from_secs(10), "{:?}", done.took);
}

#[tokio::test]
async fn everything_ends_when_the_time_is_over() {
    let project = Project::plain();
    // One in the group, one in a session of its own, and one in another group whose parent is gone.
    let line = "sleep 1000 & echo $! > group; setsid sh -c 'echo $$ > session; sleep 1000; :' & \
                (setsid sh -c 'echo $$ > orphan; sleep 1000; :' &) ; while [ ! -s session ] || [ ! -s orphan ]; do :; done; \
                echo error: too slow; touch ready; wait";
    let check = Check { limit: Duration::from_secs(5), ..shell(&project, line) };
    let done = run(&check).await.unwrap();
    assert_eq!(done.end, End::TimedOut);
    assert_eq!(
        done.first_error("slow").as_deref(),
        Some("`slow` took too long and was ended; last: error: too slow")
    );
    for name in ["group", "session", "orphan"] {
        end_of(&fs::read_to_string(project.path(name)).unwrap()).await;
    }
}

#[tokio::test]
async fn everything_ends_when_nobody_waits_any_more() {
    let project = Project::plain();
    let check = shell(&project, "setsid sh -c 'echo $$ > session; exec sleep 1000' & echo $$ > main; wait");
    let task = tokio::spawn(async move { run(&check).await });
    let session = contents(&project.path("session")).await;
    let main = contents(&project.path("main")).await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    end_of(&session).await;
    end_of(&main).await;
}

#[tokio::test]
async fn what_is_left_in_the_background_neither_holds_it_up_nor_stays() {
    let project = Project::plain();
    let done = result(&project, "sleep 1000 & echo $! > pid; echo done").await;
    assert_eq!((done.end, done.stdout.text()), (End::Exited(0), "done\n".into()));
    end_of(&fs::read_to_string(project.path("pid")).unwrap()).await;
    // A service that made itself independent on purpose is let be, even if it keeps the output.
    let done = result(
        &project,
        "setsid sh -c 'echo $$ > service; exec sleep 1000' & while [ ! -s service ]; do :; done",
    )
    .await;
    assert!(done.passed());
    let service = contents(&project.path("service")).await;
    assert!(fs::read_to_string(format!("/proc/{}/stat", service.trim())).is_ok());
    let pid = rustix::process::Pid::from_raw(service.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn what_cannot_be_run_is_no_verdict_on_the_work() {
    let project = Project::plain();
    let argv = |words: &[&str]| CheckCommand::Argv(words.iter().map(OsString::from).collect());
    for empty in [argv(&[]), argv(&[""]), CheckCommand::Shell(" \n".into())] {
        let error = run(&Check { command: empty, ..shell(&project, "") }).await.unwrap_err();
        assert!(matches!(error, CheckError::Empty));
    }
    let error = run(&Check { command: argv(&["no-such-program"]), ..shell(&project, "") }).await.unwrap_err();
    assert!(error.to_string().contains("no-such-program"), "{error}");
    let error = run(&Check { cwd: project.path("nowhere"), ..shell(&project, "true") }).await.unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}

#[tokio::test]
async fn marked_work_can_be_ended_by_whoever_comes_later() {
    let project = Project::plain();
    let mark = format!("mark-{}", project.dir.path().display());
    let check =
        Check { mark: Some(mark.clone()), ..shell(&project, "setsid sleep 600 & echo $! > pid; wait") };
    let file = project.path("pid");
    let (done, pid) = tokio::join!(run(&check), async {
        let pid = contents(&file).await;
        ostler_work::end_marked(&mark);
        pid
    });
    assert_eq!(done.unwrap().end, End::Signalled(9));
    end_of(&pid).await;
}
