//! Resident memory of this process, as the operating system counts it.
//!
//! Read from `/proc/self/status`; nothing is known where that does not exist.

/// Memory of this process that is resident now, in bytes; `None` where the system does not tell.
pub fn resident_bytes() -> Option<u64> {
    status_field("VmRSS:")
}

/// The most memory that was ever resident, in bytes; `None` where the system does not tell.
pub fn peak_resident_bytes() -> Option<u64> {
    status_field("VmHWM:")
}

fn status_field(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    kibibytes_of(&status, name)
}

/// The bytes of a line such as `VmRSS:    1234 kB`.
pub(super) fn kibibytes_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Files that this process may have open at once, where the system tells (Linux).
pub fn most_open_files() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "VmPeak:\t  20 kB\nVmHWM:\t    12 kB\nVmRSS:\t     8 kB\nThreads:\t1\n";
        assert_eq!(kibibytes_of(text, "VmHWM:"), Some(12 << 10));
        assert_eq!(kibibytes_of(text, "VmRSS:"), Some(8 << 10));
        assert_eq!(kibibytes_of(text, "VmSwap:"), None);
        assert_eq!(kibibytes_of("VmRSS: many kB", "VmRSS:"), None);
        assert_eq!(kibibytes_of("VmRSS: 18446744073709551615 kB", "VmRSS:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_resident() {
        let now = resident_bytes().expect("Linux tells");
        let peak = peak_resident_bytes().expect("Linux tells");
        assert!(now > 1 << 20);
        assert!(peak > 1 << 20);
    }
}
