//! `format`: those that the grammar can keep, as JSON Schema's test suite reads them. Any other is an annotation
//! (JSON Schema, validation, 7.2).

use serde_json::{json, Map, Value};

/// Those that the library knows, and knows rightly.
const OF_THE_LIBRARY: [&str; 7] = ["duration", "email", "ipv4", "ipv6", "uuid", "uri", "unknown"];

/// The year 0000 is none in many calendars, and 29 February is in leap years alone.
fn date() -> String {
    let year = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)";
    let leap_year = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)";
    let long = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])";
    let short = "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)";
    let february = "02-(?:0[1-9]|1[0-9]|2[0-8])";
    format!("(?:{year}-(?:{long}|{short}|{february})|{leap_year}-02-29)")
}

/// A second 60 is the last of a day in UTC: 23:59:60Z, and the same with an offset of whole hours. (With half hours it
/// exists, too, and is not offered.)
fn time() -> String {
    let fraction = r"(?:\.[0-9]+)?";
    let offset = "(?:[zZ]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
    let plain = format!("(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]{fraction}{offset}");
    let mut leaps = vec![format!("23:59:60{fraction}[zZ]")];
    for hours in 0..24 {
        let (later, earlier) = ((23 + hours) % 24, (47 - hours) % 24);
        leaps.push(format!(r"{later:02}:59:60{fraction}\+{hours:02}:00"));
        leaps.push(format!("{earlier:02}:59:60{fraction}-{hours:02}:00"));
    }
    format!("(?:{plain}|{})", leaps.join("|"))
}

/// Two hyphens side by side would begin an encoded label, which has rules of its own.
const HOSTNAME: &str = r"^[a-zA-Z0-9](?:-?[a-zA-Z0-9]){0,30}(?:\.[a-zA-Z0-9](?:-?[a-zA-Z0-9]){0,30})*$";
const LONGEST_HOSTNAME: u64 = 253;

/// What `format` says is added to the other keywords.
pub fn apply(format: &Value, out: &mut Map<String, Value>) {
    let pattern = match format.as_str() {
        Some("date") => format!("^{}$", date()),
        Some("time") => format!("^{}$", time()),
        Some("date-time") => format!("^{}[tT]{}$", date(), time()),
        Some("hostname") => HOSTNAME.into(),
        Some(known) if OF_THE_LIBRARY.contains(&known) => {
            // The format of a value that may be no string is no constraint on the others.
            out.insert("format".into(), format.clone());
            return;
        }
        _ => return,
    };
    if format == "hostname" {
        let longest = out.get("maxLength").and_then(Value::as_u64).unwrap_or(LONGEST_HOSTNAME).min(LONGEST_HOSTNAME);
        out.insert("maxLength".into(), longest.into());
    }
    if !out.contains_key("pattern") {
        out.insert("pattern".into(), pattern.into());
        return;
    }
    match out.entry("allOf").or_insert_with(|| json!([])) {
        Value::Array(parts) => parts.push(json!({ "pattern": pattern })),
        _ => {}
    }
}
