//! The safeguards that tests switch off one at a time, to see that the simulator notices.

/// Something that keeps a session from doing harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Safeguard {
    /// A text is typed only where nothing else stands.
    OnlyIntoAnEmptyComposer,
    /// Enter is pressed only behind a text that is seen.
    EnterOnlyWhileSeen,
    /// Nothing is typed into a dialog.
    NothingIntoDialogs,
    /// Nothing is typed before the agent is ready.
    NothingBeforeReady,
    /// Nothing is typed into a turn, unless wanted.
    NothingIntoTurns,
    /// Nothing is typed while a person types.
    PeopleTypeFirst,
    /// A person's keys do not come between a text and its Enter.
    KeysWaitForEnter,
    /// What stood on the screen before a text was typed, or an equal text, is no echo of it.
    OldEchoesDoNotCount,
    /// A text that the program has not read is not missing.
    UnreadIsNotMissing,
    /// What the program has read it need not have done anything about: only what it draws afterwards tells.
    ReadIsNotDone,
    /// A key that the program has not read, or not looked at, is an answer already.
    KeysAreAnswers,
    /// What is not on the screen yet proves nothing.
    OldOutputProvesNothing,
    /// What an agent does after somebody else's Enter is no proof for ours.
    OthersEnterForThemselves,
    /// Nobody is told what is not recorded.
    RecordedBeforeTold,
    /// A prompt of which only the record of messages knows stops like any other.
    RecordedPromptsStop,
    /// A text counts only with its signs and line breaks.
    WordForWord,
    /// What hooks reported while there was no daemon is heard before the end is recorded.
    ReportsBeforeTheEnd,
}
