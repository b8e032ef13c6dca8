//! Programs that flood, stall and garble: bounded memory, no hang, others unaffected.
