use super::*;
use crate::Failure;
use crate::detector::Reporter;
use proptest::prelude::*;

const MINUTE: u64 = 60_000;

fn at(minutes: u64) -> Wall {
    Wall(minutes * MINUTE)
}

fn hook(failure: Failure) -> Evidence {
    Evidence::TurnFailed { by: Reporter::Hook, failure }
}

/// A breaker that was opened at minute 0, with what `until` says.
fn opened(failure: Failure, until: Option<Wall>) -> Breaker {
    let mut breaker = Breaker::default();
    breaker.failed(&hook(failure), until, None, &Settings::default(), at(0));
    breaker
}

fn refused_until(breaker: &Breaker, now: Wall) -> Option<Wall> {
    match breaker.would_admit(now) {
        Admission::Refused { until, .. } => Some(until),
        Admission::Free | Admission::Probe(_) => None,
    }
}

fn probe(breaker: &mut Breaker, now: Wall) -> ProbeId {
    match breaker.admit(&Settings::default(), now) {
        Admission::Probe(probe) => probe,
        other => panic!("no probe but {other:?}"),
    }
}

#[test]
fn evidence_is_structured_and_some_of_it_is_nobodys_fault() {
    let exited = |status, signal| Evidence::Exited { status, signal };
    let table = [
        (hook(Failure::RateLimit), Some(Reason::RateLimit)),
        (hook(Failure::Quota), Some(Reason::Quota)),
        (hook(Failure::Auth), Some(Reason::Auth)),
        (hook(Failure::Overloaded), Some(Reason::Overloaded)),
        (hook(Failure::Unavailable), Some(Reason::Unavailable)),
        (hook(Failure::Invalid), None),
        (hook(Failure::Other), None),
        (Evidence::StatusError, Some(Reason::Unavailable)),
        (exited(Some(0), None), None),
        (exited(Some(1), None), Some(Reason::Crash)),
        (exited(None, Some(11)), Some(Reason::Crash)),
        (exited(None, Some(9)), Some(Reason::Crash)),
        (exited(None, Some(15)), None),
        (exited(None, Some(2)), None),
        (Evidence::LimitShown { limit: Limit::Rate }, Some(Reason::RateLimit)),
        (Evidence::LimitShown { limit: Limit::Quota }, Some(Reason::Quota)),
    ];
    for (evidence, reason) in table {
        assert_eq!(evidence.reason(), reason, "{evidence:?}");
        let mut breaker = Breaker::default();
        breaker.failed(&evidence, None, None, &Settings::default(), at(0));
        assert_eq!(breaker.state() == State::Closed, reason.is_none(), "{evidence:?}");
    }
    assert_eq!(Limit::of_kind(Some("rate_limit")), Limit::Rate);
    assert_eq!(Limit::of_kind(Some("usage")), Limit::Quota);
    assert_eq!(Limit::of_kind(None), Limit::Quota);
}

#[test]
fn it_is_open_until_the_stated_time_or_for_a_rung() {
    let table = [
        (Failure::Quota, Some(at(300)), at(300)),
        (Failure::RateLimit, Some(Wall(2_500)), Wall(2_500)),
        (Failure::Quota, None, at(1)),
        // In the past.
        (Failure::Quota, Some(at(0)), at(1)),
        // Longer than any provider is shut out.
        (Failure::Quota, Some(at(60 * 24 * 30)), at(60 * 24 * 8)),
        // Logins do not come back with time.
        (Failure::Auth, Some(at(300)), at(1)),
    ];
    for (failure, stated, until) in table {
        let breaker = opened(failure, stated);
        assert_eq!(breaker.deadline(), Some(until), "{failure:?} {stated:?}");
        assert_eq!(refused_until(&breaker, Wall(until.0 - 1)), Some(until));
        assert_eq!(refused_until(&breaker, until), None);
    }
}

#[test]
fn the_ladder_is_climbed_by_failing_probes_and_left_by_a_success() {
    let settings = Settings::default();
    let mut breaker = opened(Failure::Overloaded, None);
    let mut now = at(0);
    for minutes in [1, 5, 20, 60, 120, 120] {
        let until = now.plus(Duration::from_mins(minutes));
        assert_eq!(breaker.deadline(), Some(until));
        let id = probe(&mut breaker, until);
        breaker.failed(&hook(Failure::Overloaded), None, Some(id), &settings, until);
        now = until;
    }
    let due = breaker.deadline().unwrap();
    let _ = probe(&mut breaker, due);
    breaker.succeeded(due);
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(breaker.admit(&settings, due), Admission::Free);
    breaker.failed(&hook(Failure::Overloaded), None, None, &settings, due);
    assert_eq!(breaker.deadline(), Some(due.plus(Duration::from_mins(1))));
}

#[test]
fn one_probe_at_a_time_and_a_lost_one_keeps_nobody_out() {
    let settings = Settings::default();
    let mut breaker = opened(Failure::Quota, None);
    let first = probe(&mut breaker, at(1));
    assert_eq!(refused_until(&breaker, at(2)), Some(at(11)));
    breaker.renew(first, &settings, at(5));
    assert_eq!(refused_until(&breaker, at(14)), Some(at(15)));
    let second = probe(&mut breaker, at(15));
    assert_ne!(first, second);
    // The first one is not heard any more, except for what it achieved.
    breaker.renew(first, &settings, at(20));
    breaker.release(first, at(20));
    breaker.failed(&hook(Failure::Quota), None, Some(first), &settings, at(20));
    assert_eq!(breaker.deadline(), Some(at(25)));
    breaker.succeeded(at(1));
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn a_released_probe_can_be_taken_at_once() {
    let mut breaker = opened(Failure::Quota, None);
    let first = probe(&mut breaker, at(1));
    breaker.release(first, at(2));
    assert_ne!(probe(&mut breaker, at(2)), first);
}

#[test]
fn what_was_under_way_before_decides_nothing() {
    let settings = Settings::default();
    let mut breaker = Breaker::default();
    breaker.failed(&hook(Failure::Quota), Some(at(60)), None, &settings, at(10));
    let open = breaker.state();
    breaker.succeeded(at(9));
    assert_eq!(breaker.state(), open, "a turn that began before the limit struck proves nothing");
    breaker.failed(&hook(Failure::Overloaded), None, None, &settings, at(11));
    assert_eq!(breaker.state(), open, "more of the same trouble");
    breaker.failed(&hook(Failure::Quota), Some(at(30)), None, &settings, at(11));
    assert_eq!(breaker.state(), open, "never sooner");
    breaker.failed(&hook(Failure::Quota), Some(at(90)), None, &settings, at(11));
    assert_eq!(breaker.deadline(), Some(at(90)), "later if somebody says so");
    let _ = probe(&mut breaker, at(90));
    let half = breaker.state();
    breaker.failed(&hook(Failure::Quota), Some(at(200)), None, &settings, at(91));
    assert_eq!(breaker.state(), half, "the probe decides");
    breaker.reset();
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn providers_are_chosen_by_priority() {
    let mut breakers = Breakers::default();
    let keys = ["a", "b"].map(Key::of);
    assert_eq!(breakers.choose(&keys, "h", &[], at(0)), Ok(Choice { key: Key::of("a"), probe: None }));
    let fail = |until| {
        move |breaker: &mut Breaker, settings: &Settings| {
            breaker.failed(&hook(Failure::Quota), until, None, settings, at(0));
        }
    };
    assert!(breakers.change(&keys[0], fail(Some(at(30)))).is_some());
    assert_eq!(breakers.choose(&keys, "h", &[], at(1)), Ok(Choice { key: Key::of("b"), probe: None }));
    let excluding = ["b".to_owned()];
    let shut = |provider: &str, until| UnavailableProvider {
        provider: provider.into(),
        reason: Reason::Quota,
        until,
    };
    assert_eq!(breakers.choose(&keys, "h", &excluding, at(1)), Err(vec![shut("a", at(30))]));
    assert!(breakers.change(&keys[1], fail(None)).is_some());
    assert_eq!(
        breakers.choose(&keys, "h", &excluding, Wall(1)),
        Err(vec![shut("a", at(30)), shut("b", at(1))])
    );
    assert_eq!(breakers.choose(&keys, "h", &[], Wall(1)), Err(vec![shut("a", at(30)), shut("b", at(1))]));
    assert_eq!(breakers.choose(&keys, "h", &[], at(1)).unwrap().probe, Probes::new(Some(ProbeId(1)), None));
    assert_eq!(breakers.choose(&keys, "h", &[], at(2)), Err(vec![shut("a", at(30)), shut("b", at(11))]));
    let other_account = Key::of("a").with_account(Some("work".into()));
    assert_eq!(breakers.choose(&[other_account], "h", &[], at(2)).unwrap().probe, None);
    assert_eq!(breakers.change(&keys[1], |_, _| {}), None);
    assert_eq!(breakers.choose(&[], "h", &[], at(2)), Err(vec![]));
}

#[test]
fn a_store_in_trouble_shuts_nobody_out() {
    let mut breakers = Breakers::default();
    let (known, unknown) = (Key::of("known"), Key::of("unknown"));
    let open = opened(Failure::Quota, Some(at(60)));
    breakers.set(known.clone(), Stored::Found(open));
    breakers.set(known.clone(), Stored::Unavailable);
    breakers.set(unknown.clone(), Stored::Unavailable);
    assert_eq!(breakers.get(&known), open, "what was last known holds");
    assert_eq!(breakers.get(&unknown).state(), State::Closed);
    assert_eq!(breakers.choose(&[known.clone(), unknown.clone()], "h", &[], at(1)).unwrap().key, unknown);
    breakers.set(known.clone(), Stored::Absent);
    assert_eq!(breakers.get(&known).state(), State::Closed);
}

#[test]
fn what_is_stored_is_read_as_far_as_it_is_understood() {
    let mut half = opened(Failure::Auth, None);
    let _ = probe(&mut half, at(1));
    for breaker in [Breaker::default(), opened(Failure::Quota, Some(at(9))), half] {
        let text = serde_json::to_string(&breaker).unwrap();
        assert!(text.contains("\"version\":1"), "{text}");
        assert_eq!(serde_json::from_str::<Breaker>(&text).unwrap(), breaker);
    }
    let open = |reason| State::Open { since: Wall(1), until: Wall(2), reason, rung: 0 };
    let table = [
        (r#"{"version":1,"state":"closed"}"#, State::Closed),
        (r#"{"version":7,"state":"ajar","since":1,"new":[1]}"#, State::Closed),
        (r#"{"state":"open","since":1,"until":2,"reason":"quota","new":1}"#, open(Reason::Quota)),
        (r#"{"version":2,"state":"open","since":1,"until":2,"reason":"bored"}"#, open(Reason::Unavailable)),
    ];
    for (text, state) in table {
        assert_eq!(serde_json::from_str::<Breaker>(text).unwrap().state(), state, "{text}");
    }
    assert!(serde_json::from_str::<Breaker>("{}").is_err());
}

#[derive(Debug, Clone)]
enum Step {
    Admit,
    Fail { evidence: Evidence, stated: Option<u64>, by_probe: bool },
    Succeed { ago: u64 },
    Renew,
    Release,
    Restart,
}

fn any_failure() -> impl Strategy<Value = Failure> {
    prop::sample::select(vec![
        Failure::RateLimit,
        Failure::Quota,
        Failure::Auth,
        Failure::Overloaded,
        Failure::Unavailable,
        Failure::Invalid,
        Failure::Other,
    ])
}

fn any_step() -> impl Strategy<Value = Step> {
    let fail = (any_failure(), prop::option::of(0u64..600 * MINUTE), any::<bool>());
    prop_oneof![
        4 => Just(Step::Admit),
        4 => fail.prop_map(|(failure, stated, by_probe)| Step::Fail { evidence: hook(failure), stated, by_probe }),
        1 => (0u64..100 * MINUTE).prop_map(|ago| Step::Succeed { ago }),
        1 => Just(Step::Renew),
        1 => Just(Step::Release),
        2 => Just(Step::Restart),
    ]
}

proptest! {
    #[test]
    fn there_are_never_two_probes_and_no_end_moves_closer(
        steps in prop::collection::vec((0u64..20 * MINUTE, any_step()), 0..80)
    ) {
        let settings = Settings::default();
        let mut breaker = Breaker::default();
        let mut now = Wall(1_000 * MINUTE);
        // The probe that was let through last, and when it counts as lost.
        let mut out: Option<(ProbeId, Wall)> = None;
        for (later, step) in steps {
            now = Wall(now.0 + later);
            let before = breaker;
            match step {
                Step::Admit => {
                    let expected = breaker.would_admit(now);
                    let admission = breaker.admit(&settings, now);
                    prop_assert_eq!(admission, expected);
                    if let Admission::Probe(probe) = admission {
                        if let Some((last, expires)) = out {
                            prop_assert!(now >= expires, "two probes at a time");
                            prop_assert!(probe > last, "a number was used twice");
                        }
                        out = Some((probe, now.plus(settings.lease())));
                    }
                }
                Step::Fail { evidence, stated, by_probe } => {
                    let probe = out.filter(|_| by_probe).map(|(probe, _)| probe);
                    let stated = stated.map(Wall).map(|stated| Wall(now.0 + stated.0));
                    breaker.failed(&evidence, stated, probe, &settings, now);
                    if evidence.reason().is_none() {
                        prop_assert_eq!(breaker, before, "opened without evidence");
                    }
                    if let (State::Open { until: old, .. }, State::Open { until: new, .. }) =
                        (before.state(), breaker.state())
                        && now < old
                    {
                        prop_assert!(new >= old);
                    }
                    if breaker != before {
                        prop_assert!(breaker.deadline().is_some_and(|until| until > now));
                        out = out.map(|(probe, _)| (probe, now));
                    }
                }
                Step::Succeed { ago } => {
                    breaker.succeeded(now.minus(Duration::from_millis(ago)));
                    if breaker != before {
                        prop_assert_eq!(breaker.state(), State::Closed);
                        out = out.map(|(probe, _)| (probe, now));
                    }
                }
                Step::Renew => {
                    if let Some((probe, expires)) = &mut out {
                        breaker.renew(*probe, &settings, now);
                        if breaker != before {
                            *expires = now.plus(settings.lease());
                        }
                    }
                }
                Step::Release => {
                    if let Some((probe, expires)) = &mut out {
                        breaker.release(*probe, now);
                        if breaker != before {
                            *expires = now;
                        }
                    }
                }
                Step::Restart => {
                    let text = serde_json::to_string(&breaker).unwrap();
                    breaker = serde_json::from_str(&text).unwrap();
                    prop_assert_eq!(breaker, before);
                }
            }
        }
    }
}
