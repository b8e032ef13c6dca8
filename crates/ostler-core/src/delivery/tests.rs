//! Tables of moments, events and views, and what was done and when.

mod body;
mod clear;
mod crash;
mod gate;
mod given;
mod properties;
mod submit;

use std::time::Duration;

use super::*;
use crate::State;
use crate::start_plan::StartupRoute;

const IDLE: Situation = Situation { state: State::Idle, reachable: true, person: false, unrecognised: false };

fn policy() -> Policy {
    Policy { can_clear: true, enter_delay: Duration::from_millis(100), ..Policy::default() }
}

fn view(state: State, sight: ComposerView) -> View {
    View {
        situation: Situation { state, ..IDLE },
        sight,
        at_work: false,
        echoed: false,
        repeated: false,
        refused: false,
        tells_refusals: false,
        keeps: true,
        tells_prompts: false,
        touched: false,
        other_entered: false,
        raw: None,
        taken: false,
        changed: Steady(0),
        drawn: 0,
        shape: None,
        current: true,
    }
}

/// Plays a table of moments, events and views, and returns what was done and when.
fn play(delivery: &mut Delivery, table: &[(u64, Event, View)]) -> Vec<(u64, Action)> {
    let mut done = Vec::new();
    for (at, event, view) in table {
        done.extend(delivery.handle(*event, view, Steady(*at)).into_iter().map(|action| (*at, action)));
    }
    done
}

/// The same, drawn afresh at that moment.
fn drew(at: u64, view: View) -> View {
    View { changed: Steady(at), drawn: at, ..view }
}

/// The program has read everything.
const RAW: Event = Event::Inspected { cooked: false, pending: 0, drawn: 0 };

/// A delivery whose text was typed at 10.
fn written() -> Delivery {
    let mut delivery = Delivery::new(Mode::WhenIdle, policy());
    let idle = view(State::Idle, ComposerView::Empty);
    let done = play(&mut delivery, &[(0, Event::Looked, idle), (1, RAW, idle), (10, Event::Typed, idle)]);
    let proof = Action::Prove(Proof::Written, ProofEvidence::Ledger);
    assert_eq!(done, [(0, Action::Inspect), (1, Action::Type(Write::Body)), (10, proof)]);
    delivery
}

/// A delivery whose Enter was typed at 210.
fn entered() -> Delivery {
    let mut delivery = written();
    let ours = view(State::Idle, ComposerView::Ours);
    let done = play(
        &mut delivery,
        &[(60, Event::Looked, ours), (160, Event::Looked, ours), (210, Event::Typed, ours)],
    );
    let seen = Action::Prove(Proof::Seen, ProofEvidence::Composer);
    assert_eq!(done, [(60, seen), (160, Action::Type(Write::Enter))]);
    delivery
}
