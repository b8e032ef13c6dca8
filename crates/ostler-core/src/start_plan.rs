//! How an agent gets what it has to know from the start.
//!
//! What an agent can do decides: whether its hooks run when a session begins, and whether it takes a first prompt on
//! its command line. Whatever the way, each piece goes exactly one of them.

/// What an agent can take at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities {
    /// A hook of ours runs when its session begins, and what it prints is read. At most so many bytes are.
    pub hook: Option<usize>,
    /// It takes a first prompt on its command line.
    pub argument: bool,
}

/// What an agent has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted<'a> {
    /// Who speaks and about what; empty for none.
    pub beacon: &'a str,
    /// What it should know before it begins.
    pub context: Option<&'a str>,
    /// What it should do.
    pub work: Option<&'a str>,
}

/// A piece of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub part: Part,
    /// The text.
    pub text: String,
    /// Which way it goes.
    pub way: StartupRoute,
    /// The agent is asked to confirm it.
    pub ack: bool,
}

/// What a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What it should know.
    Context,
    /// What it should do.
    Work,
}

impl Part {
    /// The name, for ids.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Work => "prompt",
        }
    }
}

/// Ways into an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartupRoute {
    /// Its session-start hook prints it.
    Hook,
    /// The first prompt on its command line.
    Argument,
    /// A message, when it is ready.
    #[default]
    Message,
}

impl StartupRoute {
    /// The name in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Argument => "argument",
            Self::Message => "message",
        }
    }

    /// The way of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Hook, Self::Argument, Self::Message].into_iter().find(|way| way.as_str() == name)
    }
}

/// Longest text on a command line.
pub const MAX_ARGUMENT: usize = 32 << 10;
/// Longest context that is typed; a longer one goes by file.
pub const MAX_CONTEXT: usize = 100 << 10;

/// What an agent is given in its instructions file before it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// What stands there.
    pub text: String,
    /// What it is told instead.
    pub pointer: String,
}

/// The assignment of an agent that reads this file: all that it should know and do, and a line that says where it is.
pub fn assignment(file: &str, context: Option<&str>, work: Option<&str>) -> Option<Assignment> {
    let context = context.map(str::trim_end).filter(|context| !context.is_empty());
    let work = work.map(str::trim_end).filter(|work| !work.is_empty());
    let task = work.map(|work| format!("## Task\n\n{work}"));
    let parts: Vec<&str> = context.into_iter().chain(task.as_deref()).collect();
    let (what, then) = match (context, work) {
        (None, None) => return None,
        (Some(_), None) => ("What you should know", "Read it."),
        (None, Some(_)) => ("Your task", "Read it and begin."),
        (Some(_), Some(_)) => ("What you should know and do", "Read it and begin."),
    };
    let pointer = format!("{what} is in {file}, between the lines with ostler:begin and ostler:end. {then}");
    Some(Assignment { text: parts.join("\n\n"), pointer })
}

/// Bytes of the request to confirm a context, which is around it.
const REQUEST: usize = 100;

/// Decides which way each piece goes.
pub fn plan(abilities: Abilities, wanted: Wanted<'_>) -> Vec<Piece> {
    let Wanted { beacon, context, work } = wanted;
    let context = context.map(str::trim_end).filter(|context| !context.is_empty());
    let work = work.map(str::trim_end).filter(|work| !work.is_empty());
    let with_beacon =
        |text: &str| if beacon.is_empty() { text.to_owned() } else { format!("{beacon}\n\n{text}") };
    let first = |part, text: String, ack| {
        let way = if abilities.argument && fits_argument(&text) {
            StartupRoute::Argument
        } else {
            StartupRoute::Message
        };
        Piece { part, text, way, ack }
    };
    let mut pieces = Vec::new();
    match (context, work) {
        (None, None) => {}
        (None, Some(work)) => pieces.push(first(Part::Work, with_beacon(work), false)),
        (Some(context), work) => {
            // Who speaks is said once, with what the agent is to do if there is anything.
            let told = if work.is_some() { context.to_owned() } else { with_beacon(context) };
            if abilities.hook.is_some_and(|limit| told.len() + REQUEST <= limit) {
                let way = StartupRoute::Hook;
                pieces.push(Piece { part: Part::Context, text: told, way, ack: true });
                pieces.extend(work.map(|work| first(Part::Work, with_beacon(work), false)));
                return pieces;
            }
            pieces.push(first(Part::Context, with_beacon(context), true));
            pieces.extend(work.map(|work| Piece {
                part: Part::Work,
                text: work.to_owned(),
                way: StartupRoute::Message,
                ack: false,
            }));
        }
    }
    pieces
}

/// A text that begins with a dash would be read as an option.
fn fits_argument(text: &str) -> bool {
    text.len() <= MAX_ARGUMENT && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEITHER: Abilities = Abilities { hook: None, argument: false };
    const HOOK: Abilities = Abilities { hook: Some(REQUEST + 10), argument: false };
    const ARGUMENT: Abilities = Abilities { hook: None, argument: true };
    const BOTH: Abilities = Abilities { hook: Some(REQUEST + 10), argument: true };

    fn ways(
        abilities: Abilities,
        context: Option<&str>,
        work: Option<&str>,
    ) -> Vec<(Part, StartupRoute, String, bool)> {
        let wanted = Wanted { beacon: "B", context, work };
        plan(abilities, wanted)
            .into_iter()
            .map(|piece| (piece.part, piece.way, piece.text, piece.ack))
            .collect()
    }

    #[test]
    fn what_an_agent_can_do_decides() {
        use Part::{Context, Work};
        use StartupRoute::{Argument, Hook, Message};
        let text = str::to_owned;
        for (abilities, expected) in [
            (BOTH, [(Context, Hook, text("ctx"), true), (Work, Argument, text("B\n\ndo"), false)]),
            (HOOK, [(Context, Hook, text("ctx"), true), (Work, Message, text("B\n\ndo"), false)]),
            (ARGUMENT, [(Context, Argument, text("B\n\nctx"), true), (Work, Message, text("do"), false)]),
            (NEITHER, [(Context, Message, text("B\n\nctx"), true), (Work, Message, text("do"), false)]),
        ] {
            assert_eq!(ways(abilities, Some("ctx"), Some("do")), expected, "{abilities:?}");
        }
        assert_eq!(ways(BOTH, None, Some("do")), [(Work, Argument, text("B\n\ndo"), false)]);
        assert_eq!(ways(NEITHER, None, None), []);
        // Without a prompt, who speaks is said with the context.
        for (abilities, way) in [(BOTH, Hook), (HOOK, Hook), (ARGUMENT, Argument), (NEITHER, Message)] {
            let alone = ways(abilities, Some("ctx"), None);
            assert_eq!(alone, [(Context, way, text("B\n\nctx"), true)], "{abilities:?}");
        }
    }

    #[test]
    fn what_is_too_long_goes_another_way() {
        let long = "c".repeat(11);
        assert_eq!(
            ways(BOTH, Some(&long), None)[0].1,
            StartupRoute::Argument,
            "a hook's output would be cut"
        );
        let longer = "c".repeat(MAX_ARGUMENT + 1);
        assert_eq!(ways(BOTH, Some(&longer), None)[0].1, StartupRoute::Message);
        let longest = "c".repeat(MAX_CONTEXT + 1);
        let (_, way, text, ack) = ways(BOTH, Some(&longest), None).remove(0);
        assert_eq!(
            (way, text, ack),
            (StartupRoute::Message, format!("B\n\n{longest}"), true),
            "nothing of it is lost"
        );
        let bare = Wanted { work: Some("--help me"), ..Wanted::default() };
        assert_eq!(plan(BOTH, bare)[0].way, StartupRoute::Message, "it is no option");
    }

    #[test]
    fn an_assignment_is_in_the_file_and_what_is_typed_says_where() {
        for (context, work, text) in [
            (Some("ctx"), Some("do"), Some("ctx\n\n## Task\n\ndo")),
            (Some("ctx"), None, Some("ctx")),
            (None, Some("do"), Some("## Task\n\ndo")),
            (Some(" "), None, None),
            (None, None, None),
        ] {
            let found = assignment("AGENTS.md", context, work);
            assert_eq!(found.as_ref().map(|found| found.text.as_str()), text);
            let Some(Assignment { pointer, .. }) = found else { continue };
            assert!(
                pointer.contains("AGENTS.md") && pointer.contains("begin.") == work.is_some(),
                "{pointer}"
            );
            assert!(!pointer.contains("ctx"), "{pointer}");
        }
    }

    #[test]
    fn nothing_is_said_twice() {
        for abilities in [BOTH, HOOK, ARGUMENT, NEITHER] {
            let pieces = ways(abilities, Some("ctx"), Some("do"));
            let all: String = pieces.iter().map(|piece| piece.2.as_str()).collect();
            for once in ["ctx", "do", "B"] {
                assert_eq!(all.matches(once).count(), 1, "{abilities:?}: {once}");
            }
        }
    }
}
