//! The durable record: sessions, events, messages.
