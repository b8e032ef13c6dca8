//! Honest commands in the sandbox, with namespaces and without; and what is refused.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ostler_work::sandbox::{Containment, CopyLimits, Sandbox, SandboxError, SandboxLimits, tool_dirs};
use ostler_work::{End, Exclude};
use tempfile::TempDir;

use crate::world::{ESCAPED, World, worlds};

#[tokio::test]
async fn honest_commands_work_on_a_copy() {
    for world in worlds().await {
        world.project.script("bin/tool", "echo \"tool $1\"");
        let done = world.run(&["cat", "a"]).await.unwrap();
        assert_eq!((done.end, done.stdout.text()), (End::Exited(0), "a at first\n".into()), "{done:?}");
        let done = world.run(&["bin/tool", "x y"]).await.unwrap();
        assert_eq!(done.stdout.text(), "tool x y\n");
        let line = "echo new > new && mkdir -p d/e && mv new d/e/ && cat d/e/new && rm -r dir && mktemp >/dev/null && \
                    echo x > \"$HOME/file\" && ls | sort | tr '\\n' ' '; sleep 0 & wait; git status --short";
        let done = world.sh(line).await;
        assert_eq!(done.stdout.text(), "new\na b bin d  D dir/c\n?? bin/\n?? d/\n", "{done:?}");
        assert!(world.project.path("dir/c").exists() && !world.project.path("d").exists());
        assert_eq!(world.sh("exit 7").await.end, End::Exited(7));
        let ended = world.sh("kill -TERM $$").await.end;
        // Where the kernel cannot keep signals inside, there are almost none.
        assert!(ended == End::Signalled(15) || world.containment == Containment::Rules, "{ended}");
        let done = world
            .run(&[
                "perl",
                "-e",
                "print `echo nested`; open F, '>', '/dev/null' or die; print -t STDIN ? 1 : 0",
            ])
            .await
            .unwrap();
        assert_eq!(done.stdout.text(), "nested\n0", "{done:?}");
        for program in ["python3", "node"] {
            if Path::new("/usr/bin").join(program).exists() {
                let code = if program == "node" { "console.log(6 * 7)" } else { "print(6 * 7)" };
                let flag = if program == "node" { "-e" } else { "-c" };
                let done = world.run(&[program, flag, code]).await.unwrap();
                assert_eq!(done.stdout.text(), "42\n", "{program}: {done:?}");
            }
        }
    }
}

#[tokio::test]
async fn the_environment_is_its_own() {
    for mut world in worlds().await {
        world.sandbox.env = vec![("GIVEN".into(), "yes".into())];
        let done = world.sh("env | cut -d= -f1 | sort | tr '\\n' ' '; echo; echo $GIVEN; cat /proc/self/environ 2>/dev/null | grep -c SECRET").await;
        let text = done.stdout.text();
        let names: Vec<&str> = text.lines().next().unwrap().split_whitespace().collect();
        assert_eq!(names, ["GIVEN", "HOME", "LANG", "PATH", "PWD", "TERM", "TMPDIR"]);
        assert!(text.contains("\nyes\n"));
    }
}

#[tokio::test]
async fn toolchains_in_the_home_are_shown_and_nothing_else_of_it() {
    for mut world in worlds().await {
        let tools = world.home.path().join(".cargo/bin");
        fs::create_dir_all(&tools).unwrap();
        fs::write(tools.join("cargo"), "#!/bin/sh\necho cargo 1.0\n").unwrap();
        // Whoever the sandbox runs as, the mode does not keep it from writing.
        fs::set_permissions(tools.join("cargo"), fs::Permissions::from_mode(0o757)).unwrap();
        fs::write(world.home.path().join(".cargo/credentials.toml"), "token").unwrap();
        let refused = World::refused(world.run(&["cargo", "--version"]).await);
        assert!(refused.contains("cargo is not found"), "{refused}");
        world.sandbox.readable = tool_dirs(world.home.path());
        world.sandbox.path = format!("{}:/usr/bin:/bin", tools.display()).into();
        let done = world.run(&["cargo", "--version"]).await.unwrap();
        assert_eq!(done.stdout.text(), "cargo 1.0\n", "{done:?}");
        world
            .attempt(
                "for $file ($secret, \"$outside/.cargo/credentials.toml\") { print 'ESCAPED' if open(F, $file) && <F>; }
                 for $how ('>', '>>', '+<') { print 'ESCAPED' if open(F, $how, \"$outside/.cargo/bin/cargo\"); }
                 print 'ESCAPED' if chmod 0777, \"$outside/.cargo/bin/cargo\";
                 print 'ESCAPED' if open(F, \"$outside/.cargo/bin/cargo\") && chmod(0777, *F);
                 sysopen(F, \"$outside/.cargo/bin/cargo\", 01000);
                 print 'ESCAPED' if unlink \"$outside/.cargo/bin/cargo\"; print 'tried'",
            )
            .await;
        let tool = fs::metadata(tools.join("cargo")).unwrap();
        assert_eq!(tool.permissions().mode() & 0o777, 0o757);
        assert!(tool.len() > 0, "opened to be read, and emptied (O_TRUNC)");
    }
}

#[tokio::test]
async fn limits_hold() {
    for mut world in worlds().await {
        world.sandbox.limits = SandboxLimits {
            wall: Duration::from_secs(30),
            cpu: Duration::from_secs(1),
            memory: 200 << 20,
            file_size: 1 << 20,
            open_files: 20,
            ..SandboxLimits::default()
        };
        let done = world.run(&["perl", "-e", "$x = 'x' x (500 << 20); print 'ESCAPED'"]).await.unwrap();
        assert!(!done.end.is_success() && !done.stdout.text().contains(ESCAPED), "{done:?}");
        let done = world.sh("head -c 5000000 /dev/zero > big; ls -l big | cut -d' ' -f5").await;
        assert!(done.stdout.text().contains("1048576"), "{done:?}");
        let done = world.run(&["perl", "-e", "1 while 1"]).await.unwrap();
        assert!(matches!(done.end, End::Signalled(9 | 24)), "{done:?}");
        let done =
            world.run(&["perl", "-e", "open($f[$_], 'a') or die(\"at $_\\n\") for 0..30"]).await.unwrap();
        assert!(done.stderr.text().starts_with("at "), "{done:?}");
        world.sandbox.limits.wall = Duration::from_millis(500);
        let done = world.sh("sleep 1000").await;
        assert_eq!(done.end, End::TimedOut);
    }
}

#[tokio::test]
async fn what_is_no_command_is_refused() {
    for world in worlds().await {
        let home = world.home.path().to_owned();
        let program = home.join("program");
        fs::write(&program, "#!/bin/sh\necho hi\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        symlink(&program, world.project.path("linked")).unwrap();
        let outside = program.to_str().unwrap();
        let table: [(&[&str], &str); 8] = [
            (&[], "empty"),
            (&[""], "empty"),
            (&["no-such-program"], "not found"),
            (&["./no-such-program"], "not found"),
            (&["dir/"], "not a program"),
            (&["./dir"], "not a program"),
            (&[outside], "outside"),
            (&["./linked"], "outside"),
        ];
        for (words, reason) in table {
            let refused = World::refused(world.run(words).await);
            assert!(refused.contains(reason), "{words:?}: {refused}");
        }
        let setuid = ["/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount", "/usr/bin/newgrp"];
        let is_setuid =
            |path: &&str| fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o4000 != 0);
        let program = setuid.into_iter().find(is_setuid).expect("a setuid program");
        assert!(World::refused(world.run(&[program]).await).contains("setuid"));
        // One that the command makes itself gains it nothing either.
        let done = world.sh("cp /usr/bin/id . && chmod 4755 id; ./id -u").await;
        assert!(!done.stdout.text().starts_with("0\n"), "{done:?}");
    }
}

#[tokio::test]
async fn a_launcher_that_is_none_runs_nothing() {
    let mut world = World::new(Containment::Rules);
    let marker = world.project.path("marker");
    world.sandbox.launcher = vec!["/bin/true".into()];
    let error = world.run(&["touch", marker.to_str().unwrap()]).await.unwrap_err();
    assert!(matches!(error, SandboxError::Failed(_)) && !marker.exists(), "{error}");
    world.sandbox.launcher = vec!["/no/such/launcher".into()];
    assert!(matches!(world.run(&["true"]).await, Err(SandboxError::Failed(_))));
}

#[tokio::test]
async fn a_copy_is_faithful_where_it_should_be() {
    let mut world = World::new(Containment::Rules);
    let project = &world.project;
    project.script("run", "");
    project.script(".git/hooks/post-checkout", "");
    project.write("skipped/x", "x");
    fs::write(
        project.path(".git/config"),
        "[core]\n\tbare = false\n[remote \"o\"]\n\turl = https://token@host\n",
    )
    .unwrap();
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for name in ["a", "dir"] {
        fs::File::open(project.path(name)).unwrap().set_modified(old).unwrap();
    }
    rustix::fs::mknodat(rustix::fs::CWD, project.path("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    world.sandbox.exclude = Exclude::new(["skipped"]);
    let copy = world.sandbox.copy(project.dir.path()).await.unwrap();
    let at = |name: &str| copy.tree().join(name);
    assert_eq!(fs::read_to_string(at("dir/c")).unwrap(), "dir/c at first\n");
    assert_eq!(fs::metadata(at("a")).unwrap().modified().unwrap(), old);
    assert_eq!(fs::metadata(at("dir")).unwrap().modified().unwrap(), old);
    assert_eq!(fs::metadata(at("run")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read_to_string(at(".git/config")).unwrap(), "[core]\n\tbare = false\n");
    for absent in ["skipped", "pipe", ".git/hooks"] {
        assert!(!at(absent).exists(), "{absent}");
    }

    for limits in
        [CopyLimits { files: 5, ..CopyLimits::default() }, CopyLimits { bytes: 10, ..CopyLimits::default() }]
    {
        let sandbox = Sandbox { copy_limits: limits, ..world.sandbox.clone() };
        let error = sandbox.copy(project.dir.path()).await.unwrap_err();
        assert!(matches!(error, SandboxError::TooLarge { .. }), "{error}");
    }
    let above = Sandbox { private: vec![project.path("dir")], ..world.sandbox.clone() };
    let refused = above.copy(project.dir.path()).await.unwrap_err();
    assert!(matches!(&refused, SandboxError::Refused(reason) if reason.contains("private")), "{refused}");
    let missing = world.sandbox.copy(&project.path("nowhere")).await.unwrap_err();
    assert!(missing.to_string().contains("nowhere"), "{missing}");
    drop(copy);
    assert_eq!(left_in(&world.scratch), Vec::<PathBuf>::new());
}

/// Root's commands are run by nobody, who cannot go everywhere.
#[tokio::test]
async fn only_the_copies_must_be_reachable_for_everybody() {
    for mut world in worlds().await {
        let closed = tempfile::tempdir().unwrap();
        fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let launcher = closed.path().join("launcher");
        fs::copy(env!("CARGO_BIN_EXE_ostler-sandbox"), &launcher).unwrap();
        world.sandbox.launcher = vec![launcher.into()];
        world.sandbox.readable = vec![closed.path().to_owned()];
        assert_eq!(world.run(&["cat", "a"]).await.unwrap().stdout.text(), "a at first\n");
        world.sandbox.scratch = closed.path().to_owned();
        let result = world.run(&["cat", "a"]).await;
        if rustix::process::geteuid().is_root() {
            let error = result.unwrap_err().to_string();
            assert!(error.contains("nobody"), "{error}");
        } else {
            assert_eq!(result.unwrap().stdout.text(), "a at first\n");
        }
    }
}

fn left_in(dir: &TempDir) -> Vec<PathBuf> {
    fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn nothing_is_left_behind_even_if_a_command_hides_it() {
    for world in worlds().await {
        let done = world.sh("mkdir -p x/y && touch x/y/z && (umask 777; mkdir w); chmod 0 x; echo ok").await;
        assert!(done.stdout.text().ends_with("ok\n"), "{done:?}");
        assert_eq!(left_in(&world.scratch), Vec::<PathBuf>::new());
    }
}
