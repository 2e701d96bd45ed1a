//! The frontier on disk, and the laws that every frontier keeps.

mod damage;
mod find;
mod housekeeping;
mod laws;
mod world;
