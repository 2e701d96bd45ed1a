//! What a person can do once a crawl has ended, and what they should know before it begins.
//!
//! Owns the words; must not know how they are shown.

use std::path::Path;

use dragline::human;
use dragline::stats::EndReason;

use super::escape;
use super::quoting::quoted;

/// A row of the table at the end: what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) text: String,
}

/// The next step after a crawl in the directory `path` that ended in order; none where it is done.
/// `beside` is a command that must be running before the crawl can go on.
pub(super) fn step(reason: EndReason, path: &Path, beside: Option<&str>) -> Option<Step> {
    let raised = match reason {
        EndReason::Signal => "",
        EndReason::PageLimit => " --max-pages N    (N larger than it was)",
        EndReason::TimeLimit => " --max-time TIME    (longer than it was)",
        EndReason::SizeLimit => " --max-disk SIZE    (larger than it was)",
        EndReason::NothingFetched => {
            let text = "'dragline crawl' as before, and --fresh, once what is told above is mended; \
                        there is nothing to resume";
            return Some(Step { name: "begin again", text: text.to_owned() });
        }
        _ => return None,
    };
    let path = quoted(&path.display().to_string());
    let resume = format!("dragline resume {}{raised}", escape::escape(&path));
    let text = match beside {
        None => resume,
        Some(command) => {
            let indent = format!("\n{:16}", "");
            format!("{command}{indent}(the website ended with this process), and beside it{indent}{resume}")
        }
    };
    Some(Step { name: "go on with", text })
}

/// What to say of a budget, in bytes, that is more than the memory `available`.
pub(super) fn more_than_there_is(budget: u64, available: Option<u64>) -> Option<String> {
    let available = available.filter(|available| budget > *available)?;
    let [budget, available] = [budget, available].map(human::bytes);
    Some(format!(
        "--memory: {budget} is more than the {available} that this process can have at all; \
         where it comes to use them, the system may end it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stopped_names_how_it_goes_on() {
        let text = |reason| step(reason, "my crawl".as_ref(), None).map(|step| step.text);
        assert_eq!(text(EndReason::Signal).as_deref(), Some("dragline resume 'my crawl'"));
        for (reason, option) in [
            (EndReason::PageLimit, "--max-pages N"),
            (EndReason::TimeLimit, "--max-time TIME"),
            (EndReason::SizeLimit, "--max-disk SIZE"),
        ] {
            let told = text(reason).expect("it can go on");
            assert!(told.starts_with("dragline resume 'my crawl' ") && told.contains(option), "{told}");
        }
        assert_eq!(text(EndReason::Done), None);
        assert!(text(EndReason::NothingFetched).is_some_and(|told| told.contains("--fresh")));
    }

    #[test]
    fn what_must_run_beside_it_comes_first() {
        let step = step(EndReason::Signal, "c".as_ref(), Some("dragline demo --serve")).expect("it stopped");
        let lines: Vec<_> = step.text.lines().map(str::trim).collect();
        assert_eq!((lines[0], lines[2]), ("dragline demo --serve", "dragline resume c"));
    }

    #[test]
    fn only_more_than_there_is_is_told() {
        assert_eq!(more_than_there_is(1 << 30, Some(1 << 30)), None);
        assert_eq!(more_than_there_is(1 << 40, None), None);
        let told = more_than_there_is(1 << 40, Some(1 << 30)).expect("too much");
        assert!(told.contains("1.0 TiB") && told.contains("1.0 GiB"), "{told}");
    }
}
