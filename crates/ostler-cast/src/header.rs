//! The first line of a recording.

use crate::json::push_string;

/// What a recording says about itself before its first event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// Columns of the terminal when the recording began.
    pub width: u16,
    /// Rows of the terminal when the recording began.
    pub height: u16,
    /// When the recording began, in seconds since the Unix epoch.
    pub timestamp: Option<u64>,
    /// A name for people.
    pub title: Option<String>,
    /// The command line that ran in the terminal.
    pub command: Option<String>,
    /// The program's `TERM`, kept in the header's `env` object.
    pub term: Option<String>,
    /// The agent that was recorded, kept in the header's `ostler` object.
    pub agent: Option<String>,
    /// The agent's version, kept there too.
    pub agent_version: Option<String>,
}

/// Renders the header as the first line of a file, newline included.
pub fn header_line(header: &Header) -> String {
    let mut line =
        format!("{{\"version\":2,\"width\":{},\"height\":{}", header.width, header.height).into_bytes();
    if let Some(timestamp) = header.timestamp {
        line.extend_from_slice(format!(",\"timestamp\":{timestamp}").as_bytes());
    }
    for (name, value) in [("title", &header.title), ("command", &header.command)] {
        if let Some(value) = value {
            line.extend_from_slice(format!(",\"{name}\":").as_bytes());
            push_string(&mut line, value);
        }
    }
    if let Some(term) = &header.term {
        line.extend_from_slice(b",\"env\":{\"TERM\":");
        push_string(&mut line, term);
        line.push(b'}');
    }
    if let Some(agent) = &header.agent {
        line.extend_from_slice(b",\"ostler\":{\"agent\":");
        push_string(&mut line, agent);
        if let Some(version) = &header.agent_version {
            line.extend_from_slice(b",\"version\":");
            push_string(&mut line, version);
        }
        line.push(b'}');
    }
    line.extend_from_slice(b"}\n");
    // Built from `str`s and ASCII, so nothing is lost here.
    String::from_utf8_lossy(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_out_what_is_not_known() {
        let header = Header { width: 80, height: 24, ..Header::default() };
        assert_eq!(header_line(&header), "{\"version\":2,\"width\":80,\"height\":24}\n");
    }

    #[test]
    fn renders_every_field() {
        let header = Header {
            width: 120,
            height: 40,
            timestamp: Some(1_700_000_000),
            title: Some("a \"quoted\"\ntitle".into()),
            command: Some("agent --resume".into()),
            term: Some("xterm-256color".into()),
            agent: Some("agent".into()),
            agent_version: Some("1.2.3".into()),
        };
        assert_eq!(
            header_line(&header),
            "{\"version\":2,\"width\":120,\"height\":40,\"timestamp\":1700000000,\
             \"title\":\"a \\\"quoted\\\"\\ntitle\",\"command\":\"agent --resume\",\
             \"env\":{\"TERM\":\"xterm-256color\"},\"ostler\":{\"agent\":\"agent\",\"version\":\"1.2.3\"}}\n"
        );
    }
}
