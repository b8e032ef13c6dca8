//! Dividing what there is among those who want it.

/// Divides `room` among wishes `(how much, weight)`: nobody gets more than they wish, and what one does not need goes
/// to the others by their weights.
pub(super) fn divide(room: usize, wishes: &[(usize, usize)]) -> Vec<usize> {
    let mut shares = vec![0; wishes.len()];
    let mut hungry: Vec<usize> = (0..wishes.len()).filter(|index| wishes[*index].0 > 0).collect();
    let mut left = room;
    while !hungry.is_empty() {
        let weights: usize = hungry.iter().map(|index| wishes[*index].1.max(1)).sum();
        // Multiplied first: what a division drops would be missing where everybody could have their wish.
        let fair = |index: &usize| {
            let share = left as u128 * wishes[*index].1.max(1) as u128 / weights as u128;
            usize::try_from(share).unwrap_or(left)
        };
        let content: Vec<usize> =
            hungry.iter().copied().filter(|index| wishes[*index].0 <= fair(index)).collect();
        if content.is_empty() {
            for index in &hungry {
                shares[*index] = fair(index);
            }
            break;
        }
        for index in content {
            shares[index] = wishes[index].0;
            left -= wishes[index].0;
            hungry.retain(|other| *other != index);
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_needed_goes_to_the_others() {
        let check = |room, wishes: &[(usize, usize)], shares: &[usize]| {
            assert_eq!(divide(room, wishes), shares, "{wishes:?}");
        };
        check(100, &[(10, 3), (20, 5), (30, 2)], &[10, 20, 30]);
        check(100, &[(500, 3), (500, 5), (500, 2)], &[30, 50, 20]);
        check(100, &[(10, 3), (500, 5), (500, 5)], &[10, 45, 45]);
        check(100, &[(0, 3), (500, 1)], &[0, 100]);
        check(0, &[(5, 1)], &[0]);
        check(5884, &[(623, 0), (5261, 2)], &[623, 5261]);
        check(usize::MAX, &[(5, 3), (7, 5)], &[5, 7]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nobody_gets_more_than_there_is(
            room in 0_usize..10_000,
            wishes in prop::collection::vec((0_usize..10_000, 0_usize..9), 0..5),
        ) {
            let shares = divide(room, &wishes);
            prop_assert!(shares.iter().sum::<usize>() <= room);
            prop_assert!(shares.iter().zip(&wishes).all(|(share, (wish, _))| share <= wish));
            if wishes.iter().map(|(wish, _)| wish).sum::<usize>() <= room {
                prop_assert!(shares.iter().zip(&wishes).all(|(share, (wish, _))| share == wish));
            }
        }
    }
}
