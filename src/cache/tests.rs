use super::*;
use proptest::prelude::*;

fn names(kind: &str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |number| format!("{kind}-{number}.example.test"))
}

/// Asks for a name as users of the cache do: whether it was there; where not, it is now.
fn ask(cache: &mut Cache<u64>, name: &str) -> bool {
    let known = cache.peek(name).is_some();
    if known {
        cache.note_use(name);
    } else {
        cache.put(name, 1, 0);
    }
    known
}

fn cache_of(entries: usize) -> Cache<u64> {
    Cache::new(entries * (Cache::<u64>::ENTRY_BYTES + 32))
}

#[test]
fn a_million_names_met_once_do_not_push_out_those_in_use() {
    let (entries, in_use) = (2000, 500);
    let mut cache = cache_of(entries);
    let working_set: Vec<String> = names("used", in_use).collect();
    let (mut asked, mut known) = (0, 0);
    for (number, scanned) in names("once", 1_000_000).enumerate() {
        assert!(!ask(&mut cache, &scanned));
        // By then twice as many names have come as the cache could hold.
        if number % 8 == 0 {
            asked += 1;
            known += usize::from(ask(&mut cache, &working_set[number / 8 % in_use]));
        }
    }
    assert!(known * 100 > asked * 95, "{known} of {asked}");
}

#[test]
fn names_that_were_in_use_give_way_to_others_in_time() {
    let mut cache = cache_of(400);
    let share_known = |cache: &mut Cache<u64>, kind: &str| {
        let known = |_| names(kind, 100).filter(|name| ask(cache, name)).count();
        (0..200).map(known).last().unwrap_or(0)
    };
    for kind in ["before", "after", "at-last"] {
        let known = share_known(&mut cache, kind);
        assert!(known > 90, "{kind}: {known}");
        for name in names(kind, 300) {
            ask(&mut cache, &name);
        }
    }
}

#[test]
fn a_value_as_large_as_many_others_must_be_worth_as_much() {
    let mut cache = cache_of(400);
    for _ in 0..5 {
        for name in names("small", 300) {
            ask(&mut cache, &name);
        }
    }
    let half_of_main = 100 * (Cache::<u64>::ENTRY_BYTES + 32);
    for name in names("large", 100) {
        cache.put(&name, 2, half_of_main);
    }
    let left = names("small", 300).filter(|name| cache.peek(name).is_some()).count();
    assert!(left > 150, "{left}");
}

#[test]
fn frequencies_are_never_too_low_before_they_are_halved_and_fade() {
    let mut frequency = Frequency::new(1024);
    for round in 1..=7 {
        for hash in 0..1000_u64 {
            frequency.add(hash.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            assert!(frequency.estimate(hash.wrapping_mul(0x9E37_79B9_7F4A_7C15)) >= round);
        }
    }
    let too_high =
        (0..1000_u64).filter(|hash| frequency.estimate(hash.wrapping_mul(0x9E37_79B9_7F4A_7C15)) > 7).count();
    assert!(too_high < 100, "{too_high}");
    let before = frequency.estimate(0);
    for _ in 0..8 * 1024 {
        frequency.add(1);
    }
    assert_eq!(frequency.estimate(0), before / 2);
}

proptest! {
    #[test]
    fn the_bound_holds_and_what_came_last_is_there(
        steps in proptest::collection::vec((0..40_u8, 0..300_usize, 0..4_u8), 1..300),
        most in 2000..12_000_usize,
    ) {
        let mut cache = Cache::new(most);
        for (number, heap_bytes, action) in steps {
            let name = format!("host-{number}.test");
            match action {
                0 => {
                    let kept = cache.peek(&name).copied();
                    prop_assert_eq!(cache.take(&name), kept);
                    prop_assert_eq!(cache.peek(&name), None);
                }
                1 => cache.note_use(&name),
                _ => {
                    cache.put(&name, (number, heap_bytes), heap_bytes);
                    prop_assert_eq!(cache.peek(&name), Some(&(number, heap_bytes)));
                }
            }
            let slots = cache.window.slots.iter().chain(&cache.main.slots);
            let counted: usize = slots
                .map(|slot| Cache::<(u8, usize)>::ENTRY_BYTES + slot.name.len() + slot.value.1)
                .sum();
            let counters = Frequency::bytes_for(most / Cache::<(u8, usize)>::ENTRY_BYTES);
            prop_assert_eq!(cache.bytes(), counted);
            prop_assert!(counted + counters <= most);
            prop_assert_eq!(cache.len(), cache.window.slots.len() + cache.main.slots.len());
            prop_assert!(cache.line.len() <= 2 * cache.window.slots.len() + 16);
            for (hash, place) in &cache.places {
                prop_assert_eq!(cache.part(*place).slots[place.index as usize].hash, *hash);
            }
        }
    }
}
