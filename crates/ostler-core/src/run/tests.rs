use super::*;
use crate::breaker::{Limit, ProbeId, Probes, Reason, UnavailableProvider};
use crate::detector::Reporter;
use crate::{Asking, Failure};

/// What happens next, without the names of acts.
#[derive(Clone)]
enum Next {
    Chosen(&'static str),
    Unavailable(&'static [(&'static str, Reason, u64)]),
    Ready,
    NotStarted,
    Submitted,
    NotSubmitted,
    Stops(Stop),
    Resumes,
    /// The tree was looked at, and these files are new.
    Tree(&'static [&'static str]),
    /// The same, and what the agent said last is known.
    TreeAndWords(&'static [&'static str], &'static str),
    Unseen,
    Passes,
    Fails(&'static str),
    Helps(&'static str),
    /// The helper's commands all pass.
    Verifies,
    NoHelp,
    Spends(u64),
    Cancels,
    /// A provider can be used again.
    Opens,
    /// So many seconds pass.
    Passing(u64),
    /// The shell dies and comes back.
    Restarts,
}

use Next::{
    Cancels, Chosen, Fails, Helps, NoHelp, NotStarted, NotSubmitted, Opens, Passes, Passing, Ready, Restarts,
    Resumes, Spends, Stops, Submitted, Tree, TreeAndWords, Unseen, Verifies,
};

const IDLE: Next = Stops(Stop::Idle { asks: false });
const ASKS: Next = Stops(Stop::Idle { asks: true });
const QUOTA: Next =
    Stops(Stop::TurnFailed { by: Reporter::Hook, failure: Failure::Quota, until: Some(Wall(9_000_000)) });
const CRASH: Next = Stops(Stop::Exited { status: Some(1), signal: None });
const BLOCKED: Next = Stops(Stop::Blocked { kind: Asking::Permission });

/// A run and what it asked for.
struct Play {
    run: Run,
    now: Wall,
    said: Vec<String>,
    actions: Vec<Action>,
    steps: Vec<Step>,
}

impl Play {
    fn new(policy: Policy) -> Self {
        Self::of(Run::new("do it", policy), Wall(0))
    }

    /// Begins a run.
    fn of(run: Run, now: Wall) -> Self {
        let mut play = Self { run, now, said: Vec::new(), actions: Vec::new(), steps: Vec::new() };
        play.give(Event::Started { since: now });
        play
    }

    fn give(&mut self, event: Event) {
        let (before, happened) = (self.run.clone(), event.clone());
        let actions = self.run.handle(event, self.now);
        self.steps.extend(self.run.steps_since(&before, &happened));
        self.said.extend(actions.iter().map(said));
        self.actions.extend(actions);
    }

    fn go(mut self, script: &[Next]) -> Self {
        for next in script {
            let act = self.run.act();
            let agent = self.run.agent.as_ref().map_or(Act { attempt: 0, step: 0 }, |agent| agent.id);
            let event = match next.clone() {
                Chosen(provider) => Event::ProviderChosen { act, provider: provider.into(), probe: None },
                Next::Unavailable(shut) => {
                    let shut = shut.iter().map(|(provider, reason, secs)| UnavailableProvider {
                        provider: (*provider).into(),
                        reason: *reason,
                        until: self.now.plus(Duration::from_secs(*secs)),
                    });
                    Event::NoProvider { act, shut: shut.collect() }
                }
                Ready => Event::AgentReady { agent },
                NotStarted => Event::StartFailed { agent, reason: "no program".into() },
                Submitted => Event::PromptSubmitted { act, proof: "hook".into() },
                NotSubmitted => Event::DeliveryFailed { act, reason: "no composer".into() },
                Stops(stop) => Event::AgentStopped { agent, stop },
                Resumes => Event::AgentResumed { agent },
                Tree(created) => Event::TreeObserved { act, changes: Some(new_files(created)), words: None },
                TreeAndWords(created, words) => {
                    let (changes, words) = (Some(new_files(created)), Some(words.to_owned()));
                    Event::TreeObserved { act, changes, words }
                }
                Unseen => Event::TreeObserved { act, changes: None, words: None },
                Passes => Event::ChecksFinished { act, passed: true, failures: vec![] },
                Fails(error) => Event::ChecksFinished { act, passed: false, failures: vec![error.into()] },
                Helps(finding) => Event::HelperAnswered { act, answer: found(&[finding]) },
                Verifies => Event::HelperAnswered { act, answer: found(&[]) },
                NoHelp => Event::HelperFailed { act, reason: "it is ill".into() },
                Spends(tokens) => Event::Spent { tokens },
                Cancels => Event::Cancelled,
                Opens => Event::ProviderOpened,
                Passing(secs) => {
                    self.now = self.now.plus(Duration::from_secs(secs));
                    Event::Tick
                }
                Restarts => {
                    let text = serde_json::to_string(&self.run).unwrap();
                    self.run = serde_json::from_str(&text).unwrap();
                    Event::Restarted
                }
            };
            self.give(event);
        }
        self
    }

    fn outcome(&self) -> Option<&Outcome> {
        self.run.outcome()
    }

    /// Why it was given up, if it was.
    fn why(&self) -> Option<GiveUp> {
        match self.outcome() {
            Some(Outcome::GivenUp { why }) => Some(why.clone()),
            _ => None,
        }
    }
}

fn new_files(files: &[&str]) -> Changes {
    let created = files.iter().map(|file| (*file).to_owned()).collect();
    Changes { created, ..Changes::default() }
}

fn said(action: &Action) -> String {
    let kind = |context: &Option<Context>| context.as_ref().map_or("plain", |context| context.kind.as_str());
    match action {
        Action::ChooseProvider { excluding, .. } => format!("choose -{}", excluding.join("-")),
        Action::StartAgent { provider, .. } => format!("start {provider}"),
        Action::Deliver { context, .. } => format!("deliver {}", kind(context)),
        Action::ObserveTree { .. } => "observe".into(),
        Action::RunChecks { .. } => "check".into(),
        Action::TripBreaker { provider, evidence, .. } => {
            format!("trip {provider} {}", evidence.reason().unwrap().as_str())
        }
        Action::CloseBreaker { provider, .. } => format!("close {provider}"),
        Action::ReleaseProbe { provider, .. } => format!("release {provider}"),
        Action::AskHelper { context, .. } => format!("ask {}", kind(context)),
        Action::StopAgent { .. } => "stop".into(),
        Action::Report { outcome } => format!("report {}", outcome.as_str()),
    }
}

/// What a helper's commands found.
fn found(findings: &[&str]) -> HelperAnswer {
    let findings = findings.iter().map(|finding| (*finding).to_owned()).collect();
    HelperAnswer { by: "h".into(), passed: vec!["true".into()], findings, ..HelperAnswer::default() }
}

/// One attempt from the choice to the checks.
const FIRST: [Next; 5] = [Chosen("a"), Ready, Submitted, IDLE, Tree(&["x"])];

#[test]
fn checks_that_pass_make_it_done() {
    let play = Play::new(Policy::default()).go(&FIRST).go(&[Passes]);
    assert_eq!(
        play.said,
        ["choose -", "start a", "deliver plain", "close a", "observe", "check", "stop", "report done"]
    );
    let [attempt] = play.run.attempts() else { panic!() };
    assert_eq!((attempt.status, attempt.provider()), (Status::Passed, Some("a")));
    assert_eq!(attempt.changes().created, ["x"]);
    assert_eq!(attempt.turns[0].proof.as_deref(), Some("hook"));
    assert_eq!(play.run.deadline(), None);
}

#[test]
fn without_checks_it_is_finished_and_not_done() {
    let policy = Policy { has_checks: false, ..Policy::default() };
    let play = Play::new(policy.clone()).go(&FIRST);
    assert_eq!(play.outcome(), Some(&Outcome::FinishedUnchecked));
    assert_eq!(play.run.attempts()[0].status, Status::Unchecked);
    // Somebody who asks is not finished.
    let asks = [Chosen("a"), Ready, Submitted, ASKS, Unseen, IDLE];
    let play = Play::new(policy.clone()).go(&asks).go(&[Passing(599)]);
    assert_eq!(play.outcome(), None);
    let answered = play.go(&[Resumes, Passing(10_000), IDLE, Unseen]);
    assert_eq!(answered.outcome(), Some(&Outcome::FinishedUnchecked));
    let play = Play::new(policy).go(&asks).go(&[Passing(600)]);
    let blocked = Outcome::Blocked { kind: Asking::Question, provider: Some("a".into()) };
    assert_eq!(play.outcome(), Some(&blocked));
    assert!(!play.said.contains(&"stop".to_owned()));
}

#[test]
fn checks_that_fail_make_another_attempt_that_is_told_so() {
    let play = Play::new(Policy::default()).go(&FIRST).go(&[
        Fails("the first"),
        Submitted,
        IDLE,
        Tree(&["y"]),
        Fails("the second"),
    ]);
    assert_eq!(
        play.said[6..],
        ["deliver retry", "close a", "observe", "check", "deliver retry"],
        "the agent that is there goes on"
    );
    let Some(Action::Deliver { context: Some(context), prompt, act, .. }) = play.actions.last() else {
        panic!()
    };
    assert_eq!(prompt, "do it");
    assert_eq!(act.attempt, 3);
    assert_eq!(
        context.text,
        "--- RETRY CONTEXT ---\nAttempt #3 - Previous validation failures:\n- the second\nAlready created: x, y\n\
         Focus on fixing validation failures listed above.\n--- END CONTEXT ---\n\n"
    );
    let play = play.go(&[Submitted, IDLE, Tree(&["z"]), Fails("the third")]);
    assert_eq!(play.why(), Some(GiveUp::Attempts));
    assert_eq!(play.run.attempts().len(), 3);
}

#[test]
fn a_new_agent_can_be_wanted_for_every_attempt() {
    let play =
        Play::new(Policy { fresh_agent: true, ..Policy::default() }).go(&FIRST).go(&[Fails("the first")]);
    assert_eq!(play.said[6..], ["stop", "choose -"]);
    // And is needed if the last one is gone.
    let play = Play::new(Policy::default()).go(&FIRST).go(&[CRASH, Fails("the first")]);
    assert_eq!(play.said[6..], ["choose -"]);
    let play = play.go(&[Chosen("a"), Ready]);
    assert_eq!(play.said.last().unwrap(), "deliver retry");
}

#[test]
fn another_provider_goes_on_within_the_attempt() {
    let play = Play::new(Policy::default()).go(&[Chosen("a"), Ready, Submitted, QUOTA, Tree(&["x"])]);
    assert_eq!(play.said[3..], ["trip a quota", "stop", "observe", "choose -a"]);
    let Some(Action::TripBreaker { until, .. }) =
        play.actions.iter().find(|action| said(action) == "trip a quota")
    else {
        panic!()
    };
    assert_eq!(*until, Some(Wall(9_000_000)));
    let play = play.go(&[Chosen("b"), Ready]);
    let Some(Action::Deliver { context: Some(context), .. }) = play.actions.last() else { panic!() };
    assert_eq!(
        context.text,
        "--- PROVIDER SWITCH CONTEXT ---\nPrevious provider (a) failed: quota used up\nPrevious attempt created: x\n\
         Continue from where a left off. Avoid recreating existing files.\n--- END CONTEXT ---\n\n"
    );
    let play = play.go(&[Submitted, CRASH, Unseen]);
    assert_eq!(play.said.last().unwrap(), "choose -a-b");
    assert_eq!(play.run.attempts().len(), 1, "a change of provider is no attempt");
    assert_eq!(play.run.attempts()[0].turns[1].reason.as_deref(), Some("agent crashed (status 1)"));
}

#[test]
fn a_limit_is_never_a_success_even_if_the_checks_would_pass() {
    let limited = Stops(Stop::Limited { limit: Limit::Quota, until: None });
    let play = Play::new(Policy::default()).go(&[Chosen("a"), Ready, Submitted, limited, Tree(&[])]);
    assert!(!play.said.contains(&"check".to_owned()));
    assert_eq!(play.said[3..], ["trip a quota", "stop", "observe", "choose -a"]);
}

#[test]
fn an_agent_that_cannot_be_used_is_nobodys_fault() {
    let table: [(&[Next], &str); 6] = [
        (&[Chosen("a"), NotStarted, Unseen], "choose -a"),
        (&[Chosen("a"), Passing(180), Unseen], "choose -a"),
        (&[Chosen("a"), Ready, NotSubmitted, Unseen], "choose -a"),
        (&[Chosen("a"), Ready, Passing(900), Unseen], "choose -a"),
        (&[Chosen("a"), Stops(Stop::Exited { status: Some(0), signal: None }), Unseen], "choose -a"),
        // The terminal was lost: the same provider can go on.
        (&[Chosen("a"), Ready, Submitted, Stops(Stop::Lost), Unseen], "choose -"),
    ];
    for (script, last) in table {
        let play = Play::new(Policy::default()).go(script);
        assert_eq!(play.said.last().unwrap(), last);
        assert!(!play.said.iter().any(|said| said.starts_with("trip")), "{:?}", play.said);
        assert_eq!(play.run.switches(), 1);
    }
}

#[test]
fn a_bad_request_needs_a_new_conversation_and_costs_an_attempt() {
    let bad = Stops(Stop::TurnFailed { by: Reporter::Transcript, failure: Failure::Invalid, until: None });
    let play = Play::new(Policy::default()).go(&[Chosen("a"), Ready, Submitted, bad, Unseen]);
    assert_eq!(play.said[3..], ["stop", "observe", "choose -"]);
    assert_eq!(play.run.attempts()[0].errors, ["turn failed (invalid)"]);
}

#[test]
fn who_fails_for_no_known_reason_leaves_it_to_others_where_there_are_any() {
    let bad = |failure| Stops(Stop::TurnFailed { by: Reporter::Transcript, failure, until: None });
    let turn = |failure| [Chosen("a"), Ready, Submitted, bad(failure), Tree(&["x"])];
    let odd = || Play::new(Policy::default()).go(&turn(Failure::Other));
    assert_eq!(odd().said.last().unwrap(), "choose -a");
    assert_eq!(odd().go(&[Chosen("b"), Ready]).said.last().unwrap(), "deliver retry");
    // Alone, or with others that are shut, it tries again.
    for shut in [&[][..], &[("b", Reason::Quota, 60)]] {
        let play = odd().go(&[Next::Unavailable(shut)]);
        assert_eq!(play.said.last().unwrap(), "choose -");
        let play = play.go(&[Chosen("a"), Ready, Submitted, IDLE, Tree(&["y"]), Passes]);
        assert_eq!(play.outcome(), Some(&Outcome::Done));
    }
    // One that was shut meanwhile does not.
    let play = odd().go(&[Next::Unavailable(&[("a", Reason::Auth, 60)])]);
    assert!(play.outcome().is_some(), "{:?}", play.said);
    // A bad request may be the conversation's fault once.
    let play = Play::new(Policy::default()).go(&turn(Failure::Invalid)).go(&turn(Failure::Invalid));
    assert_eq!(play.said.last().unwrap(), "choose -a");
}

#[test]
fn whoever_ends_the_agent_ends_the_run() {
    let ended = Stops(Stop::Exited { status: None, signal: Some(15) });
    let play = Play::new(Policy::default()).go(&[Chosen("a"), Ready, Submitted, ended, Tree(&["x"])]);
    assert_eq!(play.why(), Some(GiveUp::AgentEnded));
    assert_eq!(play.run.changes().created, ["x"]);
}

#[test]
fn a_program_that_ends_well_after_its_work_is_checked() {
    let ended = Stops(Stop::Exited { status: Some(0), signal: None });
    let play = Play::new(Policy::default()).go(&[Chosen("a"), Ready, Submitted, ended, Tree(&["x"]), Passes]);
    assert_eq!(play.said[3..], ["observe", "check", "report done"]);
}

#[test]
fn an_agent_that_waits_for_a_person_is_given_some_time() {
    let play = Play::new(Policy::default()).go(&[Chosen("a"), Ready, Submitted, BLOCKED, Passing(599)]);
    assert_eq!(play.outcome(), None);
    let answered = Play::new(Policy::default()).go(&[
        Chosen("a"),
        Ready,
        Submitted,
        BLOCKED,
        Passing(599),
        Resumes,
        Passing(599),
        IDLE,
        Unseen,
        Passes,
    ]);
    assert_eq!(answered.outcome(), Some(&Outcome::Done));
    // Being told again gives no more time.
    let play = play.go(&[BLOCKED, Passing(1)]);
    let blocked = Outcome::Blocked { kind: Asking::Permission, provider: Some("a".into()) };
    assert_eq!(play.outcome(), Some(&blocked));
    assert_eq!(play.said.last().unwrap(), "report blocked");
    assert!(!play.said.contains(&"stop".to_owned()), "whoever comes finds the agent as it is");
    // A dialog at the start is not a slow start.
    let play =
        Play::new(Policy::default()).go(&[Chosen("a"), BLOCKED, Passing(599), Resumes, Passing(179), Ready]);
    assert_eq!(play.said.last().unwrap(), "deliver plain");
}

#[test]
fn idle_before_the_work_and_old_news_change_nothing() {
    let play = Play::new(Policy::default()).go(&[Chosen("a"), IDLE, Ready, IDLE]);
    assert_eq!(play.said, ["choose -", "start a", "deliver plain"]);
    let mut play = play.go(&[Submitted, QUOTA, Unseen, Chosen("b")]);
    let (before, said) = (play.run.clone(), play.said.len());
    let old = Act { attempt: 1, step: 2 };
    for event in [
        Event::Started { since: Wall(0) },
        Event::AgentReady { agent: old },
        Event::AgentStopped { agent: old, stop: Stop::Idle { asks: false } },
        Event::AgentStopped { agent: old, stop: Stop::Exited { status: Some(1), signal: None } },
        Event::PromptSubmitted { act: old, proof: String::new() },
        Event::TreeObserved { act: play.run.act(), changes: None, words: None },
        Event::ChecksFinished { act: old, passed: true, failures: vec![] },
        Event::ChecksFinished { act: play.run.act(), passed: true, failures: vec![] },
        Event::HelperAnswered { act: play.run.act(), answer: found(&[]) },
        Event::Tick,
    ] {
        play.give(event.clone());
        assert_eq!(play.run, before, "{event:?}");
        assert_eq!(play.said.len(), said, "{event:?}");
    }
}

#[test]
fn the_prompt_that_an_agent_works_on_follows_from_the_run() {
    let sent = Some(Wall(5));
    let steps: [(&[Next], Option<Wall>, bool); 7] = [
        (&[Chosen("a")], None, false),
        (&[Ready], None, false),
        (&[Passing(7), Submitted], sent, false),
        (&[BLOCKED, Restarts], sent, true),
        (&[Resumes], sent, false),
        // It may be answered while the tree is being looked at.
        (&[ASKS], sent, false),
        (&[Resumes], sent, false),
    ];
    let mut play = Play::new(Policy { has_checks: false, ..Policy::default() });
    for (index, (script, prompt, blocked)) in steps.into_iter().enumerate() {
        play = play.go(script);
        assert_eq!(play.run.prompt(sent), prompt, "step {index}");
        assert_eq!(play.run.is_blocked(), blocked, "step {index}");
    }
    // A question in words is asked by an agent at rest, and no dialog.
    let play = play.go(&[ASKS, Unseen]);
    assert_eq!((play.run.prompt(sent), play.run.is_blocked()), (sent, false));
    assert_eq!(play.run.prompt(None), None);
}

#[test]
fn only_an_agent_that_waits_for_a_person_outlives_its_run() {
    let working = [Chosen("a"), Ready, Submitted];
    let play = Play::new(Policy::default()).go(&working).go(&[BLOCKED]);
    let agent = play.run.agent().map(|(agent, _)| agent);
    let play = play.go(&[Passing(601)]);
    assert!(matches!(play.outcome(), Some(Outcome::Blocked { .. })));
    assert_eq!((play.run.is_parked(), play.run.agent().map(|(agent, _)| agent)), (true, agent));
    let play = Play::new(Policy::default()).go(&working).go(&[Cancels]);
    assert_eq!((play.outcome(), play.run.agent()), (Some(&Outcome::Cancelled), None));
}

/// The checks fail with the same words, though files change.
fn failing(times: u32) -> Vec<Next> {
    const FILES: [&[&str]; 6] = [&["f1"], &["f2"], &["f3"], &["f4"], &["f5"], &["f6"]];
    let mut script = vec![Chosen("a"), Ready];
    for index in 0..times {
        script.extend([Submitted, IDLE, Tree(FILES[usize::try_from(index).unwrap()]), Fails("same")]);
    }
    script
}

#[test]
fn a_loop_asks_a_helper_once() {
    let play = Play::new(Policy { max_attempts: 9, ..Policy::default() }).go(&failing(3));
    assert_eq!(play.said.last().unwrap(), "ask helper");
    let Some(Action::AskHelper { context: Some(context), .. }) = play.actions.last() else { panic!() };
    assert!(context.text.contains("Attempt #3 (2 previous retries)"));
    assert!(context.text.contains("Attempt 3 touched: f3 - error: \"same\"\nTask appears stuck"));
    let play = play.go(&[Helps("the port is taken")]);
    let Some(Action::Deliver { context: Some(context), .. }) = play.actions.last() else { panic!() };
    assert!(context.text.contains("failures:\n- the port is taken\n- same\n"), "{}", context.text);
    let play = play.go(&[Submitted, IDLE, Tree(&["f9"]), Fails("same")]);
    assert_eq!(play.why(), Some(GiveUp::Loop));
    // With no attempt left, its answer earns one, and no more.
    for max_attempts in [3, 4] {
        let policy = Policy { max_attempts, ..Policy::default() };
        let play = Play::new(policy).go(&failing(3)).go(&[Helps("x")]);
        assert_eq!(play.said.last().unwrap(), "deliver retry");
        assert_eq!(play.run.helper(), Some(&HelperRecord::Answered(found(&["x"]))));
        let right = [Submitted, IDLE, Tree(&["f9"]), Passes];
        assert_eq!(play.go(&right).outcome(), Some(&Outcome::Done));
    }
    for (error, why) in [("same", GiveUp::Loop), ("other", GiveUp::Attempts)] {
        let last = [Helps("x"), Submitted, IDLE, Tree(&["f9"]), Fails(error)];
        let play = Play::new(Policy::default()).go(&failing(3)).go(&last);
        assert_eq!((play.why(), play.run.attempts().len()), (Some(why), 4));
    }
    // Where none can be earned, it is for people.
    let none = Policy { helper_attempts: 0, ..Policy::default() };
    assert_eq!(Play::new(none).go(&failing(3)).go(&[Helps("x")]).why(), Some(GiveUp::Loop));
    for no_help in [NoHelp, Passing(1_800)] {
        let play = Play::new(Policy { max_attempts: 9, ..Policy::default() }).go(&failing(3)).go(&[no_help]);
        assert_eq!(play.why(), Some(GiveUp::Loop));
    }
    let alone = Play::new(Policy { max_attempts: 9, helper: false, ..Policy::default() }).go(&failing(3));
    assert_eq!(alone.why(), Some(GiveUp::Loop));
}

#[test]
fn the_same_prompt_is_not_given_again_when_nothing_changed() {
    let first = [Chosen("a"), Ready, Submitted, IDLE, Tree(&[]), Fails("E")];
    let again = |tree: Next, error| [Submitted, IDLE, tree, Fails(error)];
    let play = Play::new(Policy::default()).go(&first);
    assert_eq!(play.said.last().unwrap(), "deliver retry", "the first attempt was not told of the error");
    let stopped = play.go(&again(Tree(&[]), "E"));
    assert_eq!(stopped.why(), Some(GiveUp::Unchanged));
    assert!(stopped.outcome().unwrap().to_string().contains("changed no file"));
    for (tree, error) in [(Tree(&["x"]), "E"), (Tree(&[]), "other"), (Unseen, "E")] {
        let play = Play::new(Policy::default()).go(&first).go(&again(tree, error));
        assert_eq!(play.outcome(), None);
    }
    let play = Play::new(Policy { stop_unchanged: false, ..Policy::default() })
        .go(&first)
        .go(&again(Tree(&[]), "E"));
    assert_eq!(play.outcome(), None);
}

#[test]
fn budgets_end_a_run() {
    let working = [Chosen("a"), Ready, Submitted];
    let time = || Policy { time_secs: 60, ..Policy::default() };
    let play = Play::new(time()).go(&working);
    assert_eq!(play.run.deadline(), Some(Wall(60_000)));
    let play = play.go(&[Passing(60), Tree(&["half"])]);
    assert_eq!(play.said[3..], ["stop", "observe", "report given_up"]);
    assert_eq!(play.why(), Some(GiveUp::Time));
    assert_eq!(play.run.changes().created, ["half"]);
    let tokens = || Policy { tokens: 100, ..Policy::default() };
    let play = Play::new(tokens()).go(&working).go(&[Spends(99)]);
    assert_eq!(play.outcome(), None);
    let play = play.go(&[Spends(100), Unseen]);
    assert_eq!(play.why(), Some(GiveUp::Tokens));
    let play = Play::new(tokens()).go(&FIRST).go(&[Spends(200), Fails("E")]);
    assert_eq!(play.why(), Some(GiveUp::Tokens));
    let play = Play::new(Policy { max_iterations: 2, max_attempts: 9, ..Policy::default() }).go(&failing(2));
    assert_eq!(play.why(), Some(GiveUp::Iterations));
    let play = Play::new(Policy { max_switches: 0, ..Policy::default() }).go(&working).go(&[CRASH, Unseen]);
    assert_eq!(play.why(), Some(GiveUp::Switches));
    let huge = Policy { max_iterations: 999, ..Policy::default() };
    assert_eq!(Run::new("", huge).iterations(), (0, 50));
}

#[test]
fn checks_that_hang_have_failed() {
    let play = Play::new(Policy { max_attempts: 1, ..Policy::default() }).go(&FIRST).go(&[Passing(3_600)]);
    assert_eq!(play.why(), Some(GiveUp::Attempts));
    assert_eq!(play.run.attempts()[0].errors, ["the checks did not end within 3600 s"]);
    let play = Play::new(Policy::default()).go(&FIRST[..4]).go(&[Passing(120)]);
    assert_eq!(play.said.last().unwrap(), "check", "a tree that cannot be seen is no reason to wait");
}

#[test]
fn waiting_for_a_provider_is_done_where_it_helps() {
    let quota = Next::Unavailable(&[
        ("a", Reason::Quota, 7_200),
        ("b", Reason::Unavailable, 60),
        ("c", Reason::RateLimit, 3_600),
    ]);
    let play = Play::new(Policy::default()).go(&[Chosen("a"), Ready, Submitted, QUOTA, Unseen, quota]);
    assert_eq!(*play.run.phase(), Phase::Waiting { until: Wall(3_600_000) });
    let play = play.go(&[Passing(3_599)]);
    assert_eq!(play.said.last().unwrap(), "choose -a");
    let play = play.go(&[Passing(1)]);
    assert_eq!(play.said.last().unwrap(), "choose -", "whoever failed before has had time");
    // Six hours in all.
    let play = play.go(&[Next::Unavailable(&[("a", Reason::Quota, 5 * 3_600 + 1)])]);
    let shut = vec![UnavailableProvider {
        provider: "a".into(),
        reason: Reason::Quota,
        until: Wall(1_000 * (3_600 + 5 * 3_600 + 1)),
    }];
    assert_eq!(play.why(), Some(GiveUp::NoProvider { shut }));
    let words = play.outcome().unwrap().to_string();
    assert_eq!(
        words,
        "given up: no provider can be used: a: quota used up; wait, log in, or name other agents"
    );
    let table = [
        (Next::Unavailable(&[("a", Reason::Unavailable, 60), ("b", Reason::Auth, 60)]), "given_up"),
        (Next::Unavailable(&[("a", Reason::Auth, 60), ("b", Reason::Auth, 60)]), "blocked"),
        (Next::Unavailable(&[]), "given_up"),
        (Next::Unavailable(&[("a", Reason::Quota, 13 * 3_600)]), "given_up"),
    ];
    for (shut, outcome) in table {
        let play = Play::new(Policy::default()).go(&[shut]);
        assert_eq!(play.outcome().map(Outcome::as_str), Some(outcome));
    }
}

#[test]
fn a_provider_that_opens_ends_the_wait() {
    let shut = Next::Unavailable(&[("a", Reason::Quota, 3_600)]);
    let mut play = Play::new(Policy::default());
    // More often than a run may wait, and longer than it may in all: what was not waited does not count.
    for _ in 0..200 {
        play = play.go(&[shut.clone(), Passing(60), Opens]);
        assert_eq!(play.said.last().unwrap(), "choose -");
        assert_eq!(play.outcome(), None);
    }
    let play = play.go(&[Chosen("a"), Ready, Opens, Submitted, Opens]);
    assert_eq!(play.said.last().unwrap(), "deliver plain", "nobody waits for it: {:?}", play.said);
}

#[test]
fn a_crash_of_the_only_agent_is_tried_again_as_often_as_the_task() {
    let shut = Next::Unavailable(&[("a", Reason::Crash, 60)]);
    let mut play = Play::new(Policy::default());
    for _ in 0..2 {
        play = play.go(&[Chosen("a"), Ready, Submitted, CRASH, Unseen, shut.clone()]);
        assert_eq!(play.outcome(), None);
        play = play.go(&[Passing(60)]);
    }
    let play = play.go(&[Chosen("a"), Ready, Submitted, CRASH, Unseen, shut]);
    assert!(matches!(play.why(), Some(GiveUp::NoProvider { .. })), "{:?}", play.outcome());
}

#[test]
fn a_person_can_end_it_at_any_time() {
    let script = [Chosen("a"), Ready, Submitted, IDLE, Tree(&["x"])];
    for length in 0..=script.len() {
        let play = Play::new(Policy::default()).go(&script[..length]).go(&[Cancels]);
        assert_eq!(play.outcome(), Some(&Outcome::Cancelled));
        assert_eq!(play.said.iter().filter(|said| *said == "stop").count(), usize::from(length > 0));
        assert_eq!(play.run.attempts()[0].status, Status::Abandoned);
    }
}

#[test]
fn a_probe_is_used_or_given_back() {
    let probing = || {
        let mut play = Play::new(Policy::default());
        play.give(Event::ProviderChosen {
            act: play.run.act(),
            provider: "a".into(),
            probe: Probes::new(Some(ProbeId(4)), None),
        });
        play
    };
    let last = |play: &Play| play.said[2..].to_vec();
    assert_eq!(
        last(&probing().go(&[Ready, Submitted, IDLE, Unseen, Cancels]))[1..],
        ["close a", "observe", "check", "stop", "report cancelled"]
    );
    assert_eq!(last(&probing().go(&[Ready, Submitted, QUOTA]))[1..], ["trip a quota", "stop", "observe"]);
    assert_eq!(last(&probing().go(&[Cancels])), ["release a", "stop", "report cancelled"]);
    assert_eq!(last(&probing().go(&[Passing(180)])), ["release a", "stop", "observe"]);
    assert_eq!(last(&probing().go(&[BLOCKED, Passing(600)])), ["release a", "report blocked"]);
    let Some(Action::TripBreaker { probe, .. }) = probing()
        .go(&[Ready, Submitted, QUOTA])
        .actions
        .into_iter()
        .find(|action| said(action) == "trip a quota")
    else {
        panic!()
    };
    assert_eq!(probe, Probes::new(Some(ProbeId(4)), None));
}

#[test]
fn a_restart_asks_again_for_what_was_under_way_and_counts_nothing_twice() {
    let script = [
        Chosen("a"),
        Ready,
        Submitted,
        QUOTA,
        Tree(&["x"]),
        Chosen("b"),
        Ready,
        Submitted,
        IDLE,
        Tree(&["y"]),
        Fails("E"),
        Submitted,
        IDLE,
        Tree(&["z"]),
        Passes,
    ];
    let straight = Play::new(Policy::default()).go(&script);
    assert_eq!(straight.outcome(), Some(&Outcome::Done));
    for length in 0..=script.len() {
        let play = Play::new(Policy::default()).go(&script[..length]);
        let (said, outbox) = (play.said.len(), play.run.outbox.clone());
        let play = play.go(&[Restarts, Restarts]);
        assert_eq!(play.actions[said..], [outbox.clone(), outbox].concat(), "with the same names");
        let play = play.go(&script[length..]);
        assert_eq!(play.run, straight.run);
    }
    // Nobody was there to hear of it: it has its whole time again.
    let table: [(&[Next], u64); 4] =
        [(&FIRST[..1], 180), (&FIRST[..2], 900), (&FIRST[..4], 120), (&FIRST, 3_600)];
    for (script, secs) in table {
        let mut play = Play::new(Policy::default()).go(script);
        play.now = Wall(10_000_000);
        let play = play.go(&[Restarts]);
        assert_eq!(play.run.deadline(), Some(play.now.plus(Duration::from_secs(secs))));
    }
    let working = Play::new(Policy::default()).go(&[Chosen("a"), Ready, Submitted]);
    let said = working.said.len();
    assert_eq!(working.go(&[Restarts]).said.len(), said, "an agent at work is left alone");
}

#[test]
fn changes_add_up() {
    let changes = |created: &[&str], modified: &[&str], deleted: &[&str]| {
        let files = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>();
        Changes { created: files(created), modified: files(modified), deleted: files(deleted), more: 0 }
    };
    let table = [
        (changes(&["a"], &[], &[]), changes(&["b"], &["a"], &[]), changes(&["a", "b"], &[], &[])),
        (changes(&["a"], &["m"], &[]), changes(&[], &[], &["a", "m"]), changes(&[], &[], &["m"])),
        (changes(&[], &[], &["d"]), changes(&["d"], &[], &[]), changes(&[], &["d"], &[])),
        (changes(&[], &["m"], &[]), changes(&[], &["m"], &[]), changes(&[], &["m"], &[])),
    ];
    for (first, second, both) in table {
        assert_eq!(first.then(&second), both);
    }
    let many: Vec<String> = (0..500).map(|number| number.to_string()).collect();
    let bounded = Changes { created: many, ..Changes::default() }.bounded();
    assert_eq!((bounded.created.len(), bounded.more), (200, 300));
    assert!(!bounded.is_empty());
    let errors = record::bounded_errors(vec!["é".repeat(5_000); 50]);
    assert_eq!((errors.len(), errors[0].chars().count()), (20, 1_000));
}

mod blocked;
mod earlier;
mod inquiry;
mod simulation;
mod story;
mod time;
