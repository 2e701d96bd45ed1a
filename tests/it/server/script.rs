//! Which answer a request gets.

use super::Request;
use super::answer::Answer;
use std::collections::HashMap;

type Rule = Box<dyn Fn(&Request) -> Option<Answer> + Send + Sync>;

/// Answers by host and path, in sequence; the last of a sequence stays. What no rule knows is a 404.
#[derive(Default)]
pub(crate) struct Script {
    answers: HashMap<(Option<String>, String), Vec<Answer>>,
    rules: Vec<Rule>,
}

impl Script {
    /// A server that knows nothing yet.
    pub(crate) fn new() -> Script {
        Script::default()
    }

    /// One answer for a path, whatever the host.
    pub(crate) fn on(self, path: &str, answer: Answer) -> Script {
        self.in_turn(path, vec![answer])
    }

    /// The first request of a path gets the first answer, and so on.
    pub(crate) fn in_turn(mut self, path: &str, answers: Vec<Answer>) -> Script {
        self.answers.entry((None, path.to_owned())).or_default().extend(answers);
        self
    }

    /// One answer for a path of one host name.
    pub(crate) fn on_host(mut self, host: &str, path: &str, answer: Answer) -> Script {
        self.answers.entry((Some(host.to_owned()), path.to_owned())).or_default().push(answer);
        self
    }

    /// Answers computed from the request; asked before the fixed ones.
    pub(crate) fn rule(
        mut self,
        rule: impl Fn(&Request) -> Option<Answer> + Send + Sync + 'static,
    ) -> Script {
        self.rules.push(Box::new(rule));
        self
    }

    /// The answer to a request that was preceded by `earlier` of the same host and path.
    pub(super) fn answer(&self, request: &Request, earlier: usize) -> Answer {
        if let Some(answer) = self.rules.iter().find_map(|rule| rule(request)) {
            return answer;
        }
        let of_host = (Some(request.host.clone()), request.path.clone());
        let of_any = (None, request.path.clone());
        let answers = self.answers.get(&of_host).or_else(|| self.answers.get(&of_any));
        let chosen = answers.and_then(|all| all.get(earlier).or_else(|| all.last()));
        chosen
            .cloned()
            .unwrap_or_else(|| Answer::status(404).header("Content-Type", "text/plain").content("no"))
    }
}
