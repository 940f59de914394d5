//! Enums whose values have names.

/// Declares an enum with a name for each value: `ALL` lists the values, and `name` returns the name
/// that documents, files and programs know. The `rename_all` of a serialized enum must give the
/// same names.
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $type:ident {
        $( $(#[$value_meta:meta])* $value:ident = $name:literal, )*
    }) => {
        $(#[$meta])*
        $vis enum $type { $( $(#[$value_meta])* $value, )* }

        #[allow(dead_code, reason = "not every enum is listed, and not every one is named")]
        impl $type {
            $vis const ALL: [Self; [$($name),*].len()] = [$(Self::$value),*];
            $vis const NAMES: [&'static str; [$($name),*].len()] = [$($name),*];

            $vis fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }
    };
}

pub(crate) use named;

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde::Serialize;

    use crate::model::{
        ErrorClass, GateLevel, GateStatus, PackageManager, Phase, ResumeAction, SessionStatus,
        TaskStatus,
    };

    fn assert_serialized<T: Serialize + Debug>(values: &[T], names: &[&str]) {
        for (value, name) in values.iter().zip(names) {
            assert_eq!(serde_json::to_value(value).unwrap(), *name, "{value:?}");
        }
    }

    #[test]
    fn serde_gives_the_same_names() {
        assert_serialized(&SessionStatus::ALL, &SessionStatus::NAMES);
        assert_serialized(&TaskStatus::ALL, &TaskStatus::NAMES);
        assert_serialized(&Phase::ALL, &Phase::NAMES);
        assert_serialized(&ResumeAction::ALL, &ResumeAction::NAMES);
        assert_serialized(&GateLevel::ALL, &GateLevel::NAMES);
        assert_serialized(&GateStatus::ALL, &GateStatus::NAMES);
        assert_serialized(&PackageManager::ALL, &PackageManager::NAMES);
        assert_serialized(&ErrorClass::ALL, &ErrorClass::NAMES);
    }
}
