//! `tests/cases/html_links.jsonl`, every row, whole, byte by byte, and by the reference.

use super::*;
use serde_json::Value;

const ROWS: &str = include_str!("../../../tests/cases/html_links.jsonl");

fn rows() -> impl Iterator<Item = Value> {
    ROWS.lines().map(|line| serde_json::from_str(line).unwrap())
}

fn strings(row: &Value, key: &str) -> BTreeSet<String> {
    row[key].as_array().into_iter().flatten().map(|one| one.as_str().unwrap().to_owned()).collect()
}

fn decode_base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bits = 0_u32;
    let mut out = Vec::new();
    for (index, byte) in text.bytes().filter(|&byte| byte != b'=').enumerate() {
        bits = bits << 6 | ALPHABET.iter().position(|&one| one == byte).unwrap() as u32;
        if index % 4 != 0 {
            out.push((bits >> (6 - index % 4 * 2)) as u8);
        }
    }
    out
}

/// The pieces of a generated body, one after another; none is ever joined to the whole.
fn generated(row: &Value, mut feed: impl FnMut(&[u8])) {
    for part in row["html_gen"].as_array().unwrap() {
        let (text, times) = (part[0].as_str().unwrap(), part[1].as_u64().unwrap());
        if let Some(format) = text.strip_prefix("@seq:") {
            (0..times).for_each(|number| feed(format.replace("%d", &number.to_string()).as_bytes()));
        } else {
            let block = text.repeat((1 << 16) / text.len());
            let per_block = (block.len() / text.len()) as u64;
            (0..times / per_block).for_each(|_| feed(block.as_bytes()));
            feed(text.repeat((times % per_block) as usize).as_bytes());
        }
    }
}

fn check(row: &Value, page: &Extracted, how: &str) {
    let Resolved { follow, nofollow, resources } = resolved(page, row["url"].as_str().unwrap());
    let name = format!("{} ({}), {how}", row["id"], row["why"]);
    assert_eq!(follow, strings(row, "links"), "{name}");
    assert_eq!(nofollow, strings(row, "nofollow"), "{name}");
    assert!(resources.is_empty() || how == "with resources", "{name}: {resources:?}");
    assert!(resources.is_disjoint(&strings(row, "never")), "{name}");
    assert!(follow.is_disjoint(&strings(row, "never")), "{name}");
}

#[test]
fn finds_the_links_of_every_row() {
    for row in rows().filter(|row| row["class"] != "huge") {
        let header = |name: &str| row["headers"][name].as_str();
        let tags: Vec<&str> = header("x-robots-tag").into_iter().collect();
        let context = PageContext { x_robots_tag: &tags, ..context(header("content-type")) };
        let body = match &row["html_b64"] {
            Value::String(coded) => decode_base64(coded),
            _ => row["html"].as_str().unwrap().as_bytes().to_vec(),
        };
        let page = read(&context, &body);
        check(&row, &page, "whole");
        check(&row, &read_in_pieces(&context, &body, 1), "byte by byte");
        let reference = reference::read(&context, &body, page.encoding);
        assert_eq!(comparable(&page), comparable(&reference), "{}", row["id"]);
        let context = with_resources(context);
        let page = read(&context, &body);
        check(&row, &page, "with resources");
        let resources = resolved(&page, row["url"].as_str().unwrap()).resources;
        assert_eq!(resources, strings(&row, "resources"), "{}", row["id"]);
        assert_eq!(read_in_pieces(&context, &body, 1), page, "{}", row["id"]);
        let reference = reference::read(&context, &body, page.encoding);
        assert_eq!(comparable(&page), comparable(&reference), "{}, with resources", row["id"]);
    }
}

/// Memory is held to its bounds by the limits' own tests; the tree of the reference is not made for these.
#[test]
fn finds_the_links_of_huge_pages() {
    for row in rows().filter(|row| row["class"] == "huge") {
        let mut reader = PageReader::new(&context(row["headers"]["content-type"].as_str()));
        generated(&row, |piece| reader.feed(piece));
        let page = reader.finish();
        if let Some(least) = row["limits"]["min_links"].as_u64() {
            assert!(page.references.len() as u64 >= least, "{}", row["id"]);
            assert_eq!(page.links_found(), 1_000_000, "{}", row["id"]);
        } else {
            check(&row, &page, "generated");
        }
    }
}
