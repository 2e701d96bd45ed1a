//! nginx as an ordinary user would start it: own configuration, own directory, high port.

use std::fmt::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A running nginx that serves one tree of files on loopback.
pub(super) struct Nginx {
    process: Child,
    port: u16,
    directory: TempDir,
}

impl Nginx {
    /// Starts it on a free port; nothing where nginx is not installed.
    pub(super) fn start(root: &Path) -> Option<Nginx> {
        let program = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"]
            .into_iter()
            .find(|path| Path::new(path).is_file())?;
        // the port may be taken between the look and the start, so look again a few times
        (0..5).find_map(|_| try_start(program, root)).or_else(|| panic!("nginx does not start"))
    }

    /// The URL of a file below the root.
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Ends it in order and returns what it was asked for: status and request target.
    pub(super) fn stop(mut self) -> Vec<(u16, String)> {
        // only after an orderly end is the log known to be whole
        let quit = Command::new("kill").args(["-QUIT", &self.process.id().to_string()]).status();
        assert!(quit.unwrap().success());
        self.process.wait().unwrap();
        let log = std::fs::read_to_string(self.directory.path().join("requests.log")).unwrap();
        log.lines()
            .map(|line| {
                let (status, target) = line.split_once(' ').unwrap();
                (status.parse().unwrap(), target.to_owned())
            })
            .collect()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // where a test fails before `stop`
        let _gone = self.process.kill();
        let _gone = self.process.wait();
    }
}

fn try_start(program: &str, root: &Path) -> Option<Nginx> {
    let directory = TempDir::new().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    std::fs::write(directory.path().join("nginx.conf"), configuration(root, port)).unwrap();
    let mut process = Command::new(program)
        .arg("-p")
        .arg(directory.path())
        .args(["-c", "nginx.conf", "-e", "error.log"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for _ in 0..200 {
        if process.try_wait().unwrap().is_some() {
            return None;
        }
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Some(Nginx { process, port, directory });
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    process.kill().unwrap();
    process.wait().unwrap();
    None
}

/// One process in the foreground, everything it writes below its own directory.
fn configuration(root: &Path, port: u16) -> String {
    let mut text = String::from(
        "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log error.log;\n\
        events { worker_connections 512; }\n\
        http {\n\
        types { text/html html htm; text/plain txt; text/css css; application/javascript js; image/png png;\n\
            image/gif gif; image/jpeg jpg; image/svg+xml svg; application/zip zip; }\n\
        default_type application/octet-stream;\n\
        log_format requests '$status $request_uri';\n\
        access_log requests.log requests;\n",
    );
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        let _infallible = writeln!(text, "{kind}_temp_path {kind};");
    }
    let _infallible = write!(
        text,
        "server {{ listen 127.0.0.1:{port}; root \"{}\"; index index.html; }}\n}}\n",
        root.display()
    );
    text
}
