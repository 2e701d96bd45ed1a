//! The rows of `tests/cases`, for seeds.

use std::path::Path;

use serde_json::Value;

/// One row.
pub struct Row(Value);

/// The rows of a file of cases.
pub fn rows(file: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| Row(serde_json::from_str(line).expect("a row of JSON"))).collect()
}

/// What users of other crawlers ran into, of these areas: the inputs, in words.
pub fn reports(areas: &[&str]) -> Vec<String> {
    let rows = rows("report_cases.jsonl");
    let wanted = rows.iter().filter(|row| areas.contains(&row.text("area")));
    wanted.map(|row| row.text("input").to_owned()).collect()
}

impl Row {
    /// A text, empty where there is none.
    pub fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    /// A header of the answer, empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        self.0["headers"][name].as_str().unwrap_or_default()
    }

    /// A body, which stands under this name or, coded, under `NAME_b64`; of one that is generated
    /// each part once.
    pub fn body(&self, name: &str) -> Vec<u8> {
        if let Some(coded) = self.0[format!("{name}_b64")].as_str() {
            return decode_base64(coded);
        }
        if let Some(parts) = self.0[format!("{name}_gen")].as_array() {
            return parts.iter().flat_map(|part| part[0].as_str().unwrap_or_default().bytes()).collect();
        }
        self.text(name).as_bytes().to_vec()
    }
}

fn decode_base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bits = 0_u32;
    let mut out = Vec::new();
    for (index, byte) in text.bytes().filter(|&byte| byte != b'=').enumerate() {
        bits = bits << 6 | ALPHABET.iter().position(|&one| one == byte).expect("base64") as u32;
        if index % 4 != 0 {
            out.push((bits >> (6 - index % 4 * 2)) as u8);
        }
    }
    out
}
