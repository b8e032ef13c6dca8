use super::*;

#[test]
fn a_region_reads_as_it_is_written() {
    for text in [
        "title",
        "screen",
        "top 1",
        "top 500",
        "bottom 12",
        "status",
        "cursor",
        "above-cursor",
        "below-cursor",
        "composer",
        "above 3",
        "below",
        "dialog",
    ] {
        assert_eq!(text.parse::<Region>().unwrap().to_string(), text);
    }
}

#[test]
fn what_is_no_region_is_refused_and_the_regions_are_told() {
    for text in [
        "",
        "Title",
        "top",
        "top 0",
        "top 501",
        "top -1",
        "top x",
        "top 1 2",
        "top  1",
        "title 1",
        "bottom",
        "above",
        "status 1",
        "screen 3",
        "dialog 2",
        " title",
        "title ",
        "top 99999999999999999999",
    ] {
        let error = text.parse::<Region>().unwrap_err().to_string();
        assert!(error.contains(&format!("{text:?}")) && error.contains("above N"), "{error}");
    }
}
