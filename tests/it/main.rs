//! The integration tests, as one binary so that it links once.

mod command;
