//! The operations of the API as fixed words, for metrics and logs. A label that came from a
//! request's path would let callers make new time series.

use http::Method;

macro_rules! operations {
    ($($variant:ident $method:literal $template:literal,)*) => {
        /// One method of one route.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Operation {
            $(#[doc = concat!("`", $method, " ", $template, "`")] $variant,)*
            /// A request that no route takes.
            Unmatched,
        }

        impl Operation {
            /// All of them; the busiest first, since a request is looked up in this order.
            pub const ALL: &'static [Operation] =
                &[$(Operation::$variant,)* Operation::Unmatched];

            /// The method; `other` for a request that no route takes.
            #[must_use]
            pub fn method(self) -> &'static str {
                match self { $(Operation::$variant => $method,)* Operation::Unmatched => "other" }
            }

            /// The path with names in place of its parts; `unmatched` if no route takes it.
            #[must_use]
            pub fn route(self) -> &'static str {
                match self {
                    $(Operation::$variant => $template,)*
                    Operation::Unmatched => "unmatched",
                }
            }
        }
    };
}

operations! {
    Allocate "POST" "/v1/allocate",
    Release "POST" "/v1/release",
    LookUp "GET" "/v1/attachments",
    ListHolds "GET" "/v1/holds",
    ReleaseHold "POST" "/v1/holds/release",
    ImportHold "POST" "/v1/holds/import",
    ListReservations "GET" "/v1/reservations",
    Reserve "POST" "/v1/reservations",
    GiveBack "POST" "/v1/reservations/release",
    ListEvents "GET" "/v1/events",
    ShowHistory "GET" "/v1/history",
    Follow "GET" "/v1/follow",
    ShowDifference "GET" "/v1/diff",
    ListWakeups "GET" "/v1/wakeups",
    ListChanges "GET" "/v1/changes",
    ListSpaces "GET" "/v1/spaces",
    DeclareSpace "POST" "/v1/spaces",
    ListPools "GET" "/v1/pools",
    ListWindows "GET" "/v1/windows",
    CheckRanges "POST" "/v1/ranges/check",
    CollectGarbage "POST" "/v1/gc",
    Health "GET" "/healthz",
    Ready "GET" "/readyz",
    Metrics "GET" "/metrics",
    OpenApi "GET" "/openapi.json",
    Overview "GET" "/",
    PoolPage "GET" "/pool",
    AddressPage "GET" "/address",
    PodPage "GET" "/pod",
    EventPage "GET" "/event",
    LivePage "GET" "/live",
    Find "GET" "/find",
    ApiPage "GET" "/api",
    PagesStyle "GET" "/pages.css",
    PagesScript "GET" "/pages.js",
    PagesIcon "GET" "/pages.svg",
    ListClusters "GET" "/v1/clusters",
    BindCluster "POST" "/v1/clusters/{cluster}/bind",
    SetGate "POST" "/v1/clusters/{cluster}/gate",
    ReleaseCluster "POST" "/v1/clusters/{cluster}/release",
}

impl Operation {
    /// How many there are.
    pub const COUNT: usize = Operation::ALL.len();

    /// The operation that takes a request. HEAD counts as GET.
    #[must_use]
    pub fn of(method: &Method, path: &str) -> Operation {
        let method = match method.as_str() {
            "HEAD" => "GET",
            other => other,
        };
        Operation::ALL
            .iter()
            .copied()
            .find(|operation| operation.method() == method && operation.takes(path))
            .unwrap_or(Operation::Unmatched)
    }

    /// The methods that some route takes for this path.
    pub(crate) fn methods_of(path: &str) -> Vec<&'static str> {
        Operation::ALL
            .iter()
            .filter(|operation| operation.takes(path))
            .map(|operation| operation.method())
            .collect()
    }

    fn takes(self, path: &str) -> bool {
        if self == Operation::Unmatched {
            return false;
        }
        match self.route().split_once("{cluster}") {
            None => self.route() == path,
            Some((before, after)) => path
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after))
                .is_some_and(|name| !name.is_empty() && !name.contains('/')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_found_by_a_path_of_its_route() {
        for &operation in Operation::ALL {
            if operation == Operation::Unmatched {
                continue;
            }
            let path = operation.route().replace("{cluster}", "prod");
            let method = Method::from_bytes(operation.method().as_bytes()).unwrap();
            assert_eq!(Operation::of(&method, &path), operation);
        }
        assert_eq!(Operation::of(&Method::HEAD, "/healthz"), Operation::Health);
    }

    #[test]
    fn what_no_route_takes_is_one_word() {
        for (method, path) in [
            (Method::GET, "/v1/allocate"),
            (Method::POST, "/v2/allocate"),
            (Method::POST, "/v1/clusters//bind"),
            (Method::POST, "/v1/clusters/a/b/bind"),
            (Method::GET, "/v1/clusters/a/gate"),
            (Method::POST, "/v1/clusters"),
            (Method::GET, "unmatched"),
        ] {
            assert_eq!(
                Operation::of(&method, path),
                Operation::Unmatched,
                "{method} {path}"
            );
        }
    }
}
