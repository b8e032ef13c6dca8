use std::collections::BTreeMap;

use super::*;
use crate::Layer;

/// Three agents of different costs, and what is installed of them.
struct World {
    registry: Registry,
    standings: BTreeMap<String, Installation>,
    project: Picks,
    user: Picks,
}

fn world() -> World {
    let agent = |name: &str, priority, cost: &str| Layer {
        agent: name.into(),
        file: format!("{name}.toml"),
        text: format!(
            "title = \"The {name}\"\npriority = {priority}\ncost = \"{cost}\"\nrun.command = \"{name}\"\n"
        ),
    };
    let layers = [
        agent("test-cheap", 100_010, "economy"),
        agent("test-dear", 100_030, "premium"),
        agent("test-usual", 100_020, "standard"),
        Layer { agent: "test-broken".into(), file: "b.toml".into(), text: "nonsense = 1".into() },
    ];
    let installed = |name: &str| (name.to_owned(), Installation::Installed(format!("/bin/{name}").into()));
    World {
        registry: Registry::new(&layers),
        standings: ["test-cheap", "test-dear", "test-usual"].map(installed).into(),
        project: Picks { file: "project".into(), ..Picks::default() },
        user: Picks { file: "user".into(), ..Picks::default() },
    }
}

impl World {
    fn inputs(&self) -> Inputs<'_> {
        Inputs {
            registry: &self.registry,
            standings: &self.standings,
            asked: None,
            agent_variable: None,
            tier_variable: None,
            role: None,
            project: &self.project,
            user: &self.user,
        }
    }
}

fn roles(agent: &str) -> BTreeMap<String, String> {
    [("reviewer".to_owned(), agent.to_owned())].into()
}

#[test]
fn whoever_is_asked_first_decides() {
    let mut world = world();
    world.project.roles = roles("test-cheap");
    world.user.roles = roles("test-dear");
    world.project.default = Some("test-usual".into());
    world.user.default = Some("test-cheap".into());
    let all = Inputs {
        asked: Some("test-dear"),
        agent_variable: Some("test-usual"),
        tier_variable: Some("economy"),
        role: Some("reviewer"),
        ..world.inputs()
    };
    let check = |inputs: Inputs<'_>, step, agent: &str| {
        let choice = choose(&inputs).unwrap();
        assert_eq!((choice.step, choice.agent.name.as_str()), (step, agent));
        assert_eq!(choice.considered.len(), Step::ORDER.len());
        let deciding: Vec<Step> =
            choice.considered.iter().filter(|one| one.decides).map(|one| one.step).collect();
        assert_eq!(deciding, [step]);
        choice
    };
    check(all, Step::Command, "test-dear");
    let next = Inputs { asked: None, ..all };
    check(next, Step::Environment, "test-usual");
    let next = Inputs { agent_variable: Some(""), ..next };
    check(next, Step::Tier, "test-cheap");
    let next = Inputs { tier_variable: None, ..next };
    check(next, Step::ProjectRole, "test-cheap");
    let none = Picks::default();
    check(Inputs { project: &none, ..next }, Step::UserRole, "test-dear");
    check(Inputs { role: Some("unheard-of"), ..next }, Step::ProjectDefault, "test-usual");
    let next = Inputs { role: None, ..next };
    check(next, Step::ProjectDefault, "test-usual");
    let next = Inputs { project: &none, ..next };
    check(next, Step::UserDefault, "test-cheap");
    let choice = check(Inputs { user: &none, ..next }, Step::Installed, "test-dear");
    assert_eq!(choice.program, PathBuf::from("/bin/test-dear"));
    assert!(
        choice.because[0].contains("test-dear 100030, test-usual 100020, test-cheap 100010"),
        "{choice:?}"
    );
}

#[test]
fn an_agent_that_was_named_is_never_replaced() {
    let mut world = world();
    world.standings.remove("test-usual");
    let wrong = Installation::Wrong { program: "/bin/test-dear".into(), reason: "it said \"moo\"".into() };
    world.standings.insert("test-dear".into(), wrong);
    let refused = |inputs: Inputs<'_>, reason: &str, hint: &str| {
        let error = choose(&inputs).unwrap_err();
        assert!(error.reason.contains(reason), "{error:?}");
        assert!(error.hint.contains(hint), "{error:?}");
        assert_eq!(error.considered.len(), Step::ORDER.len());
    };
    let asked = |name| Inputs { asked: Some(name), ..world.inputs() };
    refused(asked("test-usual"), "test-usual is not installed", "install it");
    refused(asked("test-dear"), "/bin/test-dear is not The test-dear: it said \"moo\"", "first on the PATH");
    refused(asked("test-chaep"), "no agent is called \"test-chaep\"", "did you mean test-cheap?");
    refused(asked("test-broken"), "no agent is called", "b.toml:1: nonsense: unknown field");
    refused(asked(GENERIC), "no agent is called", "ostler agents list");
    refused(
        Inputs { agent_variable: Some("nobody"), ..world.inputs() },
        "OSTLER_AGENT says nobody",
        "preset",
    );
    for tier in ["premium", "standard"] {
        let inputs = Inputs { tier_variable: Some(tier), ..world.inputs() };
        refused(inputs, &format!("no {tier} agent is installed"), "OSTLER_TIER");
    }
    refused(
        Inputs { tier_variable: Some("cheap"), ..world.inputs() },
        "\"cheap\", which is no tier",
        "economy",
    );
    let project = Picks { default: Some("test-usual".into()), ..world.project.clone() };
    refused(
        Inputs { project: &project, ..world.inputs() },
        "project: agents.default is test-usual",
        "in that file",
    );
    let nothing = BTreeMap::new();
    refused(Inputs { standings: &nothing, ..world.inputs() }, "no agent is installed", "install one");
}

#[test]
fn what_cannot_be_read_is_told() {
    let world = world();
    let broken = Picks { broken: Some("c.toml:3: agents: no".into()), ..Picks::default() };
    let choice = choose(&Inputs { project: &broken, ..world.inputs() }).unwrap();
    assert_eq!(choice.step, Step::Installed);
    assert!(choice.considered.iter().any(|one| one.said.contains("cannot be used: c.toml:3")));
    let error = choose(&Inputs { user: &broken, ..world.inputs() }).unwrap_err();
    assert!(error.reason.contains("c.toml:3: agents: no"), "{error}");
    choose(&Inputs { user: &broken, asked: Some("test-dear"), ..world.inputs() }).unwrap();
}
