//! The table of messages, and what must hold for every value.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn matcher(value: Value) -> Matcher {
    serde_json::from_value(value).unwrap()
}

fn check_json(value: Option<Value>, conditions: Value) -> Vec<String> {
    check(value.as_ref(), &matcher(conditions), "x")
}

#[test]
fn messages() {
    for (value, conditions, message) in [
        (json!("echo [x]"), json!({"equals": "echo secret"}), r#"x: expected "echo secret", got "echo [x]"."#),
        (json!("abc"), json!({"contains": "X"}), r#"x: expected to contain "X", got "abc"."#),
        (json!({"a": "b"}), json!({"contains": "X"}), r#"x: expected to contain "X", got {"a":"b"}."#),
        (json!("axb"), json!({"notContains": "x"}), r#"x: expected not to contain "x", got "axb"."#),
        (json!("lib"), json!({"matches": "src/"}), r#"x: expected to match /src//, got "lib"."#),
        (json!("src"), json!({"notMatches": "(?i)SRC"}), r#"x: expected not to match /(?i)SRC/, got "src"."#),
        (json!(["b"]), json!({"includes": ["a"]}), r#"x: expected to include ["a"], got ["b"]."#),
        (json!("a"), json!({"includes": ["a"]}), r#"x: expected to include ["a"], got "a"."#),
        (json!(1), json!({"exists": false}), "x: expected value not to exist, got 1."),
        (json!([]), json!({"count": {"gte": 1}}), "x: expected count >= 1, got 0."),
        (json!(3), json!({"count": {"lte": 2}}), "x: expected count <= 2, got 3."),
        (json!([1, 2]), json!({"count": {"eq": 1}}), "x: expected count == 1, got 2."),
        (json!("ab"), json!({"count": {"gte": 1}}), r#"x: expected count >= 1, got "ab"."#),
        (json!("a"), json!({"matches": "("}), "x: invalid pattern /(/: "),
    ] {
        let failed = check_json(Some(value), conditions);
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert!(failed[0].starts_with(message), "{failed:?}");
        assert!(failed[0].ends_with('.'));
    }
}

#[test]
fn a_missing_value_is_a_failure_of_its_own() {
    for (conditions, message) in [
        (json!({"exists": false, "contains": "x"}), None),
        (json!({"exists": true, "contains": "x"}), Some("x: expected value to exist, got undefined.")),
        (json!({"notContains": "secret"}), Some("x: no value was recorded (check the field name).")),
        (json!({"notContains": "a", "notMatches": "b"}), Some("x: no value was recorded (check the field name).")),
        (json!({}), Some("x: no value was recorded (check the field name).")),
    ] {
        assert_eq!(check_json(None, conditions.clone()), message.into_iter().map(str::to_owned).collect::<Vec<_>>(), "{conditions}");
    }
    assert_eq!(check_json(Some(Value::Null), json!({"notContains": "secret"})), Vec::<String>::new());
    assert_eq!(check_json(Some(Value::Null), json!({})), Vec::<String>::new());
}

#[test]
fn every_broken_condition_speaks() {
    let failed =
        check_json(Some(json!("abc")), json!({"equals": "x", "contains": "y", "notContains": "a", "matches": "z", "notMatches": "b"}));
    assert_eq!(failed.len(), 5);
}

#[test]
fn long_values_are_cut() {
    let failed = check_json(Some(json!("y".repeat(1000))), json!({"contains": "z".repeat(1000)}));
    assert!(failed[0].chars().count() < 680 && failed[0].matches('…').count() == 2, "{failed:?}");
}

#[test]
fn numbers_and_orders_are_compared_as_javascript_does() {
    assert!(deep_equal(&json!({"a": 1, "b": [2.0]}), &json!({"b": [2], "a": 1.0})));
    assert!(!deep_equal(&json!([1, 2]), &json!([2, 1])));
    assert!(!deep_equal(&json!({"a": null}), &json!({})));
    assert!(!deep_equal(&json!("1"), &json!(1)));
    assert!(!deep_equal(&json!(9_007_199_254_740_993_u64), &json!(1)));
}

#[test]
fn a_number_of_calls_is_at_least_one() {
    assert_eq!(check_number(0, None, "tools[0].x"), ["tools[0].x: expected count >= 1, got 0."]);
    assert_eq!(check_number(0, Some(Count { eq: Some(0), ..Count::default() }), "t"), Vec::<String>::new());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-c]", inner, 0..3).prop_map(|map| Value::Object(map.into_iter().collect()))
        ]
    })
}

proptest! {
    #[test]
    fn every_value_equals_itself(value in any_json()) {
        let matcher = Matcher { equals: Some(value.clone()), ..Matcher::default() };
        prop_assert!(check(Some(&value), &matcher, "x").is_empty());
    }

    #[test]
    fn all_conditions_together_fail_when_one_does(value in "[ab]{0,6}", contains in "[ab]{1,2}", absent in "[ab]{1,2}") {
        let one = |conditions: Value| check_json(Some(json!(value)), conditions).len();
        let together = one(json!({"contains": contains, "notContains": absent}));
        prop_assert_eq!(together, one(json!({"contains": contains})) + one(json!({"notContains": absent})));
    }

    #[test]
    fn a_condition_and_its_opposite_never_both_hold(value in any_json(), part in "[a-c0-9]{1,2}") {
        let both = check_json(Some(value), json!({"contains": part, "notContains": part}));
        prop_assert_eq!(both.len(), 1);
    }
}
