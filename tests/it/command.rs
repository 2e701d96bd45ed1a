//! The command line as a user meets it: help, exit codes, and bad input.
//!
//! A line with an error in it must end at once, in one line on standard error,
//! with its exit code, and without a request or a file.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use dragline::config::{Options, defaults};

/// The binary in an empty folder, with no setting of the developer's own.
fn dragline(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dragline"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("DRAGLINE_") {
            command.env_remove(name);
        }
    }
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    dragline(folder, arguments).output().expect("the binary runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Asserts a one-line error that holds all parts, its code, and an untouched folder.
#[track_caller]
fn refused(arguments: &[&str], code: i32, parts: &[&str]) {
    let folder = folder();
    let output = run(folder.path(), arguments);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    assert!(message.starts_with("dragline: "), "{message}");
    assert_eq!(message.matches('\n').count(), 1, "{message}");
    for part in parts {
        assert!(message.contains(part), "{part:?} is missing in {message}");
    }
    assert!(output.stdout.is_empty());
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0, "{arguments:?} left files");
}

#[test]
fn unusable_command_lines_are_usage_errors() {
    refused(&["crawl", "--colour", "red"], 2, &["--colour"]);
    refused(&["crawl", "--memory", "much", "http://a.test/"], 2, &["--memory", "much", "64MiB"]);
    refused(&["crawl", "--scope", "all", "http://a.test/"], 2, &["--scope", "domain"]);
    refused(&["crawl"], 2, &["no seeds", "--seeds"]);
    refused(&["crowl"], 2, &["crowl"]);
}

#[test]
fn unusable_settings_are_configuration_errors() {
    let seed = "http://a.test/";
    refused(&["crawl", seed, "--memory", "1MiB"], 3, &["--memory 1MiB", "smallest budget", "MiB"]);
    refused(&["crawl", seed, "--bits-per-url", "8", "--fp-rate", "0.1"], 3, &["--bits-per-url", "--fp-rate"]);
    refused(&["crawl", seed, "--per-host", "2"], 3, &["--per-host", "--delay 0s"]);
    refused(&["crawl", seed, "--include", "a(b"], 3, &["--include a(b", "unclosed group"]);
    refused(&["crawl", seed, "-H", "Host: b"], 3, &["--header Host:", "--resolve"]);
    refused(&["crawl", seed, "-A", "a\nb"], 3, &["--user-agent a\\u{a}b", "control characters"]);
    refused(&["crawl", seed, "--proxy", "nowhere"], 3, &["--proxy nowhere", "http://host:port"]);
    refused(&["crawl", seed, "--resolve", "a.test:b"], 3, &["--resolve a.test:b", "HOST[:PORT]:ADDR"]);
    refused(&["crawl", seed, "--ca-file", "no.pem"], 3, &["--ca-file no.pem", "cannot be read"]);
    refused(&["crawl", seed, "--config", "no.toml"], 3, &["--config no.toml", "cannot be read"]);
    refused(&["crawl", "--seeds", "no.txt"], 3, &["--seeds no.txt", "cannot be read"]);
    refused(&["crawl", "--seeds", "."], 3, &["--seeds .", "directory"]);
}

#[test]
fn an_unknown_key_is_named_with_its_line() {
    let folder = folder();
    fs::write(folder.path().join("c.toml"), "depth = 2\nmax_pages = 3\n").expect("written");
    let output = run(folder.path(), &["crawl", "http://a.test/", "--config", "c.toml"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(
        stderr(&output),
        "dragline: c.toml, line 2: unknown key 'max_pages'; did you mean 'max-pages'?\n"
    );
}

#[test]
fn the_environment_lies_under_the_flags() {
    let folder = folder();
    let plan = |variable: (&str, &str), arguments: &[&str]| {
        let arguments = [&["plan"], arguments].concat();
        let output = dragline(folder.path(), &arguments).env(variable.0, variable.1).output();
        stdout(&output.expect("the binary runs"))
    };
    let variable = ("DRAGLINE_MEMORY", "64MiB");
    assert!(plan(variable, &[]).starts_with("budget 64.0 MiB\n"));
    assert!(plan(variable, &["--memory", "32MiB"]).starts_with("budget 32.0 MiB\n"));
    fs::write(folder.path().join("c.toml"), "memory = '48MiB'\ndedup = 'exact'\n").expect("written");
    let merged = plan(variable, &["--config", "c.toml"]);
    assert!(merged.starts_with("budget 64.0 MiB\n") && merged.contains("no filter"), "{merged}");
    let sized = plan(("DRAGLINE_BITS_PER_URL", "12"), &["--fp-rate", "0.1"]);
    assert!(sized.contains("filter"), "{sized}");
}

/// What a line says on standard error, with a variable set, and its code.
fn with_variable(name: &str, value: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let output = dragline(folder().path(), arguments).env(name, value).output().expect("the binary runs");
    (output.status.code(), stderr(&output))
}

#[test]
fn a_mistake_in_the_environment_is_the_variables() {
    let crawl = ["crawl", "http://a.test/"];
    for (name, value, message) in [
        ("DRAGLINE_MEMORY", "much", "not a size (write 64MiB, 1.5GB, 10k or plain bytes)"),
        ("DRAGLINE_SCOPE", "all", "none of page, prefix, host, domain, any"),
        ("DRAGLINE_FRESH", "perhaps", "neither true nor false"),
        ("DRAGLINE_MAX_PAGES", "0", "must be more than zero; leave it out for no limit"),
    ] {
        let expected = format!("dragline: {name}={value}: {message}\n");
        assert_eq!(with_variable(name, value, &crawl), (Some(3), expected));
    }
    let (_, message) = with_variable("DRAGLINE_SEEDS", "no.txt", &["crawl"]);
    assert!(message.starts_with("dragline: DRAGLINE_SEEDS=no.txt: cannot be read"), "{message}");
    let (_, message) = with_variable("DRAGLINE_PER_HOST", "2", &["crawl", "http://a.test/", "--delay", "1s"]);
    assert!(message.starts_with("dragline: DRAGLINE_PER_HOST and --delay contradict"), "{message}");
    // What was typed comes first, and hides what the environment says.
    let typed = [&crawl[..], &["--memory", "more"]].concat();
    let (code, message) = with_variable("DRAGLINE_MEMORY", "much", &typed);
    assert_eq!(
        (code, message.starts_with("dragline: --memory more: not a size")),
        (Some(2), true),
        "{message}"
    );
}

#[test]
fn a_mistake_in_a_file_is_the_files() {
    let folder = folder();
    for (text, message) in [
        ("\ndelay = 'soon'\n", "c.toml, line 2: delay = soon: not a duration"),
        ("memory = '1MiB'\n", "c.toml: memory = 1MiB is too little: the smallest budget"),
        ("exclude = ['(']\n", "c.toml: exclude = (: no valid regular expression"),
        ("per-host = 2\n", "per-host in c.toml and the default --delay contradict"),
        ("depth = \n", "c.toml, line 1: no valid TOML"),
    ] {
        fs::write(folder.path().join("c.toml"), text).expect("written");
        let output = run(folder.path(), &["crawl", "http://a.test/", "--config", "c.toml"]);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{told}");
        assert!(told.starts_with(&format!("dragline: {message}")) && told.lines().count() == 1, "{told}");
    }
}

#[test]
fn a_word_after_a_switch_is_not_taken_for_a_seed() {
    let seed = "http://127.0.0.1:9/";
    refused(&["crawl", seed, "--log-skipped", "true"], 2, &["'true' is no URL", "after '='", "--fresh=true"]);
    refused(&["crawl", seed, "--fresh", "maybe"], 2, &["'maybe' is no URL"]);
    refused(&["crawl", "localhost"], 2, &["'localhost' is no URL", "http://localhost/"]);
}

#[test]
fn a_crawl_that_cannot_begin_leaves_no_directory() {
    let folder = folder();
    let output = run(folder.path(), &["crawl", "http://[::1/", "-o", "new/deep/dir"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("seed 1: ") && stderr(&output).contains("no seed is left"));
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0);
}

#[test]
fn a_user_name_in_a_url_is_not_dropped_silently() {
    let output = run(folder().path(), &["normalize", "http://me:secret@a.test/%7ex"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "http://a.test/~x\n"));
    assert!(stderr(&output).contains("user name and password"), "{}", stderr(&output));
    assert!(stderr(&run(folder().path(), &["normalize", "http://a.test/@x"])).is_empty());
}

#[test]
fn every_option_of_a_command_says_its_own_default() {
    let demo = stdout(&run(folder().path(), &["demo", "--help"]));
    assert!(demo.contains("[default: crawl-demo]") && !demo.contains("[default: dragline-crawl]"), "{demo}");
    let robots = stdout(&run(folder().path(), &["robots", "--help"]));
    assert!(robots.contains("--agent <TOKEN>") && robots.contains("--resolve <RULE>"), "{robots}");
}

#[test]
fn bad_seeds_are_reported_with_their_place() {
    let folder = folder();
    let list = "# list\nftp://a.test/\n\nexample.com\r\n";
    fs::write(folder.path().join("list.txt"), list).expect("written");
    let output = run(folder.path(), &["crawl", "-i", "list.txt", "gopher://b.test/"]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    let lines: Vec<_> = message.lines().collect();
    assert_eq!(lines.len(), 4, "{message}");
    assert!(lines[0].contains("seed 1: ") && lines[0].contains("gopher"), "{message}");
    assert!(lines[1].contains("list.txt, line 2: ") && lines[1].contains("ftp"), "{message}");
    assert!(lines[2].contains("list.txt, line 4: ") && lines[2].contains("example.com"), "{message}");
    assert!(lines[3].contains("no seed is left"), "{message}");
    assert!(!folder.path().join(defaults::OUTPUT).exists());
}

#[test]
fn empty_lists_are_no_seeds_from_standard_input_too() {
    let folder = folder();
    let mut child = dragline(folder.path(), &["crawl", "-i", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"\xef\xbb\xbf# nothing\n\n").expect("written");
    drop(input);
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no seeds"), "{}", stderr(&output));
}

#[test]
fn an_output_that_cannot_be_used_is_refused() {
    let folder = folder();
    fs::write(folder.path().join("file"), "").expect("written");
    fs::create_dir(folder.path().join("mine")).expect("made");
    fs::write(folder.path().join("mine/thesis.txt"), "").expect("written");
    for (path, part) in [("file", "no directory"), ("file/below", "cannot be written"), ("mine", "no crawl")]
    {
        let output = run(folder.path(), &["crawl", "http://a.test/", "--fresh", "-o", path]);
        assert_eq!(output.status.code(), Some(3), "{path}");
        let message = stderr(&output);
        assert!(message.contains(part) && message.lines().count() == 1, "{message}");
    }
    assert!(folder.path().join("mine/thesis.txt").exists());
}

#[test]
fn a_crawl_directory_is_never_overwritten_unasked() {
    let folder = folder();
    let path = folder.path().join("c");
    fs::create_dir_all(path.join("state")).expect("made");
    fs::write(path.join("crawl.toml"), "").expect("written");
    fs::write(path.join("pages.jsonl"), "{}\n").expect("written");
    let arguments = ["crawl", "http://a.test/", "-o", "c"];
    let output = run(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("--fresh"));
    fs::write(path.join("summary.json"), r#"{"end_reason":"done"}"#).expect("written");
    assert_eq!(run(folder.path(), &arguments).status.code(), Some(5));
    // Nor is it deleted for a crawl that cannot begin.
    let output = run(folder.path(), &["crawl", "ftp://a.test/", "-o", "c", "--fresh"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(path.join("pages.jsonl")).expect("readable"), "{}\n");
}

#[test]
fn a_directory_in_use_is_refused() {
    let folder = folder();
    let state = folder.path().join("c/state");
    fs::create_dir_all(&state).expect("made");
    let lock = fs::File::create(state.join("lock")).expect("made");
    lock.lock().expect("locked");
    let output = run(folder.path(), &["crawl", "http://a.test/", "-o", "c", "--fresh"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("in use"));
}

#[test]
fn help_shows_every_default_and_every_exit_code() {
    let output = run(folder().path(), &["crawl", "--help"]);
    assert_eq!(output.status.code(), Some(0));
    let help = stdout(&output);
    let flat = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let command = <Options as clap::Args>::augment_args(clap::Command::new(""));
    for argument in command.get_arguments() {
        let name = argument.get_long().expect("a long flag");
        let default = defaults::describe(name).expect("a default");
        assert!(flat.contains(&format!("--{name} ")) || flat.contains(&format!("--{name}[")), "{name}");
        assert!(flat.contains(&format!("[default: {default}]")), "{name}: {default} is missing in\n{help}");
    }
    assert!(help.contains("Exit codes:") && help.contains(" 7  stopped: the disk is full"));
    assert!(help.contains("130  left at the third interrupt"));
    assert!(stdout(&run(folder().path(), &["--help"])).contains("Exit codes:"));
    for command in ["crawl", "resume", "plan", "demo", "robots"] {
        let help = stdout(&run(folder().path(), &[command, "--help"]));
        assert!(help.contains("powers of 1024") && help.contains("1h30m"), "{command}: {help}");
    }
}

#[test]
fn help_does_not_tell_what_the_environment_holds() {
    let folder = folder();
    let mut command = dragline(folder.path(), &["crawl", "--help"]);
    let output = command.env("DRAGLINE_HEADER", "Cookie: secret").output().expect("the binary runs");
    assert!(stdout(&output).contains("DRAGLINE_HEADER") && !stdout(&output).contains("secret"));
}

/// What is typed has an effect, or is refused; in the environment it may be meant for another command.
#[test]
fn options_that_a_command_makes_nothing_of_are_refused() {
    refused(&["demo", "--delay", "5s"], 2, &["--delay", "'dragline demo'", "leave it out"]);
    refused(&["demo", "--allow-private=false"], 2, &["--allow-private", "'dragline demo'"]);
    refused(&["demo", "--serve", "--memory", "64MiB"], 2, &["--memory", "'dragline demo --serve'"]);
    refused(&["plan", "--depth", "3"], 2, &["--depth", "'dragline plan'"]);
    refused(&["normalize", "http://a.test/", "--delay", "1s"], 2, &["--delay", "'dragline normalize'"]);
    refused(&["robots", "http://a.test/", "-o", "x"], 2, &["--output", "'dragline robots'"]);
    let (code, message) = with_variable("DRAGLINE_DEPTH", "3", &["plan"]);
    assert_eq!((code, message.as_str()), (Some(0), ""));
}

#[test]
fn what_is_missing_or_kept_from_the_beginning_is_named() {
    refused(&["crawl", "-o"], 2, &["--output: a value is missing; write --output DIR"]);
    refused(&["resume", "c", "--delay", "0s"], 2, &["--delay: a crawl goes on as it began", "--max-time"]);
    refused(&["crawl", "http://a.test/", "--max-pages", "1.5"], 2, &["--max-pages 1.5: not a whole number"]);
    refused(&["crawl", "http://a.test/", "--memory", "24"], 3, &["24 bytes", "24MiB"]);
    refused(&["crawl", "http://a.test/", "--dns", "127.0.0.1:0"], 3, &["--dns 127.0.0.1:0", "port 0"]);
    refused(&["crawl", "http://a.test/", "--strip-params", "a=b"], 3, &["--strip-params a=b", "names alone"]);
}

#[test]
fn a_plan_adds_up_both_ways() {
    let folder = folder();
    let plan = |arguments: &[&str]| run(folder.path(), &[&["plan", "--memory", "64MiB"], arguments].concat());
    let text = stdout(&plan(&[]));
    for part in ["budget 64.0 MiB", "connections", "frontier", "from URLs to memory", "from memory to URLs"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let sized = stdout(&plan(&["--expected-urls", "10M", "--fp-rate", "0.01"]));
    assert!(sized.contains("made for      10,000,000 URLs"), "{sized}");
    let output = plan(&["--expected-urls", "1G", "--fp-rate", "0.01"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("smallest budget"));
    let output = plan(&["--fp-rate", "0.00000001"]);
    assert!(stderr(&output).contains("--filter classic"), "{}", stderr(&output));
}

#[test]
fn completions_are_printed_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = run(folder().path(), &["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        assert!(stdout(&output).contains("max-pages-per-host"), "{shell}");
    }
}

#[test]
fn the_seed_lists_that_come_along_are_good() {
    let lists = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/seeds")).expect("a folder of lists");
    for list in lists {
        let path = list.expect("an entry").path();
        let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
        let reader = dragline::config::seeds::unpacked(file).expect("readable");
        let judge = |text: &str| match url::Url::parse(text) {
            Ok(url) if url.scheme() == "https" => Ok(()),
            _ => Err(text.to_owned()),
        };
        let seeds: Result<Vec<_>, _> = dragline::config::seeds::read(reader, judge).collect();
        let seeds = seeds.expect("only good lines");
        assert!(!seeds.is_empty(), "{}", path.display());
    }
}
