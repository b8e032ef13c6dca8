//! Other ways for what an agent has to know, when it cannot be typed.

use ostler_agents::instructions::BlockId;
use ostler_core::queue::Priority;

use super::Actor;
use crate::clock;
use crate::instructions_file::InstructionsFile;
use crate::project::Project;

impl Actor {
    /// A try has failed: what an agent has to know goes into its instructions file after some.
    pub(super) async fn escalate(&mut self, order: u64, last: bool) {
        let Some(open) = self.deliveries.open.get(&order) else { return };
        let essential = open.message.terms.ack || open.message.terms.priority == Priority::Startup;
        if !essential || open.message.terms.raw {
            return;
        }
        let (id, text) = (open.message.id.clone(), open.plain.to_string());
        let due = open.delivery.attempts() >= self.known.delivery.file_after.get() || last;
        if due && !self.in_file {
            let (session, context, at) = (self.record.start.id.clone(), text.clone(), clock::now());
            let kept =
                self.shared.store.run(move |store| store.set_pending_context(&session, &context, at)).await;
            self.log_store(&kept);
            self.in_file = self.put_block(&id, text).await;
        }
        if last && self.known.delivery.notify {
            let detail = "context is available: ostler context load".to_owned();
            self.tell_escalation(&id, "notification", detail).await;
        }
    }

    async fn put_block(&mut self, id: &str, text: String) -> bool {
        let Some(file) = self.known.agent.preset.instructions.clone() else { return false };
        let Ok(block) = BlockId::new(&self.record.start.id) else { return false };
        let cwd = std::path::PathBuf::from(&self.record.start.cwd);
        let put = move || {
            let file = InstructionsFile::new(&Project::of(&cwd).root, &file);
            let path = file.path();
            file.put(&block, &text).map(|_| path)
        };
        match tokio::task::spawn_blocking(put).await {
            Ok(Ok(path)) => {
                self.tell_escalation(id, "file", path.display().to_string()).await;
                true
            }
            Ok(Err(error)) => {
                tracing::warn!(session = %self.record.start.name, %error, "the instructions file is not used");
                false
            }
            Err(_) => false,
        }
    }

    async fn tell_escalation(&self, id: &str, way: &'static str, detail: String) {
        let (session, id, at) = (self.record.start.id.clone(), id.to_owned(), clock::now());
        let told = self.shared.store.run(move |store| store.escalated(&session, &id, way, &detail, at)).await;
        self.log_store(&told);
    }

    /// A message got through: what is in the instructions file is not needed any more.
    pub(super) async fn de_escalate(&mut self) {
        if !std::mem::take(&mut self.in_file) {
            return;
        }
        let (Some(file), Ok(block)) =
            (self.known.agent.preset.instructions.clone(), BlockId::new(&self.record.start.id))
        else {
            return;
        };
        let cwd = std::path::PathBuf::from(&self.record.start.cwd);
        let remove = move || InstructionsFile::new(&Project::of(&cwd).root, &file).remove(Some(&block));
        if let Ok(Err(error)) = tokio::task::spawn_blocking(remove).await {
            tracing::warn!(session = %self.record.start.name, %error, "our block stays in the instructions file");
        }
        let session = self.record.start.id.clone();
        let taken = self.shared.store.run(move |store| store.take_pending_context(&session)).await;
        self.log_store(&taken);
    }
}
