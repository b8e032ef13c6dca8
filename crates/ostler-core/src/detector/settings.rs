//! How long things may take before they mean something, and how much each is worth.

use serde::{Deserialize, Serialize};

/// Settings of the detector. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// A screen that looks idle is believed after it looked so, and was quiet, for this long.
    pub idle_confirm_ms: u32,
    /// The same where a rule is certain, which needs no quiet.
    pub certain_confirm_ms: u32,
    /// The same before the agent was ready for the first time: agents draw their prompt before their dialogs.
    pub startup_confirm_ms: u32,
    /// The same for an agent that will tell its status once it is ready, and has not yet.
    pub startup_status_ms: u32,
    /// A screen that looks idle is believed after this long even if it is never quiet; 0 is never.
    pub noisy_idle_ms: u32,
    /// An emptied composer means that work begins, for this long at most.
    pub submit_grace_ms: u32,
    /// An agent that is slow to take Enter has this long.
    pub enter_grace_ms: u32,
    /// An agent that has drawn something since Enter, and left the text where it was, does not want it after this.
    pub refusal_confirm_ms: u32,
    /// A start of which nothing is recognised is given up after this.
    pub startup_deadline_ms: u32,
    /// Output so soon after something was typed is its echo.
    pub echo_ms: u32,
    /// Output that goes on for so long is work.
    pub flow_ms: u32,
    /// Output ends with a pause of this length.
    pub pause_ms: u32,
    /// A terminal that says nothing for this long is silent.
    pub silence_ms: u32,
    /// A sign of work that moved, and stands still now, is believed for this long.
    pub stall_ms: u32,
    /// What looks like a dialog of some agent, on the screen of one that says it works, is one if nothing moves
    /// for this long.
    pub still_dialog_ms: u32,
    /// Older word of the agent gives way to a screen that contradicts it for so long.
    pub contradiction_ms: u32,
    /// A turn that was begun and never ended is believed to be over after the screen looked idle for this long:
    /// some agents report no interrupt.
    pub interrupt_confirm_ms: u32,
    /// The same for one whose screen has looked so from its beginning: some agents take their time to show work.
    pub begin_confirm_ms: u32,
    /// An end that is told of a turn of which the screen has shown nothing is believed after this long.
    pub end_confirm_ms: u32,
    /// Word of work gives way to a silent screen that looks idle after this long.
    pub veto_expiry_ms: u32,
    /// A status that changes twice within this time, right after a start, has flickered.
    pub flicker_ms: u32,
    /// A limit of which the agent does not tell the end is worth a try after this; each time after twice as long.
    pub limit_ms: u32,
    /// And after this at the latest. So is a quota that is used up.
    pub limit_max_ms: u32,
    /// Where no rule knows the screen, the processes are looked at when it has said nothing new for this long.
    pub look_ms: u32,
    /// What that look shows is waited for this long.
    pub look_wait_ms: u32,
    /// Processes at work, where nothing better tells, are looked at again after this; each time after twice as long.
    pub look_again_ms: u32,
    /// And after this at the latest.
    pub look_again_max_ms: u32,
    /// What each sign is worth.
    pub weights: Weights,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            idle_confirm_ms: 350,
            certain_confirm_ms: 100,
            startup_confirm_ms: 1_200,
            startup_status_ms: 2_000,
            noisy_idle_ms: 0,
            submit_grace_ms: 2_000,
            enter_grace_ms: 10_000,
            refusal_confirm_ms: 1_000,
            startup_deadline_ms: 30_000,
            echo_ms: 400,
            flow_ms: 500,
            pause_ms: 1_200,
            silence_ms: 2_000,
            stall_ms: 10_000,
            still_dialog_ms: 10_000,
            contradiction_ms: 1_000,
            interrupt_confirm_ms: 1_500,
            begin_confirm_ms: 15_000,
            end_confirm_ms: 0,
            veto_expiry_ms: 120_000,
            flicker_ms: 100,
            limit_ms: 60_000,
            limit_max_ms: 900_000,
            look_ms: 400,
            look_wait_ms: 800,
            look_again_ms: 2_000,
            look_again_max_ms: 60_000,
            weights: Weights::default(),
        }
    }
}

/// What signs are worth that prove nothing alone. Idle is believed at the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// The terminal is silent.
    pub silence: f32,
    /// Nothing on the screen changes, counters of tokens included.
    pub stable: f32,
    /// The transcript's last turn is complete.
    pub transcript: f32,
    /// The screen ends as screens end that wait for a person.
    pub ending: f32,
    /// The program is truly reading from the terminal.
    pub reading: f32,
    /// Several signs agree.
    pub agreement: f32,
    /// Another agent was asked, and said so.
    pub judge: f32,
    /// From here on they are believed.
    pub threshold: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            silence: 0.30,
            stable: 0.20,
            transcript: 0.30,
            ending: 0.20,
            reading: 0.95,
            agreement: 0.10,
            judge: 0.70,
            threshold: 0.70,
        }
    }
}
