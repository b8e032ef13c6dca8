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
    /// A bare Enter submitted what the empty composer suggests, or answered a dialog that nobody had seen.
    strayed: u32,
}

impl Agent {
    fn draw(&mut self, now: u64) {
        self.changed = now;
    }

    fn take(&mut self, write: Write) {
        match write {
            Write::Body => self.composer += 1,
            Write::Enter if self.composer == 0 => self.strayed += 1,
            Write::Enter => {
                self.submitted += std::mem::take(&mut self.composer);
                self.working = true;
            }
            Write::Clear => self.composer = 0,
            Write::Interrupt => {}
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Mood {
    Takes,
    Drops,
    /// Drops it, and draws a little later.
    Ignores,
    /// Takes it out of the terminal, and does nothing about it for so long.
    Stalls(u64),
    Delays,
    Dialog,
    /// The write cannot be recorded.
    FullDisk,
}

const MOODS: [Mood; 8] = [
    Mood::Takes,
    Mood::Drops,
    Mood::Ignores,
    Mood::Stalls(4_000),
    Mood::Stalls(12_000),
    Mood::Delays,
    Mood::Dialog,
    Mood::FullDisk,
];

proptest! {
    #[test]
    fn whatever_the_agent_does_the_text_is_submitted_at_most_once(
        moods in prop::collection::vec(prop::sample::select(MOODS.to_vec()), 1..40),
        pauses in prop::collection::vec(1u64..4_000, 40..120),
    ) {
        let mut delivery = Delivery::new(Mode::WhenIdle, policy());
        let mut agent = Agent { composer: 0, submitted: 0, working: false, dialog: false, changed: 0, strayed: 0 };
        // When what is done about a key, and whether the terminal has it until then.
        let mut late: Vec<(u64, Option<Write>, bool)> = Vec::new();
        let mut moods = moods.into_iter().cycle();
        let mut now = 0;
        let mut proven = false;
        for pause in pauses {
            let mut events = vec![Event::Looked];
            while let Some(event) = events.pop() {
                let sight = match agent.composer {
                    _ if agent.dialog => ComposerView::Hidden,
                    0 => ComposerView::Empty,
                    1 => ComposerView::Ours,
                    _ => ComposerView::Foreign,
                };
                let state = match (agent.dialog, agent.working) {
                    (true, _) => State::Blocked,
                    (_, true) => State::Working,
                    _ => State::Idle,
                };
                let seen = View { at_work: agent.working, ..drew(agent.changed, view(state, sight)) };
                let before = delivery.clone();
                for action in delivery.handle(event, &seen, Steady(now)) {
                    match action {
                        Action::Inspect => {
                            let pending = u32::from(late.iter().any(|(.., unread)| *unread));
                            events.push(Event::Inspected { cooked: false, pending, drawn: agent.changed });
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
                                Some(Mood::Ignores) => late.push((now + 900, None, false)),
                                Some(Mood::Stalls(long)) => late.push((now + long, Some(write), false)),
                                Some(Mood::Delays) => late.push((now + 1_700, Some(write), true)),
                                Some(Mood::Dialog) => { agent.dialog = true; agent.draw(now); }
                                _ => late.push((now, Some(write), true)),
                            }
                            events.push(Event::Typed);
                        }
                        Action::Prove(Proof::Submitted, _) => { prop_assert!(agent.submitted == 1); proven = true; }
                        Action::Prove(..) | Action::Missed | Action::Fail(_) => {}
                    }
                }
                // In the order in which they were typed: a stalled agent does nothing else meanwhile.
                while let Some((at, write, _)) = late.first().copied() {
                    if at > now || agent.dialog {
                        break;
                    }
                    late.remove(0);
                    agent.draw(now);
                    if let Some(write) = write {
                        agent.take(write);
                    }
                }
            }
            prop_assert!(agent.strayed == 0, "a second Enter fell on what came next");
            prop_assert!(agent.submitted <= 1, "submitted {} times", agent.submitted);
            if delivery.is_done() { break; }
            // Somebody answers dialogs in the end.
            if agent.dialog && pause > 3_000 { agent.dialog = false; agent.draw(now); }
            now += pause;
        }
        prop_assert!(!proven || agent.submitted == 1);
    }
}
