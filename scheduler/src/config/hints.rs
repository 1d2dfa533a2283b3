//! What a person probably meant.

use super::node::{Data, Node};

/// Longer words are not compared: the cost grows with the product of the lengths.
const MAX_COMPARED: usize = 64;

/// The listed word that looks most like `text`, as a question.
pub(crate) fn similar(text: &str, words: &[&'static str]) -> Option<String> {
    if text.len() > MAX_COMPARED {
        return None;
    }
    let lower = text.to_lowercase();
    let distance = |word: &str| strsim::damerau_levenshtein(&lower, &word.to_lowercase());
    let best = words.iter().min_by_key(|word| distance(word))?;
    let allowed = (text.chars().count().max(best.len()) / 3).max(1);
    (distance(best) <= allowed).then(|| format!("did you mean \"{best}\"?"))
}

/// For a key that is none of `known`.
pub(crate) fn unknown_key(key: &str, known: &[&'static str]) -> Option<String> {
    similar(key, known).or_else(|| {
        let listed: Vec<String> = known.iter().map(|key| format!("\"{key}\"")).collect();
        (!listed.is_empty()).then(|| format!("known keys: {}", listed.join(", ")))
    })
}

/// For a value of the wrong type.
pub(crate) fn wrong_type(node: &Node, expected: &str) -> Option<String> {
    match (&node.data, expected) {
        (Data::Null, _) => Some("the value is empty: write one, or remove the key".to_owned()),
        (Data::Number(number), "string") => Some(format!("quote it: \"{number}\"")),
        (Data::Bool(value), "string") => Some(format!("quote it: \"{value}\"")),
        (Data::String(text), "boolean") => boolean_word(text).map(|value| format!("YAML 1.2 has only true and false: write {value}")),
        (Data::String(text), "number") if text.parse::<f64>().is_ok() => Some("remove the quotes".to_owned()),
        (Data::String(_), "array") => Some("write a list, with \"- \" before each element".to_owned()),
        _ => None,
    }
}

fn boolean_word(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "on" | "y" | "true" => Some(true),
        "no" | "off" | "n" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_words_are_offered_and_far_ones_are_not() {
        let words = ["tools", "noTools", "hooks", "timeoutMs", "exists"];
        let table = [
            ("tool", Some("tools")),
            ("hook", Some("hooks")),
            ("timeoutms", Some("timeoutMs")),
            ("timeout", Some("timeoutMs")),
            ("exist", Some("exists")),
        ];
        for (text, expected) in table {
            assert_eq!(similar(text, &words), expected.map(|word| format!("did you mean \"{word}\"?")), "{text}");
        }
        for text in ["banana", "x", "", &"t".repeat(1000)] {
            assert_eq!(similar(text, &words), None, "{text}");
        }
    }
}
