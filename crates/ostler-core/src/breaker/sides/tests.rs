use super::super::{Breakers, Key, Limit, Reason, State, UnavailableProvider};
use super::*;
use crate::Failure;
use crate::detector::Reporter;

fn at(minutes: u64) -> Wall {
    Wall(minutes * 60_000)
}

fn hook(failure: Failure) -> Evidence {
    Evidence::TurnFailed { by: Reporter::Hook, failure }
}

fn exited() -> Evidence {
    Evidence::Exited { status: Some(1), signal: None }
}

/// Tells both breakers of a provider on a machine.
fn report(
    breakers: &mut Breakers,
    key: &Key,
    host: &str,
    news: AgentReport,
    probes: Option<Probes>,
    now: Wall,
) {
    for side in Side::BOTH {
        let _ = breakers.change(&key.on(side, host), |breaker, settings| {
            breaker.on_report(side, news, probes, settings, now);
        });
    }
}

fn failed(evidence: Evidence) -> AgentReport {
    AgentReport::Failed { evidence, until: None }
}

#[test]
fn what_may_be_the_trouble_of_a_machine_shuts_that_machine_out() {
    // Whether the breaker of the machine, another machine, and another account on it let somebody through.
    let table = [
        (hook(Failure::RateLimit), [false, false, true]),
        (hook(Failure::Quota), [false, false, true]),
        (hook(Failure::Overloaded), [false, false, true]),
        (Evidence::LimitShown { limit: Limit::Quota }, [false, false, true]),
        (hook(Failure::Auth), [false, true, true]),
        (hook(Failure::Unavailable), [false, true, true]),
        (Evidence::StatusError, [false, true, true]),
        (exited(), [false, true, true]),
    ];
    for (evidence, expected) in table {
        let mut breakers = Breakers::default();
        let key = Key::of("a");
        let work = key.clone().with_account(Some("work".into()));
        report(&mut breakers, &key, "here", failed(evidence), None, at(0));
        let asked = [(&key, "here"), (&key, "there"), (&work, "here")];
        let lets = asked
            .map(|(key, host)| breakers.clone().choose(std::slice::from_ref(key), host, &[], at(0)).is_ok());
        assert_eq!(lets, expected, "{evidence:?}");
        assert_eq!(breakers.iter().count(), 1, "{evidence:?}");
    }
}

#[test]
fn both_breakers_are_asked_and_each_has_one_probe() {
    let keys = [Key::of("a")];
    let ids =
        |provider, host| Probes::new(provider, host).map(|probes| Side::BOTH.map(|side| probes.of(side)));
    let mut breakers = Breakers::default();
    report(&mut breakers, &keys[0], "here", failed(hook(Failure::Quota)), None, at(0));
    report(&mut breakers, &keys[0], "here", failed(hook(Failure::Auth)), None, at(0));
    // What needs a person is told, and the later of both ends.
    let shut = breakers.choose(&keys, "here", &[], Wall(1)).unwrap_err();
    assert_eq!(shut, [UnavailableProvider { provider: "a".into(), reason: Reason::Auth, until: at(1) }]);
    let probes = breakers.choose(&keys, "here", &[], at(1)).unwrap().probe;
    assert_eq!(
        probes.map(|probes| Side::BOTH.map(|side| probes.of(side))),
        ids(Some(ProbeId(1)), Some(ProbeId(1)))
    );
    for host in ["here", "there"] {
        assert!(breakers.choose(&keys, host, &[], at(2)).is_err(), "one probe only");
    }
    report(&mut breakers, &keys[0], "here", AgentReport::AtWork, probes, at(5));
    assert_eq!(breakers.choose(&keys, "there", &[], at(2)).unwrap_err()[0].until, at(15));
    // It says that the login is not good: the provider is as unknown as before, for whoever comes next.
    report(&mut breakers, &keys[0], "here", failed(hook(Failure::Auth)), probes, at(6));
    assert_eq!(breakers.choose(&keys, "here", &[], at(6)).unwrap_err()[0].until, at(11));
    let other = breakers.choose(&keys, "there", &[], at(6)).unwrap().probe;
    assert_eq!(other, Probes::new(Some(ProbeId(2)), None));
    report(&mut breakers, &keys[0], "there", AgentReport::Nothing, other, at(7));
    let last = breakers.choose(&keys, "here", &[], at(11)).unwrap().probe;
    assert_eq!(last, Probes::new(Some(ProbeId(3)), Some(ProbeId(2))));
    report(&mut breakers, &keys[0], "here", AgentReport::Succeeded { began: at(12) }, None, at(13));
    assert!(breakers.iter().all(|(_, breaker)| breaker.state() == State::Closed));
    // A stranger's probe is nobody else's to give back.
    report(&mut breakers, &keys[0], "here", failed(hook(Failure::Quota)), None, at(20));
    let probe = breakers.choose(&keys, "there", &[], at(21)).unwrap().probe;
    assert_eq!(probe, Probes::new(Some(ProbeId(4)), None));
    report(
        &mut breakers,
        &keys[0],
        "here",
        AgentReport::Nothing,
        Probes::new(None, Some(ProbeId(4))),
        at(21),
    );
    assert!(breakers.choose(&keys, "there", &[], at(22)).is_err());
}

#[test]
fn keys_have_names_of_their_own() {
    let usual = Key::of("a");
    let work = usual.clone().with_account(Some("key-1".into()));
    let names = [&usual, &work].map(|key| [key.name(), key.on(Side::Host, "h").name(), key.label()]);
    assert_eq!(
        names,
        [["a", "a@+h", "a"], ["a@key-1", "a@key-1+h", "a@key-1"]].map(|row| row.map(String::from))
    );
    assert_eq!(usual.on(Side::Host, "h").on(Side::Provider, "h"), usual);
    let read = |text| serde_json::from_str::<Key>(text).unwrap();
    assert_eq!(read(r#"{"provider":"a"}"#), usual);
    let text = serde_json::to_string(&work.on(Side::Host, "h")).unwrap();
    assert_eq!(serde_json::from_str::<Key>(&text).unwrap(), work.on(Side::Host, "h"));
}

#[test]
fn probes_are_read_in_the_old_form_too() {
    let read = |text| serde_json::from_str::<Option<Probes>>(text).unwrap();
    assert_eq!(read("null"), None);
    assert_eq!(read("7"), Probes::new(Some(ProbeId(7)), None));
    for probes in [(Some(1), None), (None, Some(2)), (Some(3), Some(4))] {
        let probes = Probes::new(probes.0.map(ProbeId), probes.1.map(ProbeId));
        let text = serde_json::to_string(&probes).unwrap();
        assert_eq!(serde_json::from_str::<Option<Probes>>(&text).unwrap(), probes);
    }
    assert_eq!(Probes::new(None, None), None);
}
