//! A scripted reply, performed.

use std::time::Duration;

use tokio::sync::mpsc;

use super::log::{Event, Log};
use super::reading::Asked;
use super::script::{Ending, Part};
use super::settings::{Settings, ShellCall};
use super::tools::{self, Call};
use super::turns::Answer;
use super::wire::{Format, Said, Stream};

/// The words a model says when the script only counts them.
const WORDS: &str =
    "the stable is quiet and every horse stands ready in its box while the rain goes on outside";

/// One step of a reply that is ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Beat {
    Wait(Duration),
    Text(String),
}

/// A reply that is ready to be performed.
pub(super) struct Performance {
    pub(super) exchange: u64,
    pub(super) log: Log,
    beats: Vec<Beat>,
    call: Option<Call>,
}

impl Performance {
    pub(super) fn new(exchange: u64, log: Log, answer: &Answer, asked: &Asked, settings: &Settings) -> Self {
        let mut beats: Vec<Beat> = answer.reply.parts.iter().flat_map(|part| beats(part, settings)).collect();
        let call = match &answer.reply.ending {
            Ending::Tool(command) if settings.shell == ShellCall::Call => {
                tools::shell_call(&asked.tools, command, settings).or_else(|| {
                    beats.push(Beat::Text("There is no tool for commands.".into()));
                    None
                })
            }
            Ending::Tool(command) => {
                beats.push(Beat::Text(format!("\n```bash\n{command}\n```\n")));
                None
            }
            Ending::Question(text) => tools::question_call(&asked.tools, text, settings).or_else(|| {
                beats.push(Beat::Text(text.clone()));
                None
            }),
            Ending::Agent(task) => tools::agent_call(&asked.tools, task, settings).or_else(|| {
                beats.push(Beat::Text("There is no tool for agents.".into()));
                None
            }),
            Ending::Call(tool, arguments) => tools::named_call(&asked.tools, tool, arguments, settings)
                .or_else(|| {
                    beats.push(Beat::Text(format!("There is no tool {tool}.")));
                    None
                }),
            Ending::Done | Ending::Status { .. } => None,
        };
        Self { exchange, log, beats, call }
    }

    fn last_byte(&self, status: u16, text: String) {
        let tool = self.call.as_ref().map(|call| call.name.clone());
        let more = tool.is_some() || status != 200;
        self.log.write(self.exchange, Event::LastByte { status, text, tool, more });
    }

    /// Streams the reply into a channel. A receiver that is gone is a client that hung up.
    pub(super) async fn stream(self, mut wire: Box<dyn Stream>, to: mpsc::Sender<String>) {
        let mut text = String::new();
        if self.perform(&mut wire, &to, &mut text).await.is_some() {
            self.last_byte(200, text);
        } else {
            self.log.write(self.exchange, Event::ClientLeft);
        }
    }

    async fn perform(
        &self,
        wire: &mut Box<dyn Stream>,
        to: &mpsc::Sender<String>,
        text: &mut String,
    ) -> Option<()> {
        let mut begun = false;
        for beat in &self.beats {
            match beat {
                Beat::Wait(time) => tokio::select! {
                    () = tokio::time::sleep(*time) => {}
                    () = to.closed() => return None,
                },
                Beat::Text(more) => {
                    self.begin(wire, to, &mut begun).await?;
                    text.push_str(more);
                    to.send(wire.text(more)).await.ok()?;
                }
            }
        }
        self.begin(wire, to, &mut begun).await?;
        to.send(wire.end(self.call.as_ref())).await.ok()
    }

    async fn begin(
        &self,
        wire: &mut Box<dyn Stream>,
        to: &mpsc::Sender<String>,
        begun: &mut bool,
    ) -> Option<()> {
        if !std::mem::replace(begun, true) {
            to.send(wire.begin()).await.ok()?;
            self.log.write(self.exchange, Event::FirstByte);
        }
        Some(())
    }

    /// Waits as the script says and returns the body of an error.
    pub(super) async fn fail(self, status: u16, format: Format, until: Option<u64>) -> serde_json::Value {
        for beat in &self.beats {
            if let Beat::Wait(time) = beat {
                tokio::time::sleep(*time).await;
            }
        }
        self.log.write(self.exchange, Event::FirstByte);
        self.last_byte(status, String::new());
        until.map_or_else(|| format.error(status), |until| format.usage_limit(until))
    }

    /// Waits as the script says and returns everything at once.
    pub(super) async fn whole(self, format: Format, asked: &Asked) -> serde_json::Value {
        let mut said = Said { call: self.call.clone(), ..Said::default() };
        for beat in &self.beats {
            match beat {
                Beat::Wait(time) => tokio::time::sleep(*time).await,
                Beat::Text(text) => said.text.push_str(text),
            }
        }
        self.log.write(self.exchange, Event::FirstByte);
        let body = format.whole(self.exchange, asked, &said);
        self.last_byte(200, said.text);
        body
    }
}

fn beats(part: &Part, settings: &Settings) -> Vec<Beat> {
    match part {
        Part::Silence(time) => vec![Beat::Wait(*time)],
        Part::Say { words, over } => {
            let pause = over.checked_div(u32::try_from(*words).unwrap_or(u32::MAX)).unwrap_or_default();
            let word = |word: &str| [Beat::Text(format!("{word} ")), Beat::Wait(pause)];
            WORDS.split(' ').cycle().take(*words).flat_map(word).collect()
        }
        Part::Quote(text) => lines(text),
        Part::Recite(name) => {
            lines(settings.recitals.get(name).map_or("There is no such text.", String::as_str))
        }
    }
}

/// Texts are streamed line by line, as models do.
fn lines(text: &str) -> Vec<Beat> {
    text.split_inclusive('\n').map(|line| Beat::Text(line.to_owned())).collect()
}
