use super::*;

fn rows(wanted: u16, selected: u16) -> DialogView {
    DialogView::Rows { wanted: Some(wanted), selected: Some(selected) }
}

/// A program that reads every key, and draws all the time.
fn play(table: &[(u64, DialogView)]) -> Vec<(u64, Action)> {
    let mut dialog = Dialog::new(Steady(0));
    let mut act = |at: u64, sight: DialogView| match dialog.look(sight, at, Steady(at))? {
        Action::Inspect => dialog.inspected(0, at, sight, Steady(at)),
        action => Some(action),
    };
    table.iter().filter_map(|(at, sight)| act(*at, *sight).map(|action| (*at, action))).collect()
}

#[test]
fn nothing_is_pressed_while_an_answer_waits_to_be_read() {
    let mut dialog = Dialog::new(Steady(0));
    let (sight, at) = (rows(3, 3), Steady);
    assert_eq!(dialog.look(sight, 0, at(400)), None);
    assert_eq!(dialog.look(sight, 0, at(650)), Some(Action::Inspect));
    // An earlier daemon pressed it, and the program hangs.
    assert_eq!(dialog.inspected(1, 0, sight, at(651)), None);
    assert_eq!(dialog.deadline(), Some(at(2_150)));
    assert_eq!(dialog.look(sight, 0, at(2_150)), Some(Action::Inspect));
    assert_eq!(dialog.inspected(0, 0, sight, at(2_151)), Some(ENTER));
    // The next one is not pressed before that one is read either.
    assert_eq!(dialog.look(sight, 0, at(6_151)), Some(Action::Inspect));
    assert_eq!(dialog.inspected(1, 0, sight, at(6_152)), None);
    assert_eq!(dialog.look(sight, 5, at(7_651)), Some(Action::Inspect), "whatever it draws");
    assert_eq!(dialog.look(DialogView::Gone, 0, at(7_700)), Some(Action::Answered));
    assert_eq!(dialog.inspected(0, 0, sight, at(7_701)), None, "late news");
}

#[test]
fn a_key_that_was_read_is_not_repeated_before_the_program_draws() {
    let (sight, at) = (rows(3, 3), Steady);
    let mut dialog = Dialog::new(Steady(0));
    let _ = (dialog.look(sight, 1, at(400)), dialog.look(sight, 1, at(650)));
    assert_eq!(dialog.inspected(0, 1, sight, at(651)), Some(ENTER));
    assert_eq!(dialog.look(sight, 1, at(4_651)), Some(Action::Inspect));
    assert_eq!(dialog.inspected(0, 1, sight, at(4_652)), None);
    assert_eq!(dialog.look(sight, 1, at(30_000)), None);
    assert_eq!(dialog.deadline(), Some(at(60_651)));
    let mut left = dialog.clone();
    assert_eq!(left.look(sight, 1, at(60_651)), Some(Action::Leave(Reason::Stays)));
    assert_eq!(dialog.clone().look(DialogView::Gone, 2, at(30_100)), Some(Action::Answered));
    // It drew, and the dialog is as it was.
    assert_eq!(dialog.look(sight, 2, at(30_100)), Some(Action::Inspect));
    assert_eq!(dialog.inspected(0, 2, sight, at(30_101)), Some(ENTER));

    // The same for a key that selects.
    let (sight, mut dialog) = (rows(4, 3), Dialog::new(Steady(0)));
    assert_eq!(dialog.look(sight, 1, at(400)), Some(DOWN));
    assert_eq!(dialog.look(sight, 1, at(1_900)), Some(Action::Inspect));
    assert_eq!(dialog.inspected(0, 1, sight, at(1_901)), None);
    assert_eq!(dialog.clone().look(sight, 1, at(60_400)), Some(Action::Leave(Reason::Stuck)));
    assert_eq!(dialog.look(sight, 2, at(9_000)), Some(DOWN));
}

#[test]
fn what_an_earlier_daemon_may_have_answered_is_not_answered_before_the_program_draws() {
    let (sight, at) = (rows(3, 3), Steady);
    let mut dialog = Dialog::inherited(Steady(0));
    assert_eq!(dialog.look(sight, 1, at(400)), Some(Action::Inspect));
    assert_eq!(dialog.inspected(0, 1, sight, at(401)), None);
    assert_eq!(dialog.look(sight, 1, at(30_000)), None);
    assert_eq!(dialog.clone().look(sight, 1, at(60_000)), Some(Action::Leave(Reason::Inherited)));
    assert_eq!(dialog.clone().look(DialogView::Gone, 2, at(30_000)), None, "it was not answered here");
    assert_eq!(dialog.look(sight, 2, at(30_000)), None);
    assert_eq!(dialog.look(sight, 2, at(30_250)), Some(Action::Inspect));
    assert_eq!(dialog.inspected(0, 2, sight, at(30_251)), Some(ENTER));
}

const DOWN: Action = Action::Press(Press::Down);
const ENTER: Action = Action::Press(Press::Enter);

#[test]
fn the_wanted_row_is_selected_and_seen_before_enter() {
    let done = play(&[
        (100, rows(7, 6)),
        (400, rows(7, 6)),
        (450, rows(7, 6)),
        (600, rows(7, 7)),
        (700, rows(7, 7)),
        (850, rows(7, 7)),
        (1_000, DialogView::Gone),
    ]);
    assert_eq!(done, [(400, DOWN), (850, ENTER), (1_000, Action::Answered)]);
}

#[test]
fn a_default_that_is_right_is_still_looked_at() {
    let done = play(&[(400, rows(3, 3)), (500, rows(3, 3)), (650, rows(3, 3))]);
    assert_eq!(done, [(650, ENTER)]);
    let done = play(&[(400, rows(3, 3)), (650, rows(3, 4))]);
    assert_eq!(done, [(650, Action::Press(Press::Up))], "it moved: it is moved back");
}

#[test]
fn a_lost_key_is_repeated_and_a_stuck_selection_left() {
    let stuck = [400, 1_900, 2_000, 3_500, 3_600, 5_100, 5_200].map(|at| (at, rows(5, 4)));
    let done = [(400, DOWN), (2_000, DOWN), (3_600, DOWN), (5_200, Action::Leave(Reason::Stuck))];
    assert_eq!(play(&stuck), done);
}

#[test]
fn a_dialog_without_the_row_is_left() {
    let nothing = DialogView::Rows { wanted: None, selected: Some(3) };
    let left = (5_400, Action::Leave(Reason::NoSuchRow));
    assert_eq!(play(&[(400, nothing), (5_399, nothing), (5_400, nothing)]), [left]);
    let late = [(400, nothing), (3_000, rows(6, 6)), (3_250, rows(6, 6))];
    assert_eq!(play(&late), [(3_250, ENTER)], "it was drawn late");
}

#[test]
fn a_dialog_without_rows_is_answered_by_its_keys() {
    let answer = Action::Press(Press::Answer);
    let done = play(
        &[400, 900, 4_400, 4_500]
            .map(|at| (at, DialogView::Plain))
            .into_iter()
            .chain([(4_600, DialogView::Gone)])
            .collect::<Vec<_>>(),
    );
    assert_eq!(done, [(400, answer), (4_500, answer), (4_600, Action::Answered)]);
}

#[test]
fn a_dialog_that_goes_away_by_itself_was_not_answered() {
    assert_eq!(play(&[(100, rows(1, 2)), (200, DialogView::Gone), (900, rows(1, 2))]), []);
}

#[test]
fn an_answer_by_hand_is_pressed_once() {
    let (sight, at) = (rows(3, 3), Steady);
    let mut dialog = Dialog::new(Steady(0)).once();
    let _ = (dialog.look(sight, 1, at(400)), dialog.look(sight, 1, at(650)));
    assert!(!dialog.is_answered());
    assert_eq!(dialog.inspected(0, 1, sight, at(651)), Some(ENTER));
    assert!(dialog.is_answered());
    assert_eq!(dialog.look(sight, 9, at(4_650)), None);
    // It drew, and what stands there may be another one that says the same.
    assert_eq!(dialog.look(sight, 9, at(4_651)), Some(Action::Leave(Reason::Stays)));
}
