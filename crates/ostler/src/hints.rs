//! What a person at the command line can do about a problem of the daemon.

use ostler_protocol::{Code, Problem};

/// What to do about a damaged database.
pub(crate) const REPAIR: &str = "ostler doctor --repair brings back what can be had, and keeps the damaged file; programs under care go on";

/// The hint for a problem; none where its code has none.
pub(crate) fn for_problem(problem: &Problem) -> Option<String> {
    let about = |name: &str| problem.data.get(name);
    Some(match problem.code {
        Code::SessionNotFound => "ostler list --all shows the sessions there are".into(),
        Code::SessionEnded => {
            let name = about("session")?;
            format!("`ostler status {name}` says how; `ostler resume {name}` runs it again")
        }
        Code::SessionRuns => format!("`ostler attach {}` shows it", about("session")?),
        Code::SessionHasSurvivors => format!("`ostler stop {}` ends them", about("session")?),
        Code::HolderUnreachable => {
            format!("`ostler screen {}` shows what was seen last; the daemon keeps trying", about("session")?)
        }
        Code::MessageNotFound => "ostler messages list --all shows them".into(),
        Code::MessageAmbiguous => "say which one with --session NAME".into(),
        Code::DirectoryUnusable => "give another one with --cwd".into(),
        Code::AgentUnknown => "ostler agents list shows those that are known".into(),
        Code::AgentNotInstalled => format!(
            "{} is not installed here, or not on the PATH; ostler agents check {} says more",
            about("title")?,
            about("agent")?
        ),
        Code::ProgramNotFound => {
            "check the name, or give the program's full path; ostler agents list shows agents".into()
        }
        Code::WrongProgram => format!(
            "put {} first on the PATH, or start this program by its path: ostler start {}",
            about("title")?,
            about("program")?
        ),
        Code::StartFailed => "ostler doctor shows what is found and what is missing".into(),
        Code::NoAgentGiven => {
            "name agents with --agent; ostler agents list shows those that are known".into()
        }
        Code::RunNotFound => "ostler runs list --all shows them".into(),
        Code::DirectoryTaken => format!(
            "give each run a work tree of its own (--worktree), wait for it (ostler runs wait {0}), or insist with \
             --share-directory",
            about("run")?
        ),
        Code::ProviderUnknown => "ostler providers lists the breakers that are kept".into(),
        Code::QuestionNotFound => "ostler ask list --all shows them".into(),
        Code::QuestionAnswered => format!("`ostler send {}` tells the agent more", about("session")?),
        Code::SharedStoreUnavailable => "runs go on with what is known; check the server, or --store".into(),
        Code::RecordDamaged => REPAIR.into(),
        Code::UnknownRequest => {
            "its version may be older: ostler daemon stop, then try again (programs go on)".into()
        }
        Code::NoDialog => {
            "`ostler answer NAME` shows what is asked now, `ostler attach NAME` lets you answer by hand"
                .into()
        }
        // The daemon's own hint holds for every front end, or there is none.
        Code::Unspecified
        | Code::SessionRecovering
        | Code::MessageSessionEnded
        | Code::MessageTooLong
        | Code::SessionUnproven
        | Code::TooManyCalls
        | Code::SendNotAllowed => {
            return None;
        }
    })
}

#[cfg(test)]
mod tests {
    use ostler_protocol::ErrorKind;

    use super::*;
    use crate::error::CommandError;

    #[test]
    fn the_code_decides_and_the_daemons_hint_is_the_last_resort() {
        let hint = |problem: Problem| CommandError::from(problem.hint("of the daemon")).hint.unwrap();
        let problem = || Problem::new(ErrorKind::Failed, "m");
        assert_eq!(hint(problem()), "of the daemon");
        assert_eq!(hint(problem().code(Code::MessageTooLong)), "of the daemon");
        let ended = problem().code(Code::SessionEnded);
        assert_eq!(hint(ended.clone()), "of the daemon", "it does not say which session");
        assert_eq!(
            hint(ended.about("session", "one")),
            "`ostler status one` says how; `ostler resume one` runs it again"
        );
        let missing = problem().code(Code::AgentNotInstalled).about("agent", "x").about("title", "The X");
        assert_eq!(
            hint(missing),
            "The X is not installed here, or not on the PATH; ostler agents check x says more"
        );
    }
}
