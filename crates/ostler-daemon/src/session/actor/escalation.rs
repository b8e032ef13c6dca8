//! Other ways for what an agent has to know, when it cannot be typed.

use std::path::PathBuf;

use ostler_agents::instructions::BlockId;
use ostler_session::{Escalation, Event, NOTICE, WISH};
use ostler_store::{ASSIGNMENT, Message, PendingContext, Store, StoreError};

use super::Actor;
use crate::clock;
use crate::instructions_file::{InstructionsError, InstructionsFile};
use crate::project::Project;
use crate::session::by_file;

impl Actor {
    /// Lets what an agent has to know wait for it, and puts it into its instructions file.
    pub(super) async fn escalate(&mut self, escalation: Escalation) {
        let Escalation { id, text: typed, notice } = escalation;
        let asked = notice.clone();
        let (session, message, at) = (self.record.start.id.clone(), id.clone(), clock::now());
        let kept = self
            .services
            .store
            .run(move |store| {
                let known = store.pending_context(&session)?;
                let own = known.iter().find(|known| known.message == message);
                if own.is_none_or(|own| own.settled) {
                    let body = store.message_body(&session, &message)?.unwrap_or_default();
                    store.set_pending_context(&session, &message, &String::from_utf8_lossy(&body), at)?;
                }
                // An agent is told once of each message.
                let told =
                    asked.map(|notice| store.message(&session, &notice)).transpose()?.flatten().is_some();
                Ok((own.is_some_and(|own| own.in_file), known, told))
            })
            .await;
        self.log_trouble(&kept);
        let Ok((in_file, known, told)) = kept else { return };
        let in_file = in_file || self.put_block(&id, typed, &known).await;
        let tell = notice.is_some() && !told;
        if tell {
            let detail = "context is available: ostler context load".to_owned();
            self.tell_escalation(&id, "notification", detail).await;
        }
        self.session.handle(Event::Escalated { id, in_file, tell }, clock::both());
    }

    /// Puts a text into the instructions file, behind those of other messages that wait there; says whether it is there.
    async fn put_block(&self, id: &str, text: String, known: &[PendingContext]) -> bool {
        let (settled, waiting): (Vec<_>, Vec<_>) =
            known.iter().filter(|one| one.in_file).partition(|one| one.settled);
        let mut texts = self.texts_of(&waiting);
        texts.push(text);
        // Before it is there, so that it is taken out again whatever happens meanwhile.
        self.note_in_file(id, true).await;
        let Some(path) = self.write_block(texts).await else {
            self.note_in_file(id, false).await;
            return false;
        };
        for one in settled {
            self.note_in_file(&one.message, false).await;
        }
        self.tell_escalation(id, "file", path).await;
        true
    }

    /// What of this is in the instructions file: the texts, or where they are.
    fn texts_of(&self, there: &[&PendingContext]) -> Vec<String> {
        let pointer = |id: &str| by_file::find(self.dir.path(), id).map(|stored| stored.line.to_string());
        there.iter().map(|one| pointer(&one.message).unwrap_or_else(|| one.text.clone())).collect()
    }

    /// Puts these texts into the instructions file, in the place of what was there; nothing if there are none.
    async fn write_block(&self, texts: Vec<String>) -> Option<String> {
        let file = self.session.profile().agent.preset.instructions.clone()?;
        let block = BlockId::new(&self.record.start.id).ok()?;
        let cwd = PathBuf::from(&self.record.start.cwd);
        let put = move || {
            let file = InstructionsFile::new(&Project::of(&cwd).root, &file);
            if texts.is_empty() {
                file.remove(Some(&block))?;
            } else {
                let texts: Vec<&str> = texts.iter().map(|text| text.trim_end()).collect();
                file.put(&block, &texts.join("\n\n"))?;
            }
            Ok::<_, InstructionsError>(file.path().display().to_string())
        };
        tokio::task::spawn_blocking(put).await.ok()?.map_or_else(
            |error| {
                tracing::warn!(session = %self.record.start.name, %error, "the instructions file is not changed");
                None
            },
            Some,
        )
    }

    async fn note_in_file(&self, id: &str, in_file: bool) {
        let (session, id) = (self.record.start.id.clone(), id.to_owned());
        let noted = self.services.store.run(move |store| store.put_in_file(&session, &id, in_file)).await;
        self.log_trouble(&noted);
    }

    async fn tell_escalation(&self, id: &str, way: &'static str, detail: String) {
        let (session, id, at) = (self.record.start.id.clone(), id.to_owned(), clock::now());
        let told =
            self.services.store.run(move |store| store.escalated(&session, &id, way, &detail, at)).await;
        self.log_trouble(&told);
    }

    /// A message got through: what is in the instructions file is not needed any more, and what came with the message
    /// waits no more. What was given up with another one does, until the agent has asked for it.
    pub(super) async fn de_escalate(&self, message: &Message) {
        // It says where something is, and is nothing that could be there.
        if message.terms.sender == NOTICE {
            return;
        }
        let Some(known) = self.known_context().await else { return };
        // The context that the agent wished for had in it what waited then.
        let wished = message.terms.sender == WISH;
        let ends = |one: &&PendingContext| {
            one.message != ASSIGNMENT && (one.message == message.id || (wished && one.at <= message.created))
        };
        let mut ended: Vec<String> = known.iter().filter(ends).map(|one| one.message.clone()).collect();
        ended.push(message.id.clone());
        // What it was started with stays for as long as it runs.
        self.take_back(&known, ended, |one| one.message == ASSIGNMENT).await;
    }

    /// The agent may have a message, or nobody wants it to: nothing of it goes another way.
    pub(super) async fn withdraw(&self, id: &str) {
        let Some(known) = self.known_context().await else { return };
        if known.iter().any(|known| known.message == id) {
            self.take_back(&known, vec![id.to_owned()], |one| one.message != id).await;
        }
    }

    /// What waits for the session, or could not be taken out of the file yet; nothing if there is none.
    async fn known_context(&self) -> Option<Vec<PendingContext>> {
        let session = self.record.start.id.clone();
        let known = self.services.store.run(move |store| store.pending_context(&session)).await;
        self.log_trouble(&known);
        known.ok().filter(|known| !known.is_empty())
    }

    /// Leaves in the instructions file only what stays, and ends the waiting of some. What cannot be taken out now is
    /// tried again the next time.
    async fn take_back(
        &self,
        known: &[PendingContext],
        ended: Vec<String>,
        stays: impl Fn(&PendingContext) -> bool,
    ) {
        let (staying, gone): (Vec<_>, Vec<_>) =
            known.iter().filter(|one| one.in_file).partition(|one| !one.settled && stays(one));
        let out = gone.is_empty() || self.write_block(self.texts_of(&staying)).await.is_some();
        let out: Vec<String> = gone.into_iter().filter(|_| out).map(|one| one.message.clone()).collect();
        let session = self.record.start.id.clone();
        let record = move |store: &mut Store| {
            out.iter().try_for_each(|message| store.put_in_file(&session, message, false))?;
            ended.iter().try_for_each(|message| store.end_pending_context(&session, message))
        };
        let recorded = self.services.store.run(record).await;
        self.log_trouble(&recorded);
    }

    fn log_trouble<T>(&self, result: &Result<T, StoreError>) {
        if let Err(error) = result {
            tracing::error!(session = %self.record.start.name, %error, "not recorded");
        }
    }
}
