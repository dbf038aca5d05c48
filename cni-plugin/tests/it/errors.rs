//! Checklist section 8: errors. The table of problems and codes stands beside the code.

use ipledger_client::types::ProblemCode;
use serde_json::json;

use crate::api::{Api, nobody, problem};
use crate::plugin::{Plugin, strict, with, with_ipam};

#[test]
fn e1_an_error_is_one_object_on_stdout_and_a_status() {
    let definition = with_ipam(strict(), json!({ "gateway": "10.10.3.999" }));
    let answer = Plugin::new("ADD", &nobody()).definition(&definition).run();
    assert_eq!((answer.status, answer.stderr.as_str()), (1, ""));
    assert_eq!(
        answer.stdout,
        "{\n    \"cniVersion\": \"1.0.0\",\n    \"code\": 7,\n    \"msg\": \
         \"gateway: \\\"10.10.3.999\\\" is not an IP address\",\n    \"details\": \
         \"kind=invalid_config key=gateway value=\\\"10.10.3.999\\\" retryable=false\"\n}"
    );
}

#[test]
fn e1_the_version_of_the_input_is_echoed_where_it_can_be_read() {
    for (version, echoed) in [("0.3.1", "0.3.1"), ("2.0.0", "1.1.0")] {
        let definition = with(strict(), json!({ "cniVersion": version, "name": "" }));
        let answer = Plugin::new("ADD", &nobody()).definition(&definition).run();
        assert_eq!(answer.json()["cniVersion"], echoed);
    }
    assert_eq!(
        Plugin::new("ADD", &nobody()).stdin("x").run().json()["cniVersion"],
        "1.1.0"
    );
}

#[test]
fn e2_e3_refusals_of_the_api_have_stable_codes_and_say_whether_to_retry() {
    for (code, number, retryable) in [
        (ProblemCode::Exhausted, 100, true),
        (ProblemCode::AddressTaken, 102, true),
        (ProblemCode::AddressOutsideWindow, 103, false),
        (ProblemCode::Cooling, 106, true),
        (ProblemCode::AddressCooling, 106, true),
        (ProblemCode::Stale, 107, false),
        (ProblemCode::Deleted, 107, false),
        (ProblemCode::AttachmentConflict, 108, false),
        (ProblemCode::SpaceConflict, 108, false),
        (ProblemCode::ClusterMismatch, 108, false),
        (ProblemCode::InvalidRequest, 7, false),
        (ProblemCode::Internal, 11, false),
    ] {
        let api = Api::start(move |_, _| problem(code));
        let answer = Plugin::new("ADD", &api.url()).run();
        let (got, message) = answer.failure();
        assert_eq!(got, number, "{code:?}");
        assert!(
            message.starts_with(&format!("says {}", code.as_str())),
            "{message}"
        );
        let details = format!("kind={} request_id=r1 retryable={retryable}", code.as_str());
        assert_eq!(answer.json()["details"], details);
    }
}

#[test]
fn e2_code_3_is_never_used_because_it_would_forbid_the_clean_up() {
    // Nothing in the table of codes is 3 or 999.
    let numbers: Vec<u32> = ProblemCode::ALL
        .iter()
        .map(|code| {
            let code = *code;
            let api = Api::start(move |_, _| problem(code));
            let definition = with_ipam(strict(), json!({ "timeout_seconds": 1 }));
            let answer = Plugin::new("ADD", &api.url()).definition(&definition).run();
            u32::try_from(answer.code()).unwrap()
        })
        .collect();
    assert!(
        numbers
            .iter()
            .all(|number| ![0, 3, 8, 999].contains(number)),
        "{numbers:?}"
    );
}

#[test]
fn an_address_that_is_no_api_of_ours_is_named() {
    let api = Api::start(|_, _| problem(ProblemCode::NotFound));
    let (code, message) = Plugin::new("ADD", &api.url()).run().failure();
    assert_eq!(code, 7);
    let expected = format!(
        "says not_found; api: {} is no ipledger API of this version",
        api.url()
    );
    assert_eq!(message, expected);
}
