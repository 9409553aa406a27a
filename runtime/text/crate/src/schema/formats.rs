//! The values of `format` that a grammar can enforce, as JSON Schema's test suite interprets them. Any other value
//! is an annotation (JSON Schema, validation, 7.2).

use serde_json::{json, Map, Value};

/// The formats that the library implements correctly.
const OF_THE_LIBRARY: [&str; 7] = ["duration", "email", "ipv4", "ipv6", "uuid", "uri", "unknown"];

/// Returns the regex of a date. It excludes the year 0000, which many calendars do not have, and 29 February except in
/// leap years.
fn date() -> String {
    let year = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)";
    let leap_year = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)";
    let long = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])";
    let short = "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)";
    let february = "02-(?:0[1-9]|1[0-9]|2[0-8])";
    format!("(?:{year}-(?:{long}|{short}|{february})|{leap_year}-02-29)")
}

/// Returns the regex of a time. The second 60 is permitted only at the end of a day in UTC: 23:59:60Z, and the same
/// instant with an offset of whole hours. (It is also valid with an offset of half hours, which is not supported.)
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

/// Returns the regex for a whole text of this format, without quotes; None for a format that is an annotation.
pub fn pattern(format: &str) -> Option<String> {
    let hex = "[0-9a-fA-F]";
    let octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    let ipv4 = format!(r"{octet}(?:\.{octet}){{3}}");
    let label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?";
    Some(match format {
        "date" => date(),
        "time" => time(),
        "date-time" => format!("{}[tT]{}", date(), time()),
        "hostname" => HOSTNAME.trim_matches(['^', '$']).to_owned(),
        "uuid" => format!("{hex}{{8}}(?:-{hex}{{4}}){{3}}-{hex}{{12}}"),
        "ipv4" => ipv4,
        "ipv6" => ipv6(hex, &ipv4),
        "email" => {
            let atom = r"[a-zA-Z0-9!#$%&'*+\-/=?\^_`{|}~]+";
            format!(r"{atom}(?:\.{atom})*@(?:{label}(?:\.{label})*|\[{ipv4}\])")
        }
        "duration" => {
            let time = "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)";
            let date = "(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)";
            format!("P(?:{date}(?:{time})?|{time}|[0-9]+W)")
        }
        "uri" => {
            let escaped = format!("%{hex}{{2}}");
            let host = format!(r"(?:\[(?:{})\]|(?:[a-zA-Z0-9\-._~!$&'()*+,;=]|{escaped})*)", ipv6(hex, &ipv4));
            let user = format!("(?:(?:[a-zA-Z0-9\\-._~!$&'()*+,;=:]|{escaped})*@)?");
            let part = format!("(?:[a-zA-Z0-9\\-._~!$&'()*+,;=:@]|{escaped})");
            let rest = format!("(?:[a-zA-Z0-9\\-._~!$&'()*+,;=:@/?]|{escaped})*");
            let path = format!("(?://{user}{host}(?::[0-9]*)?(?:/{part}*)*|/?(?:{part}+(?:/{part}*)*)?)");
            format!(r"[a-zA-Z][a-zA-Z0-9+\-.]*:{path}(?:\?{rest})?(?:\#{rest})?")
        }
        _ => return None,
    })
}

/// Returns the regex of an IPv6 address: groups of 16 bits, of which "::" may replace one or more, and the last two of
/// which may be an IPv4 address.
fn ipv6(hex: &str, ipv4: &str) -> String {
    let group = format!("{hex}{{1,4}}");
    let last = format!("(?:{group}:{group}|{ipv4})");
    let before = |most: usize| match most {
        0 => "::".to_owned(),
        _ => format!("(?:{group}(?::{group}){{0,{}}})?::", most - 1),
    };
    let mut forms = vec![format!("(?:{group}:){{6}}{last}"), before(6) + &group, before(7)];
    forms.extend((0..=5).map(|most| format!("{}(?:{group}:){{0,{}}}{last}", before(most), 5 - most)));
    format!("(?:{})", forms.join("|"))
}

/// The regex of a host name. It excludes adjacent hyphens, since they can begin an encoded label with other rules.
const HOSTNAME: &str = r"^[a-zA-Z0-9](?:-?[a-zA-Z0-9]){0,30}(?:\.[a-zA-Z0-9](?:-?[a-zA-Z0-9]){0,30})*$";
const LONGEST_HOSTNAME: u64 = 253;

/// Adds the constraints of `format` to the other keywords.
pub fn apply(format: &Value, out: &mut Map<String, Value>) {
    let pattern = match format.as_str() {
        Some("date") => format!("^{}$", date()),
        Some("time") => format!("^{}$", time()),
        Some("date-time") => format!("^{}[tT]{}$", date(), time()),
        Some("hostname") => HOSTNAME.into(),
        Some(known) if OF_THE_LIBRARY.contains(&known) => {
            // `format` constrains strings only; values of other types stay valid.
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
