//! What an agent's hook reports.

use serde::{Deserialize, Serialize};

/// Most bytes of a payload that are reported; what is longer is cut.
pub const MAX_HOOK_PAYLOAD: usize = 1 << 20;

/// Something that happened in an agent, as its hook saw it. The payload follows in a frame, or in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookReport {
    /// Names the report: one that is handed over twice is handled once.
    pub id: String,
    /// Id of the session.
    pub session: String,
    /// Proof that the report is from within that session.
    pub nonce: String,
    /// The agent's name for what happened.
    pub event: String,
    /// The agent whose hook it is.
    pub agent: Option<String>,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The hook can give its agent context, and waits for it.
    #[serde(default)]
    pub context: bool,
}

impl HookReport {
    /// The report and its payload as a file: a line of JSON, then the payload as it is.
    pub fn to_file(&self, payload: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        bytes.extend_from_slice(payload);
        Ok(bytes)
    }

    /// Reads such a file, if it is one.
    pub fn from_file(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        Some((serde_json::from_slice(&bytes[..end]).ok()?, &bytes[end + 1..]))
    }

    /// The name of the file: reports in the order of their names are in the order of their times.
    ///
    /// None if the id could be anything else than a part of a file's name.
    pub fn file_name(&self) -> Option<String> {
        self.has_plain_id().then(|| format!("{:013}-{}", self.at, self.id))
    }

    /// Whether the id is one that a hook makes up.
    pub fn has_plain_id(&self) -> bool {
        (1..=64).contains(&self.id.len())
            && self.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_in_a_file_is_the_same_report() {
        let report = HookReport {
            id: "0198-a".into(),
            session: "s".into(),
            nonce: "n".into(),
            event: "Stop\n".into(),
            agent: None,
            at: 5,
            context: false,
        };
        let payload = b"{\n\"a\": \xff}\n";
        let file = report.to_file(payload).unwrap();
        assert_eq!(HookReport::from_file(&file), Some((report.clone(), &payload[..])));
        assert_eq!(report.file_name().unwrap(), "0000000000005-0198-a");
        for id in ["", "../x", "a/b", "a.b", &"x".repeat(65)] {
            assert_eq!(HookReport { id: (*id).into(), ..report.clone() }.file_name(), None);
        }
        assert_eq!(HookReport::from_file(b"nonsense"), None);
        assert_eq!(HookReport::from_file(b"{}\n"), None);
    }
}
