//! Talking with an agent: stopping its turn.

use crate::support::TestHome;

#[test]
fn a_turn_is_interrupted_and_it_is_said_what_became_of_it() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.wait("a", "idle");
    assert_eq!(home.ok(["interrupt", "a"]), "a had nothing to interrupt: it is idle\n");
    home.deliver("a", "!work 5m", &[]);
    assert_eq!(home.ok(["interrupt", "a"]), "a interrupted: it is idle now\n");
    assert_eq!(home.count("a", "interrupted"), 1);
    home.deliver("a", "!permission make", &[]);
    home.wait("a", "blocked");
    let said = home.run(["interrupt", "a", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&told["outcome"], &told["pressed"]), (&"dialog".into(), &false.into()));
    said.fails(5, &["nothing was pressed: a dialog is open", "ostler answer a"]);
    assert_eq!((home.count("a", "interrupted"), home.count("a", "answered")), (1, 0));
    home.start_sh("plain", "sleep 600");
    home.run(["interrupt", "plain"]).fails(2, &["how to interrupt", "input.interrupt"]);
    home.ok(["stop", "plain"]);
    home.run(["interrupt", "plain"]).fails(1, &["has ended"]);
}
