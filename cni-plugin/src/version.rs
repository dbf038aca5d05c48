use std::fmt;

/// A version of the CNI specification that the plugin speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CniVersion {
    /// 0.1.0, also meant by a configuration without a version.
    V0_1_0,
    /// 0.2.0
    V0_2_0,
    /// 0.3.0
    V0_3_0,
    /// 0.3.1
    V0_3_1,
    /// 0.4.0
    V0_4_0,
    /// 1.0.0
    V1_0_0,
    /// 1.1.0
    V1_1_0,
}

impl CniVersion {
    /// All of them, oldest first.
    pub const ALL: [CniVersion; 7] = [
        CniVersion::V0_1_0,
        CniVersion::V0_2_0,
        CniVersion::V0_3_0,
        CniVersion::V0_3_1,
        CniVersion::V0_4_0,
        CniVersion::V1_0_0,
        CniVersion::V1_1_0,
    ];

    /// The newest.
    pub const LATEST: CniVersion = CniVersion::V1_1_0;

    /// The version with this name; an empty one means 0.1.0.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(CniVersion::V0_1_0);
        }
        Self::ALL
            .into_iter()
            .find(|version| version.as_str() == text)
    }

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            CniVersion::V0_1_0 => "0.1.0",
            CniVersion::V0_2_0 => "0.2.0",
            CniVersion::V0_3_0 => "0.3.0",
            CniVersion::V0_3_1 => "0.3.1",
            CniVersion::V0_4_0 => "0.4.0",
            CniVersion::V1_0_0 => "1.0.0",
            CniVersion::V1_1_0 => "1.1.0",
        }
    }

    /// Results of 0.1.0 and 0.2.0 carry one address of each family.
    #[must_use]
    pub fn has_one_address_per_family(self) -> bool {
        self <= CniVersion::V0_2_0
    }
}

impl fmt::Display for CniVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
