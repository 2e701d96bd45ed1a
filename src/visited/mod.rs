//! stub
use crate::config::FilterKind;
use crate::stats::FilterHealth;
use std::collections::HashSet;
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    New,
    Repeat,
    Doubt,
}
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct ExactError;
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct VisitedError;
pub struct Visited {
    seen: HashSet<u64>,
    asked: u64,
}
pub struct Health {
    pub kind: FilterKind,
    pub bits: u64,
    pub bits_per_url: f64,
    pub hashes: u32,
    pub items: u64,
    pub fill_ratio: f64,
    pub estimated_fpr: f64,
    pub expected_pages_missed: f64,
    pub verdict: FilterHealth,
}
pub struct Crossing {
    pub verdict: FilterHealth,
    pub advice: String,
}
impl Visited {
    pub fn new() -> Self {
        Self { seen: HashSet::new(), asked: 0 }
    }
    pub fn ask(&mut self, keys: &[u64], out: &mut Vec<Answer>) {
        let mut batch = HashSet::new();
        for k in keys {
            self.asked += 1;
            out.push(if self.asked % 3 == 0 && !batch.contains(k) {
                Answer::Doubt
            } else {
                batch.insert(*k);
                if self.seen.insert(*k) { Answer::New } else { Answer::Repeat }
            });
        }
    }
    pub fn settle(&mut self, keys: &[u64]) -> Result<Vec<bool>, ExactError> {
        Ok(keys.iter().map(|k| self.seen.insert(*k)).collect())
    }
    pub fn refresh_health(&mut self) {}
    pub fn crossing(&mut self) -> Option<Crossing> {
        None
    }
    pub fn health(&mut self) -> Option<Health> {
        None
    }
}
