//! What a plain YAML scalar means by the core schema of YAML 1.2: `yes`, `on` and `1.18.33` are text, `~` is null, `1.0` is a number.

use serde_json::Number;

use super::node::{Data, number};

/// The value of a plain scalar; `None` for `.inf` and `.nan`, which JSON cannot hold.
pub(crate) fn plain(text: &str) -> Option<Data> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Data::Null),
        "true" | "True" | "TRUE" => return Some(Data::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Data::Bool(false)),
        _ => {}
    }
    if is_not_finite(text) {
        return None;
    }
    match parse_number(text) {
        Some(Some(number)) => Some(Data::Number(number)),
        Some(None) => None,
        None => Some(Data::String(text.to_owned())),
    }
}

fn is_not_finite(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN")
}

/// `None`: no number. `Some(None)`: a number beyond every finite float.
fn parse_number(text: &str) -> Option<Option<Number>> {
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !unsigned.is_empty() && unsigned.bytes().all(|b| b.is_ascii_digit()) {
        return Some(decimal(text));
    }
    is_float(unsigned).then(|| text.parse().ok().and_then(number))
}

fn radix(digits: &str, radix: u32) -> Option<Option<Number>> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let exact = u64::from_str_radix(digits, radix).ok().map(Number::from);
    Some(exact.or_else(|| {
        let sum = digits.chars().filter_map(|c| c.to_digit(radix)).fold(0.0, |sum, digit| sum * f64::from(radix) + f64::from(digit));
        number(sum)
    }))
}

fn decimal(text: &str) -> Option<Number> {
    let signed = text.strip_prefix('+').unwrap_or(text);
    if let Ok(value) = signed.parse::<i64>() {
        return Some(Number::from(value));
    }
    if let Ok(value) = signed.parse::<u64>() {
        return Some(Number::from(value));
    }
    signed.parse().ok().and_then(number)
}

/// `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        Some((whole, part)) => digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty()),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    let exponent_ok = exponent.is_none_or(|text| {
        let text = text.strip_prefix(['-', '+']).unwrap_or(text);
        !text.is_empty() && digits(text)
    });
    mantissa_ok && exponent_ok
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn value(text: &str) -> Option<Value> {
        plain(text).map(|data| super::super::node::Node { data, span: super::super::node::Span::default() }.to_value())
    }

    #[test]
    fn the_core_schema() {
        let table = [
            ("", json!(null)),
            ("~", json!(null)),
            ("Null", json!(null)),
            ("nULL", json!("nULL")),
            ("TRUE", json!(true)),
            ("false", json!(false)),
            ("yes", json!("yes")),
            ("on", json!("on")),
            ("no", json!("no")),
            ("12", json!(12)),
            ("-7", json!(-7)),
            ("+7", json!(7)),
            ("007", json!(7)),
            ("0o17", json!(15)),
            ("0x1F", json!(31)),
            ("0x", json!("0x")),
            ("-0x1", json!("-0x1")),
            ("1_000", json!("1_000")),
            ("1.0", json!(1)),
            ("1.18", json!(1.18)),
            ("1.18.33", json!("1.18.33")),
            (".5", json!(0.5)),
            ("5.", json!(5)),
            (".", json!(".")),
            ("1e3", json!(1000)),
            ("1e", json!("1e")),
            ("e3", json!("e3")),
            ("-", json!("-")),
            ("+", json!("+")),
            ("12:30:45", json!("12:30:45")),
            ("18446744073709551615", json!(u64::MAX)),
            ("0xFFFFFFFFFFFFFFFFF", json!(295_147_905_179_352_825_855.0)),
            ("99999999999999999999", json!(1e20)),
        ];
        for (text, expected) in table {
            assert_eq!(value(text), Some(expected), "{text:?}");
        }
        for text in [".inf", "-.INF", "+.Inf", ".nan", "1e999"] {
            assert_eq!(value(text), None, "{text:?}");
        }
        assert_eq!(value("-.nan"), Some(json!("-.nan")));
    }

    proptest! {
        #[test]
        fn what_json_writes_as_a_number_is_that_number(number in any::<f64>()) {
            prop_assume!(number.is_finite());
            let text = serde_json::to_string(&number).unwrap();
            let read = value(&text).unwrap();
            prop_assert_eq!(read.as_f64().unwrap(), number);
        }
    }
}
