//! Whatever the agent does.

use proptest::prelude::*;

use super::*;

/// An agent whose composer works as agents' do, with moods.
#[derive(Debug, Clone)]
struct Agent {
    composer: u32,
    submitted: u32,
    working: bool,
    dialog: bool,
    changed: u64,
}

#[derive(Debug, Clone, Copy)]
enum Mood {
    Takes,
    Drops,
    Delays,
    Dialog,
    /// The write cannot be recorded.
    FullDisk,
}

proptest! {
    #[test]
    fn whatever_the_agent_does_the_text_is_submitted_at_most_once(
        moods in prop::collection::vec(prop::sample::select(vec![Mood::Takes, Mood::Drops, Mood::Delays, Mood::Dialog, Mood::FullDisk]), 1..40),
        pauses in prop::collection::vec(1u64..4_000, 40..120),
    ) {
        let mut delivery = Delivery::new(Mode::WhenIdle, policy());
        let mut agent = Agent { composer: 0, submitted: 0, working: false, dialog: false, changed: 0 };
        let mut late: Vec<(u64, Write)> = Vec::new();
        let mut moods = moods.into_iter().cycle();
        let mut now = 0;
        let mut proven = false;
        for pause in pauses {
            let mut events = vec![Event::Looked];
            while let Some(event) = events.pop() {
                let sight = match agent.composer {
                    _ if agent.dialog => Sight::Hidden,
                    0 => Sight::Empty,
                    1 => Sight::Ours,
                    _ => Sight::Foreign,
                };
                let state = match (agent.dialog, agent.working) {
                    (true, _) => State::Blocked,
                    (_, true) => State::Working,
                    _ => State::Idle,
                };
                let seen = View { at_work: agent.working, changed: Steady(agent.changed), ..view(state, sight) };
                let before = delivery.clone();
                for action in delivery.handle(event, &seen, Steady(now)) {
                    match action {
                        Action::Inspect => {
                            let pending = u32::from(!late.is_empty());
                            events.push(Event::Inspected { cooked: false, pending });
                        }
                        Action::Type(write) => {
                            prop_assert!(!agent.dialog, "a dialog was answered with {:?}", write);
                            match moods.next() {
                                Some(Mood::FullDisk) => {
                                    delivery = before.clone();
                                    delivery.postpone();
                                    continue;
                                }
                                Some(Mood::Drops) => {}
                                Some(Mood::Delays) => late.push((now + 1_700, write)),
                                Some(Mood::Dialog) => { agent.dialog = true; agent.changed = now; }
                                _ => late.push((now, write)),
                            }
                            events.push(Event::Typed);
                        }
                        Action::Prove(Proof::Submitted, _) => { prop_assert!(agent.submitted == 1); proven = true; }
                        Action::Prove(..) | Action::Missed | Action::Give(_) => {}
                    }
                }
                late.retain(|(at, write)| {
                    if *at > now || agent.dialog { return true; }
                    agent.changed = now;
                    match write {
                        Write::Body => agent.composer += 1,
                        Write::Enter => { agent.submitted += agent.composer; agent.working |= agent.composer > 0; agent.composer = 0; }
                        Write::Clear => agent.composer = 0,
                        Write::Interrupt => {}
                    }
                    false
                });
            }
            prop_assert!(agent.submitted <= 1, "submitted {} times", agent.submitted);
            if delivery.is_done() { break; }
            // Somebody answers dialogs in the end.
            if agent.dialog && pause > 3_000 { agent.dialog = false; agent.changed = now; }
            now += pause;
        }
        prop_assert!(!proven || agent.submitted == 1);
    }
}
