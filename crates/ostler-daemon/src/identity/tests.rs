use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::Instant;

use ostler_testkit::wait::until_gone;

use super::*;

/// A home, a directory with programs, and a count of how often they ran.
struct World {
    dir: tempfile::TempDir,
    home: Home,
    agent: Agent,
}

const RIGHT: &str = "echo 'test-agent 1.2.3'";

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("home");
        let home = Home::resolve(|name| (name == "OSTLER_HOME").then(|| root.clone().into())).unwrap();
        let mut agent =
            Agent { name: "test".into(), preset: ostler_agents::Preset::default(), files: vec![] };
        agent.preset.run.identity = Some(ostler_agents::Identity {
            args: vec!["--version".into()],
            matches: "^test-agent ".into(),
            ..ostler_agents::Identity::default()
        });
        Self { dir, home, agent }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a program in place, keeping its inode where it is there already.
    fn program(&self, name: &str, script: &str) -> PathBuf {
        let file = self.path(name);
        fs::write(&file, format!("#!/bin/sh\necho run >> {}\n{script}\n", self.path("runs").display()))
            .unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    fn ask(&self, program: &Path) -> Identity {
        self.ask_with(program, LIMIT)
    }

    fn ask_for(&self, program: &Path, limit: Duration) -> Identity {
        self.ask_with(program, Patience { limit, is_busy: || false, ..LIMIT })
    }

    fn ask_with(&self, program: &Path, patience: Patience) -> Identity {
        let env = [("PATH".into(), std::env::var_os("PATH").unwrap())];
        ask(&self.home, &self.agent, program, &env, self.dir.path(), patience)
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.path("runs")).unwrap_or_default().lines().count()
    }
}

fn version(text: &str) -> Option<Version> {
    Version::parse(text).ok()
}

#[test]
fn the_right_program_is_asked_once() {
    let world = World::new();
    let program = world.program("test", &format!("[ \"$1\" = --version ] && {RIGHT}"));
    let first = world.ask(&program);
    assert_eq!((first.is_agent, &first.version, first.cached), (true, &version("1.2.3"), false));
    assert_eq!((first.said.as_str(), first.complaint()), ("test-agent 1.2.3", None));
    let second = world.ask(&program);
    assert_eq!(second, Identity { cached: true, ..first });
    assert_eq!(remembered(&world.home, &world.agent, &program), Some(second));
    assert_eq!(world.runs(), 1);
    let mode = fs::metadata(world.home.identities()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn an_update_is_noticed() {
    let world = World::new();
    let program = world.program("test", RIGHT);
    assert_eq!(world.ask(&program).version, version("1.2.3"));
    // In place, of the same size and with the same time.
    let before = fs::metadata(&program).unwrap();
    world.program("test", "echo 'test-agent 1.2.4'");
    let times = fs::FileTimes::new().set_modified(before.modified().unwrap());
    fs::File::options().append(true).open(&program).unwrap().set_times(times).unwrap();
    assert_eq!(before.len(), fs::metadata(&program).unwrap().len());
    assert_eq!(world.ask(&program).version, version("1.2.4"));
    // By another file under the same name.
    fs::rename(world.program("new", "echo 'test-agent 1.2.5'"), &program).unwrap();
    assert_eq!(world.ask(&program).version, version("1.2.5"));
    // By a link that leads elsewhere.
    let (one, two) = (world.program("one", RIGHT), world.program("two", "echo 'test-agent 2.0'"));
    let link = world.path("link");
    symlink(&one, &link).unwrap();
    assert_eq!(world.ask(&link).version, version("1.2.3"));
    fs::remove_file(&link).unwrap();
    symlink(&two, &link).unwrap();
    assert_eq!(world.ask(&link).version, version("2.0.0"));
    assert!(world.ask(&link).cached);
}

#[test]
fn another_program_of_the_same_name_is_told() {
    let world = World::new();
    let program = world.program("test", "echo; echo 'an MP3 player 7.1.0'");
    let found = world.ask(&program);
    assert_eq!((found.is_agent, &found.version), (false, &None));
    assert_eq!(found.complaint().unwrap(), "it said \"an MP3 player 7.1.0\"");
    assert!(world.ask(&program).cached);
    let silent = world.program("silent", "");
    assert_eq!(world.ask(&silent).complaint().unwrap(), "it said nothing");
}

#[test]
fn a_program_that_hangs_ends_with_everything_it_started() {
    let world = World::new();
    let child = world.path("child");
    let script = format!("sleep 600 & echo $! > {}; wait", child.display());
    let program = world.program("test", &script);
    let started = Instant::now();
    let found = world.ask_for(&program, Duration::from_secs(1));
    assert!(started.elapsed() < Duration::from_secs(30));
    assert!(!found.is_agent);
    assert_eq!(found.complaint().unwrap(), "it did not end within 1 s");
    let child: u32 = fs::read_to_string(child).unwrap().trim().parse().unwrap();
    until_gone("its child is gone", child);
    // It may have been a busy moment.
    world.program("test", &format!("{RIGHT}; sleep 600"));
    let found = world.ask_for(&program, Duration::from_secs(1));
    assert_eq!((found.is_agent, found.version), (true, version("1.2.3")));
}

#[test]
fn a_program_that_a_busy_machine_kept_from_speaking_is_asked_again() {
    let world = World::new();
    let flag = world.path("asked");
    let script = format!("[ -e {0} ] || {{ touch {0}; exec sleep 600; }}; {RIGHT}", flag.display());
    let program = world.program("test", &script);
    let limit = Duration::from_secs(1);
    let found = world.ask_with(&program, Patience { limit, on_busy: 60, is_busy: || true });
    assert_eq!((found.is_agent, found.version, world.runs()), (true, version("1.2.3"), 2));
}

#[test]
fn nobody_waits_for_what_a_program_leaves_behind() {
    let world = World::new();
    let program = world.program("test", &format!("(sleep 5) & {RIGHT}"));
    let started = Instant::now();
    assert!(world.ask(&program).is_agent);
    assert!(started.elapsed() < Duration::from_secs(4));
}

#[test]
fn a_flood_is_cut_off() {
    let world = World::new();
    let flood = "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done";
    let found = world.ask(&world.program("test", flood));
    assert!(!found.is_agent && found.said.len() <= KEPT);
    assert!(found.complaint().unwrap().starts_with("it said more than 64 KiB"));
    assert!(world.ask(&world.program("test", &format!("{RIGHT}; {flood}"))).is_agent);
}

#[test]
fn what_goes_wrong_is_told_and_tried_again() {
    let world = World::new();
    let program = world.program("test", &format!("{RIGHT} >&2; exit 1"));
    let found = world.ask(&program);
    assert!(!found.is_agent);
    assert_eq!(found.complaint().unwrap(), "it ended with exit status: 1, and said \"test-agent 1.2.3\"");
    assert!(!world.ask(&program).cached);
    assert_eq!(world.runs(), 2);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(world.ask(&program).complaint().unwrap().starts_with("it cannot be run: "));
    assert!(world.ask(&world.path("nowhere")).complaint().unwrap().starts_with("it cannot be run: "));
}

#[test]
fn a_program_has_no_terminal_no_input_and_no_say_over_ours() {
    let world = World::new();
    let script = "cat; (exec < /dev/tty) 2> /dev/null && echo terminal; printf 'test-agent \\033[2J9.9'";
    let found = world.ask(&world.program("test", script));
    assert_eq!((found.is_agent, found.said.as_str()), (true, "test-agent [2J9.9"));
}

#[test]
fn a_preset_that_asks_nothing_runs_nothing() {
    let mut world = World::new();
    let program = world.program("test", RIGHT);
    world.agent.preset.run.identity = None;
    assert_eq!(world.ask(&program), Identity::taken_at_its_word());
    assert_eq!(world.runs(), 0);
}

#[test]
fn a_damaged_or_full_cache_does_no_harm() {
    let world = World::new();
    let program = world.program("test", RIGHT);
    world.ask(&program);
    for damage in ["", "{", "[]", "{\"form\":99,\"entries\":[]}", "\u{0}\u{1}"] {
        fs::write(world.home.identities(), damage).unwrap();
        assert!(!world.ask(&program).cached, "{damage}");
        assert!(world.ask(&program).cached, "{damage}");
    }
    for index in 0..250 {
        let link = world.path(&format!("link-{index}"));
        symlink(&program, &link).unwrap();
        let key = Key::of(&link, world.agent.preset.run.identity.as_ref().unwrap()).unwrap();
        Cache::remember(&world.home, Entry::new(key, true, None, String::new())).unwrap();
    }
    assert!(fs::metadata(world.home.identities()).unwrap().len() < 200 * 1024);
    assert!(!world.ask(&program).cached, "the oldest is gone");
    assert!(remembered(&world.home, &world.agent, &world.path("link-249")).is_some());
    // Another question is another answer.
    let mut other = World::new().agent;
    other.preset.run.identity.as_mut().unwrap().matches = "something else".into();
    assert_eq!(remembered(&world.home, &other, &program), None);
}

#[test]
fn a_warning_before_the_answer_does_no_harm() {
    let world = World::new();
    let found =
        world.ask(&world.program("test", &format!("echo 'warning 9.9' >&2; printf %s \"$({RIGHT})\"")));
    assert_eq!((found.is_agent, found.version), (true, version("1.2.3")));
    assert_eq!(found.said, "test-agent 1.2.3\nwarning 9.9");
}

#[test]
fn the_version_may_be_another_question() {
    let mut world = World::new();
    world.agent.preset.run.identity.as_mut().unwrap().version_args = vec!["-V".into()];
    let program =
        world.program("test", "[ \"$1\" = -V ] && echo 7.8 || echo 'test-agent listens on 127.0.0.1'");
    let found = world.ask(&program);
    assert_eq!((found.is_agent, &found.version, world.runs()), (true, &version("7.8.0"), 2));
    assert_eq!((world.ask(&program).version, world.runs()), (version("7.8.0"), 2));
    // A version that did not come is asked for again.
    world.program("test", "[ \"$1\" = -V ] && exit 1; echo test-agent x");
    for _ in 0..2 {
        let found = world.ask(&program);
        assert_eq!((found.is_agent, found.version, found.cached), (true, None, false));
    }
    fs::remove_file(world.path("runs")).unwrap();
    // Another program is not asked for its version.
    assert_eq!((world.ask(&world.program("other", "echo 1.0")).version, world.runs()), (None, 1));
}

#[test]
fn an_old_answer_counts_where_there_is_no_new_one() {
    let world = World::new();
    let program = world.program(
        "test",
        &format!("if [ -e {} ]; then sleep 600; else {RIGHT}; fi", world.path("busy").display()),
    );
    assert!(world.ask(&program).is_agent);
    let aged = fs::read_to_string(world.home.identities()).unwrap();
    let at = aged.split("\"at\":").nth(1).unwrap().split(',').next().unwrap();
    fs::write(world.home.identities(), aged.replace(at, "1000")).unwrap();
    assert_eq!(remembered(&world.home, &world.agent, &program), None);
    fs::write(world.path("busy"), "").unwrap();
    let found = world.ask_for(&program, Duration::from_millis(300));
    assert_eq!((found.is_agent, found.cached), (true, true));
    fs::remove_file(world.path("busy")).unwrap();
    assert!(!world.ask(&program).cached);
}

#[test]
fn many_answers_at_once_are_all_kept() {
    let world = World::new();
    let programs: Vec<PathBuf> = (0..8).map(|index| world.program(&format!("test-{index}"), RIGHT)).collect();
    std::thread::scope(|scope| {
        for program in &programs {
            scope.spawn(|| assert!(world.ask(program).is_agent));
        }
    });
    for program in &programs {
        assert!(world.ask(program).cached, "{}", program.display());
    }
}

#[tokio::test]
async fn a_program_is_identified_beside_other_work() {
    let world = World::new();
    let program = world.program("test", "printf 'test-agent 1.0 %s' \"$MARK\"");
    let env = [("MARK".into(), "seen".into())];
    let found = identify(&world.home, &world.agent, &program, &env, world.dir.path()).await;
    assert_eq!((found.is_agent, found.said.as_str()), (true, "test-agent 1.0 seen"));
}
