//! What a holder is to run.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::codec::{Fields, Put, Truncated};

/// Bytes of output kept unless told otherwise: with the ring's header, 64 whole pages.
pub const DEFAULT_RING: u32 = 256 * 1024 - 64;
const VERSION: u16 = 1;

/// One program under care. Its environment is the holder's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The file to execute.
    pub program: PathBuf,
    /// How the program is to see itself named; launchers go by it.
    pub argv0: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it starts.
    pub cwd: PathBuf,
    /// Columns of its terminal.
    pub cols: u16,
    /// Rows of its terminal.
    pub rows: u16,
    /// Bytes of output to keep.
    pub ring: u32,
    /// Most bytes of recording to write; 0 records nothing.
    pub record: u64,
    /// Limit on open files for the program; 0 leaves it.
    pub open_files: u64,
    /// The program's umask.
    pub umask: u32,
    /// The agent, for the recording; empty where it is not known.
    pub agent: String,
    /// Its version, for the recording.
    pub agent_version: String,
}

impl Spec {
    /// The spec as the content of the session's `spec` file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.u16(VERSION);
        out.text(self.program.as_os_str().as_bytes());
        out.text(self.argv0.as_bytes());
        out.text(self.cwd.as_os_str().as_bytes());
        out.u16(self.cols);
        out.u16(self.rows);
        out.u32(self.ring);
        out.u64(self.record);
        out.u32(u32::try_from(self.args.len()).unwrap_or(u32::MAX));
        for arg in &self.args {
            out.text(arg.as_bytes());
        }
        out.u64(self.open_files);
        out.u32(self.umask);
        out.text(self.agent.as_bytes());
        out.text(self.agent_version.as_bytes());
        out
    }

    /// Reads what [`Spec::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Truncated> {
        let mut fields = Fields(bytes);
        let _version = fields.u16()?;
        let string = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        let program = string(fields.text()?).into();
        let argv0 = string(fields.text()?);
        let cwd = string(fields.text()?).into();
        let (cols, rows, ring, record) = (fields.u16()?, fields.u16()?, fields.u32()?, fields.u64()?);
        let count = fields.u32()?;
        let args = (0..count)
            .map(|_| Ok(OsString::from_vec(fields.text()?.to_vec())))
            .collect::<Result<_, Truncated>>()?;
        let (open_files, umask) = (fields.u64()?, fields.u32()?);
        // An older daemon, which an upgrade has yet to replace, does not write these.
        let mut text =
            || fields.text().map(|text| String::from_utf8_lossy(text).into_owned()).unwrap_or_default();
        let (agent, agent_version) = (text(), text());
        Ok(Self {
            program,
            argv0,
            args,
            cwd,
            cols,
            rows,
            ring,
            record,
            open_files,
            umask,
            agent,
            agent_version,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_the_file() {
        let spec = Spec {
            program: "/bin/sh".into(),
            argv0: "sh".into(),
            args: vec!["-c".into(), OsString::from_vec(vec![0xFF, b'x'])],
            cwd: "/".into(),
            cols: 80,
            rows: 24,
            ring: DEFAULT_RING,
            record: 7,
            open_files: 1024,
            umask: 0o22,
            agent: "agent".into(),
            agent_version: "1.0.0".into(),
        };
        let bytes = spec.to_bytes();
        assert_eq!(Spec::from_bytes(&bytes), Ok(spec));
        assert!(Spec::from_bytes(&bytes[..20]).is_err());
    }
}
