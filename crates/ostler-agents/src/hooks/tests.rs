mod merge;
mod presets;
